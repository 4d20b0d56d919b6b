//! The cost model, and cycles to nanoseconds.

/// What things cost. Stated with every run; the defaults are round figures, not measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Core clock, Hz. One instruction takes one cycle.
    pub cpu_hz: u64,
    /// A device read, ns: the core waits for the answer.
    pub device_read_ns: u64,
    /// A posted device write, ns.
    pub device_write_ns: u64,
    /// A read of the generic timer's counter, ns. A guest that spins on the counter runs faster in host time with a
    /// higher cost.
    pub counter_read_ns: u64,
}

impl Default for Cost {
    fn default() -> Self {
        Cost { cpu_hz: 1_500_000_000, device_read_ns: 200, device_write_ns: 50, counter_read_ns: 0 }
    }
}

/// Frequency of the generic timer, Hz.
pub const COUNTER_HZ: u64 = 54_000_000;

/// Exact conversion between cycles, nanoseconds and counter ticks of one core clock.
#[derive(Clone, Copy, Debug)]
pub struct TimeBase {
    cpu_hz: u64,
    /// ns = cycles * ns_num / ns_den, in lowest terms.
    ns_num: u64,
    ns_den: u64,
    count_num: u64,
    count_den: u64,
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl TimeBase {
    /// For a core clock of `cpu_hz`.
    pub const fn new(cpu_hz: u64) -> Self {
        let g = gcd(1_000_000_000, cpu_hz);
        let c = gcd(COUNTER_HZ, cpu_hz);
        TimeBase {
            cpu_hz,
            ns_num: 1_000_000_000 / g,
            ns_den: cpu_hz / g,
            count_num: COUNTER_HZ / c,
            count_den: cpu_hz / c,
        }
    }

    /// Nanoseconds at `cycles`, rounded down.
    pub const fn ns(&self, cycles: u64) -> u64 {
        (cycles as u128 * self.ns_num as u128 / self.ns_den as u128) as u64
    }

    /// First cycle at which `ns` nanoseconds have passed. Saturates.
    pub const fn cycles(&self, ns: u64) -> u64 {
        if ns == u64::MAX {
            return u64::MAX;
        }
        let cycles = (ns as u128 * self.ns_den as u128).div_ceil(self.ns_num as u128);
        if cycles > u64::MAX as u128 { u64::MAX } else { cycles as u64 }
    }

    /// Counter value (CNTPCT) at `cycles`.
    pub const fn count(&self, cycles: u64) -> u64 {
        (cycles as u128 * self.count_num as u128 / self.count_den as u128) as u64
    }

    /// First cycle at which the counter has reached `count`. Saturates.
    pub const fn cycles_of_count(&self, count: u64) -> u64 {
        let cycles = (count as u128 * self.count_den as u128).div_ceil(self.count_num as u128);
        if cycles > u64::MAX as u128 { u64::MAX } else { cycles as u64 }
    }

    /// Core clock, Hz.
    pub const fn cpu_hz(&self) -> u64 {
        self.cpu_hz
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_exact_and_consistent() {
        let base = TimeBase::new(1_500_000_000);
        assert_eq!((base.ns(3), base.ns(4), base.cycles(2), base.cycles(3)), (2, 2, 3, 5));
        assert_eq!(base.count(1_500_000_000), COUNTER_HZ);
        for count in [0, 1, 2, 53, 54, 1_000_003] {
            let cycles = base.cycles_of_count(count);
            assert_eq!(base.count(cycles), count);
            assert!(cycles == 0 || base.count(cycles - 1) < count, "first cycle of {count}");
        }
        assert_eq!(base.cycles(u64::MAX), u64::MAX);
        let odd = TimeBase::new(1_000_000_007);
        assert!(odd.ns(odd.cycles(123_456_789)) >= 123_456_789);
    }
}
