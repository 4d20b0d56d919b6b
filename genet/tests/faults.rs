//! Hostile hardware, driver against model: every frame is delivered, or counted in its own class, or the failure has a
//! name; never a hang.

mod common;

use board::genet::{Arriving, DiscardEnd, Faults, GenetConfig, LongFrames, MdioFault, Pulses, Switches};
use board::link::{LinkConfig, Partner, PauseFlood};
use board::phy::PhyConfig;
use board::source::PacedSource;
use common::{Bench, MAC, MS, START_NS, World, bench, frames, paced};
use genet::{ApplyError, BringUpError, FrameErrors, Pause, Posted, RxSettings};
use phy::{Bcm54210e, PhyError};

/// A full-size frame on the wire at 1 Gbit/s, and a shortest one, ns.
const LINE_RATE_NS: u64 = 12_304;
const SHORTEST_NS: u64 = 672;

fn with_faults(faults: Faults, source: PacedSource) -> Bench {
    World::new(GenetConfig { faults, ..GenetConfig::default() }, LinkConfig::default(), source).start()
}

/// Without PAUSE, which would hold frames back instead of losing them.
fn unpaused(posted: u16) -> RxSettings {
    RxSettings {
        posted: Posted::Fixed(posted),
        pause: Pause::Forced { send: false, obey: true },
        ..RxSettings::default()
    }
}

fn a_frame(bytes: usize) -> Arriving {
    Arriving { bytes: PacedSource::new(0, 1, 1, bytes, MAC).frame(0), ..Arriving::default() }
}

/// Takes what is there; the number of good frames.
fn take(bench: &mut Bench) -> usize {
    let until = bench.now() + MS;
    frames(&bench.receive_until(until)).len()
}

fn errors(bench: &mut Bench) -> FrameErrors {
    bench.driver.counters().errors
}

#[test]
fn an_overrun_ring_with_damaged_frames_in_between_balances_to_the_frame() {
    for posted in [256, 16, 2] {
        let link = LinkConfig { to_board_fcs_ppm: 100_000, ..LinkConfig::default() };
        let mut bench = World::new(GenetConfig::default(), link, paced(LINE_RATE_NS, 20_000)).start();
        bench.apply(unpaused(posted));
        bench.pass(START_NS - bench.now());
        let mut received = Vec::new();
        // 406 frames come between two looks at 256 descriptors or fewer.
        while bench.now() < START_NS + 300 * MS {
            bench.pass(5 * MS);
            let now = bench.now();
            bench.driver.poll_receive(now);
            received.extend(bench.drain());
            bench.driver.end_batch();
        }
        let counters = bench.driver.counters().clone();
        assert!(received.is_sorted_by(|a, b| a < b), "each once, in order");
        assert!(counters.discards > 5_000 && counters.frame_errors > u64::from(posted) / 2, "{counters:?}");
        assert_eq!(counters.errors.crc, counters.frame_errors);
        assert_eq!(counters.rx_frames, received.len() as u64);
        assert_eq!(counters.rx_frames + counters.frame_errors + counters.discards, 20_000, "{posted} posted");
        assert_eq!(counters.discards_capped, 0);
        assert_eq!(bench.findings(), []);
    }
}

#[test]
fn the_discard_counter_is_exact_or_says_that_it_is_not() {
    // 200,000 shortest frames at line rate and one descriptor. Looks are so often that the 16 bits cannot go round
    // unseen, or so seldom that they do.
    for (end, look_every_ns, exact) in [
        (DiscardEnd::Saturates, 10 * MS, true),
        (DiscardEnd::Wraps, 10 * MS, true),
        (DiscardEnd::Saturates, 60 * MS, false),
    ] {
        let genet = GenetConfig { switches: Switches { discards: end, ..Switches::default() }, ..Default::default() };
        let source = PacedSource::new(START_NS, SHORTEST_NS, 200_000, 60, MAC);
        let mut bench = World::new(genet, LinkConfig::default(), source).start();
        bench.apply(unpaused(1));
        bench.pass(START_NS - bench.now());
        while bench.now() < START_NS + 200 * MS {
            bench.pass(look_every_ns);
            let now = bench.now();
            bench.driver.poll_receive(now);
            bench.drain();
            bench.driver.end_batch();
        }
        let counters = bench.driver.counters().clone();
        let lost = bench.model(|model, _, _| model.stats().discarded);
        let what = format!("{end:?}, a look every {look_every_ns} ns: {} of {lost}", counters.discards);
        assert_eq!(counters.discards == lost, exact, "{what}");
        assert_eq!(counters.discards_capped == 0, exact, "{what}");
        assert!(counters.discards <= lost, "{what}");
        assert_eq!(bench.findings(), []);
    }
}

