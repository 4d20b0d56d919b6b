//! Receive DMA: rings of descriptors, the two indices, the write pointer, the discard counter.
//!
//! Index and pointer are two separate states (AmiNetXDuo saw index 0xCDCD with the pointer at slot 63). While the
//! ring's bit in CTRL is set, writes to the hardware-owned index and to the pointer are ignored; the discard half of
//! PROD_INDEX always takes writes (the one reading that fits Linux, OpenBSD and U-Boot).

use super::intrl2::bit;
use super::mac::{
    CONS_INDEX, CTRL, END_ADDR, Mac, PROD_INDEX, RING_SIZE, SLOTS, START_ADDR, THRESH, WORDS_A_SLOT, WRITE_PTR,
    XON_XOFF, ring_base,
};
use super::map::{DMA_GLOBAL, DMA_RINGS, RBUF_PKT_RDY_THLD, RDMA};
use super::{DiscardEnd, SlotRule};
use crate::env::Env;

/// The length field of a descriptor has 12 bits.
const MAX_PIECE_BYTES: u32 = 4095;

const EOP: u32 = 1 << 14;
const SOP: u32 = 1 << 13;

/// A frame that waits for a descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    ring: u32,
    flags: u32,
    status: Option<u32>,
    bytes: Vec<u8>,
}

impl Mac {
    /// Free descriptors of `ring`, count - (PROD - CONS), as the hardware computes it; negative or above the count
    /// only when software wrote nonsense.
    pub(crate) fn free_descriptors(&self, ring: u32) -> i32 {
        let base = ring_base(RDMA, ring);
        let occupied = (self.reg(base + PROD_INDEX) as u16).wrapping_sub(self.reg(base + CONS_INDEX) as u16);
        (self.reg(base + RING_SIZE) >> 16) as i32 - i32::from(occupied)
    }

    pub(crate) fn write_rdma_ring(&mut self, now: u64, offset: u32, value: u32, env: &mut Env<'_>) {
        let ring = (offset - RDMA - DMA_RINGS) / 0x40;
        let enabled = self.ring_enabled(RDMA, ring);
        match offset & 0x3F {
            CONS_INDEX => {
                self.set(offset, value & 0xFFFF);
                if enabled && self.reg(RDMA + CTRL) & 1 != 0 {
                    self.check_consumer(now, ring, env);
                    self.release_held(now, ring, env);
                    self.watch_level(now, ring);
                }
                return;
            }
            PROD_INDEX if enabled => {
                let index = self.reg(offset) & 0xFFFF;
                self.set(offset, value & 0xFFFF_0000 | index);
            }
            WRITE_PTR | 0x04 if enabled => {}
            THRESH => self.set(offset, value & 0x1FF),
            _ => self.set(offset, value),
        }
        if matches!(offset & 0x3F, PROD_INDEX | RING_SIZE | XON_XOFF) {
            self.watch_level(now, ring);
        }
    }

    fn check_consumer(&mut self, now: u64, ring: u32, env: &mut Env<'_>) {
        let base = ring_base(RDMA, ring);
        let count = self.reg(base + RING_SIZE) >> 16;
        let (prod, cons) = (self.reg(base + PROD_INDEX) as u16, self.reg(base + CONS_INDEX) as u16);
        if u32::from(prod.wrapping_sub(cons)) > count {
            self.blame_once(1 << 0, now, env, || {
                format!("RDMA_CONS_INDEX ring {ring} = {cons:#06x} is not within {count} of PROD_INDEX {prod:#06x}")
            });
        }
    }

    /// Complains about a ring that cannot work, when it is enabled.
    pub(crate) fn check_ring(&mut self, now: u64, ring: u32, env: &mut Env<'_>) {
        let base = ring_base(RDMA, ring);
        let count = self.reg(base + RING_SIZE) >> 16;
        let (start, end) = (self.reg(base + START_ADDR), self.reg(base + END_ADDR));
        let last = start + count * WORDS_A_SLOT;
        if count == 0 || count > SLOTS || end >= SLOTS * WORDS_A_SLOT || end + 1 != last {
            env.blame(
                now,
                "genet",
                format!("RDMA ring {ring} enabled with {count} descriptors in words {start}..={end}"),
            );
        }
    }

    /// Byte offset in the window of the descriptor for the next frame of `ring`.
    fn next_descriptor(&self, ring: u32) -> u32 {
        let base = ring_base(RDMA, ring);
        let word = match self.cfg.switches.slots {
            SlotRule::Pointer => self.reg(base + WRITE_PTR),
            SlotRule::IndexModuloSize => {
                let count = (self.reg(base + RING_SIZE) >> 16).max(1);
                self.reg(base + START_ADDR) + (self.reg(base + PROD_INDEX) & 0xFFFF) % count * WORDS_A_SLOT
            }
        };
        RDMA + word % (SLOTS * WORDS_A_SLOT) * 4
    }

    fn advance(&mut self, ring: u32) {
        let base = ring_base(RDMA, ring);
        let next = self.reg(base + WRITE_PTR) + WORDS_A_SLOT;
        let wraps = next > self.reg(base + END_ADDR) || next >= SLOTS * WORDS_A_SLOT;
        self.set(base + WRITE_PTR, if wraps { self.reg(base + START_ADDR) } else { next });
        let prod = self.reg(base + PROD_INDEX);
        self.set(base + PROD_INDEX, prod & 0xFFFF_0000 | prod.wrapping_add(1) & 0xFFFF);
    }

