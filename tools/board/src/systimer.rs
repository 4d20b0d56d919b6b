//! System timer: a 1 MHz counter and four compare registers (INTID 96..99).
//!
//! The shipped device tree disables the node, the block counts all the same. Facts: Circle, Linux device tree.

use crate::access::{blame, check_word};
use crate::env::Finding;

const DEVICE: &str = "systimer";
/// INTID of compare register 0.
pub const FIRST_INTID: u32 = 96;

/// The timer.
#[derive(Clone, Debug, Default)]
pub struct SystemTimer {
    status: u32,
    compare: [u32; 4],
    /// When each compare register matches next; none until written.
    due: [Option<u64>; 4],
}

impl SystemTimer {
    /// Line of compare register `index`.
    pub fn irq(&self, index: usize) -> bool {
        self.status >> index & 1 != 0
    }

    /// The next match.
    pub fn next_event(&self) -> Option<u64> {
        self.due.iter().flatten().min().copied()
    }

    /// Brings the model up to `now`.
    pub fn run(&mut self, now: u64) {
        for index in 0..4 {
            if let Some(due) = self.due[index]
                && due <= now
            {
                self.status |= 1 << index;
                // The counter comes round after 2^32 us.
                self.due[index] = Some(due + (1 << 32) * 1_000);
            }
        }
    }

    /// A read at `offset`.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        self.run(now);
        check_word(DEVICE, now, "read", offset, size, findings);
        match offset & !3 {
            0x00 => self.status,
            0x04 => (now / 1_000) as u32,
            0x08 => ((now / 1_000) >> 32) as u32,
            0x0C..=0x18 => self.compare[(offset as usize - 0x0C) / 4],
            _ => {
                blame(DEVICE, now, findings, format!("read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write at `offset`.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        self.run(now);
        check_word(DEVICE, now, "write", offset, size, findings);
        match offset & !3 {
            0x00 => self.status &= !value,
            0x0C..=0x18 => {
                let index = (offset as usize - 0x0C) / 4;
                self.compare[index] = value;
                let now_us = now / 1_000;
                let ahead = value.wrapping_sub(now_us as u32);
                let wait_us = if ahead == 0 { 1 << 32 } else { u64::from(ahead) };
                self.due[index] = Some((now_us + wait_us) * 1_000);
            }
            _ => blame(DEVICE, now, findings, format!("write to unknown or read-only offset {offset:#x} = {value:#x}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_matches() {
        let mut findings = Vec::new();
        let mut timer = SystemTimer::default();
        assert_eq!(timer.read(5_000_000_123_999, 0x04, 4, &mut findings), 5_000_000_123_u64 as u32);
        assert_eq!(timer.read(5_000_000_123_999, 0x08, 4, &mut findings), 1);
        timer.write(1_000_500, 0x10, 4, 1_010, &mut findings);
        assert_eq!(timer.next_event(), Some(1_010_000));
        timer.run(1_009_999);
        assert!(!timer.irq(1));
        timer.run(1_010_000);
        assert!(timer.irq(1));
        timer.write(1_010_001, 0x00, 4, 2, &mut findings);
        assert!(!timer.irq(1));
        assert!(findings.is_empty());
    }
}
