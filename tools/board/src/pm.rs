//! Power management block: the watchdog and the reset it makes.
//!
//! Facts: Linux bcm2835_wdt, U-Boot, Circle. Every write carries 0x5A in bits 31:24; WDOG counts in 1/65536 s; RSTC
//! bits 5:4 = 2 arm the full reset. Does not reset anything itself: it says when (`reset_at`).

use crate::access::{blame, check_word};
use crate::env::Finding;

const DEVICE: &str = "pm";
const PASSWORD: u32 = 0x5A;
/// RSTC after power-on: no reset armed (value Linux restores to stop the watchdog).
const RSTC_STOPPED: u32 = 0x102;
/// RSTS: had a power-on reset.
const HADPOR: u32 = 1 << 12;
/// RSTS: had a full reset by the watchdog.
const HADWRF: u32 = 1 << 5;
/// RSTS: the partition number's bits, which survive.
const PARTITION: u32 = 0x555;

/// The block.
#[derive(Clone, Debug)]
pub struct Pm {
    rstc: u32,
    rsts: u32,
    wdog: u32,
    started_ns: u64,
    reset_at: Option<u64>,
}

impl Pm {
    /// The block with the given reset-status register.
    pub fn new(rsts: u32) -> Self {
        Pm { rstc: RSTC_STOPPED, rsts, wdog: 0, started_ns: 0, reset_at: None }
    }

    /// When the armed watchdog resets the board.
    pub fn reset_at(&self) -> Option<u64> {
        self.reset_at
    }

    /// Reset-status register: bits 0, 2, 4, 6, 8, 10 are the partition for the next boot.
    pub fn reset_status(&self) -> u32 {
        self.rsts
    }

    /// Reset-status register after the watchdog's reset. Boots of real boards show 0x20 and, with the power-on bit of the
    /// boot before still there, 0x1020 (bootloader logs in raspberrypi/linux 4527 and raspberrypi/rpi-eeprom 279).
    pub fn status_after_reset(&self, keeps_power_on_bit: bool) -> u32 {
        self.rsts & PARTITION | HADWRF | if keeps_power_on_bit { HADPOR } else { 0 }
    }

    /// A read at `offset`.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        check_word(DEVICE, now, "read", offset, size, findings);
        match offset & !3 {
            0x1C => self.rstc,
            0x20 => self.rsts,
            0x24 => self.remaining(now),
            _ => {
                blame(DEVICE, now, findings, format!("read of unmodelled offset {offset:#x}"));
                0
            }
        }
    }

    /// A write at `offset`.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        check_word(DEVICE, now, "write", offset, size, findings);
        if value >> 24 != PASSWORD {
            return blame(
                DEVICE,
                now,
                findings,
                format!("write to {offset:#x} without the password: {value:#010x} ignored"),
            );
        }
        let value = value & 0x00FF_FFFF;
        match offset & !3 {
            0x1C => self.rstc = value,
            0x20 => self.rsts = value,
            0x24 => self.wdog = value & 0xF_FFFF,
            _ => return blame(DEVICE, now, findings, format!("write to unmodelled offset {offset:#x} = {value:#x}")),
        }
        if offset & !3 != 0x20 {
            self.rearm(now);
        }
    }

    fn rearm(&mut self, now: u64) {
        self.started_ns = now;
        let armed = self.rstc & 0x30 == 0x20;
        self.reset_at = armed.then(|| now + (u64::from(self.wdog) * 1_000_000_000).div_ceil(65_536));
    }

    fn remaining(&self, now: u64) -> u32 {
        if self.reset_at.is_none() {
            return self.wdog;
        }
        let gone = u128::from(now.saturating_sub(self.started_ns)) * 65_536 / 1_000_000_000;
        self.wdog.saturating_sub(gone.min(u128::from(u32::MAX)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u32 = PASSWORD << 24;

    #[test]
    fn watchdog_runs_stops_and_restarts() {
        let mut findings = Vec::new();
        let mut pm = Pm::new(0);
        pm.write(0, 0x24, 4, KEY | 65_536, &mut findings);
        assert_eq!(pm.reset_at(), None);
        let rstc = pm.read(0, 0x1C, 4, &mut findings) & !0x30;
        pm.write(1_000, 0x1C, 4, KEY | rstc | 0x20, &mut findings);
        assert_eq!(pm.reset_at(), Some(1_000_001_000));
        assert_eq!(pm.read(500_001_000, 0x24, 4, &mut findings), 32_768);
        pm.write(900_000_000, 0x24, 4, KEY | 10, &mut findings);
        assert_eq!(pm.reset_at(), Some(900_152_588));
        pm.write(900_000_001, 0x1C, 4, KEY | 0x102, &mut findings);
        assert_eq!(pm.reset_at(), None);
        assert!(findings.is_empty());
    }

    #[test]
    fn password_is_needed() {
        let mut findings = Vec::new();
        let mut pm = Pm::new(0);
        pm.write(7, 0x1C, 4, 0x20, &mut findings);
        assert_eq!(pm.reset_at(), None);
        assert_eq!(findings.len(), 1);
    }
}
