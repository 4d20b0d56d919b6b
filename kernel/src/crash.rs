//! Failing on purpose: the console's `crash`, to see on a board what the watchdog and the reports do.

use crate::board::uart::{self, Console};
use crate::board::watchdog;
use crate::commands::Crash;
use core::fmt::Write;

/// An address inside the 36-bit space at which the board has nothing that we map.
const UNMAPPED: usize = 0xf_0000_0000;

/// Fails as asked; returns only if it cannot.
pub fn crash(kind: Crash) {
    if kind == Crash::Wedge && !watchdog::watching() {
        let _ = writeln!(Console, "the main loop is not watched on this machine: nothing would end it");
        return;
    }
    let _ = writeln!(Console, "failing on purpose: {kind:?}");
    uart::flush();
    match kind {
        Crash::Panic => panic!("asked for on the console"),
        Crash::Wedge => loop {
            aarch64_cpu::asm::wfe();
        },
        Crash::Abort => abort(),
        Crash::Watcher => {} // the port's
        Crash::Heap => {
            let mut hoard = alloc::vec::Vec::new();
            loop {
                hoard.push(alloc::vec![0xa5u8; 64 << 10]);
            }
        }
    }
}

/// Reads where nothing is.
pub fn abort() {
    // SAFETY: nothing is mapped above 4 GiB (image, device tree, peripherals and the kept page are below), so this
    // reads nothing: the exception that it raises is what was asked for. Page 0 may hold the device tree.
    unsafe { (UNMAPPED as *const u64).read_volatile() };
}
