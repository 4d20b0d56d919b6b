//! Arrival, interrupt and delivery of every frame, on the image that goes on a card: core 1 watches the ring.
//!
//! What the ring between the cores does when it is full is tested where it is (kernel/src/watch).

mod common;

use common::{Session, at_reset, boot, boot_as, number, result, whole_records};
use std::cell::Cell;
use std::rc::Rc;
use vpi4::{MachineConfig, Stop};

const FRAME_NS: u64 = 12_304;
const TICKS_4096_NS: u64 = 33_554_432;
const SHORT: &str = "gb.warmup_ms=5 gb.window_ms=100 gb.rtt_probes=0";

fn near(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) <= expected * percent / 100
}

fn has(fields: &[(String, String)], key: &str) -> bool {
    fields.iter().any(|(k, _)| k == key)
}

#[test]
fn coalescing_is_seen_as_interrupt_after_arrival_and_the_wire_at_the_arrival() {
    let (stop, text, machine) = boot(&format!("gb.presets=linux,amiga,ticks4096,poll {SHORT}"), |_| {});
    assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
    assert_eq!(machine.findings(), []);
    for preset in ["linux", "amiga", "ticks4096", "poll"] {
        let fields = result(&text, preset);
        let p50 = number(&fields, "arrival_p50_ns");
        assert!(near(p50, FRAME_NS, 3), "{preset}: {p50} ns between arrivals on a gigabit wire");
    }
    for preset in ["linux", "amiga", "ticks4096"] {
        let fields = result(&text, preset);
        assert_eq!((number(&fields, "arrivals_missed"), number(&fields, "arrivals_lost")), (0, 0), "{preset}");
    }

    let linux = result(&text, "linux");
    assert!(number(&linux, "irq_delay_p90_ns") < 1_000 && number(&linux, "latch_mean_ns") < 600, "{linux:?}");
    let latches = number(&linux, "latches");
    assert!(near(latches, number(&linux, "irqs"), 1), "an interrupt a frame: {latches} in {linux:?}");

    let amiga = result(&text, "amiga");
    let until_full = 31 * FRAME_NS;
    assert!(near(number(&amiga, "latch_mean_ns"), until_full, 2), "32 frames make an interrupt: {amiga:?}");
    assert!(near(number(&amiga, "irq_delay_p50_ns"), until_full / 2, 7), "{amiga:?}");

    let ticks = result(&text, "ticks4096");
    assert!(near(number(&ticks, "latch_mean_ns"), TICKS_4096_NS, 1), "{ticks:?}");
    assert!(near(number(&ticks, "irq_delay_max_ns"), TICKS_4096_NS, 1), "{ticks:?}");
    assert!(number(&ticks, "irq_delay_p50_ns") > TICKS_4096_NS * 9 / 10, "{ticks:?}");
    assert!(number(&ticks, "deliver_p50_ns") < FRAME_NS / 2, "delivered in a heap: {ticks:?}");

    let poll = result(&text, "poll");
    assert!(!has(&poll, "irq_delay_p50_ns") && !has(&poll, "latches"), "nobody waits for an interrupt: {poll:?}");

    let arrivals = text.lines().filter(|l| l.contains(" hist ") && l.contains("which=arrival")).count();
    assert!(arrivals >= 4, "{text}");
    assert!(text.contains("irq after arrival"), "{text}");
}

#[test]
fn two_runs_print_the_same_bytes() {
    let run = || {
        let (stop, text, machine) = boot(&format!("gb.presets=amiga {SHORT}"), |_| {});
        assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
        (text, machine.stats(), machine.core_stats(1).expect("core 1 ran"))
    };
    let (first, second) = (run(), run());
    assert!(first == second, "{:?} and {:?}", first.2, second.2);
    assert!(first.2.genet_reads > 100_000 && first.2.device_writes == 0, "{:?}", first.2);
    assert_eq!(first.2.device_reads, first.2.genet_reads, "the watcher reads nothing but GENET");
}

#[test]
fn laps_that_are_skipped_and_laps_that_are_run_come_to_the_same() {
    for preset in ["linux", "amiga", "ticks4096"] {
        let run = |traced: bool| {
            let mut machine = at_reset(&format!("gb.presets={preset} {SHORT}"), |_| {});
            let accesses = Rc::new(Cell::new(0u64));
            if traced {
                let accesses = accesses.clone();
                machine.set_trace(Box::new(move |_| accesses.set(accesses.get() + 1)));
            }
            assert_eq!(machine.run(), Stop::Bye("ok".to_owned()), "{preset}");
            let (stats, watcher) = (machine.stats(), machine.core_stats(1).expect("core 1 ran"));
            if traced {
                let all = [stats.device_reads, stats.device_writes, watcher.device_reads].iter().sum();
                assert_eq!(accesses.get(), all, "{preset}: a trace has every access");
            }
            (String::from_utf8_lossy(machine.uart()).into_owned(), stats, watcher)
        };
        let (traced, free) = (run(true), run(false));
        assert!(traced == free, "{preset}: {:?} {:?}\n{:?} {:?}", traced.1, traced.2, free.1, free.2);
    }
}

#[test]
fn a_core_that_is_not_needed_is_not_released_and_a_parked_one_reads_nothing() {
    let mut session = Session::new(|_| {});
    let released = session.machine.core_stats(1).expect("the first run watches");
    let (rc, _) = session.run(&format!("gb.watch=off {SHORT}"));
    let parked = session.machine.core_stats(1).unwrap();
    assert_eq!(
        (rc.as_str(), parked.device_reads, parked.instructions),
        ("ok", released.device_reads, released.instructions)
    );
    session.close();

    let (_, text, machine) = boot(&format!("gb.presets=linux gb.watch=off {SHORT}"), |_| {});
    assert_eq!(machine.core_stats(1), None);
    assert!(!has(&result(&text, "linux"), "arrival_p50_ns"), "{text}");
}

