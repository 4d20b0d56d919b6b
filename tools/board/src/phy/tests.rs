use super::*;
use crate::link::Modes;

const AN_NS: u64 = 2_500_000_000;

fn phy(partner: &Partner) -> Phy {
    Phy::new(&PhyConfig::default(), Some(partner))
}

fn settle(phy: &mut Phy) {
    if let Some(due) = phy.next_event() {
        phy.run(due);
    }
}

#[test]
fn link_takes_its_time_and_shows_measured_values() {
    let mut phy = phy(&Partner::default());
    assert_eq!(phy.read(0, 1), 0x7949);
    assert_eq!(phy.next_event(), Some(AN_NS));
    assert!(!phy.run(AN_NS - 1));
    assert!(phy.run(AN_NS));
    assert_eq!(phy.read(AN_NS, 1), 0x7969, "latched low once");
    assert_eq!(phy.read(AN_NS, 1), 0x796D);
    assert_eq!(phy.read(AN_NS, 5), 0xCDE1);
    assert_eq!(phy.read(AN_NS, 6), 0x6D | 2);
    assert_eq!(phy.read(AN_NS, 6), 0x6D);
    assert_eq!(phy.read(AN_NS, 0x19) >> 8 & 7, 7);
    assert_eq!(phy.link().unwrap().speed, Speed::Mbps1000);
}

#[test]
fn link_latches_low() {
    let partner = Partner::default();
    let mut phy = phy(&partner);
    settle(&mut phy);
    phy.read(0, 1);
    assert_eq!(phy.read(0, 1) & 4, 4);
    phy.set_partner(AN_NS + 1, None);
    phy.set_partner(AN_NS + 2, Some(&partner));
    settle(&mut phy);
    assert_eq!(phy.read(0, 1) & 4, 0);
    assert_eq!(phy.read(0, 1) & 4, 4);
}

#[test]
fn forcing_our_end_leaves_the_partner_in_half_duplex() {
    let mut phy = phy(&Partner::default());
    settle(&mut phy);
    phy.write(3_000_000_000, 0, BMCR_SPEED_100 | BMCR_FULL);
    assert_eq!(phy.link(), None);
    settle(&mut phy);
    let link = phy.link().unwrap();
    assert_eq!((link.speed, link.full_duplex, link.partner_full_duplex), (Speed::Mbps100, true, false));
    assert!(!link.pause_tx && !link.pause_rx);
}

#[test]
fn a_forced_partner_is_detected_as_half_duplex() {
    let partner = Partner { autonegotiates: false, forced: (Speed::Mbps100, true), ..Partner::default() };
    let mut phy = phy(&partner);
    settle(&mut phy);
    let link = phy.link().unwrap();
    assert_eq!((link.speed, link.full_duplex, link.partner_full_duplex), (Speed::Mbps100, false, true));
    assert_eq!(phy.read(0, 5), 0x0080);
    assert_eq!(phy.read(0, 6), 0x04);
}

#[test]
fn gigabit_cannot_be_forced_and_no_common_mode_is_no_link() {
    let mut phy = phy(&Partner::default());
    settle(&mut phy);
    phy.write(3_000_000_000, 0, BMCR_SPEED_1000 | BMCR_FULL);
    assert_eq!((phy.link(), phy.next_event()), (None, None));

    let mut phy = super::Phy::new(&PhyConfig::default(), Some(&Partner { modes: Modes(0), ..Partner::default() }));
    settle(&mut phy);
    assert_eq!(phy.link(), None);
}

#[test]
fn pause_and_eee_follow_what_both_offer() {
    let mut phy = phy(&Partner { eee: 0x0006, ..Partner::default() });
    phy.write(0, 4, 0x0DE1);
    settle(&mut phy);
    let link = phy.link().unwrap();
    assert!(link.pause_tx && link.pause_rx && link.eee);
    // Advertise no EEE (MMD 7.60) and restart.
    for (register, value) in [(13, 7), (14, 60), (13, 0x4007), (14, 0)] {
        assert!(phy.write(AN_NS, register, value));
    }
    phy.write(AN_NS, 0, 0x1340);
    settle(&mut phy);
    assert!(!phy.link().unwrap().eee);
}

#[test]
fn reset_brings_the_shadows_back() {
    let mut phy = phy(&Partner::default());
    assert_eq!(phy.delays(), (true, true));
    phy.write(0, 0x1C, 0x8000 | 3 << 10);
    phy.write(0, 0x18, 0x8000 | 0x00E0 | 7);
    assert_eq!(phy.delays(), (false, false));
    phy.write(0, 0x18, 7 << 12 | 7);
    assert_eq!(phy.read(0, 0x18), 0x70E7);
    phy.write(0, 0, 0x8000);
    assert_eq!(phy.read(1, 0), 0x9140);
    assert_eq!(phy.read(RESET_NS, 0), 0x1140);
    assert_eq!(phy.delays(), (true, true));
    phy.write(0, 0x18, 7 << 12 | 7);
    assert_eq!(phy.read(0, 0x18), 0x71E7);
}

#[test]
fn an_absent_phy_is_silent() {
    let mut phy = super::Phy::new(&PhyConfig { present: false, ..PhyConfig::default() }, Some(&Partner::default()));
    settle(&mut phy);
    assert!(!phy.answers_at(1));
    assert_eq!(phy.link(), None);
}
