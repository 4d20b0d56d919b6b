//! Calibration on the model: it finds every reading of the hardware that the model can be switched to, and it ends
//! whatever the hardware does.

mod common;

use board::genet::*;
use board::link::{Direction, LinkConfig};
use board::source::PacedSource;
use common::{Bench, MAC, MS, World, frames};
use genet::calibrate::{Audience, Fact, Outcome, QUESTIONS, Sure, Value};
use genet::{Pause, Posted, Registers, RxMode, RxRing, RxSettings};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Answers by name; a tick by name and loopback.
#[derive(Default)]
struct Answers {
    facts: BTreeMap<String, Fact>,
    told: u32,
    stop_after: Option<u32>,
}

impl Audience for Answers {
    fn fact(&mut self, fact: &Fact) {
        self.told += 1;
        let name = fact.question.name;
        let key = if name == "tick" { format!("tick {}", fact.via) } else { name.into() };
        assert!(self.facts.insert(key, *fact).is_none(), "{name} was told twice");
    }

    fn stop_wanted(&mut self, _: u64) -> bool {
        self.stop_after.is_some_and(|after| self.told >= after)
    }
}

/// Frames that come long after calibration.
fn source() -> PacedSource {
    PacedSource::new(12_100 * MS, 12_304, 2_000, 1514, MAC)
}

fn calibrate(genet: GenetConfig) -> (Answers, Outcome, Bench) {
    calibrate_with(genet, Answers::default())
}

fn calibrate_with(genet: GenetConfig, mut answers: Answers) -> (Answers, Outcome, Bench) {
    let mut bench = World::new(genet, LinkConfig::default(), source()).start();
    let phy = bench.phy.as_mut().unwrap();
    let outcome = bench.driver.calibrate(phy, &mut answers);
    bench.link = Default::default();
    (answers, outcome, bench)
}

const WORKS: Value = Value::Word("works");

fn pick<T: PartialEq>(is: T, other: T, default: &'static str, otherwise: &'static str) -> Value {
    Value::Word(if is == other { otherwise } else { default })
}

