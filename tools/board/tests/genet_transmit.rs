//! Transmit path: descriptors, wire time, completion, what keeps frames from leaving, loopback.

mod common;

use board::genet::{Faults, GenetConfig, LoopbackFault, RgmiiTiming, SlotRule, Switches};
use board::link::{LinkConfig, Speed};
use board::source::{PacedSource, Silent};
use common::*;
use std::cell::RefCell;
use std::rc::Rc;

const DESTINATION: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

fn ready() -> (Bench, Rc<RefCell<PacedSource>>) {
    ready_with(&GenetConfig::default(), &LinkConfig::default())
}

fn ready_with(cfg: &GenetConfig, link: &LinkConfig) -> (Bench, Rc<RefCell<PacedSource>>) {
    let mut sink = PacedSource::new(0, 0, 0, 60, MAC);
    sink.keep = true;
    Bench::up(cfg, link, sink)
}

#[test]
fn frames_leave_back_to_back_and_whole() {
    let (mut bench, peer) = ready();
    for k in 0..20 {
        bench.send(&frame(DESTINATION, 1014 - k));
    }
    bench.run_to(LINK_NS + 1_000_000);
    assert_eq!(bench.read(TX_CONS), 20);
    let peer = peer.borrow();
    assert_eq!(peer.received.len(), 20);
    for (k, (_, bytes)) in peer.received.iter().enumerate() {
        assert_eq!(bytes[..], frame(DESTINATION, 1014 - k)[..]);
    }
    for pair in peer.received.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, (12 + 8 + pair[1].1.len() as u64 + 4) * 8);
    }
    assert_eq!((bench.read(0xCA8), bench.read(0xCEC), bench.read(0xCF0)), (20, 20, 20));
    assert_ne!(bench.read(STAT) & 1 << 16, 0);
    bench.assert_clean();
}

#[test]
fn short_frames_are_padded_and_missing_crc_is_a_finding() {
    let (mut bench, peer) = ready();
    bench.send(&frame(DESTINATION, 42));
    bench.run_to(LINK_NS + 10_000);
    assert_eq!(peer.borrow().received[0].1.len(), 60);
    bench.assert_clean();

    bench.write(0x4000 + 12 + 4, TX_BUFFERS as u32);
    bench.write(0x4000 + 12 + 8, 0);
    bench.write(0x4000 + 12, 60 << 16 | 0x7F80);
    bench.write(TX_PROD, 2);
    bench.run_to(bench.now + 10_000);
    assert_eq!(bench.findings.len(), 1);
    assert!(bench.findings[0].text.contains("append-CRC"));
    assert_eq!(peer.borrow().received.len(), 1);
    assert_eq!(bench.genet.link().stats().partner_fcs_errors, 1);
}

#[test]
fn mbdone_comes_after_threshold_or_when_the_ring_is_empty() {
    let (mut bench, _) = ready();
    bench.write(0x5024, 4);
    let mut events = Vec::new();
    for _ in 0..10 {
        bench.send(&frame(DESTINATION, 60));
    }
    bench.write(CLEAR, 1 << 16);
    while bench.run_until(LINK_NS + 1_000_000, |genet| genet.peek(STAT) & 1 << 16 != 0).is_some() {
        events.push(bench.read(TX_CONS));
        bench.write(CLEAR, 1 << 16);
    }
    assert_eq!(events, [4, 8, 10]);
}

#[test]
fn nothing_leaves_with_the_wrong_speed_or_without_rgmii() {
    for (offset, wrong, right) in [(CMD, 0x07, 0x0B), (0x08C, 0x00F0_0010, 0x00F0_0050), (0x004, 0, 3)] {
        let (mut bench, peer) = ready();
        bench.write(offset, wrong);
        bench.send(&frame(DESTINATION, 60));
        bench.send(&frame(DESTINATION, 60));
        bench.run_to(LINK_NS + 1_000_000);
        assert_eq!(bench.read(TX_CONS), 0);
        assert_eq!(bench.findings.len(), 1, "said once");
        bench.write(offset, right);
        bench.run_to(bench.now + 10_000);
        assert_eq!((bench.read(TX_CONS), peer.borrow().received.len()), (2, 2));
    }
}

