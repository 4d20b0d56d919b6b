//! The records of whole sessions of the image: every kind carries what it must, every line is whole, and nothing is
//! printed inside a window.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use common::{at_reset, whole_records};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use vpi4::{Machine, Stop};

/// UART0's data register.
const UART_DR: u64 = 0xfe20_1000;
/// A byte on the line at 115200 baud, 8N1, ns.
const BYTE_NS: u64 = 86_806;

type Fields = BTreeMap<String, String>;

/// Kind and fields of every record, parts joined.
fn entries(text: &str) -> Vec<(String, Fields)> {
    let mut all: Vec<(String, Fields)> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("$GB1 ")) {
        let body = line.rsplit_once('*').unwrap().0;
        let mut words = body.split(' ').skip(2);
        let kind = words.next().unwrap().to_owned();
        let fields: Fields =
            words.filter_map(|w| w.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        match (all.last_mut(), fields.get("part").is_some_and(|part| part != "1")) {
            (Some((last, known)), true) if *last == kind => known.extend(fields),
            _ => all.push((kind, fields)),
        }
    }
    all
}

/// When each byte was written to the UART, ns.
type Times = Rc<RefCell<Vec<u64>>>;

fn watched(plan: &str, change: impl FnOnce(&mut vpi4::MachineConfig)) -> (Machine, Times) {
    let mut machine = at_reset(plan, change);
    let times = Times::default();
    let noted = times.clone();
    machine.set_trace(Box::new(move |access| {
        if access.write && access.address == UART_DR {
            noted.borrow_mut().push(access.at_ns);
        }
    }));
    (machine, times)
}

/// Runs to `bye`: what was printed.
fn finish(machine: &mut Machine) -> String {
    let stop = machine.run();
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    assert!(matches!(stop, Stop::Bye(_)), "{stop:?}: {text}");
    assert_eq!(machine.findings(), []);
    text
}

fn session(plan: &str, change: impl FnOnce(&mut vpi4::MachineConfig)) -> (String, Vec<u64>) {
    let (mut machine, times) = watched(plan, change);
    let text = finish(&mut machine);
    (text, times.take())
}

fn number(fields: &Fields, key: &str) -> u64 {
    fields.get(key).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {key} in {fields:?}"))
}

/// No byte is written to the UART in any window, nor so shortly before that it is still on the line.
fn expect_silent_windows(text: &str, bytes: &[u64]) -> usize {
    let windows: Vec<(u64, u64)> = entries(text)
        .iter()
        .filter(|(kind, fields)| kind == "run" && fields.contains_key("end_ns"))
        .map(|(_, fields)| (number(fields, "start_ns"), number(fields, "end_ns")))
        .collect();
    for (start_ns, end_ns) in &windows {
        assert!(start_ns < end_ns, "{start_ns} {end_ns}");
        let inside = bytes.iter().filter(|at| (start_ns - BYTE_NS..*end_ns).contains(at)).count();
        assert_eq!(inside, 0, "bytes written in the window from {start_ns} to {end_ns} ns");
        // Else the times would be of different clocks, and the test would see nothing.
        assert!(bytes.iter().any(|at| at < start_ns) && bytes.iter().any(|at| at > end_ns));
    }
    windows.len()
}

#[test]
fn nothing_is_printed_inside_a_window() {
    let (text, bytes) = session("gb.window_ms=60 gb.warmup_ms=20 gb.rtt_probes=2", |_| {});
    assert_eq!(expect_silent_windows(&text, &bytes), 9, "{text}");
    let (text, bytes) = session("gb.verdict=1 gb.subject=freebsd", |config| {
        (config.board.genet.found.threshold, config.board.genet.found.timeout) = (511, 4096);
    });
    assert!(expect_silent_windows(&text, &bytes) >= 9, "{text}");
    // A board without core 1, which is told: before any window, and no window pays for waiting for it.
    let (text, bytes) =
        session("gb.presets=linux,amiga gb.window_ms=60 gb.warmup_ms=5 gb.rtt_probes=2", |config| config.cores = 1);
    assert_eq!(expect_silent_windows(&text, &bytes), 2, "{text}");
    let told = text.find("core 1 does not start").unwrap_or_else(|| panic!("{text}"));
    assert!(told < text.find(" plan ").unwrap() && told < text.find("[1/2]").unwrap(), "{text}");
    assert!(!text.contains("name=ring_discards"), "{text}");
}

