//! Flow control in both directions.

mod common;

use board::genet::{BackPressureMask, GenetConfig, Switches, XoffTrigger};
use board::link::{LinkConfig, ObeyPause};
use board::source::{PacedSource, Silent};
use common::*;

const FULL_QUANTA_NS: u64 = 65_535 * 512;

fn obeying(obeys_pause: ObeyPause) -> LinkConfig {
    let mut link = LinkConfig::default();
    link.partner.obeys_pause = obeys_pause;
    link
}

/// A bench under line-rate load with `posted` free descriptors and nobody consuming.
fn loaded(link: &LinkConfig, switches: Switches, posted: u32) -> Bench {
    let cfg = GenetConfig { switches, ..GenetConfig::default() };
    let source = PacedSource::new(LINK_NS + 1_000, 12_304, 10_000, 1514, MAC);
    let (mut bench, _) = Bench::up(&cfg, link, source);
    bench.write(CONS, posted.wrapping_sub(256) & 0xFFFF);
    bench
}

#[test]
fn xoff_below_xon_above() {
    let mut bench = loaded(&obeying(ObeyPause::Always), Switches::default(), 20);
    // 15 frames leave 5 free: not below XOFF. The 16th is.
    bench.run_until(u64::MAX, |genet| genet.peek(PROD) == 15).unwrap();
    assert_eq!((bench.read(0x3064), bench.read(TX_PF)), (0, 0));
    bench.run_until(u64::MAX, |genet| genet.peek(PROD) == 16).unwrap();
    assert_eq!((bench.read(0x3064), bench.read(TX_PF)), (1 << 16, 1));
    let xoff_at = bench.now;
    // The frame under way still comes; 72 bytes after XOFF the partner stops for 65535 quanta.
    bench.run_to(xoff_at + 1_000_000);
    assert_eq!(bench.prod(), 17);
    let heard = xoff_at + (8 + 60 + 4) * 8 + 50;
    assert_eq!(bench.genet.link().partner_paused_until(), heard + FULL_QUANTA_NS);
    // 16 free is not above XON; 17 is, and XON is a PAUSE of 0 quanta.
    let cons = |free: u32| (17 + free).wrapping_sub(256) & 0xFFFF;
    bench.write(CONS, cons(16));
    assert_eq!((bench.read(0x3064), bench.read(TX_PF)), (1 << 16, 1));
    bench.write(CONS, cons(17));
    assert_eq!((bench.read(0x3064), bench.read(TX_PF)), (0, 2));
    bench.run_to(bench.now + 20_000);
    assert_eq!(bench.prod(), 18, "the partner goes on");
    bench.assert_clean();
}

#[test]
fn without_xon_the_partner_waits_for_33_55_ms() {
    let mut bench = loaded(&obeying(ObeyPause::Always), Switches::default(), 2);
    // Below XOFF from the start: PAUSE goes out before any frame comes.
    assert_eq!(bench.read(0x3064), 1 << 16);
    bench.run_to(LINK_NS + 700);
    assert_eq!(bench.read(TX_PF), 1);
    let first = bench.run_until(u64::MAX, |genet| genet.peek(PROD) & 0xFFFF == 1).unwrap();
    let heard = LINK_NS + (8 + 60 + 4) * 8 + 50;
    assert_eq!(first, heard + FULL_QUANTA_NS + (8 + 1514 + 4) * 8 + 50);
}

#[test]
fn xoff_for_each_frame_gives_few_frames_a_period() {
    let switches = Switches { xoff: XoffTrigger::EachFrame, ..Switches::default() };
    let mut bench = loaded(&obeying(ObeyPause::Always), switches, 3);
    for _ in 0..10 {
        bench.run_to(bench.now + FULL_QUANTA_NS);
        let prod = bench.read(PROD) & 0xFFFF;
        bench.write(CONS, (prod + 3).wrapping_sub(256) & 0xFFFF);
    }
    let seen = bench.genet.stats().arrived;
    assert!((9..=30).contains(&seen), "{seen} frames in 10 periods");
}

#[test]
fn partner_obeys_as_configured() {
    for (obeys, advertise, stops) in [
        (ObeyPause::Never, true, false),
        (ObeyPause::IfNegotiated, false, false),
        (ObeyPause::IfNegotiated, true, true),
        (ObeyPause::Always, false, true),
    ] {
        let source = PacedSource::new(2 * LINK_NS + 1_000, 12_304, 100, 1514, MAC);
        let (mut bench, _) = Bench::up(&GenetConfig::default(), &obeying(obeys), source);
        if advertise {
            bench.mdio_write(1, 4, 0x0DE1);
            bench.mdio_write(1, 0, 0x1340);
        }
        bench.run_to(2 * LINK_NS);
        bench.write(CONS, 2u32.wrapping_sub(256) & 0xFFFF);
        bench.run_to(2 * LINK_NS + 2_000_000);
        assert_eq!(bench.read(TX_PF), 1);
        assert_eq!(bench.genet.stats().arrived == 0, stops, "{obeys:?}, advertise {advertise}");
    }
}