#[test]
fn wire_time_follows_the_negotiated_speed() {
    for (modes, command, byte_ns) in [(0b1111, 0x07, 80), (0b0011, 0x03, 800)] {
        let mut link = LinkConfig::default();
        link.partner.modes = board::link::Modes(modes);
        let (mut bench, peer) = ready_with(&GenetConfig::default(), &link);
        bench.write(CMD, command);
        bench.send(&frame(DESTINATION, 1000));
        bench.send(&frame(DESTINATION, 1000));
        bench.run_to(LINK_NS + 10_000_000);
        let times: Vec<u64> = peer.borrow().received.iter().map(|(at, _)| *at).collect();
        assert_eq!(times[1] - times[0], 1024 * byte_ns);
        bench.assert_clean();
    }
}

#[test]
fn several_descriptors_make_one_frame_but_not_with_a_short_head() {
    let (mut bench, peer) = ready();
    let whole = frame(DESTINATION, 200);
    let split = |bench: &mut Bench, head: usize, slot: u32| {
        bench.memory.bytes_mut()[256 * 2048..][..200].copy_from_slice(&frame(DESTINATION, 200));
        for (k, (from, len, edges)) in [(0, head, 0x2000), (head, 200 - head, 0x4000)].into_iter().enumerate() {
            let at = 0x4000 + (slot + k as u32) * 12;
            bench.write(at + 4, TX_BUFFERS as u32 + from as u32);
            bench.write(at + 8, 0);
            bench.write(at, (len as u32) << 16 | 0x1FC0 | edges);
        }
        bench.write(TX_PROD, slot + 2);
        bench.run_to(bench.now + 10_000);
    };
    split(&mut bench, 100, 0);
    assert_eq!(peer.borrow().received[0].1, whole);
    bench.assert_clean();
    split(&mut bench, 14, 2);
    assert_eq!(peer.borrow().received.len(), 1);
    assert_eq!(bench.findings.len(), 1);
}

#[test]
fn frames_of_2049_to_2093_bytes_hang_until_flushed() {
    let (mut bench, peer) = ready();
    bench.write(0x814, 9216);
    let long = vec![7; 2060];
    bench.memory.bytes_mut()[256 * 2048..][..2060].copy_from_slice(&long);
    bench.write(0x4004, TX_BUFFERS as u32);
    bench.write(0x4008, 0);
    bench.write(0x4000, 2060 << 16 | 0x7FC0);
    bench.write(TX_PROD, 1);
    bench.run_to(LINK_NS + 100_000);
    assert_eq!(bench.findings.len(), 1);
    bench.write(0x400C + 4, TX_BUFFERS as u32);
    bench.write(0x400C + 8, 0);
    bench.write(0x400C, 60 << 16 | 0x7FC0);
    bench.write(TX_PROD, 2);
    bench.run_to(bench.now + 100_000);
    assert_eq!(peer.borrow().received.len(), 0);
    bench.write(0xB34, 1);
    bench.write(0xB34, 0);
    bench.run_to(bench.now + 100_000);
    assert_eq!(peer.borrow().received.len(), 1);
}

#[test]
fn both_loopbacks_return_frames_at_wire_speed() {
    // MAC loopback needs neither PHY nor RGMII.
    let (mut bench, peer) = ready();
    bench.write(0x08C, 0x00F0_0000);
    bench.write(CMD, 0x0B | 1 << 15);
    for _ in 0..3 {
        bench.send(&frame(MAC, 1000));
    }
    let mut times = Vec::new();
    for k in 1..=3 {
        times.push(bench.run_until(u64::MAX, |genet| genet.peek(PROD) == k).unwrap());
    }
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1024 * 8));
    assert_eq!(bench.buffer(2)[2..1002], frame(MAC, 1000)[..]);
    assert_eq!(peer.borrow().received.len(), 0);
    bench.assert_clean();
    // PHY loopback at 100: the link to the partner is gone meanwhile.
    let (mut bench, _) = ready();
    bench.write(CMD, 0x04);
    bench.mdio_write(1, 0, 0x6100);
    assert_eq!(bench.genet.phy().loopback(), Some(Speed::Mbps100));
    assert_eq!(bench.mdio_read(1, 1) & 4, 0);
    bench.write(CMD, 0x07);
    for _ in 0..2 {
        bench.send(&frame(MAC, 1000));
    }
    let first = bench.run_until(u64::MAX, |genet| genet.peek(PROD) == 1).unwrap();
    let second = bench.run_until(u64::MAX, |genet| genet.peek(PROD) == 2).unwrap();
    assert_eq!(second - first, 1024 * 80);
    bench.assert_clean();
    // Back again with the MAC on: RXC changes under it.
    bench.mdio_write(1, 0, 0x1140);
    assert_eq!(bench.findings.len(), 1);
    assert!(bench.findings[0].text.contains("while the MAC was on"));
}

