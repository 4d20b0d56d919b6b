//! The receive ring: fixed buffers, batches, giving descriptors back.
//!
//! Owns the ring of RDMA that is in use, its 256 buffers and the counts of what came out of it. Buffer n belongs to descriptor n for
//! good, so a frame costs one descriptor read, no descriptor write and no allocation. Frames are counted by free
//! running 16-bit indices as the hardware's are. Giving back is one CONS_INDEX write for several frames.
//!
//! Hardware sees `PROD - CONS` occupied and the rest of 256 free. To post fewer than 256, CONS_INDEX is kept that much
//! behind (OpenBSD gets the same effect by writing 256 to PROD_INDEX): the hardware fills `posted` descriptors beyond
//! the last frame given back and then drops.

use crate::bring_up::{Start, index_of};
use crate::descriptor::{self, BUFFER_BYTES, FrameErrors, PAD_BYTES};
use crate::regs::rdma;
use crate::settings::{FrameStamp, Posted, RING_SIZE, RxRing};
use crate::{DmaMemory, Registers};
use core::ops::Range;

/// Frames between two CONS_INDEX writes at most.
const RELEASE_FRAMES: u16 = 16;
/// OpenBSD's clock tick (hz = 100), within which its ring grows once at most.
const GROWTH_TICK_NS: u64 = 10_000_000;
/// Linux clears the discard counter here, which matters if it stops at its end instead of wrapping (not known).
const DISCARDS_HIGH: u16 = 0xc000;
/// Lines of the cache.
const LINE_BYTES: usize = 64;

/// A PROD_INDEX that no ring of 256 can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexLost;

/// A ring of RDMA with the buffers.
pub(crate) struct RxQueue<D> {
    memory: D,
    /// Its registers.
    ring: rdma::Ring,
    /// Index of the frame to hand out next.
    next: u16,
    /// Frames from there on that are known to be there.
    available: u16,
    /// Index up to which descriptors were given back.
    released: u16,
    /// What CONS_INDEX should hold.
    cons_index: u16,
    /// Descriptors that the hardware may fill when all frames are given back.
    posted: u16,
    policy: Posted,
    /// Clock tick in which the ring grew last.
    grown_tick: u64,
    /// Slot minus index, modulo 256.
    slot_offset: u8,
    /// Two places where the next frame may be, until one has come.
    doubt: Option<Start>,
    stamp: FrameStamp,
    /// Index of the descriptor after a piece of a frame, where the frame goes on.
    goes_on_at: Option<u16>,
    /// The discard counter when it was read last.
    discards_seen: u16,
    /// It is so high that it is to be cleared.
    clear_due: bool,
    /// Since when the frame at this index has been seen waiting.
    waiting: Option<(u16, u64)>,
    pub discards: u64,
    /// Looks that found the discard counter at its end.
    pub discards_capped: u64,
    pub frames: u64,
    pub errors: FrameErrors,
}

impl<D: DmaMemory> RxQueue<D> {
    /// The ring over `memory`, which holds 256 buffers of 2048 bytes.
    pub(crate) fn new(memory: D) -> Self {
        RxQueue {
            memory,
            ring: rdma::Ring::at(RxRing::Ring16.number()),
            next: 0,
            available: 0,
            released: 0,
            cons_index: 0,
            posted: RING_SIZE,
            policy: Posted::Fixed(RING_SIZE),
            grown_tick: 0,
            slot_offset: 0,
            doubt: None,
            stamp: FrameStamp::default(),
            goes_on_at: None,
            discards_seen: 0,
            clear_due: false,
            waiting: None,
            discards: 0,
            discards_capped: 0,
            frames: 0,
            errors: FrameErrors::default(),
        }
    }

    /// Gives the buffers to the device for good: clean and out of the cache, addresses in all descriptors.
    pub(crate) fn attach_buffers<R: Registers>(&mut self, regs: &R) {
        let all = 0..BUFFER_BYTES * usize::from(RING_SIZE);
        self.memory.clean(all.clone());
        self.memory.invalidate(all);
        for slot in 0..=u8::MAX {
            let address = self.memory.bus_address() + BUFFER_BYTES as u64 * u64::from(slot);
            regs.write(rdma::descriptor(slot) + 4, address as u32);
            regs.write(rdma::descriptor(slot) + 8, (address >> 32) as u32);
        }
    }

    /// Leaves the ring so that it never asks for a PAUSE again, should levels count for a ring that is not enabled: no
    /// watermarks, and all of it is the device's.
    pub(crate) fn leave<R: Registers>(&self, regs: &R) {
        self.ring.xon_xoff_thresh().set(regs, 0);
        let prod = self.ring.prod_index().read(regs).read(rdma::PROD_INDEX::INDEX);
        self.ring.cons_index().set(regs, prod);
    }

