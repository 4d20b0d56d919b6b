//! The image on a hostile network: every fault ends in a right result, a counted loss or a clear error; records stay
//! whole.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::host::{DhcpFlaw, DhcpMode, HostConfig, HttpFault, SecondDhcp};
use board::mangle::{Harm, Rule, Target};
use board::path::PathConfig;
use board::rng::SplitMix64;
use board::storm::StormKind;
use common::{Session, at_reset, boot, number, result, whole_records};
use vpi4::{Machine, Stop};

const SECOND: u64 = 1_000_000_000;
const SHORT: &str = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=2";

fn set_host(session: &Session, change: impl FnOnce(&mut HostConfig)) {
    change(session.machine.board().host().expect("a host").borrow_mut().config_mut());
}

fn set_path(session: &Session, change: impl FnOnce(&mut PathConfig)) {
    change(session.machine.board().path().expect("a path").borrow_mut().config_mut());
}

fn set_rules(session: &Session, rules: Vec<Rule>) {
    session.machine.board().mangler().expect("a hostile stage").borrow_mut().set_rules(rules);
}

fn harmed(session: &Session) -> u64 {
    session.machine.board().mangler().expect("a hostile stage").borrow().harmed()
}

/// Runs the plan; it must end as `rc` with `words` on the console.
fn expect(session: &mut Session, plan: &str, what: &str, rc: &str, words: &str) -> String {
    let (got, text) = session.run(plan);
    assert_eq!(got, rc, "{what}: {text}");
    assert!(text.contains(words), "{what}: no `{words}` in {text}");
    text
}

/// After all the faults a run without any is as good as ever.
fn expect_health(session: &mut Session) {
    let text = expect(session, SHORT, "no fault", "ok", "Receive by preset");
    assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000, "{text}");
}

