//! What two link partners settled on.
//!
//! Owns the resolution of speed, duplex (IEEE 802.3 clauses 28 and 40) and PAUSE (Annex 28B) from what both ends
//! advertise. Plain integers in, plain values out; no bus.

use crate::regs::{ANAR, ANLPAR, GIGABIT_CONTROL, GIGABIT_STATUS};
use tock_registers::LocalRegisterCopy;

/// Link speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// 10 Mbit/s.
    #[default]
    Mbps10,
    /// 100 Mbit/s.
    Mbps100,
    /// 1000 Mbit/s.
    Mbps1000,
}

impl Speed {
    /// The number on the box, Mbit/s.
    pub const fn mbps(self) -> u32 {
        match self {
            Speed::Mbps10 => 10,
            Speed::Mbps100 => 100,
            Speed::Mbps1000 => 1000,
        }
    }
}

/// The link as the PHY reports it. Without a link everything but `eee_advertised` is meaningless and zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// There is a link.
    pub up: bool,
    /// Its speed.
    pub speed: Speed,
    /// Both directions at once.
    pub full_duplex: bool,
    /// We may send PAUSE (Annex 28B).
    pub pause_tx: bool,
    /// We must obey PAUSE.
    pub pause_rx: bool,
    /// EEE modes we offer, MMD 7.60 (0x2 100BASE-TX, 0x4 1000BASE-T).
    pub eee_advertised: u16,
    /// EEE modes the partner offers, MMD 7.61.
    pub eee_partner: u16,
    /// Both offer EEE for the speed in use.
    pub eee_active: bool,
}

/// Modes from best to worst.
const MODES: [(Speed, bool); 6] = [
    (Speed::Mbps1000, true),
    (Speed::Mbps1000, false),
    (Speed::Mbps100, true),
    (Speed::Mbps100, false),
    (Speed::Mbps10, true),
    (Speed::Mbps10, false),
];

/// Both ends offer (speed, full duplex). `gigabit` is what registers 9 and 10 hold.
fn common((speed, full_duplex): (Speed, bool), anar: u16, anlpar: u16, gigabit: (u16, u16)) -> bool {
    let control = LocalRegisterCopy::<u16, GIGABIT_CONTROL::Register>::new(gigabit.0);
    let status = LocalRegisterCopy::<u16, GIGABIT_STATUS::Register>::new(gigabit.1);
    let both = LocalRegisterCopy::<u16, ANAR::Register>::new(anar & anlpar);
    match (speed, full_duplex) {
        (Speed::Mbps1000, true) => control.is_set(GIGABIT_CONTROL::FULL) && status.is_set(GIGABIT_STATUS::PARTNER_FULL),
        (Speed::Mbps1000, false) => {
            control.is_set(GIGABIT_CONTROL::HALF) && status.is_set(GIGABIT_STATUS::PARTNER_HALF)
        }
        (Speed::Mbps100, true) => both.is_set(ANAR::T100_FULL),
        (Speed::Mbps100, false) => both.is_set(ANAR::T100_HALF),
        (Speed::Mbps10, true) => both.is_set(ANAR::T10_FULL),
        (Speed::Mbps10, false) => both.is_set(ANAR::T10_HALF),
    }
}

/// Speed and full duplex that autonegotiation settled on, `None` if the two ends have nothing in common.
///
/// `gigabit` is what 1000BASE-T control and status (registers 9 and 10) hold.
pub fn resolve_mode(anar: u16, anlpar: u16, gigabit: (u16, u16)) -> Option<(Speed, bool)> {
    MODES.into_iter().find(|&mode| common(mode, anar, anlpar, gigabit))
}

/// Full duplex of the best common mode at `speed`, `None` if there is none.
pub(crate) fn common_at_speed(speed: Speed, anar: u16, anlpar: u16, gigabit: (u16, u16)) -> Option<bool> {
    MODES.into_iter().find(|&mode| mode.0 == speed && common(mode, anar, anlpar, gigabit)).map(|mode| mode.1)
}

/// May we send PAUSE, must we obey it: IEEE 802.3 table 28B-3. Only on a full-duplex link.
pub fn resolve_pause(anar: u16, anlpar: u16) -> (bool, bool) {
    let local = LocalRegisterCopy::<u16, ANAR::Register>::new(anar);
    let partner = LocalRegisterCopy::<u16, ANLPAR::Register>::new(anlpar);
    let ours = (local.is_set(ANAR::PAUSE), local.is_set(ANAR::ASYMMETRIC_PAUSE));
    let theirs = (partner.is_set(ANLPAR::PAUSE), partner.is_set(ANLPAR::ASYMMETRIC_PAUSE));
    match (ours, theirs) {
        ((true, _), (true, _)) => (true, true),
        ((false, true), (true, true)) => (true, false),
        ((true, true), (false, true)) => (false, true),
        _ => (false, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: u16 = 1 << 10;
    const ASYMMETRIC: u16 = 1 << 11;

    #[test]
    fn all_sixteen_rows_of_table_28b_3() {
        // (our pause, our asym, their pause, their asym) -> (send, obey)
        for bits in 0..16u16 {
            let (p, a, q, b) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0, bits & 8 != 0);
            let expected = if p && q {
                (true, true)
            } else if !p && a && q && b {
                (true, false)
            } else if p && a && !q && b {
                (false, true)
            } else {
                (false, false)
            };
            let word = |p: bool, a: bool| (u16::from(p) * PAUSE) | (u16::from(a) * ASYMMETRIC) | 0x01e1;
            assert_eq!(resolve_pause(word(p, a), word(q, b)), expected, "{p} {a} {q} {b}");
        }
    }

    #[test]
    fn the_best_common_mode_wins() {
        let all = 0x01e1;
        assert_eq!(resolve_mode(all, all, (0x0300, 0x0800)), Some((Speed::Mbps1000, true)));
        assert_eq!(resolve_mode(all, all, (0x0300, 0x0400)), Some((Speed::Mbps1000, false)));
        assert_eq!(resolve_mode(all, all, (0, 0x0c00)), Some((Speed::Mbps100, true)), "gigabit not offered by us");
        assert_eq!(resolve_mode(all, 0x00e1, (0x0300, 0)), Some((Speed::Mbps100, false)));
        assert_eq!(resolve_mode(all, 0x0061, (0x0300, 0)), Some((Speed::Mbps10, true)));
        assert_eq!(resolve_mode(all, 0x0021, (0x0300, 0)), Some((Speed::Mbps10, false)));
        assert_eq!(resolve_mode(0x0101, 0x0081, (0, 0)), None, "nothing in common");
    }
}
