//! Interrupt masking, waiting, and a lock that is safe against handlers.

use aarch64_cpu::asm::barrier::{SY, dsb, isb};
use aarch64_cpu::registers::{DAIF, Readable, Writeable};
use core::arch::asm;

/// Runs `f` with IRQs masked on this core and restores the mask as it was.
#[inline]
pub fn without<T>(f: impl FnOnce() -> T) -> T {
    let before = DAIF.get();
    // SAFETY: masking is always allowed at EL1; the default memory clobber keeps accesses inside.
    unsafe { asm!("msr daifset, #2", options(nostack, preserves_flags)) };
    let result = f();
    DAIF.set(before);
    result
}

/// Unmasks IRQs and SErrors on this core; a pending interrupt is taken before it returns.
#[inline]
pub fn unmask() {
    // SAFETY: vectors are installed before the first call (boot.s), and handlers share state only
    // through atomics and `IrqLock`.
    unsafe { asm!("msr daifclr, #6", options(nostack, preserves_flags)) };
    isb(SY);
}

/// Masks IRQs on this core.
#[inline]
pub fn mask() {
    // SAFETY: as in `without`.
    unsafe { asm!("msr daifset, #2", options(nostack, preserves_flags)) };
}

/// True while IRQs are masked (inside `without`, a handler, or a fault report).
pub fn masked() -> bool {
    DAIF.matches_all(DAIF::I::Masked)
}

/// Sleeps until an interrupt is pending, also one that is masked. All earlier accesses are complete.
#[inline]
pub fn wait() {
    dsb(SY);
    aarch64_cpu::asm::wfi();
}

/// A spin lock whose holder cannot be interrupted, so a handler may take it too.
pub struct IrqLock<T>(spin::Mutex<T>);

impl<T> IrqLock<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        IrqLock(spin::Mutex::new(value))
    }

    /// Runs `f` on the value, IRQs masked.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        without(|| f(&mut self.0.lock()))
    }

    /// As [`with`](Self::with), for a fault report: if the lock is held (by whatever was
    /// interrupted by the fault) it is taken all the same.
    ///
    /// # Safety
    /// No other core may take the lock, and the code that held it must never go on.
    pub unsafe fn seize<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        without(|| {
            if self.0.try_lock().is_none() {
                // SAFETY: the holder never goes on (caller's promise), so nobody else uses the value.
                unsafe { self.0.force_unlock() };
            }
            f(&mut self.0.lock())
        })
    }
}
