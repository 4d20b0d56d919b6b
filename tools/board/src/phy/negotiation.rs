//! How a link comes about: both ends' abilities, time, parallel detection (IEEE 802.3 clause 28, Annex 28B, clause 40).

use super::{BMCR_LOOPBACK, BMCR_NEGOTIATE, BMCR_POWER_DOWN, Phy};
use crate::link::{Modes, Partner, Speed};

/// Where the link is.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// No link and none coming.
    Down,
    /// A link comes up at `until`.
    Negotiating { until: u64 },
    /// Link.
    Up(Resolved),
}

/// The result of negotiation, detection or forcing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Speed, the same at both ends.
    pub speed: Speed,
    /// Our PHY works in full duplex.
    pub full_duplex: bool,
    /// The partner works in full duplex; differs after forcing one end.
    pub partner_full_duplex: bool,
    /// Both ends exchanged pages.
    pub negotiated: bool,
    /// By negotiation we may send PAUSE (and the partner should obey).
    pub pause_tx: bool,
    /// By negotiation we should obey PAUSE.
    pub pause_rx: bool,
    /// EEE was agreed on for this speed.
    pub eee: bool,
}

/// IEEE 802.3 Table 28B-3. `bits`: 0 = PAUSE, 1 = ASM_DIR. Returns (we may send, we obey).
fn resolve_pause(local: u8, partner: u8) -> (bool, bool) {
    if local & partner & 1 != 0 {
        return (true, true);
    }
    match (local & 3, partner & 3) {
        (2, 3) => (true, false),
        (3, 2) => (false, true),
        _ => (false, false),
    }
}

/// Bits 8:5 of ANAR and the like as modes.
fn base_page_modes(page: u16) -> Modes {
    let mut modes = Modes(0);
    for (bit, mode) in [(5, Modes::T10_HALF), (6, Modes::T10_FULL), (7, Modes::T100_HALF), (8, Modes::T100_FULL)] {
        if page & (1 << bit) != 0 {
            modes = modes.or(mode);
        }
    }
    modes
}

fn base_page(modes: Modes) -> u16 {
    let mut page = 0;
    for (bit, mode) in [(5, Modes::T10_HALF), (6, Modes::T10_FULL), (7, Modes::T100_HALF), (8, Modes::T100_FULL)] {
        if modes.contains(mode) {
            page |= 1 << bit;
        }
    }
    page
}

const fn half_at(speed: Speed) -> Modes {
    match speed {
        Speed::Mbps10 => Modes::T10_HALF,
        Speed::Mbps100 => Modes::T100_HALF,
        Speed::Mbps1000 => Modes(0),
    }
}

impl Phy {
    /// Drops the link and starts over with what the registers say.
    pub(super) fn restart(&mut self, now: u64) {
        if self.link().is_some() {
            self.vendor.note_link_change();
        }
        self.link_lost = true;
        self.state = State::Down;
        let off = !self.cfg.present || self.bmcr & (BMCR_POWER_DOWN | BMCR_LOOPBACK) != 0;
        if off || self.outcome().is_none() {
            return;
        }
        let both_forced = self.bmcr & BMCR_NEGOTIATE == 0 && self.partner.as_ref().is_some_and(|p| !p.autonegotiates);
        let takes = if both_forced { self.cfg.negotiation_ns / 10 } else { self.cfg.negotiation_ns };
        self.state = State::Negotiating { until: now.max(self.reset_until) + takes };
    }

    /// Ends the negotiation under way with what the registers say now.
    pub(super) fn finish_now(&mut self) {
        if !matches!(self.state, State::Negotiating { .. }) {
            return;
        }
        self.state = match self.outcome() {
            Some(resolved) => {
                self.page_received = resolved.negotiated;
                self.vendor.note_link_change();
                State::Up(resolved)
            }
            None => State::Down,
        };
    }

    fn outcome(&self) -> Option<Resolved> {
        let partner = self.partner.as_ref().filter(|p| p.present)?;
        match (self.bmcr & BMCR_NEGOTIATE != 0, partner.autonegotiates) {
            (true, true) => self.negotiate(partner),
            (true, false) => {
                let (speed, full) = partner.forced;
                let detected = half_at(speed);
                (detected.0 != 0 && self.modes().contains(detected)).then(|| unnegotiated(speed, false, full))
            }
            (false, true) => {
                let speed = self.forced_speed();
                let detected = half_at(speed);
                (detected.0 != 0 && partner.modes.contains(detected))
                    .then(|| unnegotiated(speed, self.forced_full(), false))
            }
            // 1000BASE-T needs autonegotiation to choose a master (clause 40.5).
            (false, false) => {
                let speed = self.forced_speed();
                (speed == partner.forced.0 && speed != Speed::Mbps1000)
                    .then(|| unnegotiated(speed, self.forced_full(), partner.forced.1))
            }
        }
    }

