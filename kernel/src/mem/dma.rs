//! Buffers that GENET and the VideoCore share with us.
//!
//! Cacheable memory with maintenance by hand: reading a payload from non-cacheable memory would
//! cost more than dropping its lines. All of it lies inside the image, which every loader puts
//! below 1 GiB, where each bus master of the board reaches it under its physical address.

use crate::arch::cache;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::slice;
use core::sync::atomic::{AtomicBool, Ordering};

/// Receive buffers: one of 2048 bytes for each of the 256 descriptors.
pub const RX_BYTES: usize = 256 * 2048;
/// Transmit buffers: one of 2048 bytes for each of the 256 descriptors, so that completion is asked for rarely.
pub const TX_BYTES: usize = 256 * 2048;
/// Mailbox message: one 4 KiB page is more than any tag list needs.
pub const MAILBOX_BYTES: usize = 4096;

#[repr(C, align(4096))]
struct Area<const N: usize> {
    bytes: UnsafeCell<MaybeUninit<[u8; N]>>,
    taken: AtomicBool,
}

// SAFETY: the bytes are reached only through the one DmaRegion that `take` makes.
unsafe impl<const N: usize> Sync for Area<N> {}

impl<const N: usize> Area<N> {
    const fn new() -> Self {
        Area { bytes: UnsafeCell::new(MaybeUninit::uninit()), taken: AtomicBool::new(false) }
    }

    fn take(&'static self) -> Option<DmaRegion> {
        if self.taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        let start = self.bytes.get().cast::<u8>();
        // SAFETY: first and only taker, so nobody else refers to the bytes. Zeroed here because
        // this memory is not cleared at boot and Rust may only read what was written.
        unsafe {
            start.write_bytes(0, N);
            cache::clean_invalidate(start as usize, N);
        }
        Some(DmaRegion { start, bytes: N })
    }
}

// The flag must start as false, so these are ordinary zeroed statics.
static RX: Area<RX_BYTES> = Area::new();
static TX: Area<TX_BYTES> = Area::new();
static MAILBOX: Area<MAILBOX_BYTES> = Area::new();

/// The receive buffers. `None` after the first call: they have one owner.
pub fn receive_buffers() -> Option<DmaRegion> {
    RX.take()
}

/// The transmit buffers. `None` after the first call.
pub fn transmit_buffers() -> Option<DmaRegion> {
    TX.take()
}

/// The mailbox message. `None` after the first call.
pub fn mailbox_buffer() -> Option<DmaRegion> {
    MAILBOX.take()
}

/// One piece of memory that a device reads or writes, with the maintenance it takes.
///
/// Which bytes belong to whom at a time is the driver's protocol (descriptor ownership); this type
/// makes them visible to the other side.
pub struct DmaRegion {
    start: *mut u8,
    bytes: usize,
}

impl DmaRegion {
    fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.bytes, "DMA range {range:?} of {}", self.bytes);
    }
}

impl genet::DmaMemory for DmaRegion {
    fn bus_address(&self) -> u64 {
        self.start as u64 // identity map, and GENET takes physical addresses
    }

    fn len(&self) -> usize {
        self.bytes
    }

    #[inline]
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.check(&range);
        // SAFETY: in bounds (checked), initialised (`take`), and owned by this region; a driver
        // reads only ranges whose descriptors the device has given back, so nothing writes them.
        unsafe { slice::from_raw_parts(self.start.add(range.start), range.len()) }
    }

    #[inline]
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.check(&range);
        // SAFETY: as in `bytes`; `&mut self` excludes every other reference.
        unsafe { slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }

    #[inline]
    fn clean(&mut self, range: Range<usize>) {
        self.check(&range);
        // SAFETY: mapped memory of this region.
        unsafe { cache::clean(self.start as usize + range.start, range.len()) };
    }

    #[inline]
    fn invalidate(&mut self, range: Range<usize>) {
        self.check(&range);
        // The index that announced the data was read from a device: the barrier keeps the
        // maintenance (and the reads after it) behind that read.
        aarch64_cpu::asm::barrier::dsb(aarch64_cpu::asm::barrier::SY);
        // SAFETY: mapped; buffers are multiples of 64 bytes at 64-byte borders, so the lines hold
        // nothing else, and receive buffers hold no store of ours after `take`.
        unsafe { cache::invalidate(self.start as usize + range.start, range.len()) };
    }
}