#[test]
fn heads_that_lie() {
    let mut session = Session::new(|_| {});
    let long = "gb.presets=linux gb.warmup_ms=1 gb.window_ms=300 gb.rtt_probes=2";
    let part = "gb.presets=linux gb.warmup_ms=1 gb.window_ms=20 gb.rtt_probes=2 gb.range_b=1000000";
    let million = "Content-Length: 1000000\r\n\r\n";
    let first_million = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-999999/5000000\r\n";
    let padding = format!("A: {}\r\n", "x".repeat(1 << 20));
    let infos = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    // What the head is, the body bytes after it, whether the connection closes, and what must come of it.
    let cases: &[(&str, &str, String, u64, bool, &str, &str)] = &[
        (
            "too long, closed",
            SHORT,
            "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n".into(),
            500_000,
            true,
            "http.short",
            "500000 of 9000000 promised",
        ),
        (
            "too long, kept open",
            long,
            "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n".into(),
            500_000,
            false,
            "tcp.stalled",
            "nothing came in the last",
        ),
        (
            "too short",
            SHORT,
            format!("HTTP/1.1 200 OK\r\n{million}"),
            1_000_500,
            false,
            "http.head",
            "longer than its head said",
        ),
        ("absent", SHORT, "HTTP/1.1 200 OK\r\n\r\n".into(), 2_000_000, true, "ok", "Receive by preset"),
        (
            "negative",
            SHORT,
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".into(),
            9,
            false,
            "http.head",
            "is no number",
        ),
        (
            "overflowing",
            SHORT,
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n".into(),
            9,
            false,
            "http.head",
            "is no number",
        ),
        (
            "the largest",
            SHORT,
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", u64::MAX),
            1_000,
            true,
            "http.short",
            "1000 of 18446744073709551615",
        ),
        (
            "zero",
            SHORT,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into(),
            0,
            false,
            "http.head",
            "the file is empty",
        ),
        (
            "twice",
            SHORT,
            format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{million}"),
            1_000_000,
            false,
            "http.head",
            "two different Content-Length",
        ),
        (
            "wrong range",
            part,
            format!("HTTP/1.1 206 P\r\nContent-Range: bytes 5-1000004/5000000\r\n{million}"),
            1_000_000,
            false,
            "http.head",
            "another part of the file",
        ),
        (
            "range and length disagree",
            part,
            format!("HTTP/1.1 206 P\r\nContent-Range: bytes 0-9/5000000\r\n{million}"),
            1_000_000,
            false,
            "http.head",
            "another part of the file",
        ),
        (
            "200 instead of 206",
            part,
            format!("HTTP/1.1 200 OK\r\n{million}"),
            1_000_000,
            false,
            "ok",
            "Receive by preset",
        ),
        (
            "chunked unasked",
            SHORT,
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
            90_000,
            false,
            "http.head",
            "chunks",
        ),
        (
            "1 MiB head",
            SHORT,
            format!("HTTP/1.1 200 OK\r\n{padding}{million}"),
            1_000_000,
            false,
            "http.head",
            "exceeds 8192 bytes",
        ),
        (
            "endless head, closed",
            SHORT,
            "HTTP/1.1 200 OK\r\nContent-Le".into(),
            0,
            true,
            "http.head",
            "closed the connection without an answer",
        ),
        (
            "endless head, open",
            SHORT,
            "HTTP/1.1 200 OK\r\nContent-Le".into(),
            0,
            false,
            "tcp.timeout",
            "no answer to the request within 10000 ms",
        ),
        (
            "NUL bytes",
            SHORT,
            format!("HTTP/1.1 200 OK\r\nA: \0\0\r\n{million}"),
            1_000_000,
            false,
            "http.head",
            "not HTTP/1.x",
        ),
        ("NUL bytes only", SHORT, "\0".repeat(9_000), 1_000, false, "http.head", "not HTTP/1.x"),
        (
            "bare line feeds",
            SHORT,
            "HTTP/1.1 200 OK\nContent-Length: 1000000\n\n".into(),
            1_000_000,
            false,
            "ok",
            "Receive by preset",
        ),
        (
            "1xx before 206",
            part,
            format!("{infos}{first_million}{million}"),
            1_000_000,
            false,
            "ok",
            "Receive by preset",
        ),
        (
            "101",
            SHORT,
            "HTTP/1.1 101 Switching Protocols\r\n\r\n".into(),
            0,
            false,
            "http.status",
            "the server answered 101",
        ),
        (
            "nothing but 1xx",
            SHORT,
            "HTTP/1.1 100 Continue\r\n\r\n".repeat(9_999),
            0,
            false,
            "tcp.timeout",
            "no answer to the request",
        ),
    ];
    for (what, plan, head, body_bytes, close, rc, words) in cases {
        let raw = HttpFault::Raw { head: head.as_bytes().to_vec(), body_bytes: *body_bytes, close: *close };
        set_host(&session, |host| host.fault = raw);
        let text = expect(&mut session, plan, what, rc, words);
        if *rc == "ok" {
            let bps = number(&result(&text, "linux"), "payload_bps");
            assert!((850_000_000..950_000_000).contains(&bps), "{what}: {bps}");
        }
    }
    for (location, words) in [
        ("http://peer.genetbench.test/data", "302: it has moved"), // to itself, for ever
        ("https://peer.genetbench.test/data", "302: the file is to be had by https only"),
    ] {
        set_host(&session, |host| host.fault = HttpFault::Redirect { location: location.to_owned() });
        expect(&mut session, SHORT, location, "http.status", words);
    }
    set_host(&session, |host| host.fault = HttpFault::None);
    expect_health(&mut session);
    session.close();
}

