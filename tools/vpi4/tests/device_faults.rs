//! Hostile device conditions against the very image that goes on a card: each ends in a stated `rc`, with all records,
//! and the sweep goes on where it can.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::board::BoardConfig;
use board::genet::{Faults, GenetConfig, Inherited, MdioFault, Pulses};
use board::link::{Modes, Partner, PauseFlood};
use board::path::PathConfig;
use board::phy::PhyConfig;
use common::{boot, boot_as, number, result, whole_records};
use vpi4::{Machine, Stop};

const MS: u64 = 1_000_000;
const SHORT: &str = "gb.presets=linux,poll gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=4";

/// Boots and runs to the end: `rc` of the session, what was printed, the machine. All records whole, nothing to blame
/// the firmware for.
fn outcome(plan: &str, change: impl FnOnce(&mut BoardConfig)) -> (String, String, Machine) {
    let (stop, text, machine) = boot(plan, change);
    finish(stop, text, machine)
}

fn finish(stop: Stop, text: String, machine: Machine) -> (String, String, Machine) {
    let Stop::Bye(rc) = stop else { panic!("{stop:?} after {text}") };
    assert_eq!(machine.findings(), [], "{text}");
    whole_records(&text);
    (rc, text, machine)
}

fn faulty(faults: Faults) -> impl FnOnce(&mut BoardConfig) {
    move |board| board.genet.faults = faults
}

/// `rc` of each run, in order.
fn run_rcs(text: &str) -> Vec<String> {
    let first_parts = text.lines().filter(|l| l.starts_with("$GB1 ") && l.contains(" result ") && l.contains(" rc="));
    first_parts.map(|l| l.split(" rc=").nth(1).unwrap().split([' ', '*']).next().unwrap().to_owned()).collect()
}

fn rcs(expected: &[&str]) -> Vec<String> {
    expected.iter().map(|&rc| rc.to_owned()).collect()
}

// ---- interrupts ----

#[test]
fn a_line_that_never_falls_is_blocked_and_polling_still_measures() {
    let (rc, text, _) = outcome(SHORT, faulty(Faults { irq0_stuck: true, ..Faults::default() }));
    assert_eq!(rc, "setting.failed", "{text}");
    assert!(text.contains("does not fall and is blocked"), "{text}");
    let mut all = run_rcs(&text);
    all.sort();
    assert_eq!(all, ["ok", "setting.failed"], "{text}");
    assert!(number(&result(&text, "poll"), "payload_bps") > 900_000_000);
}

#[test]
fn a_line_that_sticks_inside_a_window_spoils_that_window_only_by_name() {
    let plan = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=200 gb.rtt_probes=4";
    let (rc, text, _) = at(plan, "[1/1]", 100 * MS, |machine| {
        machine.with_genet(|genet, _, _| genet.set_faults(Faults { irq0_stuck: true, ..Faults::default() }));
    });
    assert_eq!(rc, "setting.failed", "{text}");
    assert!(number(&result(&text, "linux"), "frames") > 0);
}

#[test]
fn the_second_line_may_stick_without_harm() {
    let (rc, text, _) = outcome(SHORT, faulty(Faults { irq1_stuck: true, ..Faults::default() }));
    assert_eq!(rc, "ok", "{text}");
    assert!(text.contains("nothing is announced on it"), "{text}");
    assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000);
}

#[test]
fn a_dead_line_costs_speed_and_shows_as_rescues() {
    let (rc, text, _) = outcome(
        "gb.presets=linux,poll gb.warmup_ms=5 gb.window_ms=500 gb.rtt_probes=2",
        faulty(Faults { irq0_dead: true, ..Faults::default() }),
    );
    assert_eq!(rc, "ok", "{text}");
    let linux = result(&text, "linux");
    assert!(number(&linux, "rescues") > 0 && number(&linux, "irqs") == 0, "{linux:?}");
    assert!(number(&result(&text, "poll"), "payload_bps") > 900_000_000);
}

#[test]
fn pulses_and_lost_events_end_well() {
    for faults in [
        Faults { irq0_pulses: Some(Pulses { period_ns: 200_000, length_ns: 2_000 }), ..Faults::default() },
        Faults { lost_mbdone_every: 100, ..Faults::default() },
    ] {
        let (rc, text, _) = outcome(SHORT, faulty(faults));
        assert_eq!(rc, "ok", "{faults:?}: {text}");
        assert!(number(&result(&text, "poll"), "payload_bps") > 900_000_000, "{faults:?}");
    }
}

// ---- MDIO, PHY, GENET ----

