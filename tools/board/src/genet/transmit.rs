//! Transmit: TDMA rings, the FIFO behind them, the UniMAC transmitter.
//!
//! TDMA fetches one frame at a time into a FIFO of [`FIFO_BYTES`]; CONS_INDEX advances when a frame has been read.
//! Nothing is fetched while the transmitter cannot send, so a stalled CONS_INDEX means what drivers take it to mean:
//! PAUSE received, or a wrong RGMII clock. There is no TX timeout; MBDONE comes after THRESH frames or when the ring
//! runs empty (comments in Linux and NetBSD). Rings take turns: priorities, weights and rate limits are kept, not acted on.

use std::collections::VecDeque;

use super::intrl2::bit;
use super::mac::{
    CMD_HD_EN, CMD_LCL_LOOP, CMD_SW_RESET, CMD_TX_ADDR_INS, CMD_TX_EN, CONS_INDEX, CTRL, Mac, PROD_INDEX, RING_SIZE,
    SLOTS, THRESH, WORDS_A_SLOT, WRITE_PTR, ring_base,
};
use super::map::*;
use super::mib::{Bank, tx};
use super::{Arriving, LoopbackFault, PauseCount, RgmiiTiming, SlotRule};
use crate::env::Env;
use crate::link::{FCS_BYTES, GAP_BYTES, Link, MIN_BYTES, PREAMBLE_BYTES, Speed};
use crate::phy::Phy;

/// Room for frames between TDMA and the wire. Certainty C.
const FIFO_BYTES: usize = 4096;
/// Time for TDMA to fetch a frame: a start and a rate. Certainty C.
const FETCH_START_NS: u64 = 400;
const FETCH_BYTE_NS: u64 = 1;
/// Frames of these lengths hang TX on BCM2711 (raspberrypi/linux 4485, 5561).
const HANGING_BYTES: core::ops::RangeInclusive<usize> = 2049..=2093;

const EOP: u32 = 1 << 14;
const SOP: u32 = 1 << 13;
const APPEND_CRC: u32 = 1 << 6;
const DO_CHECKSUM: u32 = 1 << 4;
const STATUS_BYTES: usize = 64;

const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Fetch {
    ring: u32,
    descriptors: u32,
    done_at: u64,
}

#[derive(Debug, Default)]
struct Frame {
    bytes: Vec<u8>,
    bad_fcs: bool,
}

/// Transmitter state that no register shows.
#[derive(Debug)]
pub(crate) struct Transmit {
    /// Something changed that may let it move.
    pub(crate) kick_at: u64,
    /// Received PAUSE holds it until then.
    pub(crate) paused_until: u64,
    fetch: Option<Fetch>,
    fifo: VecDeque<Frame>,
    fifo_bytes: usize,
    wire_free_at: u64,
    /// A frame of a length that hangs the hardware was fetched.
    hung: bool,
    next_ring: u32,
    done: [u32; 17],
    next_at: u64,
    /// Buffers to use again.
    pub(crate) spare: Vec<Vec<u8>>,
}

impl Default for Transmit {
    fn default() -> Self {
        Transmit {
            kick_at: NEVER,
            paused_until: 0,
            fetch: None,
            fifo: VecDeque::new(),
            fifo_bytes: 0,
            wire_free_at: 0,
            hung: false,
            next_ring: 0,
            done: [0; 17],
            next_at: NEVER,
            spare: Vec::new(),
        }
    }
}

impl Transmit {
    /// When the transmitter has something to do.
    pub(crate) fn next_event(&self) -> u64 {
        self.kick_at.min(self.next_at)
    }
}

