//! What firmware meets at boot, what counts as its fault, MDIO.

mod common;

use board::genet::{Faults, GenetConfig, Inherited, MdioFault};
use board::link::LinkConfig;
use board::source::{PacedSource, Silent};
use common::*;

fn fresh(cfg: &GenetConfig) -> Bench {
    Bench::new(cfg, &LinkConfig::default(), Silent)
}

#[test]
fn documented_reset_values() {
    let mut bench = fresh(&GenetConfig::default());
    for (offset, value) in [
        (0x000, 0x0600_0000),
        (0x004, 0),
        (0x008, 2),
        (0x080, 0x051F_02C3),
        (0x08C, 0x00F0_0000),
        (0x09C, 0),
        (0x20C, !0),
        (0x24C, !0),
        (0x300, 0xC040),
        (0x308, 0x80),
        (0x60C, 0xFFFF),
        (0x804, 0x14),
        (0x808, 0),
        (0x818, 0xFFFF),
        (0x85C, 0x3C00),
        (0x864, 0x40),
        (0xE18, 0x91),
        (0x3008, 0),
        (0x3048, 0x3_FFFF),
        (0x5048, 0x3_FFFF),
    ] {
        assert_eq!(bench.read(offset), value, "{offset:#05x}");
    }
    bench.assert_clean();
}

#[test]
fn unknown_reset_values_depend_on_the_seed_only() {
    let dump = |seed| {
        let mut bench = fresh(&GenetConfig { seed, ..GenetConfig::default() });
        (0..768).map(|word| bench.read(0x2000 + 4 * word)).collect::<Vec<u32>>()
    };
    assert_eq!(dump(7), dump(7));
    assert_ne!(dump(7), dump(8));
    let mut cfg = GenetConfig::default();
    cfg.found.threshold = 0;
    cfg.found.timeout = 4096;
    let mut bench = fresh(&cfg);
    for (offset, value) in [(THRESH, 0), (TIMEOUT, 4096), (0x2C24, 0), (0x306C, 4096)] {
        assert_eq!(bench.read(offset), value);
    }
}

#[test]
fn dma_status_follows_the_measured_pairs() {
    let mut bench = fresh(&GenetConfig::default());
    for (control, status) in [(0x3, 0x3_FFFC), (0x3F, 0x3_FFC0), (1 << 17, 0x1_FFFF)] {
        bench.write(TX_CTRL, control);
        assert_eq!(bench.read(0x5048), status);
    }
}

#[test]
fn uboot_leaves_the_ring_bit_and_indices_behind() {
    let mut bench = fresh(&GenetConfig { inherited: Inherited::UBoot, ..GenetConfig::default() });
    assert_eq!(bench.read(RX_CTRL), 1 << 17);
    let index = bench.read(PROD);
    assert_ne!(index, 0);
    assert_eq!(bench.read(0x3000), (index & 0xFF) * 3);
    bench.write(PROD, 0);
    assert_eq!(bench.read(PROD), index, "ring bit set");
    assert!(bench.genet.link().mode().is_some(), "link already up");
}

#[test]
fn network_boot_leaves_dma_running_into_its_buffers() {
    let cfg = GenetConfig { inherited: Inherited::NetworkBoot, ..GenetConfig::default() };
    let mut bench = Bench::new(&cfg, &LinkConfig::default(), PacedSource::new(1_000, 20_000, 10, 1514, MAC));
    let before = bench.prod();
    bench.run_to(90_000);
    assert_eq!(bench.prod().wrapping_sub(before), 4);
    let slot = u32::from(before) & 0xFF;
    assert_eq!(bench.buffer(slot)[2..8], MAC);
    bench.write(RX_CTRL, 0);
    bench.run_to(1_000_000);
    assert_eq!(bench.prod().wrapping_sub(before), 4);
    bench.bring_up();
    bench.assert_clean();
}

#[test]
fn resets_inside_the_block() {
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), Silent);
    // UniMAC reset: UMAC goes to reset values and takes nothing, RBUF_CTRL stays.
    bench.write(0x008, 2);
    assert_eq!((bench.read(CMD), bench.read(0x80C), bench.read(0x300)), (0, 0, 0xC042));
    bench.write(0x814, 1536);
    assert_ne!(bench.read(0x814), 1536);
    bench.assert_clean();
    bench.write(CMD, 3);
    assert_eq!(bench.findings.len(), 1, "enabling a block that is held in reset");
    bench.write(0x008, 0);
    // SW_RESET does not clear itself and holds the receiver, but registers take writes.
    bench.write(CMD, 1 << 13 | 0xB);
    bench.write(0x814, 1536);
    assert_eq!((bench.read(CMD) & 1 << 13, bench.read(0x814)), (1 << 13, 1536));
    let arriving = board::genet::Arriving { bytes: frame(MAC, 60), ..Default::default() };
    bench.with(|genet, now, env| genet.inject(now, &arriving, env));
    assert_eq!((bench.prod(), bench.genet.stats().receiver_off), (0, 1));
}

