//! Link, PAUSE and transmit, driver and PHY against the model of MAC, PHY, cable and partner.

mod common;

use board::genet::{Arriving, GenetConfig};
use board::link::{LinkConfig, Modes, ObeyPause, Partner, Speed as WireSpeed};
use common::{Bench, MS, START_NS, World, bench, frames, paced};
use genet::{LinkState, Pause, Posted, RxSettings, Speed};

const CMD: u32 = 0x808;
const RX_PAUSE_IGNORE: u32 = 1 << 8;
const TX_PAUSE_IGNORE: u32 = 1 << 28;

fn with_partner(partner: Partner, source: board::source::PacedSource) -> Bench {
    World::new(GenetConfig::default(), LinkConfig { partner, ..LinkConfig::default() }, source).start()
}

fn command(bench: &mut Bench) -> u32 {
    bench.model(|model, _, _| model.peek(CMD))
}

/// Frames cross in both directions.
fn assert_traffic(bench: &mut Bench, what: &str) {
    bench.world.source.borrow_mut().keep = true;
    let received = frames(&bench.receive_with_rescue(START_NS + 2_000 * MS));
    assert!(received.iter().copied().eq(0..20), "{what}: {received:?}");
    for n in 0..20 {
        assert!(bench.send(1_000, &[n; 14]), "{what}");
    }
    bench.pass(200 * MS);
    let sent: Vec<u8> = bench.world.source.borrow().received.iter().map(|(_, f)| f[0]).collect();
    assert!(sent.iter().copied().eq(0..20), "{what}: {sent:?}");
    assert_eq!(bench.findings(), [], "{what}");
}

#[test]
fn every_speed_and_duplex_that_a_partner_can_have() {
    for (modes, speed, full_duplex) in [
        (Modes::GIGABIT, Speed::Mbps1000, true),
        (Modes::T1000_HALF, Speed::Mbps1000, false),
        (Modes::FAST, Speed::Mbps100, true),
        (Modes::T100_HALF, Speed::Mbps100, false),
        (Modes::T10_FULL, Speed::Mbps10, true),
        (Modes::T10_HALF, Speed::Mbps10, false),
    ] {
        let mut bench = with_partner(Partner { modes, ..Partner::default() }, paced(20 * MS, 20));
        let what = format!("{modes:?}");
        assert_eq!((bench.link.up, bench.link.speed, bench.link.full_duplex), (true, speed, full_duplex), "{what}");
        assert_eq!((bench.link.pause_tx, bench.link.pause_rx), (full_duplex, full_duplex), "{what}");
        assert_traffic(&mut bench, &what);
        let stats = bench.model(|model, _, _| model.link().stats());
        assert_eq!((stats.partner_fcs_errors, stats.partner_late_collisions), (0, 0), "{what}");
    }
}

#[test]
fn a_partner_that_does_not_negotiate_is_met_at_half_duplex() {
    for forced in [(WireSpeed::Mbps100, true), (WireSpeed::Mbps100, false), (WireSpeed::Mbps10, false)] {
        let partner = Partner { autonegotiates: false, forced, ..Partner::default() };
        let bench = with_partner(partner, paced(MS, 0));
        let speed = if forced.0 == WireSpeed::Mbps100 { Speed::Mbps100 } else { Speed::Mbps10 };
        let expected = LinkState { up: true, speed, ..LinkState::default() };
        assert_eq!(bench.link, expected);
    }
}

#[test]
fn the_mac_obeys_and_sends_pause_as_negotiated() {
    // Partner's bits: 1 symmetric, 2 asymmetric. We offer both.
    for (pause_bits, send, obey) in [(0b00, false, false), (0b01, true, true), (0b10, false, true), (0b11, true, true)]
    {
        let mut bench = with_partner(Partner { pause_bits, ..Partner::default() }, paced(MS, 0));
        assert_eq!((bench.link.pause_tx, bench.link.pause_rx), (send, obey), "{pause_bits:#b}");
        let expected = if send { 0 } else { TX_PAUSE_IGNORE } | if obey { 0 } else { RX_PAUSE_IGNORE };
        assert_eq!(command(&mut bench) & (TX_PAUSE_IGNORE | RX_PAUSE_IGNORE), expected, "{pause_bits:#b}");
        let negotiated = bench.model(|model, _, _| model.link().mode().unwrap());
        let wire = (negotiated.speed == WireSpeed::Mbps1000, negotiated.full_duplex);
        assert_eq!(wire, (true, true));
    }
}

