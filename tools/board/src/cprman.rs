//! The clock manager, as far as a kernel must see it answer: PLLs lock at once, a generator is busy while enabled.
//!
//! Registers keep what is written; no clock of the board follows them. Facts: Linux clk-bcm2835.c (password 0x5A in the
//! top byte of every write, CM_LOCK at 0x114, ENAB is bit 4 and BUSY bit 7 of a generator's control register).

use std::collections::BTreeMap;

use crate::access::{blame, check_word};
use crate::env::Finding;

const DEVICE: &str = "clock manager";
const PASSWORD: u32 = 0x5A00_0000;
const CM_LOCK: u32 = 0x114;
/// Lock bits of PLLA to PLLD and PLLH.
const LOCKED: u32 = 0x1F00;
const ENABLE: u32 = 1 << 4;
const BUSY: u32 = 1 << 7;

/// The registers that were written.
#[derive(Clone, Debug, Default)]
pub struct Cprman(BTreeMap<u32, u32>);

impl Cprman {
    /// A read at `offset`.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        check_word(DEVICE, now, "read", offset, size, findings);
        if offset == CM_LOCK {
            return LOCKED;
        }
        let value = self.0.get(&offset).copied().unwrap_or(0);
        if value & ENABLE != 0 { value | BUSY } else { value & !BUSY }
    }

    /// A write at `offset`.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        check_word(DEVICE, now, "write", offset, size, findings);
        if value & 0xFF00_0000 != PASSWORD {
            return blame(DEVICE, now, findings, format!("write without password at {offset:#x}: ignored"));
        }
        self.0.insert(offset, value & 0x00FF_FFFF);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generator_is_busy_while_enabled_and_the_password_counts() {
        let (mut clocks, mut findings) = (Cprman::default(), Vec::new());
        assert_eq!(clocks.read(0, CM_LOCK, 4, &mut findings), LOCKED);
        clocks.write(0, 0x70, 4, PASSWORD | ENABLE | 6, &mut findings);
        assert_eq!(clocks.read(0, 0x70, 4, &mut findings), BUSY | ENABLE | 6);
        clocks.write(0, 0x70, 4, PASSWORD | 6, &mut findings);
        assert_eq!(clocks.read(0, 0x70, 4, &mut findings), 6);
        assert!(findings.is_empty());
        clocks.write(0, 0x70, 4, 0, &mut findings);
        assert_eq!((clocks.read(0, 0x70, 4, &mut findings), findings.len()), (6, 1));
    }
}
