use super::*;
use crate::{ApplyError, Pause, Posted, RxMode, RxRing, RxSettings};

const THRESHOLD: u32 = 0x3024;
const TIMEOUT: u32 = 0x30ac;
const COMMAND: u32 = 0x808;

#[test]
fn everything_is_written_and_read_back() {
    let (fake, mut genet) = genet();
    fake.put(TIMEOUT, 0xabcd_0000);
    let want = RxSettings {
        threshold: Some(32),
        timeout_ticks: Some(61),
        posted: Posted::Fixed(128),
        xoff: 9,
        xon: 99,
        pause: Pause::Forced { send: false, obey: true },
        mode: RxMode::Poll,
        quanta: Some(0x0100),
        id_mode_dis: Some(true),
        ring: RxRing::Ring16,
    };
    let got = genet.apply(&want).unwrap();
    assert_eq!(got.ignored(&want), None);
    assert_eq!((got.threshold, got.timeout_ticks, got.posted, got.xoff, got.xon), (32, 61, 128, 9, 99));
    assert_eq!((got.send_pause, got.obey_pause, got.mode), (false, true, RxMode::Poll));
    assert_eq!(fake.get(TIMEOUT), 0xabcd_003d, "the upper half stays");
    assert_eq!(fake.get(0x3028), 9 << 16 | 99);
    assert_eq!((fake.get(0x818), fake.get(0x08c)), (0x0100, 1 << 16 | 0x50));
    assert_eq!((got.quanta, got.id_mode_dis, got.ring), (0x0100, true, RxRing::Ring16));
    let log = fake.log.borrow();
    let at = |offset| log.iter().position(|e| matches!(e, fake::Event::Write(o, _) if *o == offset)).unwrap();
    assert!(at(THRESHOLD) < at(TIMEOUT));
}

#[test]
fn every_setting_that_the_hardware_ignores_is_named() {
    let want = RxSettings {
        threshold: Some(32),
        timeout_ticks: Some(61),
        posted: Posted::Fixed(128),
        xoff: 9,
        xon: 99,
        pause: Pause::Forced { send: false, obey: false },
        mode: RxMode::Interrupt,
        quanta: Some(3),
        id_mode_dis: Some(true),
        ring: RxRing::Ring16,
    };
    for (offset, key) in [
        (THRESHOLD, "thr"),
        (TIMEOUT, "tmo_ticks"),
        (0x300c, "posted"),
        (0x3028, "xoff"),
        (COMMAND, "tx_pause"),
        (0x214, "mode"),
        (0x818, "quanta"),
        (0x08c, "id_mode"),
    ] {
        let (fake, mut genet) = genet();
        fake.put(0x20c, u32::MAX);
        fake.frozen.borrow_mut().insert(offset);
        assert_eq!(genet.apply(&want).unwrap().ignored(&want), Some(key));
    }
}

#[test]
fn as_found_means_before_our_first_write() {
    let fake = Fake::new();
    fake.put(THRESHOLD, 17);
    fake.put(TIMEOUT, 0x0001_1000);
    let mut genet = genet_over(&fake);
    assert_eq!((fake.get(THRESHOLD), fake.get(TIMEOUT)), (1, 0x0001_0000), "defaults of bring-up");
    let found = RxSettings { threshold: None, timeout_ticks: None, ..RxSettings::default() };
    let got = genet.apply(&found).unwrap();
    assert_eq!((got.threshold, got.timeout_ticks), (17, 0x1000));
    assert_eq!(got.ignored(&found), None);
    fake.put(THRESHOLD, 3);
    fake.frozen.borrow_mut().insert(THRESHOLD);
    assert_eq!(genet.apply(&found), Err(ApplyError::NotRestored { key: "thr", want: 17, got: 3 }));
}

#[test]
fn impossible_values_are_refused_untouched() {
    let (fake, mut genet) = genet();
    for (want, key) in [
        (RxSettings { threshold: Some(512), ..RxSettings::default() }, "thr"),
        (RxSettings { posted: Posted::Fixed(0), ..RxSettings::default() }, "posted"),
        (RxSettings { posted: Posted::Fixed(257), ..RxSettings::default() }, "posted"),
        (RxSettings { posted: Posted::Growing { start: 0 }, ..RxSettings::default() }, "posted"),
    ] {
        assert!(matches!(genet.apply(&want), Err(ApplyError::OutOfRange { key: k, .. }) if k == key));
    }
    assert_eq!(fake.writes(), 0);
}

#[test]
fn fewer_descriptors_need_a_stopped_ring_more_do_not() {
    let (fake, mut genet) = genet();
    let posted = |n| RxSettings { posted: Posted::Fixed(n), ..RxSettings::default() };
    genet.apply(&posted(16)).unwrap();
    assert_eq!(fake.written(0x3044), [0x2_0000, 0, 0x2_0001], "EN off, ring off, both on");
    assert_eq!(fake.get(COMMAND) & 3, 3, "the MAC receives again");
    fake.clear_log();
    let got = genet.apply(&posted(200)).unwrap();
    assert_eq!(got.posted, 200);
    assert!(fake.written(0x3044).is_empty());
}

#[test]
fn an_engine_that_does_not_stop_is_an_error_and_frames_go_on() {
    let (fake, mut genet) = genet();
    fake.put(0x3048, 0);
    let want = RxSettings { posted: Posted::Fixed(16), ..RxSettings::default() };
    assert_eq!(genet.apply(&want), Err(ApplyError::DmaStuck { waited_us: 5_000 }));
    assert_eq!(fake.get(COMMAND) & 2, 2);
}

