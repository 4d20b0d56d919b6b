//! Core 1: the loop that watches.

use super::note;
use super::orders::{FAIL, Orders, PARK, RUN};
use super::ring::Ring;
use super::tracker::Tracker;
use crate::arch::counter;
use crate::irq::GenetRegisters;
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use genet::Registers;

/// The core that watches.
pub const CORE: u8 = 1;
/// Events that wait for core 0: a full ring of 256 frames makes three each at most.
pub const EVENTS: usize = 1024;

/// Events on their way to core 0.
pub static RING: Ring<EVENTS> = Ring::new();
/// Events that the ring had no room for.
pub static LOST: AtomicU64 = AtomicU64::new(0);
/// What core 0 wants, and what this core does.
pub static ORDERS: Orders = Orders::new();

/// Offset of PROD_INDEX. What is watched is written by core 0 while this core is parked.
pub static PROD_INDEX: AtomicU32 = AtomicU32::new(0);
/// Offset of the interrupt latch.
pub static STATUS: AtomicU32 = AtomicU32::new(0);
/// Its receive bit.
pub static STATUS_BIT: AtomicU32 = AtomicU32::new(0);

/// Called by boot on core 1, with MMU and caches on.
#[unsafe(no_mangle)]
extern "C" fn kernel_secondary() -> ! {
    // Interrupts stay masked: none is for this core. A bus error shall show.
    // SAFETY: vectors are installed (secondary.s), and the handler knows which core it runs on.
    unsafe { core::arch::asm!("msr daifclr, #4", options(nostack, preserves_flags)) };
    let registers = GenetRegisters::new();
    loop {
        ORDERS.parked();
        while ORDERS.wanted() == PARK {
            aarch64_cpu::asm::wfe(); // may end for no reason
        }
        if ORDERS.wanted() == FAIL {
            crate::crash::abort();
        }
        ORDERS.running();
        watch(&registers);
    }
}

/// Stamps changes until it is parked. A device read a line, in turn; nothing else touches the bus.
fn watch(registers: &GenetRegisters) {
    let prod_index = PROD_INDEX.load(Ordering::Relaxed);
    let (status, bit) = (STATUS.load(Ordering::Relaxed), STATUS_BIT.load(Ordering::Relaxed));
    let read_index = || registers.read(prod_index) as u16;
    let read_latch = || registers.read(status) & bit != 0;
    let mut tracker = Tracker::new(RING.producer(), &LOST, counter::ticks(), read_index(), read_latch());
    while ORDERS.still_wanted() == RUN {
        tracker.index(read_index(), counter::ticks);
        tracker.latch(read_latch(), counter::ticks);
    }
}

/// Called by the exception handler: this is core 1.
pub fn is_here() -> bool {
    use aarch64_cpu::registers::{MPIDR_EL1, Readable};
    MPIDR_EL1.get() & 0xff == u64::from(CORE)
}

/// Core 1 cannot go on: leaves `what` to be told by core 0, and stops for good.
///
/// # Safety
/// On core 1 only.
pub unsafe fn fail(what: fmt::Arguments<'_>) -> ! {
    // SAFETY: handed on from the caller.
    unsafe { note::leave(what) };
    ORDERS.failed();
    loop {
        aarch64_cpu::asm::wfe();
    }
}
