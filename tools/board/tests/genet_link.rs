//! The cable and the partner's port: queue, loss, plugging, duplex mismatch; and what all of it costs on the host.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use board::genet::GenetConfig;
use board::link::{Direction, LinkConfig, Modes, Peer};
use board::source::{PacedSource, Silent};
use common::*;

/// Sends as much as the queue takes.
#[derive(Default)]
struct Flood {
    free: usize,
    left: u64,
}

impl Peer for Flood {
    fn receive(&mut self, _now: u64, _frame: &[u8]) {}
    fn poll(&mut self, _now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        while self.free >= 1514 && self.left > 0 {
            send(frame(MAC, 1514));
            self.free -= 1514;
            self.left -= 1;
        }
    }
    fn next_event(&self) -> Option<u64> {
        (self.left > 0 && self.free >= 1514).then_some(LINK_NS)
    }
    fn room(&mut self, free_bytes: usize) {
        self.free = free_bytes;
    }
}

fn consume(bench: &mut Bench) {
    let prod = bench.prod();
    bench.write(CONS, u32::from(prod));
}

#[test]
fn back_pressure_fills_the_wire_without_drops() {
    let flood = Flood { free: 0, left: 5_000 };
    let mut link = LinkConfig::default();
    link.partner.queue_bytes = 8 * 1514;
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, flood);
    for _ in 0..70 {
        bench.run_to(bench.now + 1_000_000);
        consume(&mut bench);
    }
    let stats = bench.genet.link().stats();
    assert_eq!((stats.to_board, stats.queue_drops), (5_000, 0));
    assert_eq!(bench.genet.stats().delivered, 5_000);
    // 5000 frames of 12304 ns each: 61.52 ms.
    assert!(bench.genet.link().mode().is_some());
}

#[test]
fn a_full_queue_drops_and_counts() {
    let mut link = LinkConfig::default();
    link.partner.queue_bytes = 10 * 1514;
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, PacedSource::new(LINK_NS, 0, 100, 1514, MAC));
    bench.run_to(LINK_NS + 10_000_000);
    assert_eq!(bench.genet.link().stats().queue_drops, 90);
    assert_eq!(bench.prod(), 10);
}

#[test]
fn loss_and_errors_follow_the_seed() {
    let run = |seed| {
        let link = LinkConfig { seed, to_board_loss_ppm: 100_000, to_board_fcs_ppm: 100_000, ..LinkConfig::default() };
        let source = PacedSource::new(LINK_NS, 13_000, 1_000, 1514, MAC);
        let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, source);
        for _ in 0..20 {
            bench.run_to(bench.now + 1_000_000);
            consume(&mut bench);
        }
        let lost = bench.genet.link().stats().lost_to_board;
        assert_eq!(lost + u64::from(bench.read(0xC28)), 1_000);
        (lost, bench.read(0xC38))
    };
    let (lost, broken) = run(3);
    assert!((60..140).contains(&lost) && (60..140).contains(&broken), "{lost} lost, {broken} broken");
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn pulling_the_cable_loses_what_is_on_it() {
    let link = LinkConfig {
        plug_events: vec![(LINK_NS + 100_000, false), (LINK_NS + 200_000, true)],
        ..LinkConfig::default()
    };
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, PacedSource::new(LINK_NS, 10_000, 400_000, 60, MAC));
    bench.run_to(LINK_NS + 150_000);
    assert_eq!(bench.genet.link().mode(), None);
    let before = bench.prod();
    assert!((9..=11).contains(&before));
    bench.run_to(LINK_NS + 200_000 + 2_500_000_000);
    assert_eq!(bench.prod(), before);
    // One frame is offered at the very moment of link-up, five more follow.
    bench.run_to(bench.now + 55_000);
    assert_eq!(bench.prod() - before, 6);
}

#[test]
fn every_frame_is_shown_to_the_tap() {
    type Seen = Rc<RefCell<Vec<(u64, Direction, usize)>>>;
    let seen: Seen = Rc::default();
    let (mut bench, _) =
        Bench::up(&GenetConfig::default(), &LinkConfig::default(), PacedSource::new(LINK_NS, 0, 1, 42, MAC));
    let tap = seen.clone();
    bench.genet.link_mut().set_tap(Some(Box::new(move |at, way, bytes| tap.borrow_mut().push((at, way, bytes.len())))));
    bench.send(&frame([2; 6], 100));
    bench.run_to(LINK_NS + 100_000);
    let seen = seen.borrow();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().any(|(_, way, len)| (*way, *len) == (Direction::FromBoard, 100)));
    assert!(seen.iter().any(|(at, way, len)| (*at, *way, *len) == (LINK_NS + 626, Direction::ToBoard, 60)));
}