#[test]
fn every_flaw_is_counted_in_its_own_class_and_takes_no_neighbour_with_it() {
    type Case = (&'static str, fn(&mut Arriving), fn(&FrameErrors) -> u64, &'static str);
    let cases: [Case; 6] = [
        ("fcs", |f| f.fcs_error = true, |e| e.crc, "rx_fcs"),
        // 802.3 counts an odd nibble with a wrong FCS; the descriptor has both bits, the first reason counts.
        ("alignment", |f| f.alignment_error = true, |e| e.crc, "rx_alignment"),
        ("code", |f| f.code_error = true, |e| e.receive, "rx_code"),
        ("overrun", |f| f.overrun = true, |e| e.overrun, ""),
        ("length field", |f| f.length_error = true, |e| e.receive, "rx_length"),
        ("overrun and fcs", |f| (f.overrun, f.fcs_error) = (true, true), |e| e.overrun, "rx_fcs"),
    ];
    for (name, break_it, class, mib) in cases {
        let mut bench = bench(paced(MS, 0));
        for _ in 0..300 {
            let mut frame = a_frame(200);
            break_it(&mut frame);
            bench.inject_good(200);
            bench.inject(&frame);
            bench.inject_good(200);
            assert_eq!(take(&mut bench), 2, "{name}");
        }
        let errors = errors(&mut bench);
        assert_eq!((class(&errors), errors.total()), (300, 300), "{name}: {errors}");
        if !mib.is_empty() {
            assert_eq!(bench.driver.counters().mib(mib), Some(300), "{name}");
        }
        assert_eq!(bench.findings(), [], "{name}");
    }
}

#[test]
fn descriptor_words_that_no_frame_has_are_counted_and_the_ring_stays_in_step() {
    type Case = (u32, fn(&FrameErrors) -> u64);
    const WHOLE: u32 = 0x6000;
    let cases: [Case; 10] = [
        (WHOLE, |e| e.length),                // no byte
        (15 << 16 | WHOLE, |e| e.length),     // less than a header
        (1539 << 16 | WHOLE, |e| e.length),   // longer than the MAC takes
        (2049 << 16 | WHOLE, |e| e.length),   // longer than the buffer
        (4095 << 16 | WHOLE, |e| e.length),   // longest that there is
        (202 << 16 | 0x2000, |e| e.fragment), // no end
        (202 << 16 | 0x4000, |e| e.fragment), // no start
        (202 << 16, |e| e.fragment),          // neither
        (0, |e| e.fragment),                  // never written
        (u32::MAX, |e| e.overrun),            // the bus answered for it
    ];
    for (word, class) in cases {
        let mut bench = bench(paced(MS, 0));
        for _ in 0..300 {
            bench.inject_good(200);
            bench.inject(&Arriving { status_word: Some(word), ..a_frame(200) });
            bench.inject(&Arriving { status_word: Some(word), ..a_frame(200) });
            bench.inject_good(200);
            assert_eq!(take(&mut bench), 2, "{word:#010x}");
        }
        let errors = errors(&mut bench);
        assert_eq!((class(&errors), errors.total()), (600, 600), "{word:#010x}: {errors}");
        assert_eq!((bench.driver.counters().ring_resets, bench.findings()), (0, vec![]), "{word:#010x}");
    }
}

#[test]
fn frames_longer_than_the_mac_takes_count_once_each_and_touch_nothing() {
    for long_frames in [LongFrames::Cut, LongFrames::InPieces] {
        let genet = GenetConfig { switches: Switches { long_frames, ..Switches::default() }, ..GenetConfig::default() };
        let mut bench = World::new(genet, LinkConfig::default(), paced(MS, 0)).start();
        let mut sent = 0;
        for round in 0..40 {
            for bytes in [1_533, 1_600, 2_044, 2_046, 2_047, 2_048, 4_092, 4_094, 6_000, 9_000, 9_212, 9_600] {
                bench.inject_good(1_514);
                bench.inject(&a_frame(bytes));
                bench.inject_good(60 + round);
                sent += 1;
                assert_eq!(take(&mut bench), 2, "{long_frames:?}, {bytes} bytes");
            }
        }
        let errors = errors(&mut bench);
        assert_eq!((errors.too_long, errors.total()), (sent, sent), "{long_frames:?}: {errors}");
        assert_eq!(bench.driver.counters().mib("rx_oversize"), Some(sent));
        assert_eq!(bench.findings(), []);
        // With one descriptor posted only what is cut fits.
        bench.apply(unpaused(1));
        bench.inject(&a_frame(9_000));
        assert_eq!(take(&mut bench), 0);
        let counters = bench.driver.counters().clone();
        let lost = if long_frames == LongFrames::Cut { (sent + 1, 0) } else { (sent, 1) };
        assert_eq!((counters.frame_errors, counters.discards), lost, "{long_frames:?}");
    }
}

