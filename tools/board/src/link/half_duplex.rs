//! CSMA/CD, as far as a two-station link needs it: deferring, and the collisions of a duplex mismatch.
//!
//! Two half-duplex ends share the wire and defer to each other. When one end believes in full duplex it sends into the
//! other's frames: the half-duplex end sees a collision, stops, and tries again if it had sent less than 64 bytes, or
//! gives the frame up (late collision, IEEE 802.3 clause 4). Back-off is one to 2^n slots of 512 bit times.

use super::cable::Link;
use crate::phy::Resolved;

const SLOT_BYTES: u64 = 64;
const MAX_ATTEMPTS: u32 = 16;

impl Link {
    /// Tells whether the board's MAC works in half duplex.
    pub(crate) fn set_board_half(&mut self, half: bool) {
        self.board_half = half;
    }

    /// When the wire is next free for a half-duplex board.
    pub(crate) fn carrier_until(&self) -> u64 {
        self.to_board.back().map_or(0, |f| f.at)
    }

    /// (collisions, late collisions) that the board's MAC saw since the last call.
    pub(crate) fn take_board_collisions(&mut self) -> (u32, u32) {
        std::mem::take(&mut self.board_collisions)
    }

    /// A half-duplex partner waits for the board's frame to end.
    pub(super) fn defers(&mut self, now: u64, mode: Resolved) -> bool {
        let Some(until) = self.to_partner.back().map(|f| f.at) else { return false };
        if mode.partner_full_duplex || until <= now {
            return false;
        }
        self.free_at = self.free_at.max(until);
        true
    }

    /// The board sends at `start` whatever the partner does. True when this hit a half-duplex partner's frame: then
    /// neither frame arrives whole.
    pub(super) fn collide_with_partner(&mut self, start: u64, mode: Resolved) -> bool {
        if mode.partner_full_duplex || self.to_board.back().is_none_or(|f| f.at <= start) {
            return false;
        }
        let byte_ns = mode.speed.byte_ns();
        let Some(mut frame) = self.to_board.pop_back() else { return false };
        let sent_ns = start.saturating_sub(frame.start);
        if sent_ns < SLOT_BYTES * byte_ns && self.attempts < MAX_ATTEMPTS {
            self.attempts += 1;
            self.stats.partner_collisions += 1;
            let slots = 1 + self.rng.next_u64() % (1 << self.attempts.min(10));
            self.free_at = start + slots * SLOT_BYTES * byte_ns;
            self.requeue(frame.bytes);
            return true;
        }
        self.attempts = 0;
        self.stats.partner_late_collisions += 1;
        frame.bytes.truncate((sent_ns / byte_ns).max(SLOT_BYTES) as usize);
        frame.at = start + self.cfg.propagation_ns;
        frame.fcs_error = true;
        self.free_at = start + SLOT_BYTES * byte_ns;
        self.to_board.push_back(frame);
        true
    }

    /// The partner starts a frame at `start`: a half-duplex board that is sending sees a collision, and what it receives
    /// meanwhile is a fragment (802.3 clause 4: it jams, and does not receive while it transmits). True if so.
    pub(super) fn interrupt_board(&mut self, start: u64, mode: Resolved) -> bool {
        if !self.board_half || self.to_partner.back().is_none_or(|f| f.at <= start) {
            return false;
        }
        let Some(frame) = self.to_partner.back_mut() else { return false };
        let slot_ns = SLOT_BYTES * mode.speed.byte_ns();
        if start.saturating_sub(frame.start) < slot_ns {
            // The MAC tries again by itself; the frame comes late.
            self.board_collisions.0 += 1;
            frame.at += slot_ns + (self.free_at - start);
        } else {
            self.board_collisions.1 += 1;
            frame.fcs_error = true;
        }
        true
    }
}
