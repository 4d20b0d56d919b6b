//! Starting another core: its word of the firmware's spin table, and what it needs before its caches are on.
//!
//! The stub lets cores 1 to 3 wait in WFE on a word each of page 0, read without caches (armstub8.S; Linux
//! smp_spin_table.c releases them the same way). One core can be started: there is one pair of stacks.

use crate::mmu;
use crate::page_table::{MapError, PAGE_BYTES, Rights};
use aarch64_cpu::asm::barrier::{SY, dsb};
use aarch64_cpu::registers::{MPIDR_EL1, Readable, TTBR0_EL1};
use core::arch::asm;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Word of core 0; eight bytes for each core.
const SPIN_TABLE: u64 = 0xd8;
/// Affinities 3 and 2 to 0 of MPIDR_EL1.
const AFFINITY: u64 = 0xff_00ff_ffff;

/// What the core reads with its caches off, in a line of its own. Order as in secondary.s.
#[repr(C, align(64))]
struct Handover {
    affinity: AtomicU64,
    ttbr0: AtomicU64,
}

#[unsafe(no_mangle)]
static boot_handover: Handover = Handover { affinity: AtomicU64::new(0), ttbr0: AtomicU64::new(0) };

static STARTED: AtomicBool = AtomicBool::new(false);
static ARRIVED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn boot_secondary_entry();
    fn kernel_secondary() -> !;
}

/// Why a core does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartError {
    /// The page with the spin table cannot be reached.
    Page(MapError),
    /// The core did not come in time: it may not be there, or be kept in reset. Should it come later, it waits for its
    /// first command for ever.
    NotThere,
    /// A core was started before.
    Again,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Page(error) => write!(f, "the spin table is out of reach: {error}"),
            StartError::NotThere => write!(f, "it does not come when released by the spin table"),
            StartError::Again => write!(f, "a core was started before"),
        }
    }
}

impl core::error::Error for StartError {}

/// Starts core `core` (1 to 3) in `kernel_secondary`, on its own stacks and under this core's map, and waits for it as long
/// as `patient` says.
///
/// # Errors
/// See [`StartError`].
///
/// # Safety
/// As [`mmu::extend`], and page 0 must be the board's firmware's: nobody may have put a program of his own there.
pub unsafe fn start(core: u8, mut patient: impl FnMut() -> bool) -> Result<(), StartError> {
    if STARTED.swap(true, Ordering::Relaxed) {
        return Err(StartError::Again);
    }
    let affinity = MPIDR_EL1.get() & AFFINITY & !0xff | u64::from(core);
    boot_handover.affinity.store(affinity, Ordering::Relaxed);
    boot_handover.ttbr0.store(TTBR0_EL1.get(), Ordering::Relaxed);
    // SAFETY: a line of this image's memory, mapped.
    unsafe { clean(&raw const boot_handover as u64) };
    // SAFETY: RAM on every Pi 4 (caller: it is the firmware's). `extend` refuses it if something else is mapped there.
    unsafe { mmu::extend(0, PAGE_BYTES, Rights::Data) }.map_err(StartError::Page)?;
    let word = SPIN_TABLE + 8 * u64::from(core);
    // SAFETY: just mapped, aligned, the stub's word for this purpose and nobody else's; volatile, because the reader is no
    // part of this program. The other words of its line are written back as they were, and only cores that nobody has
    // released read them. Cleaned after the store: the core that waits reads memory without caches.
    unsafe {
        (word as *mut u64).write_volatile(boot_secondary_entry as *const () as u64);
        clean(word);
        // A null pointer shall fault again.
        mmu::retract(0, PAGE_BYTES);
    }
    aarch64_cpu::asm::sev();
    while !ARRIVED.load(Ordering::Acquire) {
        if !patient() {
            return Err(StartError::NotThere);
        }
        core::hint::spin_loop();
    }
    Ok(())
}

/// Called by secondary.s with MMU and caches on.
#[unsafe(no_mangle)]
extern "C" fn boot_secondary_main() -> ! {
    ARRIVED.store(true, Ordering::Release);
    // SAFETY: provided by the kernel (this crate's contract); a core enters it once.
    unsafe { kernel_secondary() }
}

/// Cleans the line at `address` to memory, complete on return.
///
/// # Safety
/// It must be mapped.
unsafe fn clean(address: u64) {
    // SAFETY: mapped (caller), so it cannot fault; changes no value. The earlier store is ordered before it: same address.
    unsafe { asm!("dc civac, {}", in(reg) address, options(nostack, preserves_flags)) };
    dsb(SY);
}
