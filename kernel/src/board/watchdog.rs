//! The watchdog of the power management block (Linux bcm2835_wdt.c, U-Boot, Circle).

use super::map;
use super::mmio::Mmio;

const PM_RSTC: usize = 0x1c;
const PM_WDOG: usize = 0x24;
const PASSWORD: u32 = 0x5a00_0000;
const RSTC_WRCFG_MASK: u32 = 0x30;
const RSTC_WRCFG_FULL_RESET: u32 = 0x20;
/// Ticks of the watchdog a second; its counter has 20 bits, so 15.99 s at most.
const TICKS_PER_SECOND: u32 = 65536;
/// Longest time the watchdog can be set to, ms.
pub const MAX_MS: u32 = 15_990;

// SAFETY: device window of the Pi 4, mapped by boot's page tables; can reset the board, which is
// what it is for.
const PM: Mmio = unsafe { Mmio::new(map::PM, 0x100) };

/// Resets the board after `ms` (at most [`MAX_MS`]) unless it is started again before.
pub fn start(ms: u32) {
    let ticks = (ms.min(MAX_MS) as u64 * TICKS_PER_SECOND as u64 / 1000) as u32;
    PM.write(PM_WDOG, PASSWORD | ticks.max(1));
    PM.write(PM_RSTC, PASSWORD | PM.read(PM_RSTC) & !RSTC_WRCFG_MASK & 0x00ff_ffff | RSTC_WRCFG_FULL_RESET);
}
