//! The transmit ring: fixed buffers, one descriptor a frame, lazy completion.
//!
//! Owns ring 16 of TDMA and its buffers. The ring has 256 descriptors whatever the number of buffers; descriptor n
//! always points at buffer n modulo that number, so a frame costs two writes: descriptor and doorbell. How far the
//! hardware has come is read only when buffers run out.

use crate::bring_up::{Start, index_of};
use crate::descriptor::{self, BUFFER_BYTES, MAX_FRAME_BYTES, MIN_FRAME_BYTES};
use crate::regs::{rdma, tdma};
use crate::settings::RING_SIZE;
use crate::{DmaMemory, Registers};

/// Ring 16 of TDMA with its buffers.
pub(crate) struct TxQueue<D> {
    memory: D,
    /// A power of two, at most 256.
    buffers: u16,
    /// Index of the next frame.
    producer: u16,
    /// Index up to which the hardware was known to be done.
    done: u16,
    /// Slot minus index, modulo 256.
    slot_offset: u8,
    pub frames: u64,
    pub dropped: u64,
}

impl<D: DmaMemory> TxQueue<D> {
    /// The ring over `memory`, which holds at least two buffers of 2048 bytes.
    pub(crate) fn new(memory: D) -> Self {
        let fit = (memory.len() / BUFFER_BYTES).clamp(1, RING_SIZE.into());
        let buffers = 1 << fit.ilog2();
        TxQueue { memory, buffers, producer: 0, done: 0, slot_offset: 0, frames: 0, dropped: 0 }
    }

    /// Sets the ring up from whatever state its registers are in. TDMA and the ring are disabled.
    pub(crate) fn start<R: Registers>(&mut self, regs: &R) {
        tdma::CONS_INDEX.set(regs, 0);
        tdma::PROD_INDEX.set(regs, 0);
        let size =
            rdma::BUF_SIZE::DESCRIPTORS.val(RING_SIZE.into()) + rdma::BUF_SIZE::BUFFER_BYTES.val(BUFFER_BYTES as u32);
        tdma::RING_BUF_SIZE.write(regs, size);
        tdma::START_ADDR.set(regs, 0);
        tdma::START_ADDR_HI.set(regs, 0);
        tdma::END_ADDR.set(regs, 3 * u32::from(RING_SIZE) - 1);
        tdma::END_ADDR_HI.set(regs, 0);
        tdma::MBUF_DONE_THRESH.set(regs, 1);
        tdma::FLOW_PERIOD.set(regs, 0);
        let set_pointer = |word| {
            tdma::READ_PTR.set(regs, word);
            tdma::READ_PTR_HI.set(regs, 0);
            tdma::WRITE_PTR.set(regs, word);
            tdma::WRITE_PTR_HI.set(regs, 0);
        };
        let index = index_of(tdma::CONS_INDEX.read(regs));
        let start = Start::settle(index, set_pointer, || tdma::READ_PTR.get(regs));
        // Should the two readings differ, the pointer is the one that was measured to decide (AmiNetXDuo).
        self.slot_offset = start.slot_by_pointer.wrapping_sub(start.slot_by_index);
        self.producer = start.index;
        self.done = start.index;
        tdma::PROD_INDEX.set(regs, start.index.into());
        for slot in 0..=u8::MAX {
            let buffer = usize::from(u16::from(slot) % self.buffers);
            let address = self.memory.bus_address() + (BUFFER_BYTES * buffer) as u64;
            regs.write(tdma::descriptor(slot) + 4, address as u32);
            regs.write(tdma::descriptor(slot) + 8, (address >> 32) as u32);
        }
    }

    /// Room for a frame. Looks at the hardware only if there seems to be none. One buffer stays free, so that there
    /// is always one to write into.
    #[inline]
    pub(crate) fn has_room<R: Registers>(&mut self, regs: &R) -> bool {
        let has_room = |queue: &Self| queue.producer.wrapping_sub(queue.done) < queue.buffers - 1;
        if has_room(self) {
            return true;
        }
        self.reap(regs);
        has_room(self)
    }

    #[cold]
    fn reap<R: Registers>(&mut self, regs: &R) {
        let done = index_of(tdma::CONS_INDEX.read(regs));
        // An index outside of what is in flight is no index.
        if self.producer.wrapping_sub(done) <= self.producer.wrapping_sub(self.done) {
            self.done = done;
        }
    }

    #[cfg(test)]
    pub(crate) fn memory(&self) -> &D {
        &self.memory
    }

    /// Frames given to the hardware that it was not known to have sent.
    pub(crate) fn in_flight(&self) -> u16 {
        self.producer.wrapping_sub(self.done)
    }

    /// Lets `fill` write a frame of `bytes` bytes and sends it. Without room it is dropped and counted.
    #[inline]
    pub(crate) fn send<R: Registers, T>(&mut self, regs: &R, bytes: usize, fill: impl FnOnce(&mut [u8]) -> T) -> T {
        let slot = (self.producer as u8).wrapping_add(self.slot_offset);
        let start = BUFFER_BYTES * usize::from(u16::from(slot) % self.buffers);
        let result = fill(self.memory.bytes_mut(start..start + bytes.min(BUFFER_BYTES)));
        if bytes > MAX_FRAME_BYTES || !self.has_room(regs) {
            self.dropped += 1;
            return result;
        }
        let sent = bytes.max(MIN_FRAME_BYTES);
        if sent > bytes {
            self.memory.bytes_mut(start + bytes..start + sent).fill(0);
        }
        self.memory.clean(start..start + sent);
        regs.write(tdma::descriptor(slot), descriptor::to_send(sent));
        self.producer = self.producer.wrapping_add(1);
        tdma::PROD_INDEX.set(regs, self.producer.into());
        self.frames += 1;
        result
    }
}
