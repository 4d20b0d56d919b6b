//! Calibration by the very image that goes on a card: every fact as the model is switched, the same bytes each time,
//! and a sweep afterwards as good as ever.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::board::BoardConfig;
use board::genet::{Faults, LoopbackFault};
use common::{SHORT, Session, boot_as, number, result, whole_records};
use std::collections::BTreeMap;
use vpi4::{Machine, MachineConfig, Stop};

/// What the facts are with default switches, without the four loops and their ticks.
const DEFAULT: [(&str, &str); 37] = [
    ("reset_threshold", "1"),
    ("reset_timeout", "0"),
    ("prod_write_off", "taken"),
    ("prod_write_ring_on", "ignored"),
    ("prod_write_running", "ignored"),
    ("pointer_write_ring_on", "ignored"),
    ("timer_start", "first_packet"),
    ("timer_clear", "goes_on"),
    ("timer_cons", "goes_on"),
    ("count_restart", "event"),
    ("threshold_0", "never"),
    ("threshold_0_timer", "fires"),
    ("timeout_0", "off"),
    ("threshold_256", "256"),
    ("threshold_511", "511"),
    ("threshold_full", "no_event"),
    ("pdone", "each_frame"),
    ("bdone", "each_frame"),
    ("ring0_tick", "8192"),
    ("ring0_pdone", "never"),
    ("default_ring", "the_ring_that_runs"),
    ("slot_rule", "pointer"),
    ("discard_step", "3"),
    ("discard_clear", "clears"),
    ("discard_end", "stays"),
    ("mask", "blocks"),
    ("xoff_free", "199"),
    ("xoff_trigger", "on_entry"),
    ("xon_free", "221"),
    ("pause_in_20ms", "1"),
    ("pause_count", "everywhere"),
    ("quantum_1000", "512"),
    ("quantum_100", "5120"),
    ("pause_repeat", "512"),
    ("empty_filter", "everything"),
    ("long_frames", "cut"),
    ("rgmii_tx", "no_harm"),
];

/// Boots into calibration. A read of the counter costs something, so that waiting takes fewer instructions.
fn calibrated(change: impl FnOnce(&mut BoardConfig)) -> (Stop, String, Machine) {
    boot_as("gb.calibrate=1", |config| cheap(config, change))
}

fn cheap(config: &mut MachineConfig, change: impl FnOnce(&mut BoardConfig)) {
    config.cost.counter_read_ns = 100;
    change(&mut config.board);
}

/// Answers of the `fact` records by name; ticks and loops of all four loopbacks by name and loopback.
fn facts(text: &str) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("$GB1 ") && line.split(' ').nth(2) == Some("fact")) {
        assert!(line.len() <= 238, "{line}");
        let field = |name: &str| {
            line.split([' ', '*']).find_map(|word| {
                let (key, value) = word.split_once('=')?;
                (key == name || key.strip_prefix(name).is_some_and(|unit| unit.starts_with('_'))).then_some(value)
            })
        };
        let name = field("name").unwrap();
        let key = if name == "tick" { format!("tick {}", field("via").unwrap_or("")) } else { name.to_owned() };
        let answer = field("measured").or(field("because")).unwrap_or_else(|| panic!("no answer in {line}"));
        assert_eq!(facts.insert(key, answer.to_owned()), None, "{name} twice");
    }
    facts
}

fn expect(facts: &BTreeMap<String, String>, but: &[(&str, &str)]) {
    let ticks = ["mac_1000", "mac_100", "phy_1000", "phy_100"];
    for via in ticks {
        assert_eq!(facts[&format!("loop_{via}")], "works");
        let tick: u64 = facts[&format!("tick {via}")].parse().unwrap();
        assert!(tick.abs_diff(8_192) <= 20, "{via}: {tick} ns");
    }
    for (name, value) in DEFAULT {
        let value = but.iter().find(|(changed, _)| *changed == name).map_or(value, |(_, value)| *value);
        match (facts[name].parse::<u64>(), value.parse::<u64>()) {
            (Ok(got), Ok(value)) if value > 511 => assert!(got.abs_diff(value) * 200 <= value, "{name}: {got}"),
            _ => assert_eq!(facts[name], value, "{name}"),
        }
    }
    assert_eq!(facts.len(), DEFAULT.len() + 2 * ticks.len() + 1, "rgmii_rx and no more");
}