#[test]
fn what_cannot_be_brought_up_is_named() {
    type Case = (&'static str, &'static str, fn(&mut GenetConfig));
    let cases: [Case; 8] = [
        ("phy.failed", "MDIO busy for 10000 us", |g| g.faults.mdio = MdioFault::Stuck),
        ("phy.failed", "MDIO busy for 10000 us", |g| g.mdio_busy_ns = 12 * MS),
        ("phy.failed", "no PHY answers at any MDIO address", |g| g.faults.mdio = MdioFault::Fails),
        ("phy.failed", "no PHY answers at any MDIO address", |g| g.faults.mdio = MdioFault::AllOnes),
        ("phy.failed", "no PHY answers at any MDIO address", |g| g.phy.present = false),
        ("phy.failed", "the PHY at MDIO address 9 has ID 0x00221622", |g| {
            g.phy = PhyConfig { address: 9, id: 0x0022_1622, ..PhyConfig::default() };
        }),
        ("genet.failed", "Transmit DMA, left running by an earlier program, did not stop within 5000 us", |g| {
            g.inherited = Inherited::NetworkBoot;
            g.faults.dma_never_stops = true;
        }),
        ("genet.absent", "SYS_REV_CTRL is 0x05000000, expected 0x06xxxxxx", |g| g.revision = 0x0500_0000),
    ];
    for (expected, words, change) in cases {
        let (rc, text, mut machine) = outcome(SHORT, |board| change(&mut board.genet));
        assert_eq!(rc, expected, "{text}");
        assert!(text.contains(words), "no `{words}` in {text}");
        if expected == "genet.absent" {
            assert_eq!(machine.stats().genet_writes, 0);
        }
        machine.type_text(b"help\r");
        assert_eq!(machine.run_until_text("resets the board"), Stop::Text, "the console is alive");
    }
}

#[test]
fn slow_mdio_another_address_and_engines_left_running_end_well() {
    let cases: [fn(&mut GenetConfig); 3] = [
        |g| g.mdio_busy_ns = 5 * MS,
        |g| g.phy.address = 31,
        |g| {
            g.inherited = Inherited::NetworkBoot;
            g.faults.dma_stop_ns = 4 * MS;
        },
    ];
    for (index, change) in cases.into_iter().enumerate() {
        let (rc, text, _) = outcome(SHORT, |board| change(&mut board.genet));
        assert_eq!(rc, "ok", "case {index}: {text}");
        assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000, "case {index}");
    }
}

#[test]
fn an_mdio_bus_that_dies_in_the_sweep_is_told_and_the_sweep_goes_on() {
    let plan = "gb.presets=amiga,poll gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=4"; // one link for both
    for mdio in [MdioFault::Stuck, MdioFault::Fails, MdioFault::AllOnes] {
        let (rc, text, _) = at(plan, "[1/2]", 0, |machine| {
            machine.with_genet(|genet, _, _| genet.set_faults(Faults { mdio, ..Faults::default() }));
        });
        assert_eq!((rc.as_str(), run_rcs(&text)), ("ok", rcs(&["ok", "ok"])), "{mdio:?}: {text}");
        assert!(text.contains("the PHY does not answer"), "{mdio:?}: {text}");
    }
}

#[test]
fn a_point_whose_link_cannot_be_asked_for_fails_by_name_and_the_sweep_goes_on() {
    // netbsd wants other links than the two before and after it.
    let plan = "gb.presets=netbsd,amiga,poll gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=4";
    for mdio in [MdioFault::Stuck, MdioFault::Fails] {
        let (rc, text, _) = at(plan, " result ", 0, |machine| {
            machine.with_genet(|genet, _, _| genet.set_faults(Faults { mdio, ..Faults::default() }));
        });
        let all = run_rcs(&text);
        assert_eq!((rc.as_str(), all.len()), ("phy.failed", 3), "{mdio:?}: {text}");
        // What wants the link as it is goes on; what wants another one has no link of its own.
        assert_eq!(all[0], "ok", "{mdio:?}: {text}");
        assert!(all.iter().any(|rc| rc == "phy.failed"), "{mdio:?}: {text}");
        assert!(text.contains("Receive by preset"), "{mdio:?}: {text}");
    }
}

#[test]
fn receive_dma_that_stops_late_costs_the_points_that_need_a_smaller_ring() {
    let plan = "gb.presets=amiga,openbsd,poll,linux gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=2";
    let (rc, text, _) = at(plan, "[1/4]", 0, |machine| {
        machine.with_genet(|genet, _, _| genet.set_faults(Faults { dma_stop_ns: 20 * MS, ..Faults::default() }));
    });
    assert_eq!(rc, "setting.failed", "{text}");
    let all = run_rcs(&text);
    assert_eq!(all.iter().filter(|rc| *rc == "setting.failed").count(), 2, "{text}"); // amiga and openbsd
    assert_eq!(all.iter().filter(|rc| *rc == "ok").count(), 2, "{text}");
}