impl Mac {
    pub(crate) fn write_tdma_ring(&mut self, now: u64, offset: u32, value: u32, env: &mut Env<'_>) {
        let ring = (offset - TDMA - DMA_RINGS) / 0x40;
        let enabled = self.ring_enabled(TDMA, ring);
        match offset & 0x3F {
            // TDMA: 0x08 is the hardware's CONS_INDEX, 0x00 its READ_PTR.
            PROD_INDEX | WRITE_PTR | 0x04 if enabled => {}
            CONS_INDEX => {
                self.set(offset, value & 0xFFFF);
                let pending = (value as u16).wrapping_sub(self.reg(offset - 4) as u16);
                let count = self.reg(ring_base(TDMA, ring) + RING_SIZE) >> 16;
                if enabled && u32::from(pending) > count {
                    self.blame_once(1 << 4, now, env, || {
                        format!("TDMA_PROD_INDEX ring {ring} = {value:#06x}: {pending} frames in {count} descriptors")
                    });
                }
            }
            PROD_INDEX => self.set(offset, value & 0xFFFF),
            THRESH => self.set(offset, value & 0x1FF),
            _ => self.set(offset, value),
        }
        self.tx.kick_at = now;
    }

    /// Empties the FIFO; a hung transmitter recovers.
    pub(crate) fn flush_transmit(&mut self) {
        while let Some(frame) = self.tx.fifo.pop_front() {
            self.tx.spare.push(frame.bytes);
        }
        self.tx.fifo_bytes = 0;
        self.tx.fetch = None;
        self.tx.hung = false;
        self.tx.paused_until = 0;
    }

    /// Moves everything that can move at `now`.
    pub(crate) fn run_transmit(&mut self, now: u64, link: &mut Link, phy: &Phy, env: &mut Env<'_>) {
        self.tx.kick_at = NEVER;
        self.tx.next_at = NEVER;
        if self.tx.fetch.is_some_and(|fetch| fetch.done_at <= now) {
            self.finish_fetch(now, env);
        }
        let Some(speed) = self.can_send(now, phy, env) else { return };
        let held = now < self.tx.paused_until;
        self.start_on_wire(now, speed, held, link, phy);
        if !held && self.tx.fetch.is_none() && !self.tx.hung && self.engine_runs(now, TDMA) {
            self.start_fetch(now, env);
        }
        self.schedule(now);
    }

    fn schedule(&mut self, now: u64) {
        let mut next = self.tx.fetch.map_or(NEVER, |fetch| fetch.done_at);
        if self.pause.request.is_some() {
            next = next.min(self.tx.wire_free_at);
        }
        let work = !self.tx.fifo.is_empty() || self.any_ring_waits();
        if work {
            let free = self.tx.wire_free_at.max(self.tx.paused_until);
            if free > now {
                next = next.min(free);
            }
        }
        self.tx.next_at = next.max(now + 1);
        if next == NEVER {
            self.tx.next_at = NEVER;
        }
    }

    fn any_ring_waits(&self) -> bool {
        self.reg(TDMA + CTRL) & 1 != 0 && (0..=16).any(|ring| self.ring_waits(ring))
    }

    fn ring_waits(&self, ring: u32) -> bool {
        let base = ring_base(TDMA, ring);
        self.ring_enabled(TDMA, ring) && (self.reg(base + PROD_INDEX) ^ self.reg(base + CONS_INDEX)) & 0xFFFF != 0
    }

    /// The speed to send at, when the transmitter is on and its interface makes sense.
    fn can_send(&mut self, now: u64, phy: &Phy, env: &mut Env<'_>) -> Option<Speed> {
        let command = self.command();
        let flushing = self.reg(UMAC_TX_FLUSH) & 1 != 0 || self.reg(SYS_TBUF_FLUSH_CTRL) & 1 != 0;
        if self.umac_held() || command & CMD_SW_RESET != 0 || command & CMD_TX_EN == 0 || flushing {
            return None;
        }
        let speed = self.speed();
        let looped = command & CMD_LCL_LOOP != 0 || phy.loopback().is_some();
        if looped && self.cfg.faults.loopback == LoopbackFault::NoClock {
            return None;
        }
        if command & CMD_LCL_LOOP != 0 {
            return speed;
        }
        let clock = phy.loopback().or(phy.link().map(|link| link.speed));
        let sane = self.rgmii_ready() && clock.is_none_or(|clock| Some(clock) == speed);
        if sane {
            self.once &= !(1 << 5);
            return speed;
        }
        if self.any_ring_waits() {
            let (port, oob) = (self.reg(SYS_PORT_CTRL), self.reg(EXT_RGMII_OOB_CTRL));
            self.blame_once(1 << 5, now, env, || {
                format!(
                    "a frame waits but cannot leave: SYS_PORT_CTRL = {port:#x}, EXT_RGMII_OOB_CTRL = {oob:#010x}, \
                     UMAC_CMD = {command:#010x}, PHY clock {clock:?}"
                )
            });
        }
        None
    }