#[test]
fn peers_that_stall() {
    let mut session = Session::new(|_| {});
    let window = |ms: u32| format!("gb.presets=linux gb.warmup_ms=1 gb.window_ms={ms} gb.rtt_probes=0");
    set_host(&session, |host| host.fault = HttpFault::Stall { after_bytes: 1 << 20 });
    expect(&mut session, &window(300), "for ever", "tcp.stalled", "nothing came in the last 29");
    // All of it came before the window.
    expect(&mut session, "gb.presets=linux gb.warmup_ms=20 gb.window_ms=20", "before", "tcp.stalled", "the last 20 ms");
    set_host(&session, |host| host.fault = HttpFault::Stall { after_bytes: 0 });
    expect(&mut session, &window(20), "after the head", "tcp.stalled", "nothing came in the last 20 ms");
    set_host(&session, |host| host.fault = HttpFault::Mute);
    expect(&mut session, &window(20), "instead of the head", "tcp.timeout", "no answer to the request");
    // A pause of two seconds is part of the figure.
    set_host(&session, |host| host.fault = HttpFault::Pause { after_bytes: 1 << 20, pause_ns: 2 * SECOND });
    let text = expect(&mut session, &window(2_200), "for 2 s", "ok", "Receive by preset");
    let fields = result(&text, "linux");
    let (payload_b, bps) = (number(&fields, "payload_b"), number(&fields, "payload_bps"));
    assert!(number(&fields, "deliver_max_ns") > 1_990_000_000, "{fields:?}");
    assert!((payload_b * 8 * 10 / 22).abs_diff(bps) * 50 < bps, "{payload_b} bytes in 2.2 s, {bps} bit/s");
    // A file that ends before the window.
    let raw = HttpFault::Raw { head: b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), body_bytes: 100_000, close: true };
    set_host(&session, |host| host.fault = raw);
    expect(&mut session, "gb.presets=linux gb.warmup_ms=20", "ended", "http.ended", "the file ended before the window");
    set_host(&session, |host| host.fault = HttpFault::None);
    expect_health(&mut session);
    session.close();
}

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
        set_rules(&session, vec![rule]);
        let words = if what == "no window for the request" { "no acknowledgement of the request" } else { "" };
        expect(&mut session, SHORT, what, rc, words);
        assert!(harmed(&session) > 0, "{what}");
    }
    // Reset instead of FIN: harmless after a whole body, a failure when the end of the connection is the body's.
    set_rules(&session, vec![Rule::replace(Harm::Reset, Target::Fin)]);
    // (With the FIN goes the last data, unless the server waits for the client's FIN.)
    let whole = "Content-Length: 2000000\r\nConnection: close\r\n";
    for (length, close, rc) in [(whole, false, "ok"), (whole, true, "tcp.reset"), ("", true, "tcp.reset")] {
        let head = format!("HTTP/1.1 200 OK\r\n{length}\r\n").into_bytes();
        set_host(&session, |host| host.fault = HttpFault::Raw { head, body_bytes: 2_000_000, close });
        expect(&mut session, SHORT, length, rc, "");
        assert!(harmed(&session) > 0, "FIN");
    }
    set_host(&session, |host| host.fault = HttpFault::None);
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
    ] {
        // Before the connection stands a reset needs no place in a window, only the right acknowledgement.
        let target = if harm == Harm::BlindReset { Target::Data } else { Target::All };
        set_rules(&session, vec![Rule::forge(harm, target).share(50_000)]);
        let text = expect(&mut session, SHORT, &format!("{harm:?}"), "ok", "Receive by preset");
        let bps = number(&result(&text, "linux"), "payload_bps");
        assert!((700_000_000..950_000_000).contains(&bps), "{harm:?}: {bps}");
        assert!(harmed(&session) > 50, "{harm:?}");
    }
    set_rules(&session, vec![]);
    expect_health(&mut session);
    session.close();
}

#[test]
fn segments_lost_repeated_and_out_of_order() {
    let mut session = Session::new(|_| {});
    let plan = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=60 gb.rtt_probes=2";
    let bps = |text: &str| number(&result(text, "linux"), "payload_bps");
    set_rules(&session, vec![Rule::replace(Harm::Repeat, Target::All)]);
    let text = expect(&mut session, plan, "everything twice", "ok", "Receive by preset");
    assert!((440_000_000..480_000_000).contains(&bps(&text)), "half of the wire: {text}");
    set_rules(&session, vec![Rule::replace(Harm::Drop, Target::Data).share(2_000)]);
    let text = expect(&mut session, plan, "loss", "ok", "Receive by preset");
    assert!((900_000_000..950_000_000).contains(&bps(&text)), "SACK heals it: {text}");
    assert!(harmed(&session) > 5);
    set_rules(&session, vec![]);
    for (what, reorder_ppm, duplicate_ppm) in [("reordered", 20_000, 0), ("duplicated", 0, 20_000)] {
        set_path(&session, |path| path.to_board_reorder_ppm = reorder_ppm);
        set_path(&session, |path| path.to_board_duplicate_ppm = duplicate_ppm);
        let text = expect(&mut session, plan, what, "ok", "Receive by preset");
        assert!((880_000_000..940_000_000).contains(&bps(&text)), "{what}: {text}");
    }
    set_path(&session, |path| (path.to_board_reorder_ppm, path.to_board_duplicate_ppm) = (0, 0));
    expect_health(&mut session);
    session.close();
}