#[test]
fn watching_is_priced_by_a_pair_of_runs() {
    let (stop, text, _) = boot(&format!("gb.presets=amiga gb.watch=on,off {SHORT}"), |_| {});
    assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
    let cost = text.lines().find(|line| line.contains("amiga: watching costs")).unwrap_or_else(|| panic!("{text}"));
    let percent: f64 = cost.split("costs ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((0.0..10.0).contains(&percent), "{cost}");
    let records =
        |watch| text.lines().filter(|l| l.contains(" plan ") && l.contains(&format!("watch={watch}"))).count();
    assert_eq!((records(0), records(1)), (1, 1), "{text}");
}

#[test]
fn a_board_without_core_1_says_so_and_has_two_clocks() {
    let plan = format!("gb.presets=linux,amiga {SHORT}");
    let (stop, text, machine) = boot_as(&plan, |config| config.cores = 1);
    assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
    assert_eq!(machine.findings(), []);
    assert_eq!(text.matches("arrival clock: core 1 does not start").count(), 1, "said once: {text}");
    let amiga = result(&text, "amiga");
    assert!(!has(&amiga, "arrival_p50_ns") && !has(&amiga, "irq_delay_p50_ns"), "{amiga:?}");
    assert!(number(&amiga, "payload_bps") > 900_000_000 && number(&amiga, "irq_p50_ns") < FRAME_NS, "{amiga:?}");
}

#[test]
fn a_fault_on_core_1_is_told_and_core_0_goes_on() {
    let mut session = Session::new(|_| {});
    session.machine.type_text(b"crash watcher\r");
    let stop = session.machine.run_until_text("is not used any more");
    let text = session.news();
    assert_eq!(stop, Stop::Text, "{text}");
    let limit_ns = session.machine.stats().now_ns + 50_000_000;
    assert_eq!(session.machine.run_until(limit_ns), Stop::Limit);
    let text = format!("{text}{}", session.news());
    assert!(text.contains("core 1 failed") && text.contains("data abort at image + 0x"), "{text}");
    assert!(text.contains("far 0xf00000000"), "{text}");
    session.machine.set_limit(60_000_000_000);
    let (rc, text) = session.run(&format!("gb.presets=linux {SHORT}"));
    assert_eq!(rc, "ok", "{text}");
    let linux = result(&text, "linux");
    assert!(!has(&linux, "arrival_p50_ns") && number(&linux, "payload_bps") > 900_000_000, "{linux:?}");
    session.close();
}

#[test]
fn verdicts_rest_on_what_watching_shows() {
    let plan = "gb.verdict=1 gb.subject=ticks4096";
    let (stop, text, machine) = boot(plan, |_| {});
    assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
    assert_eq!(machine.findings(), []);
    assert!(text.contains("watching when frames arrive costs"), "{text}");
    let lines: Vec<&str> = text.lines().filter(|l| l.contains(" verdict ")).collect();
    let coalescing = lines.iter().position(|l| l.contains("hypothesis=coalescing")).unwrap_or_else(|| panic!("{text}"));
    let figures = lines[coalescing..].iter().take(2).flat_map(|line| line.split([' ', '*']));
    let figures: Vec<(&str, u64)> =
        figures.filter_map(|w| w.split_once('=')).filter_map(|(k, v)| Some((k, v.parse().ok()?))).collect();
    let figure = |key| figures.iter().find(|(k, _)| *k == key).unwrap_or_else(|| panic!("no {key} in {figures:?}")).1;
    assert!(near(figure("irq_delay_p50_with_ns"), TICKS_4096_NS, 10), "{figures:?}");
    assert!(figure("irq_delay_p50_without_ns") < 1_000, "{figures:?}");
    assert!(text.contains("half the frames wait"), "{text}");
    assert!(whole_records(&text) > 50);
}

#[test]
fn a_reset_puts_core_1_back_where_it_was() {
    let mut machine = at_reset(&format!("gb.presets=linux {SHORT}"), |_| {});
    for round in 0..2 {
        let stop = machine.run();
        assert_eq!(stop, Stop::Bye("ok".to_owned()), "round {round}");
        assert!(machine.core_stats(1).is_some_and(|stats| stats.genet_reads > 10_000), "round {round}");
        machine.reset().unwrap();
        assert_eq!(machine.core_stats(1), None);
    }
}

#[test]
fn core_1_sees_nothing_that_was_not_cleaned_to_memory() {
    const NOP: u32 = 0xd503_201f;
    let mut machine = at_reset(&format!("gb.presets=linux {SHORT}"), |_| {});
    let at = MachineConfig::default().load_address;
    let image = machine.read_memory(at, 0x8_0000).unwrap();
    let mut taken_out = 0;
    for (index, word) in image.chunks_exact(4).enumerate() {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        if word & !31 == 0xd50b_7e20 {
            machine.write_memory(at + 4 * index as u64, &NOP.to_le_bytes()).unwrap(); // dc civac
            taken_out += 1;
        }
    }
    assert!(taken_out >= 2, "the release word and what core 1 reads first");
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    assert!(text.contains("core 1 does not start") && machine.core_stats(1).is_none(), "{text}");
}
