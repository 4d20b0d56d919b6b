//! The page that outlives a reset, and the record in it.
//!
//! Where: 0x0b00_0000, the place that Raspberry Pi's own `ramoops` overlay gives Linux for crash logs by default
//! (raspberrypi/linux, overlays: base-addr), so the board's firmware is known to leave it alone across a reset. It lies
//! above any image (they end below 16 MiB from 0x200000), below the device tree that the firmware puts near 0x2f00_0000
//! and the VideoCore's memory, and outside what U-Boot loads to (up to 0x0540_0000) or runs in (the end of the bank); the
//! stub and its spin table are in page 0. Nobody promises it, so what lies there is believed only if its check sum
//! fits, and a page that the device tree reserves or that somebody else uses is left alone.
//!
//! The page is cacheable. Lines are dropped before the record is read (the caches may hold what was there before a
//! reset), and cleaned to memory after each change: a reset writes nothing back.

use crate::arch::cache;
use crate::arch::counter;
use crate::arch::interrupts::IrqLock;
use crate::kept::{Kept, RECORD_BYTES, State, Text};
use boot::layout::{Span, layout};
use boot::page_table::{PAGE_BYTES, Rights};
use core::fmt::{self, Write};

/// The page.
pub const PAGE: Span = Span { start: 0x0b00_0000, end: 0x0b00_0000 + PAGE_BYTES };

/// The record of this run; `None` until the page is ours.
static KEPT: IrqLock<Option<Kept>> = IrqLock::new(None);

/// Maps the page and returns what the program before the reset left there. `in_use` are ranges that others use.
/// Without a page nothing is kept, and everything else works.
///
/// # Safety
/// Must be called once, before interrupts are on; the page must be RAM.
pub unsafe fn open(in_use: &[Span]) -> Option<Kept> {
    if layout().image.overlaps(PAGE) || in_use.iter().any(|span| span.overlaps(PAGE)) {
        return None;
    }
    // SAFETY: RAM (caller) that nobody uses (checked); one core, interrupts off.
    unsafe { boot::mmu::extend(PAGE.start, PAGE.bytes(), Rights::Data) }.ok()?;
    let mut bytes = [0; RECORD_BYTES];
    // SAFETY: just mapped; the lines hold no store of this program. Read as plain bytes.
    unsafe {
        cache::invalidate(PAGE.start as usize, RECORD_BYTES);
        (PAGE.start as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), RECORD_BYTES);
    }
    let before = Kept::decode(&bytes);
    let watchdog_unfit = before.is_some_and(|kept| kept.watchdog_unfit || kept.state == State::Arming);
    KEPT.with(|kept| {
        *kept = Some(Kept { state: State::Running, watchdog_unfit, at_ns: counter::now_ns(), event: Text::default() });
    });
    before
}

/// Changes the record and brings it to memory.
fn update(kept: &mut Option<Kept>, change: impl FnOnce(&mut Kept)) {
    let Some(kept) = kept else { return };
    change(kept);
    let bytes = kept.encode();
    // SAFETY: the page is mapped and this module's alone (`open` made the record); the lock serialises writers.
    unsafe {
        (PAGE.start as *mut u8).copy_from_nonoverlapping(bytes.as_ptr(), RECORD_BYTES);
        cache::clean(PAGE.start as usize, RECORD_BYTES);
    }
}

fn text(event: fmt::Arguments<'_>) -> Text {
    let mut text = Text::default();
    let _ = text.write_fmt(event); // cuts, never fails
    text
}

/// Remembers what the program does now. Not for use inside a measuring window.
pub fn note(event: fmt::Arguments<'_>) {
    let (event, at_ns) = (text(event), counter::now_ns());
    KEPT.with(|kept| update(kept, |kept| (kept.event, kept.at_ns) = (event, at_ns)));
}

/// Remembers in which state the program is.
pub fn enter(state: State) {
    KEPT.with(|kept| update(kept, |kept| kept.state = state));
}

/// Remembers the first line of a fault report, whoever holds the record. True if the watchdog of this machine is unfit.
///
/// # Safety
/// No other core may run, and the interrupted program must never go on.
pub unsafe fn fault(event: fmt::Arguments<'_>) -> bool {
    let (event, at_ns) = (text(event), counter::now_ns());
    // SAFETY: handed on from the caller.
    unsafe {
        KEPT.seize(|kept| {
            update(kept, |kept| (kept.state, kept.event, kept.at_ns) = (State::Fault, event, at_ns));
            kept.is_some_and(|kept| kept.watchdog_unfit)
        })
    }
}

/// The watchdog of this machine resets at once, as an earlier start of it showed.
pub fn watchdog_unfit() -> bool {
    KEPT.with(|kept| kept.is_some_and(|kept| kept.watchdog_unfit))
}