    fn start_fetch(&mut self, now: u64, env: &mut Env<'_>) {
        for _ in 0..17 {
            let ring = self.tx.next_ring;
            if self.ring_waits(ring) && self.start_fetch_from(now, ring, env) {
                return;
            }
            self.tx.next_ring = (ring + 1) % 17;
        }
    }

    /// Byte offset of the descriptor `ahead` of the ring's next.
    fn tx_descriptor(&self, ring: u32, ahead: u32) -> u32 {
        let base = ring_base(TDMA, ring);
        let (start, count) = (self.reg(base + 0x14), (self.reg(base + RING_SIZE) >> 16).max(1));
        let first = match self.cfg.switches.slots {
            SlotRule::Pointer => self.reg(base).wrapping_sub(start) / WORDS_A_SLOT,
            SlotRule::IndexModuloSize => self.reg(base + PROD_INDEX) & 0xFFFF,
        };
        let word = start + first.wrapping_add(ahead) % count * WORDS_A_SLOT;
        TDMA + word % (SLOTS * WORDS_A_SLOT) * 4
    }

    fn start_fetch_from(&mut self, now: u64, ring: u32, env: &mut Env<'_>) -> bool {
        let base = ring_base(TDMA, ring);
        let waiting = u32::from((self.reg(base + CONS_INDEX) as u16).wrapping_sub(self.reg(base + PROD_INDEX) as u16));
        let mut bytes = 0;
        for ahead in 0..waiting.min(SLOTS) {
            let word = self.reg(self.tx_descriptor(ring, ahead));
            bytes += (word >> 16 & 0xFFF) as usize;
            if word & EOP == 0 {
                continue;
            }
            if !self.tx.fifo.is_empty() && self.tx.fifo_bytes + bytes > FIFO_BYTES {
                return false;
            }
            let done_at = now + FETCH_START_NS + bytes as u64 * FETCH_BYTE_NS;
            self.tx.fetch = Some(Fetch { ring, descriptors: ahead + 1, done_at });
            self.tx.next_ring = (ring + 1) % 17;
            return true;
        }
        self.blame_once(1 << 6, now, env, || format!("TDMA ring {ring}: {waiting} descriptors without EOP"));
        false
    }

    fn finish_fetch(&mut self, now: u64, env: &mut Env<'_>) {
        let Some(fetch) = self.tx.fetch.take() else { return };
        let mut frame = Frame { bytes: self.tx.spare.pop().unwrap_or_default(), bad_fcs: false };
        frame.bytes.clear();
        let mut first_word = 0;
        let mut broken = false;
        for ahead in 0..fetch.descriptors {
            let at = self.tx_descriptor(fetch.ring, ahead);
            let word = self.reg(at);
            broken |= self.read_piece(now, fetch, ahead, at, &mut frame.bytes, env);
            if ahead == 0 {
                first_word = word;
            }
        }
        if first_word & APPEND_CRC == 0 {
            broken = true;
            self.blame_once(1 << 7, now, env, || {
                format!("TX descriptor word {first_word:#010x} has no append-CRC: the frame goes out without FCS")
            });
        }
        self.retire(fetch);
        if self.prepare(now, &mut frame, first_word, env) {
            frame.bad_fcs = broken;
            self.tx.fifo_bytes += frame.bytes.len();
            self.tx.fifo.push_back(frame);
        } else {
            self.tx.spare.push(frame.bytes);
        }
    }