// ---- speeds ----

#[test]
fn ten_and_a_hundred_half_and_full() {
    let plan = "gb.presets=linux gb.warmup_ms=100 gb.window_ms=400 gb.rtt_probes=2";
    for (modes, words, least_bps, most_bps) in [
        (Modes::FAST, "100 Mbit/s full", 94_000_000, 95_000_000),
        (Modes::T100_HALF, "100 Mbit/s half", 30_000_000, 95_000_000),
        (Modes::T10_FULL, "10 Mbit/s full", 9_300_000, 9_500_000),
        (Modes::T10_HALF, "10 Mbit/s half", 3_000_000, 9_500_000),
    ] {
        let (rc, text, machine) = outcome(plan, |board| board.link.partner.modes = modes);
        assert_eq!(rc, "ok", "{text}");
        assert!(text.contains(words), "no `{words}` in {text}");
        let bps = number(&result(&text, "linux"), "payload_bps");
        assert!((least_bps..=most_bps).contains(&bps), "{words}: {bps}");
        let late = machine.board().genet().link().stats().partner_late_collisions;
        assert_eq!(late, 0, "{words}: the two ends disagree on the duplex");
    }
}

#[test]
fn the_speed_may_change_between_two_points() {
    let plan = "gb.presets=9front,amiga gb.warmup_ms=50 gb.window_ms=200 gb.rtt_probes=2";
    let (rc, text, _) = at(plan, " result ", 0, |machine| {
        machine.with_genet(|genet, now, env| {
            genet.change_partner(now, |link| link.partner.modes = Modes::FAST, env);
        });
    });
    assert_eq!((rc.as_str(), run_rcs(&text)), ("ok", rcs(&["ok", "ok"])), "{text}");
    assert!(text.contains("link: 1000 Mbit/s full") && text.contains("link: 100 Mbit/s full"), "{text}");
    assert_eq!(text.lines().filter(|l| l.contains(" link up=1 ")).count(), 2, "a record for each change");
}

// ---- the link, in every phase ----

/// Runs `plan` until `text` is printed and `later_ns` more, does `change`, and goes on to the end.
fn at(plan: &str, text: &str, later_ns: u64, change: impl FnOnce(&mut Machine)) -> (String, String, Machine) {
    at_with(plan, text, later_ns, |_| {}, change)
}

fn at_with(
    plan: &str,
    text: &str,
    later_ns: u64,
    config: impl FnOnce(&mut BoardConfig),
    change: impl FnOnce(&mut Machine),
) -> (String, String, Machine) {
    let (stop, _, mut machine) = boot_as(plan, |machine| {
        config(&mut machine.board);
        machine.limit_ns = 0; // not a step before the text is wanted
    });
    assert_eq!(stop, Stop::Limit);
    machine.set_limit(400_000 * MS);
    assert_eq!(machine.run_until_text(text), Stop::Text, "{}", String::from_utf8_lossy(machine.uart()));
    if later_ns > 0 {
        let later = machine.stats().now_ns + later_ns;
        assert_eq!(machine.run_until(later), Stop::Limit);
        machine.set_limit(400_000 * MS);
    }
    change(&mut machine);
    let stop = machine.run();
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    finish(stop, text, machine)
}

fn plug(machine: &mut Machine, plugged: bool) {
    machine.with_genet(|genet, now, env| genet.set_plugged(now, plugged, env));
}

/// Pulls the cable for 300 ms; the link needs 2.5 s more.
fn flap(machine: &mut Machine) {
    plug(machine, false);
    let later = machine.stats().now_ns + 300 * MS;
    let stop = machine.run_until(later);
    assert!(matches!(stop, Stop::Limit | Stop::Bye(_)), "{stop:?}"); // after `bye` there may be nothing left to run
    machine.set_limit(400_000 * MS);
    plug(machine, true);
}