/// What calibration must find on a model with these switches, every fact of it.
fn expected(s: &Switches, found: &Found) -> BTreeMap<String, Value> {
    let word = Value::Word;
    let timer = match s.timer {
        TimerStart::FirstPacket => "first_packet",
        TimerStart::LastPacket => "last_packet",
        TimerStart::FreeRunning => "free_running",
    };
    let zero = s.threshold_zero;
    let expected = [
        ("reset_threshold", Value::Number(found.threshold.into())),
        ("reset_timeout", Value::Number((found.timeout & 0xffff).into())),
        ("prod_write_off", word("taken")),
        ("prod_write_ring_on", word("ignored")),
        ("prod_write_running", word("ignored")),
        ("pointer_write_ring_on", word("ignored")),
        ("loop_mac_1000", WORKS),
        ("loop_mac_100", WORKS),
        ("loop_phy_1000", WORKS),
        ("loop_phy_100", WORKS),
        ("tick mac_1000", Value::Number(8_192)),
        ("tick mac_100", Value::Number(8_192)),
        ("tick phy_1000", Value::Number(8_192)),
        ("tick phy_100", Value::Number(8_192)),
        ("ring0_tick", Value::Number(8_192)),
        ("timer_start", word(timer)),
        ("timer_clear", pick(s.count, CountMode::SinceClear, "goes_on", "ends")),
        ("timer_cons", word("goes_on")),
        ("count_restart", pick(s.count, CountMode::SinceClear, "event", "cpu_clear")),
        ("threshold_0", pick(zero, ThresholdZero::AsOne, "never", "as_1")),
        ("threshold_0_timer", pick(zero, ThresholdZero::AsOne, "fires", "at_once")),
        ("timeout_0", word("off")),
        ("threshold_256", Value::Number(256)),
        ("threshold_511", Value::Number(511)),
        ("threshold_full", word("no_event")),
        ("pdone", word("each_frame")),
        ("bdone", word("each_frame")),
        ("ring0_pdone", word("never")),
        ("default_ring", pick(s.default_ring, DefaultRing::Ring16, "the_ring_that_runs", "ring_16_only")),
        ("slot_rule", pick(s.slots, SlotRule::IndexModuloSize, "pointer", "index")),
        ("discard_step", Value::Number(3)),
        ("discard_clear", word("clears")),
        ("discard_end", pick(s.discards, DiscardEnd::Wraps, "stays", "starts_at_0")),
        ("mask", pick(s.back_pressure_mask, BackPressureMask::SetEnables, "blocks", "enables")),
        ("xoff_free", Value::Number(199)),
        ("xoff_trigger", pick(s.xoff, XoffTrigger::EachFrame, "on_entry", "for_each_frame")),
        ("xon_free", Value::Number(221)),
        ("pause_in_20ms", Value::Number(1)),
        ("pause_count", pick(s.pause_count, PauseCount::PauseOnly, "everywhere", "in_tx_pf_only")),
        ("quantum_1000", Value::Number(512)),
        ("quantum_100", Value::Number(5_120)),
        ("pause_repeat", Value::Number(512)),
        ("empty_filter", pick(s.empty_filter, EmptyFilter::AcceptsOwn, "everything", "own_and_broadcast")),
        ("long_frames", pick(s.long_frames, LongFrames::InPieces, "cut", "whole")),
        ("rgmii_tx", pick(s.rgmii, RgmiiTiming::Strict, "no_harm", "damages_frames")),
        ("rgmii_rx", pick(s.rgmii, RgmiiTiming::Strict, "no_harm", "damages_frames")),
    ];
    expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Every fact as it is in this model, none open, nothing left changed, and traffic as ever afterwards.
fn finds(switches: Switches, found: Found) {
    let genet = GenetConfig { switches, found: found.clone(), ..GenetConfig::default() };
    let (answers, outcome, mut bench) = calibrate(genet);
    let what = format!("{switches:?}");
    assert_eq!(outcome, Outcome { stopped: false, looped: true, not_restored: None }, "{what}");
    let expected = expected(&switches, &found);
    for (name, value) in &expected {
        let fact = answers.facts.get(name).unwrap_or_else(|| panic!("{what}: nothing of {name}"));
        assert!(is_near(fact.answer, *value), "{what}: {fact:?}, expected {value:?}");
        if fact.runs > 1 {
            assert_eq!((fact.sure(), fact.same), (Sure::Certain, fact.runs), "{what}: {fact:?}");
        }
    }
    assert_eq!(answers.facts.len(), expected.len());
    assert_eq!(bench.findings(), [], "{what}");
    works_as_ever(&mut bench);
}

/// Times may be off by what a look takes; half a per cent.
fn is_near(answer: Result<Value, &'static str>, value: Value) -> bool {
    match (answer, value) {
        (Ok(Value::Number(a)), Value::Number(b)) if b > 511 => a.abs_diff(b) * 200 <= b,
        (answer, value) => answer == Ok(value),
    }
}

/// The link comes back by itself, and all frames arrive.
fn works_as_ever(bench: &mut Bench) {
    assert!(bench.now() < 8_000 * MS, "{} ms", bench.now() / MS);
    for _ in 0..40 {
        bench.pass(100 * MS);
        bench.poll_link();
    }
    assert!(bench.link.up);
    bench.apply(RxSettings { threshold: Some(10), timeout_ticks: Some(7), ..RxSettings::default() });
    let received = frames(&bench.receive_until(12_500 * MS));
    assert_eq!(received.len(), 2_000);
    assert_eq!(bench.findings(), []);
}

#[test]
fn every_switch_is_found_alone() {
    let default = Switches::default();
    finds(default, Found::default());
    for one in [
        Switches { count: CountMode::SinceClear, ..default },
        Switches { timer: TimerStart::LastPacket, ..default },
        Switches { timer: TimerStart::FreeRunning, ..default },
        Switches { threshold_zero: ThresholdZero::AsOne, ..default },
        Switches { slots: SlotRule::IndexModuloSize, ..default },
        Switches { discards: DiscardEnd::Wraps, ..default },
        Switches { empty_filter: EmptyFilter::AcceptsOwn, ..default },
        Switches { xoff: XoffTrigger::EachFrame, ..default },
        Switches { back_pressure_mask: BackPressureMask::SetEnables, ..default },
        Switches { pause_count: PauseCount::PauseOnly, ..default },
        Switches { rgmii: RgmiiTiming::Strict, ..default },
        Switches { long_frames: LongFrames::InPieces, ..default },
        Switches { default_ring: DefaultRing::Ring16, ..default },
    ] {
        finds(one, Found::default());
    }
}

#[test]
fn switches_are_found_together() {
    let others = Switches {
        count: CountMode::SinceClear,
        timer: TimerStart::LastPacket,
        threshold_zero: ThresholdZero::AsOne,
        slots: SlotRule::IndexModuloSize,
        discards: DiscardEnd::Wraps,
        empty_filter: EmptyFilter::AcceptsOwn,
        xoff: XoffTrigger::EachFrame,
        back_pressure_mask: BackPressureMask::SetEnables,
        pause_count: PauseCount::PauseOnly,
        rgmii: RgmiiTiming::Strict,
        long_frames: LongFrames::InPieces,
        default_ring: DefaultRing::Ring16,
    };
    for timer in [TimerStart::FirstPacket, TimerStart::LastPacket, TimerStart::FreeRunning] {
        for count in [CountMode::SinceEvent, CountMode::SinceClear] {
            finds(Switches { timer, count, ..others }, Found::default());
            finds(Switches { timer, count, ..Switches::default() }, Found::default());
        }
    }
}

#[test]
fn what_was_found_at_boot_changes_nothing_else() {
    for (threshold, timeout) in [(0, 0), (0, 4096), (1, 65_535), (511, 0xabcd_1000)] {
        let found = Found { threshold, timeout, rdma_mask: 0x1_ffff, pause_ctrl: 0, ..Found::default() };
        finds(Switches::default(), found);
    }
}

/// Facts that rest on no frame that came back.
const WITHOUT_FRAMES: [&str; 6] = [
    "reset_threshold",
    "reset_timeout",
    "prod_write_off",
    "prod_write_ring_on",
    "prod_write_running",
    "pointer_write_ring_on",
];

#[test]
fn a_loop_that_returns_nothing_makes_open_facts_and_ends() {
    let faults = Faults { loopback: LoopbackFault::AllSilent, ..Faults::default() };
    let (answers, outcome, mut bench) = calibrate(GenetConfig { faults, ..GenetConfig::default() });
    assert_eq!(outcome, Outcome { stopped: false, looped: false, not_restored: None });
    for (name, fact) in &answers.facts {
        let known = WITHOUT_FRAMES.contains(&name.as_str());
        let expected = match name.strip_prefix("loop_") {
            Some(_) => Ok(Value::Word("silent")),
            None if known => fact.answer,
            None => Err("no_loopback"),
        };
        assert_eq!(fact.answer, expected, "{name}");
        assert_eq!(fact.answer.is_ok(), known || name.starts_with("loop_"));
    }
    assert_eq!(answers.facts.len(), QUESTIONS.len());
    works_as_ever(&mut bench);
}

#[test]
fn without_the_loop_of_the_mac_that_of_the_phy_answers_all() {
    let faults = Faults { loopback: LoopbackFault::MacSilent, ..Faults::default() };
    let (answers, _, mut bench) = calibrate(GenetConfig { faults, ..GenetConfig::default() });
    for (name, value) in expected(&Switches::default(), &Found::default()) {
        match name.as_str() {
            "tick mac_1000" | "tick mac_100" => assert!(!answers.facts.contains_key(&name)),
            "loop_mac_1000" | "loop_mac_100" => assert_eq!(answers.facts[&name].answer, Ok(Value::Word("silent"))),
            _ => assert!(is_near(answers.facts[&name].answer, value), "{name}: {:?}", answers.facts[&name]),
        }
    }
    works_as_ever(&mut bench);
}

#[test]
fn a_loop_that_loses_frames_never_gives_a_wrong_answer_that_is_certain() {
    for share in [2, 3, 40] {
        let faults = Faults { loopback: LoopbackFault::Loses(share), ..Faults::default() };
        let (answers, _, mut bench) = calibrate(GenetConfig { faults, ..GenetConfig::default() });
        let truth = expected(&Switches::default(), &Found::default());
        for (name, fact) in &answers.facts {
            let Ok(value) = fact.answer else { continue };
            let right = truth.get(name).is_some_and(|truth| is_near(Ok(value), *truth));
            assert!(right || name.starts_with("loop_"), "one frame in {share}: {fact:?}");
        }
        works_as_ever(&mut bench);
    }
}

#[test]
fn a_bus_to_the_phy_that_is_dead_leaves_the_loop_of_the_mac() {
    let genet = GenetConfig::default();
    let mut bench = World::new(genet, LinkConfig::default(), source()).start();
    let mut answers = Answers::default();
    bench.model(|model, _, _| model.set_faults(Faults { mdio: MdioFault::Fails, ..Faults::default() }));
    let phy = bench.phy.as_mut().unwrap();
    let outcome = bench.driver.calibrate(phy, &mut answers);
    assert_eq!((outcome.looped, outcome.not_restored), (true, None));
    assert_eq!(answers.facts["tick mac_1000"].answer, Ok(Value::Number(8_192)));
    assert_eq!(answers.facts["loop_phy_1000"].answer, Err("no_mdio"));
    assert!(answers.facts["rgmii_tx"].answer.is_err());
    bench.model(|model, _, _| model.set_faults(Faults::default()));
    works_as_ever(&mut bench);
}

#[test]
fn an_engine_that_does_not_stop_ends_it_at_once() {
    let mut bench = World::new(GenetConfig::default(), LinkConfig::default(), source()).start();
    bench.model(|model, _, _| model.set_faults(Faults { dma_never_stops: true, ..Faults::default() }));
    let mut answers = Answers::default();
    let before = bench.now();
    let outcome = bench.driver.calibrate(bench.phy.as_mut().unwrap(), &mut answers);
    assert_eq!((outcome.looped, outcome.not_restored), (false, None));
    assert!(bench.now() - before < 200 * MS, "{} ms", (bench.now() - before) / MS);
    assert_eq!(answers.facts["tick "].answer, Err("dma_stuck"));
    bench.model(|model, _, _| model.set_faults(Faults::default()));
    works_as_ever(&mut bench);
}

#[test]
fn it_can_be_stopped_after_any_answer() {
    for after in 0..QUESTIONS.len() as u32 + 3 {
        let (answers, outcome, mut bench) =
            calibrate_with(GenetConfig::default(), Answers { stop_after: Some(after), ..Answers::default() });
        let all = expected(&Switches::default(), &Found::default()).len() as u32;
        assert_eq!((outcome.stopped, outcome.not_restored), (after < all, None), "after {after}");
        assert_eq!(answers.told, after.min(all), "what was not asked is not told");
        works_as_ever(&mut bench);
    }
}

#[test]
fn no_cable_is_needed_and_settings_stay() {
    let link = LinkConfig { plugged: false, ..LinkConfig::default() };
    let mut bench = World::new(GenetConfig::default(), link, source()).start();
    let settings = RxSettings {
        threshold: Some(32),
        timeout_ticks: Some(61),
        posted: Posted::Fixed(128),
        quanta: Some(0x100),
        ring: RxRing::Ring0,
        mode: RxMode::Poll,
        ..RxSettings::default()
    };
    bench.apply(settings);
    let before = (bench.driver.read_back(), REGISTERS.map(|offset| bench.model(|m, _, _| m.peek(offset))));
    let mut answers = Answers::default();
    let outcome = bench.driver.calibrate(bench.phy.as_mut().unwrap(), &mut answers);
    assert_eq!(outcome, Outcome { stopped: false, looped: true, not_restored: None });
    let after = (bench.driver.read_back(), REGISTERS.map(|offset| bench.model(|m, _, _| m.peek(offset))));
    assert_eq!(before, after);
    assert!(answers.facts.values().all(|fact| fact.answer.is_ok()));
    assert_eq!(bench.findings(), []);
}

/// What reaches the partner from now on.
fn watch_wire(bench: &mut Bench) -> Rc<RefCell<Vec<Vec<u8>>>> {
    let sent = Rc::new(RefCell::new(Vec::new()));
    let log = sent.clone();
    bench.model(|model, _, _| {
        model.link_mut().set_tap(Some(Box::new(move |_, direction, bytes| {
            if direction == Direction::FromBoard {
                log.borrow_mut().push(bytes.to_vec());
            }
        })));
    });
    sent
}

/// Bench in a storm of broadcasts, with PAUSE sent and watermarks that ask for it soon.
fn in_a_storm(ring: RxRing, genet: GenetConfig) -> Bench {
    let storm = PacedSource::new(0, 20_000, u64::MAX, 60, [0xff; 6]);
    let mut bench = World::new(genet, LinkConfig::default(), storm).start();
    let pause = Pause::Forced { send: true, obey: true };
    bench.apply(RxSettings { pause, xoff: 200, xon: 220, ring, ..RxSettings::default() });
    bench
}

#[test]
fn a_busy_wire_changes_no_fact_and_the_partner_hears_nothing() {
    for ring in [RxRing::Ring16, RxRing::Ring0] {
        for xoff in [XoffTrigger::OnEntry, XoffTrigger::EachFrame] {
            let switches = Switches { xoff, ..Switches::default() };
            let mut bench = in_a_storm(ring, GenetConfig { switches, ..GenetConfig::default() });
            let sent = watch_wire(&mut bench);
            let mut answers = Answers::default();
            let outcome = bench.driver.calibrate(bench.phy.as_mut().unwrap(), &mut answers);
            assert_eq!(outcome, Outcome { stopped: false, looped: true, not_restored: None });
            for (name, value) in &expected(&switches, &Found::default()) {
                assert!(is_near(answers.facts[name].answer, *value), "{ring:?}: {:?}", answers.facts[name]);
            }
            assert_eq!(*sent.borrow(), Vec::<Vec<u8>>::new(), "{ring:?}");
            assert_eq!(bench.findings(), [], "{ring:?}");
        }
    }
}

#[test]
fn a_ring_that_was_left_never_asks_for_a_pause() {
    for leaves in [RxRing::Ring16, RxRing::Ring0] {
        let enters = if leaves == RxRing::Ring0 { RxRing::Ring16 } else { RxRing::Ring0 };
        let faults = Faults { idle_rings_ask: true, ..Faults::default() };
        let mut bench = in_a_storm(leaves, GenetConfig { faults, ..GenetConfig::default() });
        // Nobody takes the frames: the ring falls below XOFF.
        bench.pass(10 * MS);
        let asks = |bench: &mut Bench| bench.model(|model, _, _| model.peek(0x3064)) != 0;
        assert!(asks(&mut bench), "{leaves:?}");
        // The ring that is entered never asks.
        let pause = Pause::Forced { send: true, obey: true };
        bench.apply(RxSettings { pause, xoff: 0, xon: 0, ring: enters, ..RxSettings::default() });
        let sent = watch_wire(&mut bench);
        bench.pass(3 * MS);
        let prod = if enters == RxRing::Ring0 { 0x2c08 } else { 0x3008 };
        assert!(bench.model(|model, _, _| model.peek(prod)) & 0xffff > 100, "{enters:?}");
        assert!(!asks(&mut bench), "{leaves:?}");
        assert_eq!(*sent.borrow(), Vec::<Vec<u8>>::new(), "{leaves:?}");
    }
}

/// The engine when an answer is told.
struct AtAnswers<'a>(&'a common::Handle, Vec<(&'static str, u32, bool)>);

impl Audience for AtAnswers<'_> {
    fn fact(&mut self, fact: &Fact) {
        let free = 256 - i32::from((self.0.read(0x3008) as u16).wrapping_sub(self.0.read(0x300c) as u16));
        self.1.push((fact.question.name, self.0.read(0x3044), (0..=256).contains(&free)));
    }

    fn stop_wanted(&mut self, _: u64) -> bool {
        false
    }
}

#[test]
fn no_engine_runs_with_an_index_that_no_ring_can_have_while_an_answer_is_told() {
    let mut bench = in_a_storm(RxRing::Ring16, GenetConfig::default());
    let handle = bench.world.handle.clone();
    let mut answers = AtAnswers(&handle, Vec::new());
    bench.driver.calibrate(bench.phy.as_mut().unwrap(), &mut answers);
    assert!(answers.1.iter().all(|(_, control, in_ring)| *in_ring || control & 1 == 0), "{:?}", answers.1);
    let writes: Vec<_> = answers.1.iter().filter(|(name, ..)| name.contains("_write_")).collect();
    assert_eq!(writes.len(), 4);
    assert!(writes.iter().all(|(_, control, in_ring)| *control == 0 && *in_ring), "{writes:?}");
}

#[test]
fn frames_that_never_left_a_loop_do_not_reach_the_partner_later_and_both_rings_are_as_before() {
    for loopback in [LoopbackFault::NoClock, LoopbackFault::AllSilent, LoopbackFault::None] {
        for ring in [RxRing::Ring16, RxRing::Ring0] {
            let mut bench = in_a_storm(ring, GenetConfig::default());
            bench.model(|model, _, _| model.set_faults(Faults { loopback, ..Faults::default() }));
            let before = RINGS.map(|offset| bench.model(|m, _, _| m.peek(offset)));
            let settings = bench.driver.read_back();
            let sent = watch_wire(&mut bench);
            let outcome = bench.driver.calibrate(bench.phy.as_mut().unwrap(), &mut Answers::default());
            assert_eq!((outcome.looped, outcome.not_restored), (loopback == LoopbackFault::None, None));
            assert_eq!(RINGS.map(|offset| bench.model(|m, _, _| m.peek(offset))), before, "{loopback:?} {ring:?}");
            assert_eq!(bench.driver.read_back(), settings);
            bench.link = Default::default();
            for _ in 0..40 {
                bench.pass(100 * MS);
                bench.poll_link();
                bench.driver.poll_receive(0);
                bench.drain_any();
            }
            assert!(bench.link.up);
            // The storm may fill the ring, and PAUSE is on.
            sent.borrow_mut().retain(|frame| frame[12..14] != [0x88, 0x08]);
            assert_eq!(*sent.borrow(), Vec::<Vec<u8>>::new(), "{loopback:?} {ring:?}");
            assert!(bench.send(60, &[0xff; 6]), "{loopback:?} {ring:?}");
            bench.pass(MS);
            assert_eq!(sent.borrow().iter().filter(|frame| frame[..6] == [0xff; 6]).count(), 1);
            assert_eq!(bench.findings(), [], "{loopback:?} {ring:?}");
        }
    }
}

/// MBUF_DONE_THRESH, XON_XOFF_THRESH, ring timeout: of ring 16 and of ring 0.
const RINGS: [u32; 6] = [0x3024, 0x3028, 0x30ac, 0x2c24, 0x2c28, 0x306c];

/// MAX_FRAME_LEN, PAUSE_CTRL, MASK, MDF_CTRL, RGMII_OOB_CTRL without its link bit's doing, RING_CFG.
const REGISTERS: [u32; 5] = [0x814, 0xb30, 0x3054, 0xe50, 0x3040];