    /// Reads one descriptor's bytes; true when something about it damages the frame.
    fn read_piece(&mut self, now: u64, f: Fetch, ahead: u32, at: u32, out: &mut Vec<u8>, env: &mut Env<'_>) -> bool {
        let word = self.reg(at);
        let length = (word >> 16 & 0xFFF) as usize;
        let address = u64::from(self.reg(at + 4)) | u64::from(self.reg(at + 8) & 0xFF) << 32;
        let from = out.len();
        out.resize(from + length, 0);
        let mut broken = false;
        if !env.mem.read(address, &mut out[from..]) {
            broken = true;
            self.raise_0(bit::SCB);
            self.blame_once(1 << 8, now, env, || format!("TX DMA of {length} bytes from {address:#x}: not memory"));
        }
        let starts = word & SOP != 0;
        let short_first = ahead == 0 && f.descriptors > 1 && length < MIN_BYTES;
        if starts != (ahead == 0) || length == 0 || short_first {
            broken = true;
            self.blame_once(1 << 9, now, env, || {
                format!(
                    "TX descriptor {} of {} of a frame is {word:#010x}: SOP, length or a first piece under 60 bytes",
                    ahead + 1,
                    f.descriptors
                )
            });
        }
        broken
    }

    /// Moves CONS_INDEX and READ_PTR past the frame and raises what is due.
    fn retire(&mut self, fetch: Fetch) {
        let ring = fetch.ring;
        let base = ring_base(TDMA, ring);
        let next = self.tx_descriptor(ring, fetch.descriptors);
        let cons = self.reg(base + PROD_INDEX).wrapping_add(fetch.descriptors) & 0xFFFF;
        self.set(base + PROD_INDEX, cons);
        self.set(base, (next - TDMA) / 4);
        if ring == 16 {
            self.raise_0(bit::TXDMA_PDONE | bit::TXDMA_BDONE);
        }
        let done = self.tx.done[ring as usize] + 1;
        let threshold = self.reg(base + THRESH);
        let empty = cons == self.reg(base + CONS_INDEX) & 0xFFFF;
        if (threshold != 0 && done >= threshold) || empty {
            self.tx.done[ring as usize] = 0;
            if ring == 16 { self.raise_0(bit::TXDMA_MBDONE) } else { self.raise_1(1 << ring) }
        } else {
            self.tx.done[ring as usize] = done;
        }
    }

    /// Turns what was fetched into what goes on the wire; false when nothing does.
    fn prepare(&mut self, now: u64, frame: &mut Frame, first_word: u32, env: &mut Env<'_>) -> bool {
        let bytes = &mut frame.bytes;
        if self.reg(TBUF_CTRL) & 1 != 0 {
            if bytes.len() < STATUS_BYTES {
                return false;
            }
            let info = u32::from_le_bytes([bytes[48], bytes[49], bytes[50], bytes[51]]);
            bytes.drain(..STATUS_BYTES);
            if first_word & DO_CHECKSUM != 0 && info >> 31 != 0 {
                store_checksum(bytes, (info >> 16 & 0x7FFF) as usize, (info & 0x7FFF) as usize);
            }
        }
        if HANGING_BYTES.contains(&bytes.len()) {
            self.tx.hung = true;
            let length = bytes.len();
            self.blame_once(1 << 10, now, env, || format!("a TX frame of {length} bytes hangs the transmitter"));
            return false;
        }
        if bytes.is_empty() {
            return false;
        }
        if bytes.len() as u64 + FCS_BYTES > u64::from(self.reg(UMAC_MAX_FRAME_LEN)) {
            self.count(tx::OVERSIZE);
            return false;
        }
        if bytes.len() < MIN_BYTES {
            bytes.resize(MIN_BYTES, 0);
        }
        if self.command() & CMD_TX_ADDR_INS != 0 {
            bytes[6..12].copy_from_slice(&self.own_address());
        }
        true
    }

