//! Frames on the cable, and the partner's port: its queue, its reaction to PAUSE.

use std::collections::VecDeque;

use super::{LinkConfig, ObeyPause, PauseFlood, Peer};
use crate::phy::Resolved;
use crate::rng::SplitMix64;

/// Preamble and start-of-frame delimiter.
pub(crate) const PREAMBLE_BYTES: u64 = 8;
/// Frame check sequence.
pub(crate) const FCS_BYTES: u64 = 4;
/// Inter-packet gap.
pub(crate) const GAP_BYTES: u64 = 12;
/// Shortest frame without FCS.
pub(crate) const MIN_BYTES: usize = 60;

/// Idle time after which an EEE partner has put the wire to sleep. Certainty C.
const EEE_IDLE_NS: u64 = 100_000;
/// 1000BASE-T wake time (802.3 clause 78, from memory).
const EEE_WAKE_NS: u64 = 16_500;

/// Direction of a frame on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the partner to the board.
    ToBoard,
    /// From the board to the partner.
    FromBoard,
}

/// What happened on the cable, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Started by the partner.
    pub to_board: u64,
    /// Started by the board.
    pub from_board: u64,
    /// Dropped because the partner's queue was full.
    pub queue_drops: u64,
    /// Dropped because there was no link.
    pub no_link_drops: u64,
    /// Of these, frames for the board.
    pub no_link_to_board: u64,
    /// Lost on the way, by seed.
    pub lost_to_board: u64,
    /// Lost on the way, by seed.
    pub lost_from_board: u64,
    /// Arrived at the partner with a wrong FCS.
    pub partner_fcs_errors: u64,
    /// Arrived at the partner too short or too long.
    pub partner_length_errors: u64,
    /// PAUSE frames that the partner received.
    pub partner_pause_received: u64,
    /// Of these, those it obeyed.
    pub partner_pause_obeyed: u64,
    /// Collisions that the partner saw and retried after.
    pub partner_collisions: u64,
    /// Collisions after 64 bytes, its frame given up.
    pub partner_late_collisions: u64,
    /// Most bytes ever in the partner's queue.
    pub queue_peak_bytes: usize,
}

#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) start: u64,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) fcs_error: bool,
}

/// Gets (time in ns, direction, frame without FCS) when a frame starts from the board or arrives at it.
pub type Tap = Box<dyn FnMut(u64, Direction, &[u8])>;

/// The cable and the partner's port.
pub struct Link {
    pub(super) cfg: LinkConfig,
    pub(super) rng: SplitMix64,
    pub(super) mode: Option<Resolved>,
    plugged: bool,
    plug_events_done: usize,
    pub(super) queue: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    /// Earliest start of the partner's next frame: gap, back-off.
    pub(super) free_at: u64,
    paused_until: u64,
    /// Until when the board's PHY misses what comes after a bad wake from low-power idle.
    deaf_until: u64,
    /// When the partner's flood of PAUSE goes on.
    flood_at: u64,
    pub(super) to_board: VecDeque<InFlight>,
    pub(super) to_partner: VecDeque<InFlight>,
    pub(super) board_half: bool,
    pub(super) attempts: u32,
    pub(super) board_collisions: (u32, u32),
    pub(super) stats: LinkStats,
    tap: Option<Tap>,
}