#[test]
fn faults_of_firmware_are_named_once_each() {
    let mut bench = fresh(&GenetConfig::default());
    bench.write(0x100, 1);
    bench.write(0x100, 1);
    bench.read(0x7000);
    bench.write(0x000, 5);
    bench.read(0x208);
    bench.write(0x394, 5);
    bench.write(0x300, 0xC142);
    bench.with(|genet, now, env| genet.wrong_access(now, 0x3008, 8, false, env));
    let texts: Vec<&str> = bench.findings.iter().map(|finding| finding.text.as_str()).collect();
    let words = [
        "unknown register 0x0100",
        "unknown register 0x7000",
        "read-only SYS_REV_CTRL",
        "write-only INTRL2_CPU_CLEAR",
        "counter RBUF_OVFL_CNT",
        "RBUF_CTRL",
        "8 bytes at 0x3008 (RDMA_PROD_INDEX ring 16)",
    ];
    assert_eq!(texts.len(), words.len(), "{texts:#?}");
    for (text, word) in texts.iter().zip(words) {
        assert!(text.contains(word), "{text}: {word}");
    }
    assert_eq!(bench.read(0x000), 0x0600_0000);
    assert_eq!(bench.read(0x300), 0xC142, "undocumented bits are kept");
}

#[test]
fn an_absent_block_answers_one_value() {
    let mut bench = fresh(&GenetConfig { absent: Some(0xDEAD_BEEF), ..GenetConfig::default() });
    bench.write(0x100, 1);
    assert_eq!(bench.read(0x000), 0xDEAD_BEEF);
    assert!(!bench.genet.irq0());
    bench.assert_clean();
}

#[test]
fn mdio_takes_its_time_and_only_the_phy_answers() {
    let mut bench = fresh(&GenetConfig::default());
    bench.write(CLEAR, !0);
    // Fields first, then start: the other style.
    bench.write(MDIO, 1 << 27 | 1 << 21 | 2 << 16);
    assert_eq!(bench.read(MDIO) & 1 << 29, 0);
    let fields = bench.read(MDIO);
    bench.write(MDIO, fields | 1 << 29);
    bench.run_to(25_599);
    assert_ne!(bench.read(MDIO) & 1 << 29, 0);
    bench.run_to(25_600);
    assert_eq!(bench.read(MDIO), 0x0822_600D);
    assert_eq!(bench.read(STAT), 1 << 23);
    assert_eq!(bench.mdio_read(1, 3) as u16, 0x84A2);
    let silent = bench.mdio_read(0, 2);
    assert_eq!((silent & 1 << 28, silent as u16), (1 << 28, 0xFFFF));
    assert_ne!(bench.read(STAT) & 1 << 24, 0);
    bench.assert_clean();
    bench.write(MDIO, 1 << 29 | 1 << 27 | 1 << 21);
    bench.write(MDIO, 1 << 29 | 1 << 27 | 1 << 21);
    assert!(bench.findings[0].text.contains("START_BUSY"));
}

#[test]
fn idle_mdio_value_is_the_measured_one() {
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), Silent);
    bench.mdio_read(1, 1);
    assert_eq!(bench.mdio_read(1, 1), 0x0821_796D);
}

#[test]
fn mdio_faults() {
    let with = |mdio| {
        let faults = Faults { mdio, ..Faults::default() };
        fresh(&GenetConfig { faults, ..GenetConfig::default() })
    };
    let mut bench = with(MdioFault::FirstReadFails);
    assert_ne!(bench.mdio_read(1, 2) & 1 << 28, 0);
    assert_eq!(bench.mdio_read(1, 2) as u16, 0x600D);
    assert_ne!(with(MdioFault::Fails).mdio_read(1, 2) & 1 << 28, 0);
    let mut bench = with(MdioFault::Stuck);
    bench.write(MDIO, 1 << 29 | 1 << 27 | 1 << 21);
    bench.run_to(1_000_000_000);
    assert_ne!(bench.read(MDIO) & 1 << 29, 0);
}

#[test]
fn dma_that_does_not_stop() {
    let faults = Faults { dma_stop_ns: 1_000_000, ..Faults::default() };
    let (mut bench, _) = Bench::up(&GenetConfig { faults, ..GenetConfig::default() }, &LinkConfig::default(), Silent);
    bench.write(RX_CTRL, 0);
    assert_eq!(bench.read(0x3048) & 1, 0);
    bench.run_to(bench.now + 1_000_000);
    assert_eq!(bench.read(0x3048) & 1, 1);
    bench.with(|genet, _, _| genet.set_faults(Faults { dma_never_stops: true, ..Faults::default() }));
    bench.write(RX_CTRL, 1);
    bench.write(RX_CTRL, 0);
    bench.run_to(bench.now + 1_000_000_000);
    assert_eq!(bench.read(0x3048) & 1, 0);
}

#[test]
fn link_bits_follow_the_phy() {
    let mut link = LinkConfig { plug_events: vec![(LINK_NS + 1_000, false)], ..LinkConfig::default() };
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, Silent);
    assert_eq!((bench.read(STAT) & 0x30, bench.read(0x844)), (1 << 4, 0x3A));
    bench.write(CLEAR, !0);
    bench.run_to(LINK_NS + 1_000);
    assert_eq!((bench.read(STAT) & 0x30, bench.read(0x844)), (1 << 5, 0x1A));
    // GENET v5 does not raise LINK_UP at 10 Mbit/s.
    link.plug_events.clear();
    link.partner.modes = board::link::Modes(0b11);
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, Silent);
    assert_eq!(bench.read(STAT) & 0x30, 0);
}