#[test]
fn tx_pause_ignore_quanta_mask_and_refresh() {
    // Bit 28: no PAUSE at all.
    let mut bench = loaded(&obeying(ObeyPause::Always), Switches::default(), 256);
    bench.write(CMD, 0x0B | 1 << 28);
    bench.write(CONS, 2u32.wrapping_sub(256) & 0xFFFF);
    bench.run_to(LINK_NS + 10_000_000);
    assert_eq!((bench.read(0x3064), bench.read(TX_PF)), (1 << 16, 0));
    assert_eq!(bench.read(0x844), 0x2A, "MODE without TX pause");
    // Cleared: the standing request is heard.
    bench.write(0x818, 0x100);
    bench.write(CMD, 0x0B);
    assert_eq!(bench.read(0x844), 0x3A);
    bench.run_to(bench.now + 700);
    assert_eq!(bench.read(TX_PF), 1);
    let (now, until) = (bench.now, bench.genet.link().partner_paused_until());
    assert!(until > now && until < now + 0x100 * 512 + 1_000, "quanta from PAUSE_QUANTA");
    // Refresh every 0x80 quanta.
    bench.write(0xB30, 1 << 17 | 0x80);
    bench.write(XON_XOFF, 0);
    bench.write(XON_XOFF, 5 << 16 | 16);
    let before = bench.read(TX_PF);
    bench.run_to(bench.now + 10 * 0x80 * 512 + 100);
    assert_eq!(bench.read(TX_PF) - before, 10);
    // The mask takes the request back under its default reading; XON follows.
    bench.write(0x3054, 1 << 16);
    let before = bench.read(TX_PF);
    bench.run_to(bench.now + 1_000_000);
    assert!(bench.read(TX_PF) - before <= 1);
    assert_eq!(bench.read(0x3064), 1 << 16);
    bench.assert_clean();

    let switches = Switches { back_pressure_mask: BackPressureMask::SetEnables, ..Switches::default() };
    let mut bench = loaded(&obeying(ObeyPause::Always), switches, 2);
    bench.run_to(LINK_NS + 1_000_000);
    assert_eq!(bench.read(TX_PF), 0);
    bench.write(0x3054, 1 << 16);
    bench.run_to(bench.now + 1_000);
    assert_eq!(bench.read(TX_PF), 1);
}

#[test]
fn received_pause_stops_our_transmitter_unless_ignored() {
    for (command, stops) in [(0x0B, true), (0x10B, false)] {
        let (mut bench, peer) =
            Bench::up(&GenetConfig::default(), &LinkConfig::default(), PacedSource::new(0, 0, 0, 60, MAC));
        bench.write(CMD, command);
        let arriving = board::genet::Arriving { bytes: pause(100), ..Default::default() };
        bench.with(|genet, now, env| genet.inject(now, &arriving, env));
        assert_eq!((bench.read(RX_PF), bench.read(0xC3C), bench.prod()), (1, 1, 0), "counted, not delivered");
        peer.borrow_mut().keep = true;
        bench.send(&frame([2; 6], 60));
        bench.run_to(LINK_NS + 100 * 512 - 1);
        assert_eq!(bench.read(TX_CONS) == 0, stops);
        bench.run_to(LINK_NS + 200 * 512);
        let at = peer.borrow().received[0].0;
        let earliest = if stops { LINK_NS + 100 * 512 } else { LINK_NS };
        assert!(at >= earliest && at < earliest + 3_000, "{at}");
        // PAUSE_FWD hands it to the DMA.
        bench.write(CMD, command | 1 << 7);
        bench.with(|genet, now, env| genet.inject(now, &arriving, env));
        assert_eq!(bench.prod(), 1);
        bench.assert_clean();
    }
}

#[test]
fn half_duplex_has_no_pause() {
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &obeying(ObeyPause::Always), Silent);
    bench.write(CMD, 0x0B | 1 << 10);
    bench.write(CONS, 2u32.wrapping_sub(256) & 0xFFFF);
    bench.run_to(LINK_NS + 1_000_000);
    assert_eq!(bench.read(TX_PF), 0);
    assert_eq!(bench.read(0x844), 0x26);
}