#[test]
fn index_rules_hold_for_transmit_too() {
    for slots in [SlotRule::Pointer, SlotRule::IndexModuloSize] {
        let cfg = GenetConfig { switches: Switches { slots, ..Switches::default() }, ..GenetConfig::default() };
        let (mut bench, peer) = ready_with(&cfg, &LinkConfig::default());
        for _ in 0..5 {
            bench.send(&frame(DESTINATION, 60));
        }
        bench.run_to(bench.now + 100_000);
        bench.write(TX_CTRL, 1 << 17);
        bench.write(TX_CONS, 0);
        bench.write(0x5000, 0);
        bench.write(TX_CTRL, 1 << 17 | 1);
        bench.send(&frame(DESTINATION, 61));
        bench.run_to(bench.now + 100_000);
        assert_eq!(bench.read(TX_CONS), 6);
        assert_eq!(peer.borrow().received[5].1.len(), 61, "{slots:?}");
        bench.assert_clean();
    }
}

#[test]
fn strict_timing_wants_one_delay_a_clock() {
    let switches = Switches { rgmii: RgmiiTiming::Strict, ..Switches::default() };
    let cfg = GenetConfig { switches, ..GenetConfig::default() };
    // MAC delay on, PHY delay on after reset: both, so some frames break.
    let errors = |clear_gtxclk: bool| {
        let (mut bench, _) = Bench::up(&cfg, &LinkConfig::default(), Silent);
        if clear_gtxclk {
            bench.mdio_write(1, 0x1C, 0x8000 | 3 << 10);
        }
        for _ in 0..100 {
            bench.send(&frame(DESTINATION, 60));
        }
        bench.run_to(bench.now + 1_000_000);
        bench.genet.link().stats().partner_fcs_errors
    };
    assert_eq!(errors(true), 0);
    assert!((5..40).contains(&errors(false)));
}

#[test]
fn the_loop_of_the_phy_goes_over_the_pins_and_that_of_the_mac_does_not() {
    let switches = Switches { rgmii: RgmiiTiming::Strict, ..Switches::default() };
    let cfg = GenetConfig { switches, ..GenetConfig::default() };
    for (command, control, damaged) in [(0x0B | 1 << 15, 0x1140, false), (0x0B, 0x4140, true)] {
        let (mut bench, _) = ready_with(&cfg, &LinkConfig::default());
        // The PHY delays GTXCLK after reset, and so does the MAC.
        bench.mdio_write(1, 0, control);
        bench.write(CMD, command);
        for _ in 0..100 {
            bench.send(&frame(MAC, 60));
        }
        bench.run_to(bench.now + 1_000_000);
        assert_eq!(bench.prod(), 100);
        assert_eq!((5..60).contains(&bench.read(0xC38)), damaged, "rx_fcs with UMAC_CMD {command:#x}");
    }
}

#[test]
fn a_loop_may_return_nothing_or_little() {
    let fault = |loopback| GenetConfig { faults: Faults { loopback, ..Faults::default() }, ..GenetConfig::default() };
    for (loopback, command, control, came) in [
        (LoopbackFault::MacSilent, 0x0B | 1 << 15, 0x1140, 0),
        (LoopbackFault::MacSilent, 0x0B, 0x4140, 12),
        (LoopbackFault::AllSilent, 0x0B, 0x4140, 0),
        (LoopbackFault::Loses(3), 0x0B | 1 << 15, 0x1140, 4),
        (LoopbackFault::NoClock, 0x0B | 1 << 15, 0x1140, 0),
        (LoopbackFault::NoClock, 0x0B, 0x4140, 0),
    ] {
        let (mut bench, _) = ready_with(&fault(loopback), &LinkConfig::default());
        bench.mdio_write(1, 0, control);
        bench.write(CMD, command);
        for _ in 0..12 {
            bench.send(&frame(MAC, 60));
        }
        bench.run_to(bench.now + 1_000_000);
        assert_eq!(bench.prod(), came, "{loopback:?}");
    }
}
