//! The watchdog of the power management block (Linux bcm2835_wdt.c, U-Boot, Circle).
//!
//! Two uses: to reset the board now or after a report, and to watch the main loop. Whatever the main loop waits for, it
//! says so by [`feed`] at least every [`FEED_NS`] (`port.rs`, `uart.rs`, the console): never an interrupt, which may
//! well live on when the loop stands still.

use super::map;
use super::mmio::Mmio;
use crate::arch::counter;
use crate::kept::State;
use crate::mem::kept;
use core::sync::atomic::{AtomicU64, Ordering};

const PM_RSTC: usize = 0x1c;
const PM_RSTS: usize = 0x20;
const PM_WDOG: usize = 0x24;
const PASSWORD: u32 = 0x5a00_0000;
const RSTC_WRCFG_MASK: u32 = 0x30;
const RSTC_WRCFG_FULL_RESET: u32 = 0x20;
/// Ticks of the watchdog a second; its counter has 20 bits, so 15.99 s at most.
const TICKS_PER_SECOND: u32 = 65536;
/// Longest time the watchdog can be set to, ms.
pub const MAX_MS: u32 = 15_990;
/// Time after which a main loop that stands still is reset, ms. The longest that it may be away between two feeds is
/// a mailbox that does not answer (100 ms a question), a tenth of this with all questions together.
pub const MAIN_LOOP_MS: u32 = 8_000;
/// Least time between two writes to the watchdog, ns: two device writes in half a second are nothing in any figure.
pub const FEED_NS: u64 = 500_000_000;
/// How long a watchdog that fires at once is given to do so, us.
const TRY_US: u32 = 2_000;

// SAFETY: device window of the Pi 4, mapped by boot's page tables; can reset the board, which is
// what it is for.
const PM: Mmio = unsafe { Mmio::new(map::PM, 0x100) };

/// Time of the next feed, ns; never while the main loop is not watched.
static DUE_NS: AtomicU64 = AtomicU64::new(u64::MAX);

/// Resets the board after `ms` (at most [`MAX_MS`]) unless it is started again before.
pub fn start(ms: u32) {
    let ticks = (ms.min(MAX_MS) as u64 * TICKS_PER_SECOND as u64 / 1000) as u32;
    PM.write(PM_WDOG, PASSWORD | ticks.max(1));
    PM.write(PM_RSTC, PASSWORD | PM.read(PM_RSTC) & !RSTC_WRCFG_MASK & 0x00ff_ffff | RSTC_WRCFG_FULL_RESET);
}

/// Reset status: bit 5 had a watchdog reset, bit 12 a power-on reset, even bits to 10 the partition to boot. Reading
/// may clear it.
pub fn reset_status() -> u32 {
    PM.read(PM_RSTS)
}

/// Watches the main loop from now on: without [`feed`] for [`MAIN_LOOP_MS`] the board resets. False if that cannot be,
/// because the watchdog of this machine resets at once whatever its time is: an emulator's may, and the record in
/// memory that survives tells the next start.
pub fn watch_main_loop() -> bool {
    if kept::watchdog_unfit() {
        return false;
    }
    kept::enter(State::Arming);
    start(MAIN_LOOP_MS);
    counter::delay_us(TRY_US);
    kept::enter(State::Running);
    DUE_NS.store(counter::now_ns(), Ordering::Relaxed);
    true
}

/// True while the main loop is watched.
pub fn watching() -> bool {
    DUE_NS.load(Ordering::Relaxed) != u64::MAX
}

/// The main loop is alive at `now_ns`. Costs a load and a comparison but for once in [`FEED_NS`].
#[inline(always)]
pub fn feed(now_ns: u64) {
    if now_ns >= DUE_NS.load(Ordering::Relaxed) {
        feed_now(now_ns);
    }
}

#[cold]
#[inline(never)]
fn feed_now(now_ns: u64) {
    DUE_NS.store(now_ns + FEED_NS, Ordering::Relaxed);
    start(MAIN_LOOP_MS);
}