#[test]
fn a_link_that_flaps_in_any_phase_spoils_that_run_and_no_other() {
    // A round trip of 600 ms makes phases long enough to be met: after `[1/3]` and the drain of the console come the
    // connection (600 ms), the head (600), the warm-up (500), the window (3000) and the small requests (1200 each).
    // All three want the same link, so nothing but the cable takes it away. None polls: that costs the host minutes.
    let plan = "gb.presets=9front gb.thr=1,8,32 gb.warmup_ms=500 gb.window_ms=3000 gb.rtt_probes=2 gb.seed=1";
    let slow = |board: &mut BoardConfig| board.path = PathConfig::round_trip(600 * MS);
    for (phase, text, later_ns, expected) in [
        ("waiting for the link", "waiting for the other end", 1_000 * MS, ["ok", "ok", "ok"]),
        ("DHCP", "DHCP: asking", 10 * MS, ["ok", "ok", "ok"]),
        ("name", "looking up", 10 * MS, ["ok", "ok", "ok"]),
        ("connecting", "[1/3]", 300 * MS, ["link.lost", "ok", "ok"]),
        ("head", "[1/3]", 900 * MS, ["link.lost", "ok", "ok"]),
        ("warm-up", "[1/3]", 1_400 * MS, ["link.lost", "ok", "ok"]),
        ("window", "[1/3]", 3_000 * MS, ["link.lost", "ok", "ok"]),
        ("end of the window", "[1/3]", 4_600 * MS, ["link.lost", "ok", "ok"]),
        ("small requests", "[1/3]", 5_200 * MS, ["link.lost", "ok", "ok"]),
        ("between points", " result ", 0, ["ok", "ok", "ok"]),
        ("second window", "[2/3]", 3_000 * MS, ["ok", "link.lost", "ok"]),
        ("end", " bye ", 0, ["ok", "ok", "ok"]),
    ] {
        let (rc, text, _) = at_with(plan, text, later_ns, slow, flap);
        assert_eq!(run_rcs(&text), rcs(&expected), "{phase}: {text}");
        let worst = expected.iter().find(|rc| **rc != "ok").unwrap_or(&"ok");
        assert_eq!(rc, *worst, "{phase}");
        if *worst == "link.lost" {
            assert!(text.contains("the link went down meanwhile"), "{phase}");
        }
    }
}

#[test]
fn a_link_that_stays_away_ends_every_phase_with_its_name() {
    let plan = "gb.presets=9front gb.thr=1,8 gb.warmup_ms=50 gb.window_ms=500 gb.rtt_probes=2 gb.link_wait_ms=3000";
    for (text, later_ns, expected, all) in [
        ("waiting for the other end", 500 * MS, "link.down", vec![]),
        ("DHCP: asking", 0, "link.lost", vec![]),
        ("[1/2]", 100 * MS, "link.lost", vec!["link.lost", "link.down"]),
        (" result ", 0, "link.down", vec!["ok", "link.down"]),
        ("[2/2]", 100 * MS, "link.lost", vec!["ok", "link.lost"]),
        (" bye ", 0, "ok", vec!["ok", "ok"]),
    ] {
        let slow = |board: &mut BoardConfig| board.path = PathConfig::round_trip(20 * MS);
        let (rc, printed, mut machine) = at_with(plan, text, later_ns, slow, |machine| plug(machine, false));
        assert_eq!((rc.as_str(), run_rcs(&printed)), (expected, rcs(&all)), "{text}: {printed}");
        // And the board is as good as new when the cable is back.
        plug(&mut machine, true);
        machine.type_text(format!("run {SHORT}\r").as_bytes());
        assert_eq!(machine.run(), Stop::Bye("ok".to_owned()), "{text}: {}", String::from_utf8_lossy(machine.uart()));
    }
}

// ---- PAUSE ----

fn flooding(from_ns: u64, until_ns: u64) -> impl FnOnce(&mut BoardConfig) {
    let flood = PauseFlood { from_ns, until_ns, interval_ns: MS / 50, quanta: 0xFFFF };
    move |board| board.link.partner = Partner { pause_flood: Some(flood), ..Partner::default() }
}

#[test]
fn a_flood_of_pause_from_the_start_is_named_as_the_likely_cause() {
    let (rc, text, _) = outcome(SHORT, flooding(0, u64::MAX));
    assert_eq!(rc, "dhcp.timeout", "{text}");
    assert!(text.contains("PAUSE frames, which hold our sender"), "{text}");
    let bye = text.lines().find(|l| l.contains(" bye ")).unwrap();
    let pauses = bye.split("pause_received=").nth(1).unwrap().split(['*', ' ']).next().unwrap();
    assert!((700_000..900_000).contains(&pauses.parse::<u32>().unwrap()), "{bye}");
}

#[test]
fn a_flood_of_pause_in_the_sweep_fails_its_runs_and_is_counted() {
    // From before the second point until long after it.
    let plan = "gb.presets=9front gb.thr=1,8,32 gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=2"; // one link for all
    let flood = PauseFlood { from_ns: 0, until_ns: u64::MAX, interval_ns: 10 * MS, quanta: 0xFFFF };
    let (rc, text, _) = at(plan, "[2/3]", 0, |machine| {
        machine.with_genet(|genet, _, _| genet.link_mut().set_pause_flood(Some(flood)));
    });
    assert_eq!(run_rcs(&text), rcs(&["ok", "tcp.timeout", "tcp.timeout"]), "{text}");
    assert_eq!(rc, "tcp.timeout");
    let counted = text.lines().filter(|l| l.contains(" mib ") && l.contains("name=rx_pf ")).count();
    assert_eq!(counted, 2, "{text}");
}