/// Addresses of the `addr` records in `text`.
fn addresses(text: &str) -> Vec<&str> {
    let records = text.lines().filter(|line| line.starts_with("$GB1 ") && line.contains(" addr "));
    records.filter_map(|line| line.split(' ').find_map(|word| word.strip_prefix("address="))).collect()
}

#[test]
fn dhcp_servers_that_lie() {
    let mut session = Session::new(|_| {});
    let silence = "no DHCP server answered within 15 s with an address to use";
    let replies = |session: &Session| session.machine.board().host().expect("a host").borrow().stats().dhcp_replies;
    let lease_0 = DhcpMode::ShortLease { seconds: 0 };
    for (mode, rc, words) in [
        (DhcpMode::Nak, "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::TruncatedOptions), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::OptionPastEnd), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::WrongTransaction), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::WrongCookie), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([0; 4])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([255; 4])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([224, 0, 0, 1])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Address([127, 0, 0, 1])), "dhcp.unusable", "gave 127.0.0.1, which no board"),
        (DhcpMode::Flawed(DhcpFlaw::Address([10, 77, 0, 255])), "dhcp.unusable", "gave 10.77.0.255, which no board"),
        (DhcpMode::Flawed(DhcpFlaw::NoMask), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Mask([255, 0, 255, 0])), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::NoServer), "dhcp.timeout", silence),
        (DhcpMode::Flawed(DhcpFlaw::Overload), "dhcp.timeout", silence),
        (lease_0, "dhcp.unusable", "took the address back within a second"),
        (DhcpMode::Flawed(DhcpFlaw::NoRouter), "ok", "Receive by preset"),
        (DhcpMode::Answer, "ok", "Receive by preset"),
    ] {
        set_host(&session, |host| host.dhcp = mode);
        let before = replies(&session);
        expect(&mut session, SHORT, &format!("{mode:?}"), rc, words);
        let answered = replies(&session) - before;
        assert!((2..20).contains(&answered), "{mode:?}: the server was asked {answered} times");
    }
    // Two servers: the first answer counts, and the other's does no harm.
    for (first, address) in [(true, "10.77.0.60/24"), (false, "10.77.0.50/24")] {
        let second = SecondDhcp { ip: [10, 77, 0, 2], board_ip: [10, 77, 0, 60], first };
        set_host(&session, |host| host.second_dhcp = Some(second));
        let text = expect(&mut session, SHORT, "two servers", "ok", "Receive by preset");
        assert_eq!(addresses(&text), [address]);
    }
    set_host(&session, |host| host.second_dhcp = None);
    expect_health(&mut session);
    session.close();
}

