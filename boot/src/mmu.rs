//! The map that the image runs under.
//!
//! Built before the MMU is on by `boot_build_page_tables`, which `boot.s` calls; grows later by
//! `extend` (the device tree, the spin-table page). Maps only what is known to exist: the image
//! itself and the peripheral window. Normal memory may be read speculatively, so RAM that nobody
//! needs stays unmapped.

#[cfg(target_os = "none")]
mod target {
    use crate::layout::layout;
    use crate::page_table::{MapError, Mapper, PAGE_BYTES, Rights, Table};
    use core::cell::UnsafeCell;

    /// Low-peripheral window of the BCM2711, 64 MiB below 4 GiB (Linux bcm2711.dtsi, Circle).
    const PERIPHERALS: (u64, u64) = (0xfc00_0000, 0x0400_0000);
    const TABLES: usize = 24;

    struct Pool {
        tables: UnsafeCell<[Table; TABLES]>,
        used: UnsafeCell<usize>,
    }

    // SAFETY: touched by boot_build_page_tables on the boot core before anything else runs, and by
    // `extend`, whose contract demands one caller at a time.
    unsafe impl Sync for Pool {}

    static POOL: Pool = Pool { tables: UnsafeCell::new([const { Table::EMPTY }; TABLES]), used: UnsafeCell::new(0) };

    /// Runs `f` on the pool as a mapper.
    ///
    /// # Safety
    /// Nobody else may be in this function at the same time.
    unsafe fn with_mapper<T>(f: impl FnOnce(&mut Mapper<'_>) -> T) -> T {
        // SAFETY: the caller guarantees that this is the only access; the statics live for ever.
        let (tables, used) = unsafe { (&mut *POOL.tables.get(), &mut *POOL.used.get()) };
        let pa = tables.as_ptr() as u64;
        let mut mapper = Mapper::new(tables, pa, *used);
        let result = f(&mut mapper);
        *used = mapper.used();
        result
    }

    /// Called once by `boot.s` with the MMU off; returns the value for TTBR0_EL1, or stops the
    /// core when the image lies where no map can be made (there is no console yet).
    #[unsafe(no_mangle)]
    extern "C" fn boot_build_page_tables() -> u64 {
        let parts = layout();
        let all = [
            (parts.text, Rights::Code),
            (parts.rodata, Rights::Constant),
            (parts.data, Rights::Data),
            (parts.stack, Rights::Data),
            (parts.exception_stack, Rights::Data),
            (parts.secondary_stack, Rights::Data),
            (parts.secondary_exception_stack, Rights::Data),
            (parts.uninit, Rights::Data),
        ];
        // SAFETY: the only core that runs, before interrupts exist.
        let mapped = unsafe {
            with_mapper(|map| {
                for (span, rights) in all {
                    map.map(span.start, span.bytes(), rights)?;
                }
                map.map(PERIPHERALS.0, PERIPHERALS.1, Rights::Device)
            })
        };
        if mapped.is_err() {
            loop {
                aarch64_cpu::asm::wfe();
            }
        }
        POOL.tables.get() as u64
    }

    /// Adds an identity-mapped range to the running map.
    ///
    /// # Errors
    /// As [`Mapper::map`].
    ///
    /// # Safety
    /// The range must exist as RAM (or devices, for [`Rights::Device`]), must not be in use by
    /// anybody with other attributes, and no other core or handler may call this at the same time.
    pub unsafe fn extend(start: u64, bytes: u64, rights: Rights) -> Result<(), MapError> {
        // SAFETY: single caller, by this function's own contract.
        let result = unsafe { with_mapper(|map| map.map(start, bytes, rights)) };
        // Invalid entries became valid: the walker must see the stores, and this core's later
        // accesses must come after that. No TLB entry can hold an invalid translation.
        aarch64_cpu::asm::barrier::dsb(aarch64_cpu::asm::barrier::ISHST);
        aarch64_cpu::asm::barrier::isb(aarch64_cpu::asm::barrier::SY);
        result
    }

    /// Takes pages out of the running map again, for all cores.
    ///
    /// # Safety
    /// Nobody may use the range any more, and as [`extend`].
    pub unsafe fn retract(start: u64, bytes: u64) {
        // SAFETY: single caller, by this function's own contract.
        unsafe {
            with_mapper(|map| map.unmap(start, bytes));
        }
        // The walkers of all cores must see the stores before translations are dropped, and the drop must be complete
        // before this core goes on (Arm ARM, D8 "TLB maintenance").
        aarch64_cpu::asm::barrier::dsb(aarch64_cpu::asm::barrier::ISHST);
        for page in (start..start + bytes).step_by(PAGE_BYTES as usize) {
            // SAFETY: drops translations only; those of ranges that are mapped are made again from the tables.
            unsafe { core::arch::asm!("tlbi vaae1is, {}", in(reg) page >> 12, options(nostack, preserves_flags)) };
        }
        aarch64_cpu::asm::barrier::dsb(aarch64_cpu::asm::barrier::ISH);
        aarch64_cpu::asm::barrier::isb(aarch64_cpu::asm::barrier::SY);
    }
}

#[cfg(target_os = "none")]
pub use target::{extend, retract};