    /// Puts the next frame on the wire if it is free: a PAUSE of the MAC's own first, then data unless held.
    fn start_on_wire(&mut self, now: u64, speed: Speed, held: bool, link: &mut Link, phy: &Phy) {
        if now < self.tx.wire_free_at {
            return;
        }
        let half = self.command() & CMD_HD_EN != 0;
        let carrier = link.carrier_until();
        if half && carrier > now && !self.tx.fifo.is_empty() {
            self.count(tx::DEFERRED);
            self.tx.wire_free_at = carrier;
            return;
        }
        if let Some(quanta) = self.take_pause_request(now, speed.quantum_ns()) {
            let frame = self.pause_frame(quanta);
            self.count(tx::PAUSE);
            self.count(tx::CONTROL);
            if self.cfg.switches.pause_count == PauseCount::Everywhere {
                self.count_frame(Bank::Tx, &frame, true);
            }
            self.send(now, speed, &frame, false, link, phy);
            return;
        }
        if held {
            return;
        }
        let Some(frame) = self.tx.fifo.pop_front() else { return };
        self.tx.fifo_bytes -= frame.bytes.len();
        self.stats.transmitted += 1;
        self.count_frame(Bank::Tx, &frame.bytes, !frame.bad_fcs);
        if frame.bad_fcs {
            self.count(tx::FCS);
        }
        self.send(now, speed, &frame.bytes, frame.bad_fcs, link, phy);
        self.tx.spare.push(frame.bytes);
    }

    fn send(&mut self, now: u64, speed: Speed, bytes: &[u8], bad_fcs: bool, link: &mut Link, phy: &Phy) {
        let sent = now + (PREAMBLE_BYTES + bytes.len() as u64 + FCS_BYTES) * speed.byte_ns();
        self.tx.wire_free_at = sent + GAP_BYTES * speed.byte_ns();
        let inside = self.command() & CMD_LCL_LOOP != 0;
        let through_pins = phy.loopback().filter(|_| !inside);
        if inside || through_pins.is_some() {
            if self.loopback_loses(inside) {
                return;
            }
            let fcs_error = bad_fcs || through_pins.is_some() && self.tx_clock_wrong(phy);
            let frame = Arriving { bytes: bytes.to_vec(), fcs_error, ..Arriving::default() };
            self.loopback.push_back((sent, through_pins, frame));
            return;
        }
        let spare = self.tx.spare.pop().unwrap_or_default();
        let skewed = bad_fcs || self.tx_clock_wrong(phy);
        link.transmit(now, bytes, skewed, spare);
        let (collisions, late) = link.take_board_collisions();
        self.count_collisions(collisions, late);
    }

    fn loopback_loses(&mut self, inside: bool) -> bool {
        match self.cfg.faults.loopback {
            LoopbackFault::None => false,
            LoopbackFault::MacSilent => inside,
            LoopbackFault::AllSilent | LoopbackFault::NoClock => true,
            LoopbackFault::Loses(share) => !self.stats.transmitted.is_multiple_of(u64::from(share.max(1))),
        }
    }

    pub(crate) fn count_collisions(&mut self, collisions: u32, late: u32) {
        if collisions + late != 0 {
            self.count_by(tx::COLLISIONS, collisions + late);
            self.count_by(tx::SINGLE_COLLISION, collisions);
            self.count_by(tx::LATE_COLLISION, late);
        }
    }

    /// With strict timing: exactly one of MAC (ID_MODE_DIS clear) and PHY must delay GTXCLK.
    fn tx_clock_wrong(&mut self, phy: &Phy) -> bool {
        let mac_delays = self.reg(EXT_RGMII_OOB_CTRL) & (1 << 16) == 0;
        self.cfg.switches.rgmii == RgmiiTiming::Strict && mac_delays == phy.delays().1 && self.rng.chance_ppm(200_000)
    }

    /// With strict timing: the PHY must delay RXC, the MAC cannot.
    pub(crate) fn rx_clock_wrong(&mut self, phy: &Phy) -> bool {
        self.cfg.switches.rgmii == RgmiiTiming::Strict && !phy.delays().0 && self.rng.chance_ppm(200_000)
    }
}

/// Stores the Internet checksum of everything from `start` at `at`, which holds the pseudo header's part.
fn store_checksum(bytes: &mut [u8], start: usize, at: usize) {
    let Some(summed) = bytes.get(start..) else { return };
    let mut sum = 0u32;
    for pair in summed.chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}
