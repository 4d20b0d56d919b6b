//! Which heap bytes are alive, counted apart for the firmware's code and for everything else.
//!
//! Owns an allocator for the soak and its tests. Code runs as "the rest" (models, checks) unless it is inside
//! [`firmware`]; [`rest`] switches back. Counts hold for a thread: each side frees what it allocated itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Bytes alive and allocations made by one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Allocated and not freed, bytes.
    pub live_bytes: i64,
    /// Allocations so far.
    pub allocations: u64,
}

thread_local! {
    static IN_FIRMWARE: Cell<bool> = const { Cell::new(false) };
    static SIDES: [Cell<Side>; 2] = const { [const { Cell::new(Side { live_bytes: 0, allocations: 0 }) }; 2] };
}

/// Runs `work` as firmware.
#[inline]
pub fn firmware<T>(work: impl FnOnce() -> T) -> T {
    switched(true, work)
}

/// Runs `work` as what is not firmware.
#[inline]
pub fn rest<T>(work: impl FnOnce() -> T) -> T {
    switched(false, work)
}

fn switched<T>(firmware: bool, work: impl FnOnce() -> T) -> T {
    let before = IN_FIRMWARE.replace(firmware);
    let result = work();
    IN_FIRMWARE.set(before);
    result
}

/// What the firmware's code did on this thread.
pub fn of_firmware() -> Side {
    SIDES.with(|sides| sides[1].get())
}

/// What everything else did on this thread.
pub fn of_rest() -> Side {
    SIDES.with(|sides| sides[0].get())
}

/// The system's allocator, counting.
pub struct Counting;

fn count(bytes: i64, allocations: u64) {
    // At the very end of a thread there is nothing left to count for.
    let _ = SIDES.try_with(|sides| {
        let side = &sides[usize::from(IN_FIRMWARE.get())];
        let now = side.get();
        side.set(Side { live_bytes: now.live_bytes + bytes, allocations: now.allocations + allocations });
    });
}

// SAFETY: every call goes to `System` with the caller's arguments unchanged and returns its answer, so `System`'s
// guarantees are ours. Counting touches constant-initialised thread-locals without destructors: it never allocates.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64, 1);
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64), 0);
        // SAFETY: `pointer` came from `System` by way of this allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as i64 - layout.size() as i64, 1);
        // SAFETY: as for `dealloc`; the caller's promise about `new_size` is `System`'s.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