impl Link {
    pub(crate) fn new(cfg: &LinkConfig) -> Self {
        Link {
            rng: SplitMix64::new(cfg.seed),
            mode: None,
            plugged: cfg.plugged,
            plug_events_done: 0,
            queue: VecDeque::new(),
            queued_bytes: 0,
            free_at: 0,
            paused_until: 0,
            deaf_until: 0,
            flood_at: cfg.partner.pause_flood.map_or(0, |flood| flood.from_ns),
            to_board: VecDeque::new(),
            to_partner: VecDeque::new(),
            board_half: false,
            attempts: 0,
            board_collisions: (0, 0),
            stats: LinkStats::default(),
            tap: None,
            cfg: cfg.clone(),
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// Frames for the board in the partner's queue and on the wire.
    pub fn under_way_to_board(&self) -> usize {
        self.queue.len() + self.to_board.len()
    }

    /// What the link runs at; `None` without link.
    pub fn mode(&self) -> Option<Resolved> {
        self.mode
    }

    /// Whether the partner stops for PAUSE.
    pub fn partner_obeys(&self) -> ObeyPause {
        self.cfg.partner.obeys_pause
    }

    /// Until when the partner holds its frames for a PAUSE; in the past when it does not.
    pub fn partner_paused_until(&self) -> u64 {
        self.paused_until
    }

    /// Shows every frame on the wire to `tap`.
    pub fn set_tap(&mut self, tap: Option<Tap>) {
        self.tap = tap;
    }

    /// Changes probabilities of loss and bit errors from now on.
    pub fn set_errors(&mut self, to_board_loss_ppm: u32, from_board_loss_ppm: u32, to_board_fcs_ppm: u32) {
        self.cfg.to_board_loss_ppm = to_board_loss_ppm;
        self.cfg.from_board_loss_ppm = from_board_loss_ppm;
        self.cfg.to_board_fcs_ppm = to_board_fcs_ppm;
    }

    /// Begins or ends a flood of PAUSE frames.
    pub fn set_pause_flood(&mut self, flood: Option<PauseFlood>) {
        self.cfg.partner.pause_flood = flood;
        self.flood_at = flood.map_or(0, |flood| flood.from_ns);
    }

    pub(crate) fn config(&self) -> &LinkConfig {
        &self.cfg
    }

    pub(crate) fn config_mut(&mut self) -> &mut LinkConfig {
        &mut self.cfg
    }

    pub(crate) fn plugged(&self) -> bool {
        self.plugged
    }

    pub(crate) fn set_plugged(&mut self, plugged: bool) {
        self.plugged = plugged;
    }

    pub(crate) fn next_plug_event(&self) -> Option<u64> {
        self.cfg.plug_events.get(self.plug_events_done).map(|(at, _)| *at)
    }

    /// Carries out the next plug event if it is due; true if it was.
    pub(crate) fn take_plug_event(&mut self, now: u64) -> bool {
        let Some((at, plugged)) = self.cfg.plug_events.get(self.plug_events_done).copied() else { return false };
        if at > now {
            return false;
        }
        self.plug_events_done += 1;
        self.plugged = plugged;
        true
    }

    /// The PHY's link changed. Whatever is under way is lost.
    pub(crate) fn set_mode(&mut self, now: u64, mode: Option<Resolved>) {
        if self.mode == mode {
            return;
        }
        let to_board = (self.queue.len() + self.to_board.len()) as u64;
        self.stats.no_link_drops += to_board + self.to_partner.len() as u64;
        self.stats.no_link_to_board += to_board;
        self.queue.clear();
        self.to_board.clear();
        self.to_partner.clear();
        self.queued_bytes = 0;
        self.free_at = now;
        self.paused_until = 0;
        self.attempts = 0;
        self.mode = mode;
    }

    /// Puts a frame that collided back to the head of the queue.
    pub(super) fn requeue(&mut self, frame: Vec<u8>) {
        self.queued_bytes += frame.len();
        self.queue.push_front(frame);
    }

    pub(crate) fn free_bytes(&self) -> usize {
        self.cfg.partner.queue_bytes.saturating_sub(self.queued_bytes)
    }

    /// A frame from the peer for the partner's output queue.
    pub(crate) fn offer(&mut self, frame: Vec<u8>) {
        if self.mode.is_none() {
            self.stats.no_link_drops += 1;
            self.stats.no_link_to_board += 1;
        } else if frame.len() > self.free_bytes() {
            self.stats.queue_drops += 1;
        } else {
            self.queued_bytes += frame.len();
            self.stats.queue_peak_bytes = self.stats.queue_peak_bytes.max(self.queued_bytes);
            self.queue.push_back(frame);
        }
    }

    /// When the cable or the port has something to do.
    pub(crate) fn next_event(&self) -> u64 {
        let start = if self.queue.is_empty() { u64::MAX } else { self.free_at.max(self.paused_until) };
        let board = self.to_board.front().map_or(u64::MAX, |f| f.at);
        let partner = self.to_partner.front().map_or(u64::MAX, |f| f.at);
        start.min(board).min(partner).min(self.next_flood())
    }

    fn next_flood(&self) -> u64 {
        match (self.cfg.partner.pause_flood, self.mode) {
            (Some(flood), Some(_)) if self.flood_at < flood.until_ns => self.flood_at.max(self.free_at),
            _ => u64::MAX,
        }
    }

    /// The partner's next PAUSE frame, if it is time.
    fn flood_due(&mut self, now: u64) -> Option<Vec<u8>> {
        let flood = self.cfg.partner.pause_flood?;
        if now < self.next_flood() {
            return None;
        }
        self.flood_at = now + flood.interval_ns.max(1);
        let mut frame = vec![0x01, 0x80, 0xC2, 0, 0, 0x01, 0x02, 0, 0, 0, 0, 0x07, 0x88, 0x08, 0x00, 0x01];
        frame.extend(flood.quanta.to_be_bytes());
        Some(frame)
    }

    /// Starts the partner's next frame if it is time; true when one left the queue.
    pub(crate) fn start_due(&mut self, now: u64) -> bool {
        let Some(mode) = self.mode else { return false };
        if now < self.free_at || self.defers(now, mode) {
            return false;
        }
        // A PAUSE frame is not held by a PAUSE (802.3 Annex 31B).
        let mut bytes = match self.flood_due(now) {
            Some(pause) => pause,
            None if now < self.paused_until => return false,
            None => {
                let Some(bytes) = self.queue.pop_front() else { return false };
                self.queued_bytes -= bytes.len();
                bytes
            }
        };
        // The partner's MAC pads short frames.
        if bytes.len() < MIN_BYTES {
            bytes.resize(MIN_BYTES, 0);
        }
        let asleep = mode.eee && now >= self.free_at + EEE_IDLE_NS;
        let start = if asleep { now + EEE_WAKE_NS } else { now };
        if asleep && self.rng.chance_ppm(self.cfg.partner.eee_bad_wakes_ppm) {
            self.deaf_until = start + self.cfg.partner.eee_early_ns;
        }
        let byte_ns = mode.speed.byte_ns();
        let long = bytes.len() as u64;
        let sent = start + (PREAMBLE_BYTES + long + FCS_BYTES) * byte_ns;
        self.free_at = sent + GAP_BYTES * byte_ns;
        self.stats.to_board += 1;
        let collided = self.interrupt_board(start, mode);
        if self.rng.chance_ppm(self.cfg.to_board_loss_ppm) {
            self.stats.lost_to_board += 1;
            return true;
        }
        if start < self.deaf_until {
            self.stats.lost_to_board += 1;
            return true;
        }
        let fcs_error = self.rng.chance_ppm(self.cfg.to_board_fcs_ppm) || collided;
        self.to_board.push_back(InFlight { start, at: sent + self.cfg.propagation_ns, bytes, fcs_error });
        true
    }

    /// The board starts a frame at `start`; `bytes` as on the wire, without FCS.
    pub(crate) fn transmit(&mut self, start: u64, bytes: &[u8], bad_fcs: bool, spare: Vec<u8>) {
        if let Some(tap) = &mut self.tap {
            tap(start, Direction::FromBoard, bytes);
        }
        let Some(mode) = self.mode else {
            self.stats.no_link_drops += 1;
            return;
        };
        self.stats.from_board += 1;
        let sent = start + (PREAMBLE_BYTES + bytes.len() as u64 + FCS_BYTES) * mode.speed.byte_ns();
        if self.collide_with_partner(start, mode) {
            self.stats.partner_length_errors += 1;
            return;
        }
        if self.rng.chance_ppm(self.cfg.from_board_loss_ppm) {
            self.stats.lost_from_board += 1;
            return;
        }
        let fcs_error = bad_fcs || self.rng.chance_ppm(self.cfg.from_board_fcs_ppm);
        let mut copy = spare;
        copy.clear();
        copy.extend_from_slice(bytes);
        self.to_partner.push_back(InFlight { start, at: sent + self.cfg.propagation_ns, bytes: copy, fcs_error });
    }

    /// The next frame that has reached the board.
    pub(crate) fn arrived_at_board(&mut self, now: u64) -> Option<InFlight> {
        if self.to_board.front()?.at > now {
            return None;
        }
        let frame = self.to_board.pop_front()?;
        if let Some(tap) = &mut self.tap {
            tap(frame.at, Direction::ToBoard, &frame.bytes);
        }
        Some(frame)
    }

    /// Delivers the next frame that has reached the partner; true when the peer got it. The buffer goes to `spare`.
    pub(crate) fn deliver_to_partner(&mut self, now: u64, peer: &mut dyn Peer, spare: &mut Vec<Vec<u8>>) -> bool {
        if self.to_partner.front().is_none_or(|f| f.at > now) {
            return false;
        }
        let Some(frame) = self.to_partner.pop_front() else { return false };
        let shown = self.partner_takes(&frame);
        if shown {
            peer.receive(frame.at, &frame.bytes);
        }
        spare.push(frame.bytes);
        shown
    }

    pub(crate) fn partner_frame_due(&self, now: u64) -> bool {
        self.to_partner.front().is_some_and(|f| f.at <= now)
    }

    fn partner_takes(&mut self, frame: &InFlight) -> bool {
        if frame.fcs_error {
            self.stats.partner_fcs_errors += 1;
            return false;
        }
        if frame.bytes.len() < MIN_BYTES {
            self.stats.partner_length_errors += 1;
            return false;
        }
        if let Some(quanta) = pause_quanta(&frame.bytes) {
            self.stats.partner_pause_received += 1;
            self.take_pause(frame.at, quanta);
            return false;
        }
        true
    }

    fn take_pause(&mut self, at: u64, quanta: u16) {
        let Some(mode) = self.mode else { return };
        let obeys = mode.partner_full_duplex
            && match self.cfg.partner.obeys_pause {
                ObeyPause::Never => false,
                ObeyPause::IfNegotiated => mode.pause_tx,
                ObeyPause::Always => true,
            };
        if obeys {
            self.stats.partner_pause_obeyed += 1;
            let effect = at + self.cfg.partner.pause_response_ns;
            self.paused_until = effect + u64::from(quanta) * mode.speed.quantum_ns();
        }
    }
}

/// The quanta of a PAUSE frame (802.3 Annex 31B), when `frame` is one.
pub(crate) fn pause_quanta(frame: &[u8]) -> Option<u16> {
    let is_pause =
        frame.len() >= 18 && frame[..6] == [0x01, 0x80, 0xC2, 0, 0, 0x01] && frame[12..16] == [0x88, 0x08, 0x00, 0x01];
    is_pause.then(|| u16::from_be_bytes([frame[16], frame[17]]))
}