#[test]
fn typing_and_losses_in_a_window_are_not_answered_in_it() {
    let plan = "gb.presets=linux,amiga gb.window_ms=400 gb.warmup_ms=20 gb.rtt_probes=2";
    let (mut machine, times) = watched(plan, |config| {
        config.board.link.plug_events = vec![(3_400_000_000, false), (3_420_000_000, true)];
    });
    assert_eq!(machine.run_until_text("[1/2]"), Stop::Text);
    machine.type_text(b"status\rregs rdma\r");
    let text = finish(&mut machine);
    assert!(expect_silent_windows(&text, &times.borrow()) >= 1, "{text}");
}

/// What a record of a kind must carry: the report's contract, in our keys where it leaves them open.
const MUST_CARRY: &[(&str, &[&str])] = &[
    ("hello", &["gb", "version", "commit", "revision", "serial", "boot", "el", "core_hz", "virtual"]),
    ("found", &["block", "reg", "offset", "value"]),
    (
        "link",
        &["up", "speed_bps", "duplex", "tx_pause", "rx_pause", "eee_advertised", "eee_partner", "eee_active", "mac"],
    ),
    ("addr", &["family", "address", "source", "gateway", "dns"]),
    (
        "plan",
        &[
            "run",
            "preset",
            "thr",
            "tmo_ticks",
            "posted",
            "xoff",
            "xon",
            "tx_pause",
            "rx_pause",
            "mode",
            "link",
            "adv_pause",
            "eee",
            "rxc_skew",
            "gtxclk_delay",
            "workload",
            "flows",
            "window_b",
            "rep",
        ],
    ),
    (
        "run",
        &[
            "run",
            "preset",
            "thr",
            "thr_got",
            "tmo_ticks",
            "tmo_ticks_got",
            "posted",
            "posted_got",
            "xoff",
            "xoff_got",
            "xon",
            "xon_got",
            "tx_pause",
            "tx_pause_got",
            "rx_pause",
            "rx_pause_got",
            "mode",
            "mode_got",
            "workload",
            "flows",
            "window_b",
            "warmup_ms",
            "peer",
            "rep",
            "start_ns",
            "end_ns",
        ],
    ),
    ("ival", &["run", "payload_b", "frames", "irqs"]),
    ("hist", &["run", "which", "total"]),
    ("mib", &["run", "name", "delta"]),
    (
        "result",
        &[
            "run",
            "preset",
            "payload_bps",
            "wire_bps",
            "deliver_p50_ns",
            "deliver_p90_ns",
            "deliver_p99_ns",
            "deliver_max_ns",
            "irq_p50_ns",
            "frames",
            "irqs",
            "frames_per_irq_milli",
            "rtt_p50_ns",
            "busy_milli",
            "ns_per_frame",
            "discards",
            "rescues",
            "rc",
        ],
    ),
    ("verdict", &["hypothesis", "state", "because"]),
    ("bye", &["runs", "failed", "records", "rc"]),
];

#[test]
fn every_kind_carries_what_it_must() {
    let (swept, _) = session("gb.presets=netbsd,openbsd gb.window_ms=60 gb.warmup_ms=20 gb.rtt_probes=2", |_| {});
    let (judged, _) = session("gb.verdict=1 gb.subject=amiga", |_| {});
    assert!(whole_records(&swept) > 100 && whole_records(&judged) > 100);
    let all: Vec<(String, Fields)> = entries(&swept).into_iter().chain(entries(&judged)).collect();
    for (kind, keys) in MUST_CARRY {
        let of_kind: Vec<&Fields> = all.iter().filter(|(k, _)| k == kind).map(|(_, fields)| fields).collect();
        assert!(!of_kind.is_empty(), "no record of kind {kind}");
        for fields in of_kind {
            for key in *keys {
                assert!(fields.contains_key(*key), "{kind} has no {key}: {fields:?}");
            }
        }
    }
    for line in swept.lines().chain(judged.lines()).filter(|line| line.starts_with("$GB1 ")) {
        assert!(line.len() <= 240 && line.bytes().all(|b| (0x20..0x7f).contains(&b)), "{line}");
        assert!(
            !line.contains('.') || !line.split('=').skip(1).any(|v| v.split(' ').next().is_some_and(is_float)),
            "{line}"
        );
    }
}

fn is_float(value: &str) -> bool {
    value
        .split_once('.')
        .is_some_and(|(a, b)| !a.is_empty() && !b.is_empty() && a.bytes().chain(b.bytes()).all(|c| c.is_ascii_digit()))
}