#[test]
fn frames_lost_to_a_restart_are_counted() {
    let (fake, mut genet) = genet();
    fake.deliver(5, 100);
    genet.apply(&RxSettings { posted: Posted::Fixed(16), ..RxSettings::default() }).unwrap();
    assert_eq!(genet.counters().flushed, 5);
}

#[test]
fn frames_that_wait_are_announced_anew() {
    let (fake, mut genet) = genet();
    genet.apply(&RxSettings { threshold: Some(10), ..RxSettings::default() }).unwrap();
    assert_eq!(fake.get(0x200), 0);
    fake.deliver(2, 100);
    fake.put(0x200, 0); // below the threshold: no event
    genet.apply(&RxSettings::default()).unwrap();
    assert_eq!(fake.get(0x200), 1 << 13);
}

#[test]
fn the_mac_follows_the_link() {
    let (fake, mut genet) = genet();
    assert_eq!(fake.get(COMMAND), 0x0b, "1 Gbit/s, PAUSE both ways, as Linux has it");
    assert_eq!(fake.get(0x08c), 0x50);
    let half = LinkState { speed: Speed::Mbps10, full_duplex: false, pause_tx: false, pause_rx: false, ..GIGABIT };
    genet.link_changed(&half);
    assert_eq!(fake.get(COMMAND), 3 | 1 << 10 | 1 << 8 | 1 << 28);
    let send_only = LinkState { speed: Speed::Mbps100, pause_rx: false, ..GIGABIT };
    genet.link_changed(&send_only);
    assert_eq!(fake.get(COMMAND), 3 | 1 << 2 | 1 << 8);
    genet.link_changed(&LinkState::default());
    assert_eq!(fake.get(0x08c), 0x40, "RGMII_LINK off");
}

#[test]
fn forced_pause_survives_a_link_change() {
    let (fake, mut genet) = genet();
    let forced = RxSettings { pause: Pause::Forced { send: true, obey: false }, ..RxSettings::default() };
    genet.apply(&forced).unwrap();
    genet.link_changed(&LinkState { pause_tx: false, ..GIGABIT });
    assert_eq!(fake.get(COMMAND) & (1 << 8 | 1 << 28), 1 << 8);
    genet.apply(&RxSettings::default()).unwrap();
    assert_eq!(fake.get(COMMAND) & (1 << 8 | 1 << 28), 1 << 28);
}

#[test]
fn quanta_as_found_are_those_after_the_reset_of_the_unimac() {
    let fake = Fake::new();
    fake.put(0x818, 0xffff);
    let mut genet = genet_over(&fake);
    genet.apply(&RxSettings { quanta: Some(7), ..RxSettings::default() }).unwrap();
    assert_eq!(fake.get(0x818), 7);
    assert_eq!(genet.apply(&RxSettings::default()).unwrap().quanta, 0xffff);
    fake.put(0x818, 7);
    fake.frozen.borrow_mut().insert(0x818);
    assert_eq!(
        genet.apply(&RxSettings::default()),
        Err(ApplyError::NotRestored { key: "quanta", want: 0xffff, got: 7 })
    );
}

#[test]
fn ring_0_has_registers_filter_and_interrupt_of_its_own() {
    let fake = Fake::new();
    fake.put(0x2c24, 17);
    fake.put(0x306c, 0x0005_0009);
    let mut genet = genet_over(&fake);
    let as_found = RxSettings { threshold: None, timeout_ticks: None, ring: RxRing::Ring0, ..RxSettings::default() };
    let got = genet.apply(&as_found).unwrap();
    assert_eq!((got.threshold, got.timeout_ticks, got.ring), (17, 9, RxRing::Ring0));
    assert_eq!(fake.written(0x3044), [0x2_0000, 0, 3], "EN off, ring 16 off, ring 0 and EN on");
    assert_eq!((fake.get(0x2c10), fake.get(0x2c1c), fake.get(0x2c28)), (256 << 16 | 2048, 767, 5 << 16 | 16));
    assert_eq!((fake.get(0xfc00), fake.get(0xfc08), fake.get(0xfc48)), (1, 1, 14));
    assert_eq!((fake.get(0x24c), fake.get(0x20c) & 1 << 13), (!(1 << 16), 1 << 13), "line 1 and not line 0");
    fake.put(0x2000, 100 << 16 | 0x6000);
    fake.put(0x2c08, 1);
    assert_eq!(genet.poll_receive(0), 1);
    assert_eq!(drain(&mut genet), [98]);
    genet.end_batch();
    assert_eq!(fake.get(0x2c0c), 1);
    genet.apply(&RxSettings::default()).unwrap();
    assert_eq!((fake.get(0xfc00), fake.get(0x3044)), (0, 0x2_0001));
    assert_eq!(fake.get(0x24c), u32::MAX);
}

#[test]
fn a_link_change_leaves_the_clock_delay_as_it_was_set() {
    let (fake, mut genet) = genet();
    genet.apply(&RxSettings { id_mode_dis: Some(true), ..RxSettings::default() }).unwrap();
    genet.link_changed(&LinkState::default());
    genet.link_changed(&GIGABIT);
    assert_eq!(fake.get(0x08c), 1 << 16 | 0x50);
    genet.apply(&RxSettings::default()).unwrap();
    assert_eq!(fake.get(0x08c), 0x50);
}