#[test]
fn a_duplex_mismatch_shows_on_both_ends() {
    // We force 100 full, the partner detects 100 half; both send.
    let source = PacedSource::new(2 * LINK_NS, 200_000, 500, 1514, MAC);
    let (mut bench, peer) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), source);
    bench.mdio_write(1, 0, 0x2100);
    bench.write(CMD, 0x07);
    bench.run_to(2 * LINK_NS);
    for _ in 0..500 {
        bench.send(&frame([2; 6], 1000));
        bench.run_to(bench.now + 193_000);
        consume(&mut bench);
    }
    let stats = bench.genet.link().stats();
    assert!(stats.partner_late_collisions > 50, "{stats:?}");
    assert!(bench.read(0xC38) > 50, "FCS errors at our end");
    assert!(peer.borrow().received_frames < 500);
    bench.assert_clean();
}

#[test]
fn a_half_duplex_board_defers_and_meets_late_collisions_only_in_a_mismatch() {
    let run = |autonegotiates| {
        let mut link = LinkConfig::default();
        link.partner.modes = Modes::T100_HALF;
        link.partner.autonegotiates = autonegotiates;
        link.partner.forced = (board::link::Speed::Mbps100, true);
        let source = PacedSource::new(LINK_NS, 200_000, 500, 1514, MAC);
        let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, source);
        bench.write(CMD, 0x07 | 1 << 10);
        for _ in 0..500 {
            bench.send(&frame([2; 6], 1000));
            bench.run_to(bench.now + 193_000);
            consume(&mut bench);
        }
        assert!(bench.read(0xCC4) > 10, "deferred");
        (bench.read(0xCD4), bench.read(0xC38))
    };
    assert_eq!(run(true), (0, 0));
    let (late, fragments) = run(false);
    assert!(late > 50 && fragments > 50, "{late} late collisions, {fragments} fragments");
}

#[test]
fn a_partner_that_wakes_the_link_too_early_loses_the_first_frames() {
    // Ten frames of 12.3 us after a long silence: two start within 20 us.
    let arrived = |eee, eee_early_ns| {
        let mut link = LinkConfig::default();
        (link.partner.eee, link.partner.eee_early_ns, link.partner.eee_bad_wakes_ppm) = (eee, eee_early_ns, 1_000_000);
        let source = PacedSource::new(LINK_NS + 1_000_000, 12_000, 10, 1514, MAC);
        let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, source);
        bench.run_to(LINK_NS + 5_000_000);
        bench.prod()
    };
    assert_eq!([arrived(0, 20_000), arrived(6, 0), arrived(6, 20_000)], [10, 10, 8]);
}

#[test]
fn ten_thousand_frames_at_line_rate_are_all_accounted_for() {
    let source = PacedSource::new(LINK_NS, 12_304, 10_000, 1514, MAC);
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), source);
    // Consumes too slowly: some are discarded.
    for k in 0..140 {
        bench.run_to(bench.now + 1_000_000);
        if k % 4 == 0 {
            consume(&mut bench);
        }
    }
    let stats = bench.genet.stats();
    assert_eq!(stats.arrived, 10_000);
    assert_eq!(stats.delivered + stats.discarded, 10_000);
    assert!(stats.discarded > 0);
    assert_eq!(bench.read(PROD) >> 16, stats.discarded as u32);
}

/// Not a test of behaviour: prints what a frame costs. `cargo test --release -- --ignored --nocapture cost`.
#[test]
#[ignore = "prints a figure"]
fn cost() {
    const FRAMES: u64 = 1_000_000;
    let source = PacedSource::new(LINK_NS, 12_304, FRAMES, 1514, MAC);
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), source);
    bench.write(THRESH, 32);
    bench.write(XON_XOFF, 0);
    bench.write(0x214, MBDONE);
    let begin = std::time::Instant::now();
    while let Some(at) = bench.genet.next_event() {
        bench.run_to(at);
        if bench.genet.irq0() {
            bench.write(CLEAR, MBDONE);
            consume(&mut bench);
        }
    }
    let spent = begin.elapsed();
    assert_eq!(bench.genet.stats().delivered, FRAMES);
    println!("{} ns a frame", spent.as_nanos() as u64 / FRAMES);
    let begin = std::time::Instant::now();
    for _ in 0..1_000_000 {
        std::hint::black_box(bench.read(std::hint::black_box(PROD)));
        bench.write(std::hint::black_box(CONS), 0);
    }
    println!("{} ns a read and a write", begin.elapsed().as_nanos() as u64 / 1_000_000);
    let (mut silent, _) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), Silent);
    let begin = std::time::Instant::now();
    for _ in 0..200_000 {
        silent.send(&frame([2; 6], 60));
        silent.run_to(silent.now + 3_000);
    }
    println!("{} ns a frame sent", begin.elapsed().as_nanos() as u64 / 200_000);
}
