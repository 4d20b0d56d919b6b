//! The image on a hostile network: forged, damaged and lost segments, resets, broadcast storms. Every fault ends in a
//! right result, a counted loss or a clear error; records stay whole.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::host::HttpFault;
use board::mangle::{Harm, Rule, Target};
use board::storm::StormKind;
use common::{SHORT, Session, boot, number, result, whole_records};
use vpi4::Stop;

const SECOND: u64 = 1_000_000_000;

#[test]
fn segments_reset_forged_and_damaged() {
    let mut session = Session::new(|_| {});
    // Resets where they hurt.
    for (what, rule, rc) in [
        ("SYN", Rule::replace(Harm::Reset, Target::Syn), "tcp.refused"),
        ("head", Rule::replace(Harm::Reset, Target::Data).only(0..1), "tcp.reset"),
        ("body", Rule::replace(Harm::Reset, Target::Data).only(1_000..1_001), "tcp.reset"),
        ("no window for the request", Rule::replace(Harm::ZeroWindow, Target::All), "tcp.timeout"),
        // Nothing that is damaged may be taken for data.
        ("every TCP sum", Rule::replace(Harm::TcpChecksum, Target::Data), "tcp.timeout"),
        ("every IP sum", Rule::replace(Harm::IpChecksum, Target::All), "tcp.timeout"),
        ("every port", Rule::replace(Harm::Port, Target::Data), "tcp.timeout"),
        ("always behind", Rule::replace(Harm::SequenceBehind, Target::Data), "tcp.timeout"),
        ("always ahead", Rule::replace(Harm::SequenceAhead, Target::Data), "tcp.timeout"),
        ("every segment cut", Rule::replace(Harm::Truncate, Target::All), "tcp.timeout"),
        ("every SYN lost", Rule::replace(Harm::Drop, Target::Syn), "tcp.timeout"),
    ] {
        session.rules(vec![rule]);
        let words = if what == "no window for the request" { "no acknowledgement of the request" } else { "" };
        session.expect(SHORT, what, rc, words);
        assert!(session.harmed() > 0, "{what}");
    }
    // Reset instead of FIN: harmless after a whole body, a failure when the end of the connection is the body's.
    session.rules(vec![Rule::replace(Harm::Reset, Target::Fin)]);
    // (With the FIN goes the last data, unless the server waits for the client's FIN.)
    let whole = "Content-Length: 2000000\r\nConnection: close\r\n";
    for (length, close, rc) in [(whole, false, "ok"), (whole, true, "tcp.reset"), ("", true, "tcp.reset")] {
        let head = format!("HTTP/1.1 200 OK\r\n{length}\r\n").into_bytes();
        session.host(|host| host.fault = HttpFault::Raw { head, body_bytes: 2_000_000, close });
        session.expect(SHORT, length, rc, "");
        assert!(session.harmed() > 0, "FIN");
    }
    session.host(|host| host.fault = HttpFault::None);
    // Forgeries beside the real segments change nothing but the room they take.
    for harm in [
        Harm::AckAhead,
        Harm::SequenceAhead,
        Harm::SequenceBehind,
        Harm::TcpChecksum,
        Harm::IpChecksum,
        Harm::Port,
        Harm::BlindReset,
        Harm::Truncate,
        Harm::Noise,
    ] {
        // Before the connection stands a reset needs no place in a window, only the right acknowledgement.
        let target = if harm == Harm::BlindReset { Target::Data } else { Target::All };
        session.rules(vec![Rule::forge(harm, target).share(50_000)]);
        let text = session.expect(SHORT, &format!("{harm:?}"), "ok", "Receive by preset");
        let bps = number(&result(&text, "linux"), "payload_bps");
        assert!((700_000_000..950_000_000).contains(&bps), "{harm:?}: {bps}");
        assert!(session.harmed() > 50, "{harm:?}");
    }
    session.rules(vec![]);
    session.expect_health();
    session.close();
}