#[test]
fn eee_is_not_offered_and_both_ends_are_recorded() {
    let bench = with_partner(Partner { eee: 0x6, ..Partner::default() }, paced(MS, 0));
    let link = bench.link;
    assert_eq!((link.eee_advertised, link.eee_partner, link.eee_active), (0, 6, false));
}

#[test]
fn a_short_ring_asks_for_pause_only_where_it_may() {
    for (send, obeys) in [(true, true), (true, false), (false, true)] {
        let obeys_pause = if obeys { ObeyPause::Always } else { ObeyPause::Never };
        let mut bench = with_partner(Partner { obeys_pause, ..Partner::default() }, paced(20_000, 300));
        // Three descriptors are below XOFF at once, and asked for once: just before the source starts.
        bench.pass(START_NS - 5 * MS - bench.now());
        bench.apply(RxSettings {
            posted: Posted::Fixed(3),
            pause: Pause::Forced { send, obey: true },
            ..RxSettings::default()
        });
        let received = frames(&bench.receive_until(START_NS + 2_000 * MS));
        let stats = bench.model(|model, _, _| model.link().stats());
        let sent = bench.driver.counters().pause_sent();
        assert_eq!(sent > 0, send, "{sent} sent");
        assert_eq!(sent, stats.partner_pause_received);
        assert!(received.iter().copied().eq(0..300), "{}", received.len());
        let first_ns = bench.world.arrivals.borrow()[0] - START_NS;
        // 65535 quanta of 512 ns hold an obeying partner for 33.55 ms.
        assert_eq!(first_ns > 28 * MS, send && obeys, "{first_ns} ns");
    }
}

fn pause_frame(quanta: u16) -> Arriving {
    let mut bytes = vec![0x01, 0x80, 0xC2, 0, 0, 0x01, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0, 1];
    bytes.extend(quanta.to_be_bytes());
    bytes.resize(60, 0);
    Arriving { bytes, ..Arriving::default() }
}

#[test]
fn a_flood_of_pause_stops_sending_but_not_receiving() {
    let mut bench = bench(paced(100_000, 100));
    bench.world.source.borrow_mut().keep = true;
    bench.pass(START_NS - bench.now());
    let mut received = Vec::new();
    let mut sent = 0;
    for _ in 0..20 {
        bench.inject(&pause_frame(0xFFFF));
        for _ in 0..10 {
            sent += u64::from(bench.send(60, &[1; 14]));
        }
        let until = bench.now() + MS;
        received.extend(frames(&bench.receive_until(until)));
    }
    assert!(received.iter().copied().eq(0..100), "{}", received.len());
    assert_eq!(sent, 63, "buffers but one; then there is no room");
    assert_eq!(bench.world.source.borrow().received_frames, 0, "stopped");
    assert_eq!(bench.driver.counters().pause_received(), 20);
    bench.inject(&pause_frame(0));
    bench.pass(MS);
    assert_eq!(bench.world.source.borrow().received_frames, sent, "nothing lost");
    assert!(bench.send(60, &[1; 14]), "room again");
    assert_eq!(bench.driver.counters().tx_dropped, 0);
}

#[test]
fn a_mac_told_not_to_obey_sends_through_pause() {
    let mut bench = bench(paced(MS, 0));
    bench.apply(RxSettings { pause: Pause::Forced { send: true, obey: false }, ..RxSettings::default() });
    bench.inject(&pause_frame(0xFFFF));
    assert!(bench.send(60, &[1; 14]));
    bench.pass(MS);
    assert_eq!(bench.world.source.borrow().received_frames, 1);
}

#[test]
fn what_was_sent_is_what_arrives_padded_and_in_order() {
    let mut bench = bench(paced(MS, 0));
    bench.world.source.borrow_mut().keep = true;
    let lengths: Vec<usize> = (0..1_000).map(|n| 20 + (n * 37) % 1_495).collect();
    for (n, &bytes) in lengths.iter().enumerate() {
        let head = (n as u64).to_be_bytes();
        let mut tries = 0;
        while !bench.send(bytes, &head) {
            bench.pass(10_000);
            tries += 1;
            assert!(tries < 1_000, "nothing leaves");
        }
    }
    bench.pass(20 * MS);
    let source = bench.world.source.borrow();
    assert_eq!(source.received.len(), lengths.len());
    for (n, ((_, frame), &bytes)) in source.received.iter().zip(&lengths).enumerate() {
        assert_eq!(frame.len(), bytes.max(60));
        assert_eq!(frame[..8], (n as u64).to_be_bytes());
        assert!(frame[8..bytes].iter().all(|&b| b == 0xEE), "frame {n} was sent before the cache was cleaned");
        assert!(frame[bytes..].iter().all(|&b| b == 0), "padding of frame {n}");
    }
}