    /// Sets `ring` up, from whatever state its registers are in, as the one to use. RDMA and all rings are disabled.
    pub(crate) fn start<R: Registers>(&mut self, regs: &R, ring: RxRing, policy: Posted) {
        self.ring = rdma::Ring::at(ring.number());
        self.ring.prod_index().set(regs, 0);
        self.ring.cons_index().set(regs, 0);
        let size =
            rdma::BUF_SIZE::DESCRIPTORS.val(RING_SIZE.into()) + rdma::BUF_SIZE::BUFFER_BYTES.val(BUFFER_BYTES as u32);
        self.ring.buf_size().write(regs, size);
        self.ring.set_words(regs, 0, 3 * u32::from(RING_SIZE) - 1);
        let prod = self.ring.prod_index().read(regs);
        let set_pointer = |word| self.ring.set_pointers(regs, word);
        let start = Start::settle(index_of(prod), set_pointer, || self.ring.write_ptr().get(regs));
        if start.is_ambiguous() {
            // A descriptor that the hardware fills will show.
            (0..=u8::MAX).for_each(|slot| regs.write(rdma::descriptor(slot), 0));
        }
        self.doubt = start.is_ambiguous().then_some(start);
        self.slot_offset = 0;
        self.next = start.index;
        self.released = start.index;
        self.available = 0;
        self.waiting = None;
        self.goes_on_at = None;
        self.clear_due = false;
        self.discards_seen = prod.read(rdma::PROD_INDEX::DISCARDS) as u16;
        self.set_policy(regs, policy);
    }

    /// Descriptors to post from now on. More than before takes effect at once, fewer needs [`Self::start`].
    pub(crate) fn set_policy<R: Registers>(&mut self, regs: &R, policy: Posted) {
        self.policy = policy;
        self.posted = policy.at_start();
        self.release(regs);
    }

    /// What is posted when all frames are given back.
    pub(crate) fn posted(&self) -> u16 {
        self.posted
    }

    /// How descriptors are posted.
    pub(crate) fn policy(&self) -> Posted {
        self.policy
    }

    /// Descriptors that CONS_INDEX, as read from the hardware, gives it beyond the last frame given back.
    pub(crate) fn posted_by(&self, cons_index: u16) -> u16 {
        cons_index.wrapping_add(RING_SIZE).wrapping_sub(self.released)
    }

    /// The registers of the ring in use.
    pub(crate) fn ring(&self) -> rdma::Ring {
        self.ring
    }

    /// Index of the frame to hand out next.
    #[inline]
    pub(crate) fn next_index(&self) -> u16 {
        self.next
    }

    /// When and how large: the frame handed out last.
    #[inline]
    pub(crate) fn stamp(&self) -> FrameStamp {
        self.stamp
    }

    /// Frames in the ring that were not handed out: one PROD_INDEX read. They stay where they are.
    #[inline]
    pub(crate) fn look<R: Registers>(&mut self, regs: &R) -> Result<u16, IndexLost> {
        let prod = self.ring.prod_index().read(regs);
        let discards = prod.read(rdma::PROD_INDEX::DISCARDS) as u16;
        if discards != self.discards_seen {
            self.count_discards(discards);
        }
        let count = index_of(prod).wrapping_sub(self.next);
        if count > RING_SIZE {
            return Err(IndexLost);
        }
        if count > 0 && self.doubt.is_some() {
            self.settle_doubt(regs);
        }
        Ok(count)
    }

    /// Makes `count` frames, that [`Self::look`] saw, the batch to hand out, and names its interrupt.
    #[inline]
    pub(crate) fn open_batch(&mut self, count: u16, irq_ns: u64) {
        self.available = count;
        self.stamp.irq_ns = irq_ns;
    }

    /// Reads the discard counter; the batch stays as it is.
    pub(crate) fn note_discards<R: Registers>(&mut self, regs: &R) {
        let discards = self.ring.prod_index().read(regs).read(rdma::PROD_INDEX::DISCARDS) as u16;
        if discards != self.discards_seen {
            self.count_discards(discards);
        }
    }

    /// The batch's next good frame: where in the memory it is. Frames handed out before are done with.
    #[inline]
    pub(crate) fn next_frame<R: Registers>(&mut self, regs: &R) -> Option<Range<usize>> {
        if self.next.wrapping_sub(self.released) >= self.release_every() {
            self.release(regs);
        }
        while self.available > 0 {
            let slot = (self.next as u8).wrapping_add(self.slot_offset);
            let word = regs.read(rdma::descriptor(slot));
            self.stamp.index = self.next;
            self.next = self.next.wrapping_add(1);
            self.available -= 1;
            let Some(bytes) = descriptor::received_bytes(word) else {
                self.refuse(word);
                continue;
            };
            let start = BUFFER_BYTES * usize::from(slot);
            self.memory.invalidate(start..start + bytes.next_multiple_of(LINE_BYTES));
            self.frames += 1;
            self.stamp.bytes = (bytes - PAD_BYTES) as u32;
            return Some(start + PAD_BYTES..start + bytes);
        }
        None
    }

