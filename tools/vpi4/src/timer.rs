//! The generic timer of one core: physical and virtual, compare value against the 54 MHz counter.

/// One of the two timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer {
    /// CNT*_CTL bits 1:0: enable, mask.
    control: u64,
    /// CNT*_CVAL.
    compare: u64,
}

impl Timer {
    /// CNT*_CTL at counter value `count`: ENABLE, IMASK, ISTATUS.
    pub fn control(&self, count: u64) -> u64 {
        self.control | u64::from(self.control & 1 != 0 && count >= self.compare) << 2
    }

    /// Writes CNT*_CTL.
    pub fn set_control(&mut self, value: u64) {
        self.control = value & 3;
    }

    /// CNT*_CVAL.
    pub fn compare(&self) -> u64 {
        self.compare
    }

    /// Writes CNT*_CVAL.
    pub fn set_compare(&mut self, value: u64) {
        self.compare = value;
    }

    /// CNT*_TVAL at counter value `count`.
    pub fn value(&self, count: u64) -> u64 {
        self.compare.wrapping_sub(count) as u32 as u64
    }

    /// Writes CNT*_TVAL: signed 32 bits from now.
    pub fn set_value(&mut self, count: u64, value: u64) {
        self.compare = count.wrapping_add(value as u32 as i32 as i64 as u64);
    }

    /// Level of the timer's interrupt.
    pub fn line(&self, count: u64) -> bool {
        self.control(count) & 7 == 5
    }

    /// Counter value at which the line will rise, if it will.
    pub fn due(&self, count: u64) -> Option<u64> {
        (self.control & 3 == 1 && count < self.compare).then_some(self.compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_at_the_compare_value_when_enabled_and_unmasked() {
        let mut timer = Timer::default();
        timer.set_value(100, 50);
        assert_eq!((timer.compare(), timer.line(1000)), (150, false));
        timer.set_control(1);
        assert_eq!((timer.due(100), timer.line(149), timer.line(150)), (Some(150), false, true));
        assert_eq!(timer.control(150), 5);
        timer.set_control(3);
        assert!(!timer.line(150) && timer.due(0).is_none());
        timer.set_value(100, (-10i32) as u32 as u64);
        assert_eq!(timer.compare(), 90);
        assert_eq!(timer.value(100), (-10i32) as u32 as u64);
    }
}
