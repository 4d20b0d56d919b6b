//! Time from the generic timer (54 MHz on a Pi 4) and busy time from the cycle counter.

use aarch64_cpu::asm::barrier::{SY, isb};
use aarch64_cpu::registers::{CNTFRQ_EL0, CNTP_CTL_EL0, CNTP_CVAL_EL0, CNTPCT_EL0, Readable, Writeable};
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

/// Counter frequency that the conversions below are exact for, Hz: the crystal of every Pi 4
/// (armstub8.S and Circle set and use it).
pub const COUNTER_HZ: u64 = 54_000_000;

/// Counter value now, in ticks of 1/54 us.
#[inline]
pub fn ticks() -> u64 {
    // Without the barrier the read may be done early, before accesses that come first in the program.
    isb(SY);
    CNTPCT_EL0.get()
}

/// Frequency that the firmware announced, Hz. Reported when it is not [`COUNTER_HZ`].
pub fn announced_hz() -> u64 {
    CNTFRQ_EL0.get()
}

/// Nanoseconds since the counter started. Exact to the tick (18.5 ns); good for 21 years.
#[inline]
pub fn now_ns() -> u64 {
    ticks_to_ns(ticks())
}

/// Ticks to nanoseconds, rounded down: 54 ticks are 1000 ns.
#[inline]
pub const fn ticks_to_ns(ticks: u64) -> u64 {
    ticks * 500 / 27
}

/// Nanoseconds to ticks, rounded up, so that a wait is never shorter than asked. Times beyond
/// 2^64 / 27 ns (21 years) saturate.
pub const fn ns_to_ticks_ceil(ns: u64) -> u64 {
    match ns.checked_mul(27) {
        Some(product) => product.div_ceil(500),
        None => u64::MAX,
    }
}

/// Spins for at least `us` microseconds.
pub fn delay_us(us: u32) {
    let end = ticks() + ns_to_ticks_ceil(us as u64 * 1000);
    while ticks() < end {
        core::hint::spin_loop();
    }
}

/// Arms the timer of this core: interrupt (INTID 30) when the counter reaches `deadline_ns`.
pub fn arm_timer(deadline_ns: u64) {
    CNTP_CVAL_EL0.set(ns_to_ticks_ceil(deadline_ns));
    CNTP_CTL_EL0.write(CNTP_CTL_EL0::ENABLE::SET + CNTP_CTL_EL0::IMASK::CLEAR);
}

/// Switches the timer off; its interrupt line drops.
pub fn disarm_timer() {
    CNTP_CTL_EL0.write(CNTP_CTL_EL0::ENABLE::CLEAR);
    isb(SY);
}

/// Core clock as [`calibrate`] measured it, Hz; 0 before.
static CORE_HZ: AtomicU64 = AtomicU64::new(0);

/// Starts the cycle counter (PMCCNTR_EL0): 64 bits, EL1 counted.
pub fn start_cycle_counter() {
    // SAFETY: PMU registers of this core, which nobody else uses; boot.s gave EL1 the counters
    // (MDCR_EL2). PMCR bits E 0, C 2 (reset), LC 6 (64-bit overflow); filter 0 counts EL0 and EL1.
    unsafe {
        asm!("msr pmccfiltr_el0, xzr", "msr pmcr_el0, {pmcr}", "msr pmcntenset_el0, {enable}", "isb",
            pmcr = in(reg) (1u64 << 6) | (1 << 2) | 1, enable = in(reg) 1u64 << 31, options(nostack, preserves_flags));
    }
}

/// Core cycles since [`start_cycle_counter`]. Stands still in WFI on some cores and not on
/// others: take differences only across stretches without WFI.
#[inline]
pub fn cycles() -> u64 {
    let value: u64;
    // SAFETY: reads a counter; no effect on memory.
    unsafe { asm!("mrs {}, pmccntr_el0", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Measures the core clock against the 54 MHz counter for about `us` microseconds; returns Hz.
pub fn calibrate(us: u32) -> u64 {
    let (t0, c0) = (ticks(), cycles());
    delay_us(us);
    let (t1, c1) = (ticks(), cycles());
    let hz = ((c1 - c0) as u128 * COUNTER_HZ as u128 / (t1 - t0).max(1) as u128) as u64;
    CORE_HZ.store(hz, Ordering::Relaxed);
    hz
}

/// Cycles to nanoseconds at the calibrated clock. 0 before [`calibrate`].
pub fn cycles_to_ns(cycles: u64) -> u64 {
    match CORE_HZ.load(Ordering::Relaxed) {
        0 => 0,
        hz => (cycles as u128 * 1_000_000_000 / hz as u128) as u64,
    }
}