#[test]
fn a_line_that_rises_without_a_cause_costs_interrupts_and_no_frame() {
    let pulses = Pulses { period_ns: 260_000, length_ns: 700 };
    let mut bench = bench(paced(100_000, 500));
    bench.receive_until(START_NS - 10 * MS);
    bench.model(|model, _, _| model.set_faults(Faults { irq0_pulses: Some(pulses), ..Faults::default() }));
    let received = frames(&bench.receive_until(START_NS + 60 * MS));
    assert!(received.iter().copied().eq(0..500), "{}", received.len());
    assert!((269..1_000).contains(&bench.stray.len()), "{} interrupts without a cause", bench.stray.len());
    assert_eq!(bench.driver.counters().rescues, 0);
    assert_eq!(bench.findings(), []);
}

#[test]
fn no_frame_waits_for_ever_when_events_are_lost() {
    for every in [1, 2, 3, 7, 100] {
        for (threshold, ticks) in [(1, 0), (10, 7), (1, 61), (10, 61)] {
            let faults = Faults { lost_mbdone_every: every, ..Faults::default() };
            let mut bench = with_faults(faults, paced(3 * MS, 203));
            bench.apply(RxSettings { threshold: Some(threshold), timeout_ticks: Some(ticks), ..RxSettings::default() });
            let batches = bench.receive_with_rescue(START_NS + 1_500 * MS);
            let what = format!("every {every}., threshold {threshold}, {ticks} ticks");
            assert!(frames(&batches).iter().copied().eq(0..203), "{what}");
            for batch in &batches {
                let waited_ns = batch.irq_ns - bench.world.arrivals.borrow()[batch.frames[0] as usize];
                assert!(waited_ns < 300 * MS, "{what}: frame {} waited {waited_ns} ns", batch.frames[0]);
            }
            let rescues = bench.driver.counters().rescues;
            assert!(rescues > 0 || every > 1, "{what}");
            assert_eq!(bench.findings(), [], "{what}");
        }
    }
}

#[test]
fn mdio_may_be_slow() {
    for (busy_ns, works) in [(25_600, true), (5 * MS, true), (9_900_000, true), (12 * MS, false)] {
        let genet = GenetConfig { mdio_busy_ns: busy_ns, ..GenetConfig::default() };
        let world = World::new(genet, LinkConfig::default(), paced(MS, 0));
        if works {
            let mut bench = world.start();
            assert!(bench.link.up, "{busy_ns} ns");
            assert_eq!(bench.findings(), []);
            bench.inject_good(100);
            assert_eq!(take(&mut bench), 1);
        } else {
            let mut driver = world.try_bring_up().unwrap();
            let error = Bcm54210e::find(&mut driver.mdio()).unwrap_err();
            assert_eq!(error.to_string(), "MDIO busy for 10000 us at PHY 1 register 0x01");
        }
    }
}

#[test]
fn a_bus_that_fails_later_leaves_the_link_as_it_was_and_the_frames_alone() {
    for (mdio, words) in [
        (MdioFault::Stuck, "MDIO busy for 10000 us at PHY 1 register 0x01"),
        (MdioFault::Fails, "no answer from PHY 1 register 0x01"),
        (MdioFault::AllOnes, "no answer from PHY 1 register 0x01"),
    ] {
        let mut bench = bench(paced(MS, 100));
        bench.model(|model, _, _| model.set_faults(Faults { mdio, ..Faults::default() }));
        let mut phy = bench.phy.take().unwrap();
        for _ in 0..3 {
            let error = phy.poll_link(&mut bench.driver.mdio()).unwrap_err();
            assert_eq!(error.to_string(), words, "{mdio:?}");
        }
        let received = frames(&bench.receive_until(START_NS + 200 * MS));
        assert!(received.iter().copied().eq(0..100), "{mdio:?}");
        if mdio != MdioFault::Stuck {
            bench.model(|model, _, _| model.set_faults(Faults::default()));
            assert!(phy.poll_link(&mut bench.driver.mdio()).unwrap().up, "{mdio:?}");
            assert_eq!(phy.losses(), 0, "a bus that failed is no link that was lost");
        }
        assert_eq!(bench.findings(), [], "{mdio:?}");
    }
}