    /// Counts the frame of a descriptor that holds no whole good one. A frame in several pieces counts once.
    #[cold]
    fn refuse(&mut self, word: u32) {
        let is_rest = self.goes_on_at.take() == Some(self.next.wrapping_sub(1)) && !descriptor::starts(word);
        if !is_rest {
            self.errors.count(word);
        }
        if (is_rest || descriptor::starts(word)) && !descriptor::ends(word) {
            self.goes_on_at = Some(self.next);
        }
    }

    /// A received frame's bytes.
    #[inline]
    pub(crate) fn bytes(&self, frame: Range<usize>) -> &[u8] {
        self.memory.bytes(frame)
    }

    /// Frames handed out are done with: gives their descriptors back, and grows the ring by OpenBSD's rule.
    #[inline]
    pub(crate) fn end_batch<R: Registers>(&mut self, regs: &R, now_ns: impl FnOnce() -> u64) {
        let taken = self.next.wrapping_sub(self.released);
        if let Posted::Growing { start } = self.policy {
            let left = self.posted.saturating_sub(taken);
            if left < start && self.posted < RING_SIZE {
                let tick = now_ns() / GROWTH_TICK_NS;
                if tick != self.grown_tick {
                    self.grown_tick = tick;
                    self.posted += 1;
                }
            }
        }
        if taken > 0 {
            self.release(regs);
        }
    }

    /// Frames that have been waiting in the ring, unannounced, for at least `limit_ns` of looks like this one.
    pub(crate) fn look_overdue<R: Registers>(
        &mut self,
        regs: &R,
        now_ns: u64,
        limit_ns: u64,
    ) -> Result<u16, IndexLost> {
        let count = self.look(regs)?;
        if count == 0 {
            self.waiting = None;
            return Ok(0);
        }
        match self.waiting {
            Some((next, since_ns)) if next == self.next => {
                if now_ns.saturating_sub(since_ns) >= limit_ns {
                    self.waiting = None;
                    return Ok(count);
                }
            }
            _ => self.waiting = Some((self.next, now_ns)),
        }
        Ok(0) // their interrupt is still to come
    }

    /// Frames between two writes of CONS_INDEX: few enough that the hardware never runs short for our laziness.
    #[inline]
    fn release_every(&self) -> u16 {
        match self.policy {
            Posted::Fixed(posted) => (posted / 4).clamp(1, RELEASE_FRAMES),
            Posted::Growing { .. } => u16::MAX,
        }
    }

    #[inline]
    fn release<R: Registers>(&mut self, regs: &R) {
        self.released = self.next;
        self.cons_index = self.released.wrapping_add(self.posted).wrapping_sub(RING_SIZE);
        self.ring.cons_index().set(regs, self.cons_index.into());
        if self.clear_due {
            self.clear_discards(regs);
        }
    }

    /// Clears the discard counter, as Linux does high up. Just after a release: there are free descriptors, so no
    /// discard can fall between the read and the write. The upper half takes writes at any time and the lower half
    /// does not while the ring runs. Should that be wrong, the next look says [`IndexLost`].
    #[cold]
    fn clear_discards<R: Registers>(&mut self, regs: &R) {
        self.clear_due = false;
        let prod_index = self.ring.prod_index();
        let read = || prod_index.read(regs).read(rdma::PROD_INDEX::DISCARDS) as u16;
        self.discards += u64::from(read().wrapping_sub(self.discards_seen));
        prod_index.set(regs, 0);
        self.discards_seen = read();
    }

    /// The discard counter moved.
    #[cold]
    fn count_discards(&mut self, discards: u16) {
        self.discards += u64::from(discards.wrapping_sub(self.discards_seen));
        self.discards_seen = discards;
        self.discards_capped += u64::from(discards == u16::MAX);
        self.clear_due = discards >= DISCARDS_HIGH;
    }

    /// Finds out where the first frame went: at the candidate that is filled and whose predecessor is not.
    #[cold]
    fn settle_doubt<R: Registers>(&mut self, regs: &R) {
        let Some(start) = self.doubt.take() else { return };
        let filled = |slot: u8| descriptor::filled(regs.read(rdma::descriptor(slot)));
        let first = |slot: u8| filled(slot) && !filled(slot.wrapping_sub(1));
        let slot = match (first(start.slot_by_index), first(start.slot_by_pointer)) {
            (true, _) => start.slot_by_index,
            (false, _) => start.slot_by_pointer,
        };
        self.slot_offset = slot.wrapping_sub(start.slot_by_index);
        log::warn!("first frame at index {:#x} went to slot {slot}", start.index);
    }
}