#[test]
fn segments_lost_repeated_and_out_of_order() {
    let mut session = Session::new(|_| {});
    let plan = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=60 gb.rtt_probes=2";
    let bps = |text: &str| number(&result(text, "linux"), "payload_bps");
    session.rules(vec![Rule::replace(Harm::Repeat, Target::All)]);
    let text = session.expect(plan, "everything twice", "ok", "Receive by preset");
    assert!((440_000_000..480_000_000).contains(&bps(&text)), "half of the wire: {text}");
    session.rules(vec![Rule::replace(Harm::Drop, Target::Data).share(2_000)]);
    let text = session.expect(plan, "loss", "ok", "Receive by preset");
    assert!((900_000_000..950_000_000).contains(&bps(&text)), "SACK heals it: {text}");
    assert!(session.harmed() > 5);
    session.rules(vec![]);
    for (what, reorder_ppm, duplicate_ppm) in [("reordered", 20_000, 0), ("duplicated", 0, 20_000)] {
        session.path(|path| path.to_board_reorder_ppm = reorder_ppm);
        session.path(|path| path.to_board_duplicate_ppm = duplicate_ppm);
        let text = session.expect(plan, what, "ok", "Receive by preset");
        assert!((880_000_000..940_000_000).contains(&bps(&text)), "{what}: {text}");
    }
    session.path(|path| (path.to_board_reorder_ppm, path.to_board_duplicate_ppm) = (0, 0));
    session.expect_health();
    session.close();
}

/// One run of `preset` under a storm of 100,000 frames a second that lasts from before the link is up to the end: its
/// result, and how many frames came.
fn storm(kind: StormKind, preset: &str, words: &str, pace_bps: Option<u64>) -> (Vec<(String, String)>, u64) {
    let plan = format!("gb.presets={preset} gb.warmup_ms=20 {words}");
    let (stop, text, machine) = boot(&plan, |board| {
        board.storm.frames_per_s = 100_000;
        board.storm.during_ns = 2 * SECOND..1_000 * SECOND;
        board.storm.kind = kind;
        board.storm.board_ip = board.peer.board_ip;
        board.peer.pace_bps = pace_bps;
    });
    assert_eq!((stop, machine.findings()), (Stop::Bye("ok".to_owned()), vec![]), "{kind:?}: {text}");
    assert!(whole_records(&text) > 50);
    assert_eq!(machine.board().genet().link().stats().queue_drops, 0, "{kind:?}");
    (result(&text, preset), machine.board().storm_frames())
}

#[test]
fn broadcast_storms() {
    // The storm takes its share of the wire (84 bytes a frame), the download the rest.
    let left_bps = 1_000_000_000 - 100_000 * 84 * 8;
    let expected_bps: u64 = left_bps / 1538 * 1448;
    for (kind, preset) in [
        (StormKind::ArpForBoard, "linux"),
        (StormKind::Mixed, "linux"),
        // A ring of two descriptors at first: what it cannot hold is counted.
        (StormKind::Broadcast, "openbsd"),
    ] {
        let (fields, frames) = storm(kind, preset, "gb.window_ms=100", None);
        let bps = number(&fields, "payload_bps");
        assert!(bps.abs_diff(expected_bps) * 50 < expected_bps, "{kind:?}: {fields:?}");
        assert_eq!(number(&fields, "discards") > 0, preset == "openbsd", "{kind:?}: {fields:?}");
        assert!(frames > 50_000, "{kind:?}: {frames}");
    }
}

/// The full minute. `cargo test --release -p vpi4 --test network_faults -- --ignored`
#[test]
#[ignore = "minutes of host time"]
fn a_minute_of_storm() {
    let (fields, frames) = storm(StormKind::Mixed, "linux", "gb.window_ms=60000", Some(100_000_000));
    println!("{frames} {fields:?}");
    assert!(frames > 6_000_000 && number(&fields, "discards") == 0, "{frames} {fields:?}");
    let bps = number(&fields, "payload_bps");
    let expected_bps = 100_000_000 / 1538 * 1448;
    assert!(bps.abs_diff(expected_bps) * 50 < expected_bps, "{bps}");
}