#[test]
fn a_phy_is_found_at_every_address_and_another_one_is_named() {
    let find = |phy: PhyConfig, mdio| {
        let faults = Faults { mdio, ..Faults::default() };
        let genet = GenetConfig { phy, faults, ..GenetConfig::default() };
        let world = World::new(genet, LinkConfig::default(), paced(MS, 0));
        let mut driver = world.try_bring_up().unwrap();
        Bcm54210e::find(&mut driver.mdio())
    };
    for address in 0..32 {
        let found = find(PhyConfig { address, ..PhyConfig::default() }, MdioFault::None).unwrap();
        assert_eq!((found.address(), found.id()), (address, 0x600D_84A2));
        let other = find(PhyConfig { address, id: 0x0022_1622, ..PhyConfig::default() }, MdioFault::None);
        assert_eq!(other.unwrap_err(), PhyError::NotFound { other: Some((address, 0x0022_1622)) });
    }
    let absent = PhyConfig { present: false, ..PhyConfig::default() };
    assert_eq!(find(absent, MdioFault::None).unwrap_err(), PhyError::NotFound { other: None });
    assert_eq!(find(PhyConfig::default(), MdioFault::AllOnes).unwrap_err(), PhyError::NotFound { other: None });
}

#[test]
fn a_link_that_was_lost_between_two_looks_is_counted_though_it_is_back() {
    let mut bench = bench(paced(MS, 0));
    for lost in 1..4 {
        for plugged in [false, true] {
            bench.model(|model, now, env| model.set_plugged(now, plugged, env));
        }
        bench.pass(3_000 * MS);
        bench.poll_link();
        assert!(bench.link.up);
        assert_eq!(bench.phy.unwrap().losses(), lost);
        bench.poll_link();
    }
    assert_eq!(bench.phy.unwrap().losses(), 3);
}

#[test]
fn a_partner_that_sends_pause_without_end_stops_sending_and_nothing_else() {
    let flood = PauseFlood { from_ns: START_NS - MS, until_ns: START_NS + 150 * MS, interval_ns: MS, quanta: 0xFFFF };
    let partner = Partner { pause_flood: Some(flood), ..Partner::default() };
    let link = LinkConfig { partner, ..LinkConfig::default() };
    let mut bench = World::new(GenetConfig::default(), link, paced(100_000, 1_000)).start();
    bench.receive_until(START_NS - MS / 2);
    let mut sent = 0;
    while bench.send(60, &[1; 14]) {
        sent += 1;
    }
    assert_eq!(sent, 63, "buffers but one; then there is no room");
    let received = frames(&bench.receive_until(START_NS + 150 * MS));
    assert!(received.iter().copied().eq(0..1_000), "{}", received.len());
    assert!(!bench.send(60, &[1; 14]));
    assert_eq!(bench.world.source.borrow().received_frames, 0, "nothing leaves");
    let pauses = bench.driver.counters().pause_received();
    assert!((150..=151).contains(&pauses), "{pauses}");
    bench.pass(34 * MS); // 65535 quanta
    assert_eq!(bench.world.source.borrow().received_frames, sent, "all that waited leaves");
    assert_eq!(bench.findings(), []);
}

#[test]
fn an_engine_that_stops_late_or_never_fails_the_setting_and_receiving_goes_on() {
    for faults in
        [Faults { dma_stop_ns: 20 * MS, ..Faults::default() }, Faults { dma_never_stops: true, ..Faults::default() }]
    {
        let mut bench = with_faults(faults, paced(MS, 400));
        let first = frames(&bench.receive_until(START_NS + 50 * MS)).len();
        let failed = bench.driver.apply(&unpaused(16)).unwrap_err();
        assert_eq!(failed, ApplyError::DmaStuck { waited_us: 5_000 }, "{faults:?}");
        bench.pass(30 * MS); // it has stopped by now, if it ever does
        let second = frames(&bench.receive_with_rescue(START_NS + 200 * MS)).len();
        assert!(first == 50 && second > 100, "{faults:?}: {first}, then {second}");
        bench.model(|model, _, _| model.set_faults(Faults::default()));
        bench.apply(unpaused(16));
        let third = frames(&bench.receive_with_rescue(START_NS + 600 * MS));
        assert_eq!(third.last(), Some(&399), "{faults:?}");
        let stats = bench.model(|model, _, _| model.stats());
        let elsewhere = stats.receiver_off + stats.rbuf + stats.discarded + bench.driver.counters().flushed;
        assert_eq!((first + second + third.len()) as u64 + elsewhere, 400, "{faults:?}: {stats:?}");
        assert_eq!(bench.findings(), [], "{faults:?}");
    }
}

#[test]
fn another_generation_is_named_before_anything_is_written() {
    // Major numbers of GENET v1 to v4 and of none; v5 has 6.
    for major in (0..16).filter(|&major| major != 6) {
        let revision = major << 24 | 0x1234;
        let world = World::new(GenetConfig { revision, ..Default::default() }, LinkConfig::default(), paced(MS, 0));
        assert_eq!(world.try_bring_up().err(), Some(BringUpError::WrongRevision { found: revision }));
        assert_eq!(world.handle.0.borrow().writes, 0, "{revision:#x}");
    }
}
