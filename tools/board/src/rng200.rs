//! The random number generator (iProc RNG200), from a seed: U-Boot draws from it for the kernel it starts.
//!
//! Facts: Linux iproc-rng200.c, U-Boot iproc_rng200.c. Does not own the failure bits of a real noise source.

use crate::access::{blame, check_word};
use crate::env::Finding;
use crate::rng::SplitMix64;

const DEVICE: &str = "RNG";
/// Words it has ready whenever it is on.
const READY_WORDS: u32 = 16;

/// The generator.
#[derive(Clone, Debug)]
pub struct Rng200 {
    source: SplitMix64,
    control: u32,
    threshold: u32,
    fifo_threshold: u32,
}

impl Rng200 {
    /// Switched off.
    pub fn new(seed: u64) -> Self {
        Rng200 { source: SplitMix64::new(seed), control: 0, threshold: 0, fifo_threshold: 0 }
    }

    fn on(&self) -> bool {
        self.control & 0x1FFF == 1
    }

    /// A read at `offset`.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        check_word(DEVICE, now, "read", offset, size, findings);
        match offset & !3 {
            0x00 => self.control,
            0x04 | 0x08 | 0x18 | 0x1C => 0, // resets read back as done; no interrupt
            0x0C => 32 * READY_WORDS,
            0x10 => self.threshold,
            0x20 if self.on() => self.source.next_u64() as u32,
            0x20 => 0,
            0x24 => self.fifo_threshold | if self.on() { READY_WORDS } else { 0 },
            _ => {
                blame(DEVICE, now, findings, format!("read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write at `offset`.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        check_word(DEVICE, now, "write", offset, size, findings);
        match offset & !3 {
            0x00 => self.control = value,
            0x04 | 0x08 | 0x18 | 0x1C => {}
            0x10 => self.threshold = value,
            0x24 => self.fifo_threshold = value & 0xFF00,
            _ => blame(DEVICE, now, findings, format!("write to unknown offset {offset:#x} = {value:#x}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_when_it_is_on_and_repeat_with_the_seed() {
        let mut findings = Vec::new();
        let mut draw = |seed| {
            let mut rng = Rng200::new(seed);
            assert_eq!(rng.read(0, 0x24, 4, &mut findings), 0);
            rng.write(0, 0, 4, 1, &mut findings);
            assert_eq!(rng.read(0, 0x24, 4, &mut findings), 16);
            [rng.read(0, 0x20, 4, &mut findings), rng.read(0, 0x20, 4, &mut findings)]
        };
        let first = draw(1);
        assert!(first[0] != first[1] && first == draw(1) && first != draw(2));
        assert!(findings.is_empty());
    }
}