    fn negotiate(&self, partner: &Partner) -> Option<Resolved> {
        let (speed, full_duplex) = self.modes().and(partner.modes).best()?;
        let (pause_tx, pause_rx) =
            if full_duplex { resolve_pause((self.anar >> 10) as u8 & 3, partner.pause_bits) } else { (false, false) };
        let eee_bit = match speed {
            Speed::Mbps1000 => 0x4,
            Speed::Mbps100 => 0x2,
            Speed::Mbps10 => 0,
        };
        let eee = full_duplex && self.mmd.eee_advertised & partner.eee & eee_bit != 0;
        Some(Resolved {
            speed,
            full_duplex,
            partner_full_duplex: full_duplex,
            negotiated: true,
            pause_tx,
            pause_rx,
            eee,
        })
    }

    fn modes(&self) -> Modes {
        let mut modes = base_page_modes(self.anar);
        if self.t1000_control & (1 << 9) != 0 {
            modes = modes.or(Modes::T1000_FULL);
        }
        if self.t1000_control & (1 << 8) != 0 {
            modes = modes.or(Modes::T1000_HALF);
        }
        modes
    }

    /// ANLPAR: what came in, or after parallel detection the one mode detected.
    pub(super) fn partner_abilities(&self) -> u16 {
        match (self.link(), &self.partner) {
            (Some(link), Some(partner)) if link.negotiated => {
                0xC001 | base_page(partner.modes) | (u16::from(partner.pause_bits & 3) << 10)
            }
            (Some(link), Some(_)) if self.bmcr & BMCR_NEGOTIATE != 0 => base_page(half_at(link.speed)),
            _ => 0,
        }
    }

    /// ANER: `0x6D` up, `0x04` down (measured); page received clears on read.
    pub(super) fn expansion(&mut self) -> u16 {
        let received = std::mem::take(&mut self.page_received);
        match self.link() {
            Some(link) if link.negotiated => 0x6D | if received { 1 << 1 } else { 0 },
            _ => 0x04,
        }
    }

    pub(super) fn t1000_status(&self) -> u16 {
        match (self.link(), &self.partner) {
            (Some(link), Some(partner)) if link.negotiated => {
                let full = if partner.modes.contains(Modes::T1000_FULL) { 1 << 11 } else { 0 };
                let half = if partner.modes.contains(Modes::T1000_HALF) { 1 << 10 } else { 0 };
                let receivers = if link.speed == Speed::Mbps1000 { 0x3000 } else { 0 };
                full | half | receivers
            }
            _ => 0,
        }
    }

    /// Register 0x19 (fields as in NetBSD, OpenBSD and FreeBSD brgphyreg.h; not measured on this PHY).
    pub(super) fn aux_status(&self) -> u16 {
        let Some(link) = self.link() else { return 0 };
        let result = match (link.speed, link.full_duplex) {
            (Speed::Mbps1000, true) => 7,
            (Speed::Mbps1000, false) => 6,
            (Speed::Mbps100, true) => 5,
            (Speed::Mbps100, false) => 3,
            (Speed::Mbps10, true) => 2,
            (Speed::Mbps10, false) => 1,
        };
        let done = if self.bmcr & BMCR_NEGOTIATE != 0 { 1 << 15 } else { 0 };
        let exchanged = if link.negotiated { (1 << 14) | (1 << 13) | (1 << 4) | (1 << 3) } else { 0 };
        let pause = u16::from(link.pause_rx) << 1 | u16::from(link.pause_tx);
        done | exchanged | result << 8 | 1 << 2 | pause
    }
}

const fn unnegotiated(speed: Speed, full_duplex: bool, partner_full_duplex: bool) -> Resolved {
    Resolved {
        speed,
        full_duplex,
        partner_full_duplex,
        negotiated: false,
        pause_tx: false,
        pause_rx: false,
        eee: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_resolution_is_table_28b_3() {
        // Rows: ours 00, 01 (PAUSE), 10 (ASM_DIR), 11; columns the partner's in the same order.
        let table = [
            [(false, false), (false, false), (false, false), (false, false)],
            [(false, false), (true, true), (false, false), (true, true)],
            [(false, false), (false, false), (false, false), (true, false)],
            [(false, false), (true, true), (false, true), (true, true)],
        ];
        for (ours, row) in table.iter().enumerate() {
            for (theirs, want) in row.iter().enumerate() {
                assert_eq!(resolve_pause(ours as u8, theirs as u8), *want, "{ours:02b} {theirs:02b}");
            }
        }
    }
}
