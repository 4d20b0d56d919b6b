use super::*;
use crate::{ApplyError, Pause, Posted, RxMode, RxSettings};

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
    };
    let got = genet.apply(&want).unwrap();
    assert_eq!(got.ignored(&want), None);
    assert_eq!((got.threshold, got.timeout_ticks, got.posted, got.xoff, got.xon), (32, 61, 128, 9, 99));
    assert_eq!((got.send_pause, got.obey_pause, got.mode), (false, true, RxMode::Poll));
    assert_eq!(fake.get(TIMEOUT), 0xabcd_003d, "the upper half stays");
    assert_eq!(fake.get(0x3028), 9 << 16 | 99);
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
    };
    for (offset, key) in [
        (THRESHOLD, "thr"),
        (TIMEOUT, "tmo_ticks"),
        (0x300c, "posted"),
        (0x3028, "xoff"),
        (COMMAND, "tx_pause"),
        (0x214, "mode"),
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
