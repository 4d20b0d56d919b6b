//! The heap: a fixed block of the image's own memory.
//!
//! Handlers do not allocate; the lock masks interrupts all the same, so a mistake there is slow
//! and not a deadlock.

use crate::arch::interrupts::IrqLock;
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use linked_list_allocator::Heap;

/// Bytes of heap: receive windows of 16 flows at 256 KiB, and records.
pub const HEAP_BYTES: usize = 7 << 20;

#[repr(C, align(4096))]
struct Area(UnsafeCell<MaybeUninit<[u8; HEAP_BYTES]>>);

// SAFETY: only `init` takes its address, once; afterwards the allocator owns the bytes.
unsafe impl Sync for Area {}

#[unsafe(link_section = ".uninit.heap")]
static AREA: Area = Area(UnsafeCell::new(MaybeUninit::uninit()));

struct Allocator {
    heap: IrqLock<Heap>,
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator { heap: IrqLock::new(Heap::empty()) };

// SAFETY: Heap hands out disjoint, aligned blocks of AREA; the lock serialises all calls; a block
// is returned with the layout it was made with, as GlobalAlloc's callers promise.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.heap.with(|heap| heap.allocate_first_fit(layout).map_or(ptr::null_mut(), NonNull::as_ptr))
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(block) = NonNull::new(block) else { return };
        // SAFETY: `block` came from `alloc` with this layout (contract of GlobalAlloc).
        self.heap.with(|heap| unsafe { heap.deallocate(block, layout) });
    }
}

/// Gives the allocator its memory.
///
/// # Safety
/// Must be called once, before the first allocation.
pub unsafe fn init() {
    let start = AREA.0.get().cast::<u8>();
    // SAFETY: AREA is this allocator's alone, lives for ever, and is given away only here (caller).
    ALLOCATOR.heap.with(|heap| unsafe { heap.init(start, HEAP_BYTES) });
}

/// As [`used_bytes`], for a fault report.
///
/// # Safety
/// As [`IrqLock::seize`].
pub unsafe fn used_bytes_seized() -> usize {
    // SAFETY: handed on from the caller.
    unsafe { ALLOCATOR.heap.seize(|heap| heap.used()) }
}

/// Bytes handed out now.
pub fn used_bytes() -> usize {
    ALLOCATOR.heap.with(|heap| heap.used())
}