#[test]
fn every_fact_is_found_by_the_image_under_three_settings_of_the_model() {
    /// Switches, and the facts that are not as by default.
    type Setting = (&'static [&'static str], &'static [(&'static str, &'static str)]);
    let settings: [Setting; 3] = [
        (&[], &[]),
        (
            &[
                "count=since_clear",
                "timer=last_packet",
                "slots=index",
                "xoff=each_frame",
                "threshold=0",
                "timeout=4096",
            ],
            &[
                ("count_restart", "cpu_clear"),
                ("timer_clear", "ends"),
                ("timer_start", "last_packet"),
                ("slot_rule", "index"),
                ("xoff_trigger", "for_each_frame"),
                ("reset_threshold", "0"),
                ("reset_timeout", "4096"),
            ],
        ),
        (
            &[
                "timer=free_running",
                "threshold_zero=as_one",
                "discards=wraps",
                "empty_filter=accepts_own",
                "mask=set_enables",
                "pause_count=pause_only",
                "rgmii=strict",
                "long_frames=in_pieces",
                "default_ring=ring_16",
            ],
            &[
                ("timer_start", "free_running"),
                ("threshold_0", "as_1"),
                ("threshold_0_timer", "at_once"),
                ("discard_end", "starts_at_0"),
                ("empty_filter", "own_and_broadcast"),
                ("mask", "enables"),
                ("pause_count", "in_tx_pf_only"),
                ("rgmii_tx", "damages_frames"),
                ("long_frames", "whole"),
                ("default_ring", "ring_16_only"),
            ],
        ),
    ];
    let guide = include_str!("../../../docs/CALIBRATION.md");
    let tables = guide.split("\n### ").skip(1);
    for ((switches, but), table) in settings.into_iter().zip(tables) {
        let (stop, text, machine) = calibrated(|board| {
            switches.iter().for_each(|switch| board.genet.switch(switch).unwrap());
        });
        assert_eq!((stop, machine.findings()), (Stop::Bye("ok".to_owned()), vec![]), "{text}");
        assert!(whole_records(&text) > 180);
        expect(&facts(&text), but);
        switches.iter().for_each(|switch| assert!(table.contains(&format!("--switch {switch}")), "{switch}"));
        // Times depend on what a look at the clock costs, which is another here than in the guide.
        let lines = text.lines().map(str::trim_end).filter(|l| l.contains(" once") || l.contains(" certain "));
        let lines: Vec<&str> = lines.filter(|l| !l.starts_with('$') && !l.contains(" ns ")).collect();
        assert_eq!(lines.len(), 38);
        lines.iter().for_each(|line| assert!(table.contains(line), "not in the guide: {line}"));
        assert!(text.contains("Calibration -- virtual") && text.contains("46 facts, 0 of them open"), "{text}");
    }
}

#[test]
fn one_seed_gives_the_same_bytes() {
    let (first, second) = (calibrated(|_| {}), calibrated(|_| {}));
    assert_eq!((first.1, first.2.stats()), (second.1, second.2.stats()));
}

#[test]
fn a_sweep_after_calibration_is_as_good_as_ever_and_ctrl_c_ends_it_with_what_it_has() {
    let mut session = Session::new(|_| {});
    session.machine.type_text(b"calibrate\r");
    assert_eq!(session.machine.run(), Stop::Bye("ok".to_owned()));
    assert_eq!(facts(&session.news()).len(), 46);
    session.expect_health();
    session.machine.type_text(b"cal\t\r");
    assert_eq!(session.machine.run_until_text("the timeout runs from"), Stop::Text);
    session.machine.type_text(b"\x03");
    assert_eq!(session.machine.run(), Stop::Bye("stopped".to_owned()));
    let text = session.news();
    let facts = facts(&text);
    assert!((9..30).contains(&facts.len()) && facts["timer_start"] == "first_packet", "{facts:?}");
    assert!(text.contains("; stopped"), "{text}");
    session.expect_health();
    session.close();
}

#[test]
fn loops_that_return_nothing_end_in_open_facts_and_the_network_still_works() {
    let mut session = Session::new(|_| {});
    let faults = Faults { loopback: LoopbackFault::AllSilent, ..Faults::default() };
    session.machine.with_genet(|genet, _, _| genet.set_faults(faults));
    let before = session.machine.stats().now_ns;
    session.machine.type_text(b"calibrate\r");
    assert_eq!(session.machine.run(), Stop::Bye("no.loopback".to_owned()));
    assert!(session.machine.stats().now_ns - before < 10_000_000_000);
    let text = session.news();
    assert!(text.contains("No loopback returned a frame"), "{text}");
    assert_eq!(facts(&text)["timer_start"], "no_loopback");
    let text = session.expect(SHORT, "afterwards", "ok", "Receive by preset");
    assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000);
    session.close();
}
