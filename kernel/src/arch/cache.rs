//! Data cache maintenance by address, for memory that devices read and write.
//!
//! Nothing on the BCM2711 snoops the Arm caches for GENET or the mailbox (no `dma-coherent` in
//! Linux's device tree; U-Boot, Circle and EDK2 all maintain by hand).

use aarch64_cpu::asm::barrier::{SY, dsb};
use core::arch::asm;

/// Smallest data cache line of a Cortex-A72, bytes. `init` refuses a core with a smaller one.
pub const LINE_BYTES: usize = 64;

/// Checks that every data cache line is at least [`LINE_BYTES`] long, which the loops below assume.
pub fn line_is_as_expected() -> bool {
    let ctr: u64;
    // SAFETY: reads an identification register; no effect on memory or flags.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) ctr, options(nomem, nostack, preserves_flags)) };
    4usize << ((ctr >> 16) & 15) == LINE_BYTES
}

macro_rules! by_line {
    ($name:ident, $operation:literal, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Works on whole lines: all of the lines that hold a byte of the range. Completed (DSB)
        /// when it returns.
        ///
        /// # Safety
        /// The range must be mapped. For invalidation, the lines must belong to the range alone
        /// (64-byte aligned buffers) and hold no store that anybody still needs.
        pub unsafe fn $name(start: usize, bytes: usize) {
            if bytes == 0 {
                return;
            }
            let end = start + bytes;
            let mut line = start & !(LINE_BYTES - 1);
            while line < end {
                // SAFETY: the line is mapped (caller's promise), so the operation cannot fault;
                // the memory clobber keeps the compiler from moving accesses across it.
                unsafe { asm!(concat!("dc ", $operation, ", {}"), in(reg) line, options(nostack, preserves_flags)) };
                line += LINE_BYTES;
            }
            dsb(SY);
        }
    };
}

by_line!(clean, "cvac", "Writes dirty lines back to memory, for a device to read.");
by_line!(invalidate, "ivac", "Drops lines, so that the next read sees what a device wrote.");
by_line!(clean_invalidate, "civac", "Writes dirty lines back and drops them, before a buffer is given to a device.");