#[test]
fn leases_that_end_during_a_run() {
    let mut session = Session::new(|board| board.peer.pace_bps = Some(20_000_000));
    // Three runs of about a second, at 20 Mbit/s.
    let plan = "gb.presets=linux,amiga,netbsd gb.warmup_ms=5 gb.window_ms=900 gb.rtt_probes=2 gb.seed=3";
    let ended = |text: &str, rc: &str| {
        text.lines().filter(|line| line.contains(" result ") && line.contains(&format!(" rc={rc} "))).count()
    };
    // Renewed: nobody notices.
    set_host(&session, |host| host.dhcp = DhcpMode::ShortLease { seconds: 1 });
    let replies = |session: &Session| session.machine.board().host().expect("a host").borrow().stats().dhcp_replies;
    let before = replies(&session);
    let text = expect(&mut session, plan, "renewed", "ok", "Receive by preset");
    let renewals = replies(&session) - before;
    assert!(renewals >= 6 && addresses(&text).len() == 1, "{renewals} {text}");
    // Refused, or not answered, and no other lease is to be had: what was measured until then is told.
    for (nak, seconds) in [(true, 3), (false, 2)] {
        set_host(&session, |host| host.dhcp = DhcpMode::NoRenewal { seconds, nak, again: false });
        session.machine.board().host().expect("a host").borrow_mut().forget_leases();
        let text = expect(&mut session, plan, "not renewed", "dhcp.lost", "stopped: the address is lost");
        assert!(text.contains("Receive by preset") && ended(&text, "ok") >= 1, "{text}");
        assert!(ended(&text, "ok") + ended(&text, "dhcp.lost") < 3, "{text}");
    }
    // Refused, and a new one is given: the run that was on is lost, the others are not.
    set_host(&session, |host| host.dhcp = DhcpMode::NoRenewal { seconds: 3, nak: true, again: true });
    let text = expect(&mut session, plan, "given anew", "dhcp.lost", "asking for another");
    assert_eq!((ended(&text, "ok"), ended(&text, "dhcp.lost")), (2, 1), "{text}");
    assert!(!text.contains("stopped:"), "{text}");
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

/// Line noise: every byte value, by seed, in lines of any length.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    (0..bytes).map(|_| rng.next_u64() as u8).collect()
}

/// The console obeys: an empty line ends whatever was typed, then a command.
fn expect_answer(machine: &mut Machine) {
    machine.type_text(b"\rhelp\r");
    assert_eq!(machine.run_until_text("reprint        the kept records again"), Stop::Text);
}

#[test]
fn noise_on_the_console_from_reset_on() {
    let plan = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=200";
    // 5 s of noise: boot, the run, and the prompt afterwards.
    let mut machine = at_reset(plan, |_| {});
    machine.type_text(&noise(1, 60_000));
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    expect_answer(&mut machine);
    // In a window.
    machine.type_text(format!("run {plan}\r").as_bytes());
    assert_eq!(machine.run_until_text("[1/1] linux"), Stop::Text);
    machine.type_text(&noise(2, 4_000));
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    expect_answer(&mut machine);
    // What the full input queue has no room for leaves a hole, and a line with a hole is no command.
    machine.type_text(format!("run {plan}\r").as_bytes());
    assert_eq!(machine.run_until_text("[1/1] linux"), Stop::Text);
    machine.type_text(&[[b'\r'; 1_020].as_slice(), b"rebo", b"lost"].concat());
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    machine.type_text(b"ot\r");
    assert_eq!(machine.run_until_text("unreadable input"), Stop::Text);
    expect_answer(&mut machine);
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    assert!(whole_records(&text) > 80, "{text}");
    assert!(text.contains("unreadable input"), "{text}");
    for run in ["run=1", "run=2", "run=3"] {
        let line = text.lines().find(|line| line.contains(" result ") && line.contains(&format!(" {run} ")));
        let bps = line.and_then(|line| line.split("payload_bps=").nth(1)?.split(' ').next()?.parse::<u64>().ok());
        assert!(bps.is_some_and(|bps| bps > 940_000_000), "{run}: {line:?}");
    }
    assert_eq!(machine.findings(), []);
}

#[test]
fn odd_input_at_the_prompt() {
    let mut session = Session::new(|_| {});
    let controls: Vec<u8> = (0..32).filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    for (what, input) in [
        ("a line of 100 KB", vec![b'x'; 100_000]),
        ("NULs", vec![0; 5_000]),
        ("control bytes", controls.repeat(100)),
        ("escape sequences", b"\x1b[A\x1b[1;5D\x1b]0;title\x07\x1bP\x1b\\\x1b[200~".repeat(100)),
        ("backspaces", b"\x08\x7f".repeat(2_000)),
        ("high bytes", (128..=255).collect::<Vec<u8>>().repeat(20)),
        ("empty lines", b"\r\n".repeat(1_500)),
    ] {
        session.machine.type_text(&input);
        expect_answer(&mut session.machine);
        let text = session.news();
        assert!(text.len() < 60_000, "{what}: {} bytes of answers", text.len());
    }
    expect_health(&mut session);
    session.close();
}