    fn discard(&mut self, ring: u32) {
        self.stats.discarded += 1;
        let at = ring_base(RDMA, ring) + PROD_INDEX;
        let prod = self.reg(at);
        let discards = match self.cfg.switches.discards {
            DiscardEnd::Saturates => (prod >> 16).min(0xFFFE) + 1,
            DiscardEnd::Wraps => (prod >> 16).wrapping_add(1) & 0xFFFF,
        };
        self.set(at, discards << 16 | prod & 0xFFFF);
    }

    /// Writes what RBUF hands over (`rx_scratch`) to the ring's buffers. `flags` are bits 11:0 of the descriptor word.
    /// With `status` the descriptor word of each piece is that, whatever was written.
    pub(crate) fn deliver(&mut self, now: u64, ring: u32, flags: u32, status: Option<u32>, env: &mut Env<'_>) {
        let base = ring_base(RDMA, ring);
        let buffer = self.reg(base + RING_SIZE) & 0xFFFF;
        let piece = buffer.min(MAX_PIECE_BYTES).min((self.reg(RBUF_PKT_RDY_THLD) & 0xFF).max(1) * 16);
        if piece == 0 {
            self.blame_once(1 << 1, now, env, || format!("RDMA ring {ring} has buffers of 0 bytes"));
            return self.discard(ring);
        }
        let total = self.rx_scratch.len() as u32;
        let pieces = total.div_ceil(piece);
        let full = self.free_descriptors(ring) < pieces as i32;
        if self.cfg.ideal.patient && (full || !self.held.is_empty()) {
            self.held.push_back(Held { ring, flags, status, bytes: self.rx_scratch.clone() });
            return self.packet_refused(now, ring);
        }
        if full {
            self.discard(ring);
            return self.packet_refused(now, ring);
        }
        for index in 0..pieces {
            let from = index * piece;
            let to = (from + piece).min(total);
            let at = self.next_descriptor(ring);
            let address = u64::from(self.reg(at + 4)) | u64::from(self.reg(at + 8) & 0xFF) << 32;
            if !env.mem.write(address, &self.rx_scratch[from as usize..to as usize]) {
                self.raise_0(bit::SCB);
                let slot = (at - RDMA) / 12;
                self.blame_once(1 << 2, now, env, || {
                    format!(
                        "RX DMA of {} bytes to {address:#x} (ring {ring}, descriptor {slot}): not memory",
                        to - from
                    )
                });
            }
            let edges = if index == 0 { SOP } else { 0 } | if index + 1 == pieces { EOP } else { 0 };
            self.set(at, status.unwrap_or((to - from) << 16 | edges | flags));
            self.advance(ring);
            if ring == 16 {
                self.raise_0(bit::RXDMA_BDONE);
            }
        }
        self.stats.delivered += 1;
        self.packet_done(now, ring);
    }

    /// Frames that [`super::Ideal::patient`] kept take the descriptors that have become free.
    fn release_held(&mut self, now: u64, ring: u32, env: &mut Env<'_>) {
        if self.held.is_empty() || self.free_descriptors(ring) <= 0 {
            return;
        }
        let kept = std::mem::take(&mut self.held);
        for frame in kept {
            // Behind one that still waits, the others wait as well: `deliver` keeps their order.
            if frame.ring != ring {
                self.held.push_back(frame);
                continue;
            }
            self.rx_scratch.clear();
            self.rx_scratch.extend_from_slice(&frame.bytes);
            self.deliver(now, ring, frame.flags, frame.status, env);
        }
    }

    fn packet_done(&mut self, now: u64, ring: u32) {
        if ring == 16 {
            self.raise_0(bit::RXDMA_PDONE);
        }
        let threshold = if self.cfg.ideal.prompt { 1 } else { self.reg(ring_base(RDMA, ring) + THRESH) };
        let timeout = self.reg(RDMA + DMA_GLOBAL + 0x2C + 4 * ring);
        if self.rings[ring as usize].packet(now, threshold, timeout, &self.cfg.switches) {
            self.raise_mbdone(ring);
        }
        self.refresh_ring_deadline();
        self.watch_level(now, ring);
        self.arrived_below_xoff(now, ring);
    }

    fn packet_refused(&mut self, now: u64, ring: u32) {
        self.watch_level(now, ring);
        self.arrived_below_xoff(now, ring);
    }

    fn raise_mbdone(&mut self, ring: u32) {
        match ring {
            16 => self.raise_mbdone_16(),
            _ => self.raise_1(1 << (16 + ring)),
        }
    }

    fn raise_mbdone_16(&mut self) {
        self.mbdone_events = self.mbdone_events.wrapping_add(1);
        let every = self.cfg.faults.lost_mbdone_every;
        if every == 0 || !self.mbdone_events.is_multiple_of(every) {
            self.raise_0(bit::RXDMA_MBDONE);
        }
    }

    /// Raises the events of timers that are due.
    pub(crate) fn expire_rings(&mut self, now: u64) {
        for ring in 0..=16u32 {
            if self.rings[ring as usize].expire(now, &self.cfg.switches) {
                self.raise_mbdone(ring);
            }
        }
        self.refresh_ring_deadline();
    }

    pub(crate) fn refresh_ring_deadline(&mut self) {
        self.ring_deadline = self.rings.iter().map(|ring| ring.deadline()).min().unwrap_or(u64::MAX);
    }

    /// Software cleared the ring's MBDONE.
    pub(crate) fn coalesce_cleared(&mut self, ring: u32) {
        self.rings[ring as usize].cleared(&self.cfg.switches);
        self.refresh_ring_deadline();
    }
}
