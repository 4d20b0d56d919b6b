//! A window of 32-bit device registers: the one place that dereferences device addresses.

use aarch64_cpu::asm::barrier::{SY, dsb, isb};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

/// Register window of one device block. Accesses are single, aligned, 32 bits wide and in
/// program order (Device-nGnRnE); order against other blocks and against memory takes a barrier.
#[derive(Clone, Copy, Debug)]
pub struct Mmio {
    base: usize,
    bytes: usize,
}

impl Mmio {
    /// A window of `bytes` from `base`.
    ///
    /// # Safety
    /// The range must be mapped as device memory and hold registers for which any 32-bit access is
    /// without effect on Rust's memory (no DMA is started behind the caller's back that a driver
    /// has not accounted for).
    pub const unsafe fn new(base: usize, bytes: usize) -> Self {
        Mmio { base, bytes }
    }

    #[inline(always)]
    fn at(&self, offset: usize) -> *mut u32 {
        debug_assert!(offset.is_multiple_of(4) && offset < self.bytes);
        (self.base + offset) as *mut u32
    }

    /// Reads the register at `offset` bytes.
    #[inline(always)]
    pub fn read(&self, offset: usize) -> u32 {
        // SAFETY: inside the window promised to `new`, aligned; device reads touch no Rust object.
        unsafe { ptr::read_volatile(self.at(offset)) }
    }

    /// Writes the register at `offset` bytes.
    #[inline(always)]
    pub fn write(&self, offset: usize, value: u32) {
        // SAFETY: as in `read`; memory that a device reaches is handed over by its driver first.
        unsafe { ptr::write_volatile(self.at(offset), value) }
    }

    /// Reads a register that may not be there: `None` if the bus answered with an error.
    pub fn probe(&self, offset: usize) -> Option<u32> {
        PROBE.store(ARMED, Ordering::SeqCst);
        let value = self.read(offset);
        dsb(SY); // the read is complete, or its SError is pending
        isb(SY); // which is taken here
        let outcome = PROBE.swap(IDLE, Ordering::SeqCst);
        (outcome == ARMED).then_some(value)
    }
}

const IDLE: u32 = 0;
const ARMED: u32 = 1;
const FAILED: u32 = 2;

/// State of the probe that is under way; the exception handler moves it from ARMED to FAILED.
static PROBE: AtomicU32 = AtomicU32::new(IDLE);

/// Called by the exception handler for a data abort or SError: true if a probe expected it, which
/// is told so; the handler then skips the access and resumes.
pub fn probe_failed() -> bool {
    PROBE.compare_exchange(ARMED, FAILED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}