#[test]
fn a_cable_that_is_pulled_and_plugged_again() {
    let mut bench = bench(paced(MS, 100));
    let plug = |bench: &mut Bench, plugged| bench.model(|model, now, env| model.set_plugged(now, plugged, env));
    let received = frames(&bench.receive_until(START_NS + 20 * MS));
    assert_eq!(received.len(), 20);
    plug(&mut bench, false);
    bench.pass(MS);
    bench.poll_link();
    assert!(!bench.link.up);
    assert!(!bench.send(60, &[0; 14]), "no frame is queued for a link that may never come");
    assert_eq!(bench.model(|model, _, _| model.peek(0x08C)) & 0x10, 0, "RGMII_LINK");
    plug(&mut bench, true);
    for _ in 0..50 {
        bench.pass(100 * MS);
        bench.poll_link();
    }
    assert!(bench.link.up);
    assert!(bench.send(60, &[0; 14]));
    bench.pass(MS);
    assert_eq!(bench.world.source.borrow().received_frames, 1);
    bench.inject_good(100);
    let until = bench.now() + MS;
    assert_eq!(frames(&bench.receive_until(until)).len(), 1);
    assert_eq!(bench.findings(), []);
}

#[test]
fn a_link_that_flaps_between_two_looks_is_resolved_anew() {
    let mut bench = bench(paced(MS, 0));
    assert_eq!(bench.link.speed, Speed::Mbps1000);
    bench.model(|model, now, env| {
        model.change_partner(now, |link| link.partner.modes = Modes::FAST, env);
    });
    bench.pass(3_000 * MS);
    bench.poll_link();
    assert_eq!((bench.link.up, bench.link.speed), (true, Speed::Mbps100));
    assert_eq!(command(&mut bench) >> 2 & 3, 1);
}

#[test]
fn a_settled_link_costs_one_mdio_read_a_look() {
    let mut bench = bench(paced(MS, 0));
    let (_, before) = bench.accesses();
    for _ in 0..10 {
        bench.poll_link();
    }
    assert_eq!(bench.accesses().1 - before, 10);
}

#[test]
fn a_phy_that_vanishes_is_an_error_and_comes_back() {
    let mut bench = bench(paced(MS, 0));
    bench.model(|model, now, env| model.set_phy_present(now, false, env));
    let mut phy = bench.phy.unwrap();
    assert!(phy.poll_link(&mut bench.driver.mdio()).is_err());
    bench.model(|model, now, env| model.set_phy_present(now, true, env));
    bench.pass(4_000 * MS);
    bench.poll_link();
    assert!(phy.poll_link(&mut bench.driver.mdio()).is_ok());
}

#[test]
fn no_cable_is_no_link() {
    let link = LinkConfig { plugged: false, ..LinkConfig::default() };
    let mut bench = World::new(GenetConfig::default(), link, paced(MS, 0)).start();
    assert_eq!(bench.link, LinkState::default());
    assert!(!bench.send(60, &[0; 14]));
    assert_eq!(bench.findings(), []);
}

#[test]
fn wire_counters_agree_with_the_drivers() {
    let mut bench = bench(paced(20_000, 3_000));
    let received = frames(&bench.receive_until(START_NS + 100 * MS)).len() as u64;
    for _ in 0..50 {
        bench.send(1_514, &[0; 14]);
    }
    bench.pass(MS);
    let counters = bench.driver.counters();
    assert_eq!((counters.rx_frames, received), (3_000, 3_000));
    assert_eq!(counters.mib("rx_packets"), Some(3_000));
    assert_eq!(counters.mib("rx_bytes"), Some(3_000 * 1_518));
    assert_eq!(counters.mib("rx_1024_1518"), Some(3_000));
    assert_eq!((counters.mib("tx_packets"), counters.tx_frames), (Some(50), 50));
    assert_eq!(counters.mib("tx_bytes"), Some(50 * 1_518));
    let mut names = 0;
    counters.for_each_mib(|_, _| names += 1);
    assert_eq!(names, 62);
}
