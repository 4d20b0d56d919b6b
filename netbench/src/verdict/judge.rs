//! The procedure: which settings are compared, and what is concluded.
//!
//! Driver and link causes are peeled off one after the other: each comparison changes one thing in the settings as
//! they are by then, and what is confirmed is removed before the next. What comparisons with masks in the way left
//! undecided is compared again after each removal. When no such cause is left and the link is still not full, the
//! network's causes are told apart on settings that have none of them.
//!
//! A cause needs both a mechanism that was seen at work (PAUSE frames counted, descriptors missing, a threshold that
//! makes frames wait) and an effect on the rate. Nothing is confirmed on one run.

use super::hypothesis::{Hypothesis, State};
use super::sample::{Comparison, Effect, FEWEST, MOST, Sample, Series};
use crate::failure::Failure;
use crate::point::{Point, Setup};
use alloc::vec::Vec;
use core::fmt;
use genet::{LinkMode, LinkSettings, Pause, Posted, RING_SIZE, RxMode, RxSettings, Speed};

/// Share of the link's bits that make it full, thousandths. Frames of full size back to back fill all of it.
const FULL_MILLI: u64 = 930;
/// Busy share from which the processor may be the limit, thousandths.
const BUSY_MILLI: u64 = 850;
/// Discards in a million frames that count: one in a thousand is a loss that a sender feels.
const DISCARDS_PPM: u64 = 1_000;
/// Damaged frames in a million that count; 802.3 allows a bit error rate of 1e-10 (1000BASE-T), one frame in a million.
const DAMAGE_PPM: u64 = 20;
/// An effect from here on is not made by chance in the few runs of a comparison, thousandths.
const PLAIN_MILLI: u64 = 5_000;
/// Quanta that a held partner hardly notices: 131 us at 1 Gbit/s.
const SHORT_QUANTA: u16 = 0x0100;

/// What runs points. A run that tells nothing about causes is `None`.
pub(crate) trait Trial {
    /// One run.
    ///
    /// # Errors
    /// Nothing more can be measured.
    fn run(&mut self, point: &Point) -> Result<Option<Sample>, Failure>;

    /// What comes next, for whoever watches.
    fn say(&mut self, what: fmt::Arguments<'_>);
}

/// How far the workload can be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// Connections that share what one may be too weak for.
    pub many_flows: u16,
    /// Largest window of each, bytes.
    pub largest_window_b: u64,
}

/// What is known about a hypothesis, and what that rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The claim.
    pub hypothesis: Hypothesis,
    /// What is known.
    pub state: State,
    /// Why, as a word.
    pub because: &'static str,
    /// Figures under their record keys.
    pub figures: Vec<(&'static str, u64)>,
}

/// What came of all runs.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// One for each hypothesis, in the order of [`Hypothesis::ALL`].
    pub verdicts: Vec<Verdict>,
    /// The subject as it is.
    pub subject: Series,
    /// The subject with every confirmed cause of its own removed, if any was.
    pub fixed: Option<(Point, Series)>,
    /// Runs made.
    pub runs: u32,
}

/// Causes that a setting of ours can remove.
const OURS: [Hypothesis; 6] = [
    Hypothesis::Duplex,
    Hypothesis::Coalescing,
    Hypothesis::PauseSent,
    Hypothesis::Overrun,
    Hypothesis::PauseReceived,
    Hypothesis::Eee,
];

pub(crate) struct Judge<'a, T> {
    trial: &'a mut T,
    room: Room,
    control: RxSettings,
    verdicts: Vec<Verdict>,
    subject: Series,
    /// The subject without what was confirmed so far.
    now: Point,
    /// Its runs.
    now_series: Series,
    /// What is compared has changed since.
    peeled: bool,
    runs: u32,
}

impl<'a, T: Trial> Judge<'a, T> {
    /// A judge of `subject`; `control` are receive settings that are known to do no harm.
    pub fn new(trial: &'a mut T, subject: Point, control: RxSettings, room: Room) -> Self {
        Judge {
            trial,
            room,
            control,
            verdicts: Vec::new(),
            subject: Series::default(),
            now: subject,
            now_series: Series::default(),
            peeled: false,
            runs: 0,
        }
    }

    /// Runs all that is needed. After a failure what is known by then stands, and the rest is open.
    pub fn judge(mut self) -> (Judgement, Option<Failure>) {
        let failure = self.procedure().err();
        for hypothesis in Hypothesis::ALL {
            if self.verdicts.iter().all(|v| v.hypothesis != hypothesis) {
                let because = if failure.is_some() { "not_reached" } else { "undecided" };
                self.conclude(hypothesis, State::Open, because, Vec::new());
            }
        }
        self.verdicts.sort_unstable_by_key(|v| v.hypothesis);
        let fixed = self.peeled.then_some((self.now, self.now_series));
        (Judgement { verdicts: self.verdicts, subject: self.subject, fixed, runs: self.runs }, failure)
    }

    fn procedure(&mut self) -> Result<(), Failure> {
        self.trial.say(format_args!("the settings under suspicion, {FEWEST} runs"));
        let subject = self.now;
        self.subject = self.series(&subject, FEWEST)?;
        self.now_series = self.subject.clone();
        if self.subject.0.len() < FEWEST {
            return Ok(()); // the settings were not taken or the link goes: nothing can be said
        }
        if is_full(&self.subject) {
            self.full_link("link_full");
            return Ok(());
        }
        self.peel()?;
        if self.peeled && is_full(&self.now_series) {
            let figures = alloc::vec![("rate_bps", self.subject.rate_bps()), ("fixed_bps", self.now_series.rate_bps())];
            self.conclude(Hypothesis::Nothing, State::Refuted, "cause_found", figures);
            self.full_link("full_without_cause");
            return Ok(());
        }
        self.network()
    }

    /// Nothing that was not found is in the way: the link is full.
    fn full_link(&mut self, because: &'static str) {
        let series = self.now_series.clone();
        let figures = || alloc::vec![("rate_bps", series.rate_bps()), ("link_bps", series.mean(|s| s.link_bps))];
        for hypothesis in Hypothesis::ALL {
            if self.verdicts.iter().all(|v| v.hypothesis != hypothesis) {
                let state = if hypothesis == Hypothesis::Nothing { State::Confirmed } else { State::Refuted };
                self.conclude(hypothesis, state, because, figures());
            }
        }
    }

    fn conclude(
        &mut self,
        hypothesis: Hypothesis,
        state: State,
        because: &'static str,
        figures: Vec<(&'static str, u64)>,
    ) {
        self.verdicts.retain(|v| v.hypothesis != hypothesis);
        if state != State::Open {
            self.trial.say(format_args!("{}: {} ({because})", hypothesis.word(), state.word()));
        }
        self.verdicts.push(Verdict { hypothesis, state, because, figures });
    }

    fn is_confirmed(&self, hypothesis: Hypothesis) -> bool {
        self.verdicts.iter().any(|v| v.hypothesis == hypothesis && v.state == State::Confirmed)
    }

    /// Removes one confirmed cause after the other until none is left or the link is full.
    fn peel(&mut self) -> Result<(), Failure> {
        loop {
            let mut changed = false;
            for hypothesis in OURS {
                if self.is_confirmed(hypothesis) || is_full(&self.now_series) {
                    continue;
                }
                changed |= self.try_cause(hypothesis)?;
            }
            if !changed {
                return Ok(());
            }
        }
    }

    /// Looks for the mechanism and, if it is at work, for its effect. True if the cause is confirmed and removed.
    fn try_cause(&mut self, hypothesis: Hypothesis) -> Result<bool, Failure> {
        let point = self.now;
        let (mechanism, mut figures) = self.mechanism(hypothesis, &point);
        if let Err(because) = mechanism {
            self.conclude(hypothesis, State::Refuted, because, figures);
            return Ok(false);
        }
        let removals = self.removals(hypothesis, &point);
        if removals.is_empty() {
            self.conclude(hypothesis, State::Open, "nothing_to_change", figures);
            return Ok(false);
        }
        let mut last = Effect::None;
        for (change, without) in removals {
            self.trial.say(format_args!("{}: with and without, {change}", hypothesis.word()));
            let comparison = self.compare(&point, &without)?;
            let effect = comparison.effect();
            last = worse(last, effect);
            if effect == Effect::Slows {
                figures.splice(0..0, told(&comparison));
                self.conclude(hypothesis, State::Confirmed, change, figures);
                self.peeled = true;
                (self.now, self.now_series) = (without, comparison.without);
                return Ok(true);
            }
            if figures.iter().all(|(key, _)| *key != "ratio_milli") {
                figures.splice(0..0, told(&comparison));
            }
            if effect != Effect::Unclear {
                break; // what does no harm needs no second way of being removed
            }
        }
        let (state, because) = match last {
            Effect::None | Effect::Helps => (State::Refuted, "no_effect"),
            Effect::Unclear | Effect::Slows => (State::Open, "unclear"),
        };
        self.conclude(hypothesis, state, because, figures);
        Ok(false)
    }

    /// Whether the mechanism is at work under `point`, or why not; and its figures.
    #[allow(clippy::type_complexity)]
    fn mechanism(&self, hypothesis: Hypothesis, point: &Point) -> (Result<(), &'static str>, Vec<(&'static str, u64)>) {
        let (rx, now) = (&point.setup.rx, &self.now_series);
        let both = |of: fn(&Sample) -> u64| self.subject.sum(of) + now.sum(of);
        let verdict = |at_work: bool, why_not| if at_work { Ok(()) } else { Err(why_not) };
        match hypothesis {
            Hypothesis::Coalescing => {
                let figures = alloc::vec![
                    ("thr", now.mean(|s| s.threshold.into())),
                    ("tmo_ticks", now.mean(|s| s.timeout_ticks.into())),
                ];
                if rx.mode == RxMode::Poll {
                    (Err("polled"), figures)
                } else {
                    (verdict(!now.all(|s| s.threshold == 1), "threshold_1"), figures)
                }
            }
            Hypothesis::PauseSent => {
                let sent = both(|s| s.pause_sent);
                (verdict(sent > 0, "none_sent"), alloc::vec![("pause_sent", sent)])
            }
            Hypothesis::PauseReceived => {
                let received = both(|s| s.pause_received);
                let figures = alloc::vec![("pause_received", received)];
                if received > 0 && !obeys(rx, now) {
                    (Err("not_obeyed"), figures)
                } else {
                    (verdict(received > 0, "none_received"), figures)
                }
            }
            Hypothesis::Overrun => {
                let ppm = now.ppm_of_frames(|s| s.discards);
                let figures = alloc::vec![("discards", now.sum(|s| s.discards)), ("frames", now.sum(|s| s.frames))];
                (verdict(ppm >= DISCARDS_PPM, "few_discards"), figures)
            }
            Hypothesis::Eee => {
                let active = now.0.iter().any(|s| s.eee_active);
                (verdict(active, "not_active"), alloc::vec![("eee_active", active.into())])
            }
            Hypothesis::Duplex => {
                let forced = matches!(point.setup.link.mode, LinkMode::Forced { .. });
                let half = !now.all(|s| s.full_duplex);
                let figures = alloc::vec![
                    ("half_duplex", half.into()),
                    ("collisions", now.sum(|s| s.collisions)),
                    ("link_errors", now.sum(|s| s.link_errors)),
                ];
                (verdict(forced || half, "negotiated_full"), figures)
            }
            _ => (Err("not_ours"), Vec::new()),
        }
    }

    /// `point` without the cause, in each way there is.
    fn removals(&self, hypothesis: Hypothesis, point: &Point) -> Vec<(&'static str, Point)> {
        let with = |change: &dyn Fn(&mut Setup)| {
            let mut changed = Point { is_preset: false, ..*point };
            change(&mut changed.setup);
            changed
        };
        let pause = |send: Option<bool>, obey: Option<bool>| {
            let (sends, obeyed) = (sends(&point.setup.rx, &self.now_series), obeys(&point.setup.rx, &self.now_series));
            Pause::Forced { send: send.unwrap_or(sends), obey: obey.unwrap_or(obeyed) }
        };
        match hypothesis {
            Hypothesis::Coalescing => alloc::vec![(
                "an_interrupt_a_frame",
                with(&|s| (s.rx.threshold, s.rx.timeout_ticks) = (Some(1), Some(0)))
            )],
            Hypothesis::PauseSent => alloc::vec![
                ("no_pause_sent", with(&|s| s.rx.pause = pause(Some(false), None))),
                // A partner that keeps each PAUSE for 131 us is hardly held: another proof that holding is what it does.
                ("short_quanta", with(&|s| s.rx.quanta = Some(SHORT_QUANTA))),
            ],
            Hypothesis::PauseReceived => {
                alloc::vec![("pause_not_obeyed", with(&|s| s.rx.pause = pause(None, Some(false))))]
            }
            Hypothesis::Overrun => match point.setup.rx.posted {
                Posted::Fixed(RING_SIZE) => Vec::new(),
                _ => alloc::vec![("all_posted", with(&|s| s.rx.posted = Posted::Fixed(RING_SIZE)))],
            },
            Hypothesis::Eee => alloc::vec![("eee_not_offered", with(&|s| s.link.eee = Some(0)))],
            Hypothesis::Duplex => {
                let slow = self.now_series.all(|s| s.link_bps <= 10_000_000);
                let speed = if slow { Speed::Mbps10 } else { Speed::Mbps100 };
                match point.setup.link.mode {
                    LinkMode::Forced { .. } => {
                        alloc::vec![("negotiated", with(&|s| s.link.mode = LinkMode::AutoAt(speed)))]
                    }
                    _ => alloc::vec![(
                        "forced_full",
                        with(&|s| s.link.mode = LinkMode::Forced { speed, full_duplex: true })
                    )],
                }
            }
            _ => Vec::new(),
        }
    }

    /// What is left when no cause of ours is: processor, damage, window, path.
    fn network(&mut self) -> Result<(), Failure> {
        let mut plain = Point { is_preset: false, ..self.now };
        plain.setup.rx = self.control;
        if self.is_confirmed(Hypothesis::PauseReceived) || self.is_confirmed(Hypothesis::PauseSent) {
            // As negotiated it might come back, and a round trip that PAUSE makes longer looks like a small window.
            plain.setup.rx.pause = self.now.setup.rx.pause;
        }
        plain.setup.link = LinkSettings { mode: self.now.setup.link.mode, ..LinkSettings::default() };
        self.trial.say(format_args!("settings that do no harm, {FEWEST} runs"));
        let series = self.series(&plain, FEWEST)?;
        if series.0.len() < FEWEST {
            return Ok(());
        }
        let rate = |key, series: &Series| (key, series.rate_bps());
        let isolated = Comparison { with: self.now_series.clone(), without: series.clone() }.effect();
        if isolated == Effect::Slows {
            self.reopen_masked();
        }
        if is_full(&series) {
            // Something of ours is the cause and was not isolated.
            let figures = || alloc::vec![rate("rate_bps", &self.now_series), rate("control_bps", &series)];
            let figures = [figures(), figures(), figures(), figures(), figures()];
            let network =
                [Hypothesis::Lossy, Hypothesis::Window, Hypothesis::Path, Hypothesis::Cpu, Hypothesis::Nothing];
            for (hypothesis, figures) in network.into_iter().zip(figures) {
                self.conclude(hypothesis, State::Refuted, "control_is_full", figures);
            }
            return Ok(());
        }
        self.processor(&plain, &series)?;
        let many = self.changed(&plain, |s| s.flows = self.room.many_flows);
        self.trial.say(format_args!("{} connections instead of {}", many.setup.flows, plain.setup.flows));
        let more_flows = self.compare(&plain, &many)?;
        self.damage(&series, &more_flows);
        self.window(&plain, &more_flows)?;
        self.path(&series, &more_flows);
        self.nothing();
        Ok(())
    }

    /// Settings that do no harm are faster than those with every cause found removed: what had no effect may have been
    /// hidden by something else.
    fn reopen_masked(&mut self) {
        let masked: Vec<Verdict> = self.verdicts.iter().filter(|v| v.because == "no_effect").cloned().collect();
        for verdict in masked {
            self.conclude(verdict.hypothesis, State::Open, "masked", verdict.figures);
        }
    }

    fn changed(&self, point: &Point, change: impl Fn(&mut Setup)) -> Point {
        let mut changed = Point { is_preset: false, ..*point };
        change(&mut changed.setup);
        changed
    }

    /// The processor is the limit if less of it means less of the rate.
    fn processor(&mut self, plain: &Point, series: &Series) -> Result<(), Failure> {
        let busy = series.mean(|s| s.busy_milli);
        let mut figures = alloc::vec![("busy_milli", busy)];
        if busy < BUSY_MILLI {
            self.conclude(Hypothesis::Cpu, State::Refuted, "idle_time", figures);
            return Ok(());
        }
        let burden_ns = (series.mean(|s| s.ns_per_frame) / 2) as u32;
        let burdened = self.changed(plain, |s| s.burden_ns = burden_ns);
        self.trial.say(format_args!("cpu: with {burden_ns} ns of other work a frame, and without"));
        let comparison = self.compare(&burdened, plain)?;
        figures.splice(0..0, told(&comparison));
        figures.push(("burden_ns", burden_ns.into()));
        let (state, because) = match comparison.effect() {
            Effect::Slows => (State::Confirmed, "less_with_burden"),
            Effect::None | Effect::Helps => (State::Refuted, "no_effect"),
            Effect::Unclear => (State::Open, "unclear"),
        };
        self.conclude(Hypothesis::Cpu, state, because, figures);
        Ok(())
    }

    /// Damage slows a flow down, and several flows less.
    fn damage(&mut self, series: &Series, more_flows: &Comparison) {
        let ppm = series.ppm_of_frames(|s| s.link_errors);
        let mut figures = alloc::vec![("link_errors", series.sum(|s| s.link_errors)), ("link_errors_ppm", ppm)];
        if ppm < DAMAGE_PPM {
            return self.conclude(Hypothesis::Lossy, State::Refuted, "few_errors", figures);
        }
        figures.splice(0..0, told(more_flows));
        let always = series.all(|s| s.link_errors > 0) && series.all(|s| s.full_duplex);
        match more_flows.effect() {
            Effect::Slows if always => self.conclude(Hypothesis::Lossy, State::Confirmed, "flows_share_it", figures),
            _ => self.conclude(Hypothesis::Lossy, State::Open, "errors_seen", figures),
        }
    }

    /// The window is the limit if half of it halves the rate and more of it raises the rate.
    fn window(&mut self, plain: &Point, more_flows: &Comparison) -> Result<(), Failure> {
        let half = self.changed(plain, |s| s.window_b /= 2);
        self.trial.say(format_args!("window: {} bytes and {} bytes", half.setup.window_b, plain.setup.window_b));
        let smaller = self.compare(&half, plain)?;
        let mut figures = told(&smaller);
        figures.push(("window_b", plain.setup.window_b));
        if let Some(rtt_ns) = smaller.without.0.iter().find_map(|s| s.rtt_ns) {
            figures.push(("rtt_p50_ns", rtt_ns));
        }
        let (state, because) = match smaller.effect() {
            Effect::None | Effect::Helps => (State::Refuted, "half_does_no_harm"),
            // Acknowledgements that wait for the end of a PAUSE make any window too small.
            _ if self.held(&smaller.without) => (State::Open, "acknowledgements_held"),
            Effect::Unclear => (State::Open, "unclear"),
            Effect::Slows => {
                let double_b = plain.setup.window_b * 2;
                let larger = if double_b <= self.room.largest_window_b {
                    let double = self.changed(plain, |s| s.window_b = double_b);
                    self.trial.say(format_args!("window: {} bytes and {double_b} bytes", plain.setup.window_b));
                    self.compare(plain, &double)?
                } else {
                    more_flows.clone()
                };
                figures.push(("larger_bps", larger.without.rate_bps()));
                match (larger.effect(), more_flows.effect()) {
                    (Effect::Slows, Effect::Slows) => (State::Confirmed, "rate_follows_window"),
                    (Effect::None, _) => (State::Refuted, "more_does_not_help"),
                    _ => (State::Open, "unclear"),
                }
            }
        };
        self.conclude(Hypothesis::Window, state, because, figures);
        Ok(())
    }

    /// Nothing of ours changes the rate, nothing is lost here, and the rate is steady: it is made elsewhere.
    fn path(&mut self, series: &Series, more_flows: &Comparison) {
        let figures = alloc::vec![
            ("rate_bps", series.rate_bps()),
            ("link_bps", series.mean(|s| s.link_bps)),
            ("flows_ratio_milli", more_flows.ratio_milli()),
        ];
        let refuted = |h| self.verdicts.iter().any(|v| v.hypothesis == h && v.state == State::Refuted);
        let nobody_else = [Hypothesis::Cpu, Hypothesis::Lossy, Hypothesis::Window].into_iter().all(refuted);
        let held = self.held(series);
        let whole = series.all(|s| s.full_duplex) && series.ppm_of_frames(|s| s.discards) < DISCARDS_PPM;
        let steady = series.spread().is_some_and(|mean| mean.half_width_milli <= 150);
        let (state, because) = match more_flows.effect() {
            Effect::None if nobody_else && whole && !held && steady => (State::Confirmed, "nothing_here_matters"),
            Effect::Slows => (State::Refuted, "flows_get_more"),
            _ => (State::Open, "undecided"),
        };
        self.conclude(Hypothesis::Path, state, because, figures);
    }

    /// PAUSE came in these runs, and whether it slows is not known or they obeyed it although it does.
    fn held(&self, series: &Series) -> bool {
        let refuted = |v: &Verdict| v.hypothesis == Hypothesis::PauseReceived && v.state == State::Refuted;
        let obeyed = |s: &Sample| s.pause_received > 0 && s.obey_pause;
        series.0.iter().any(obeyed) && !self.verdicts.iter().any(refuted)
    }

    fn nothing(&mut self) {
        let found = self.verdicts.iter().any(|v| v.state == State::Confirmed);
        let figures =
            alloc::vec![("rate_bps", self.subject.rate_bps()), ("link_bps", self.subject.mean(|s| s.link_bps)),];
        let (state, because) = if found { (State::Refuted, "cause_found") } else { (State::Open, "link_not_full") };
        self.conclude(Hypothesis::Nothing, state, because, figures);
    }

    /// `count` runs that tell something, with as many tries more.
    fn series(&mut self, point: &Point, count: usize) -> Result<Series, Failure> {
        let mut series = Series::default();
        for _ in 0..2 * count {
            if series.0.len() == count {
                break;
            }
            self.runs += 1;
            series.0.extend(self.trial.run(point)?);
        }
        Ok(series)
    }

    /// As [`Self::take_turns`]; an effect that chance could make is looked for a second time, on runs of its own.
    fn compare(&mut self, with: &Point, without: &Point) -> Result<Comparison, Failure> {
        let first = self.take_turns(with, without)?;
        if first.effect() != Effect::Slows || first.ratio_milli() >= PLAIN_MILLI {
            return Ok(first);
        }
        let mut second = self.take_turns(with, without)?;
        if second.effect() == Effect::Slows {
            second.with.0.extend(first.with.0);
            second.without.0.extend(first.without.0);
        }
        Ok(second)
    }

    /// Runs that take turns, so that what changes by itself meanwhile meets both. Points that want different links
    /// take turns in pairs, because each change costs seconds.
    fn take_turns(&mut self, with: &Point, without: &Point) -> Result<Comparison, Failure> {
        let same_link = with.setup.link == without.setup.link;
        let mut comparison = Comparison::default();
        for round in 0..MOST {
            let enough = comparison.with.0.len() >= FEWEST && comparison.without.0.len() >= FEWEST;
            if enough && comparison.effect() != Effect::Unclear {
                break;
            }
            let runs = if same_link { 1 } else { 2 };
            if !same_link && round >= MOST / 2 {
                break;
            }
            // A, B, B, A, A, B: neither is always first.
            let order = if round % 2 == 0 { [true, false] } else { [false, true] };
            for is_with in order {
                let (point, side) =
                    if is_with { (with, &mut comparison.with) } else { (without, &mut comparison.without) };
                for _ in 0..runs {
                    self.runs += 1;
                    side.0.extend(self.trial.run(point)?);
                }
            }
        }
        Ok(comparison)
    }
}

/// Every run filled the link.
fn is_full(series: &Series) -> bool {
    series.all(|s| s.full_duplex && s.wire_bps >= s.link_bps / 1_000 * FULL_MILLI)
}

fn worse(a: Effect, b: Effect) -> Effect {
    if a == Effect::Unclear { a } else { b }
}

fn told(comparison: &Comparison) -> Vec<(&'static str, u64)> {
    let mut figures = alloc::vec![
        ("with_bps", comparison.with.rate_bps()),
        ("without_bps", comparison.without.rate_bps()),
        ("ratio_milli", comparison.ratio_milli().min(1_000_000_000)),
        ("runs", (comparison.with.0.len() + comparison.without.0.len()) as u64),
    ];
    for (key, gap) in [("gap_with_ns", comparison.with.gap_ns()), ("gap_without_ns", comparison.without.gap_ns())] {
        figures.extend(gap.map(|gap| (key, gap)));
    }
    let (with, without) = (comparison.with.irq_delay_ns(), comparison.without.irq_delay_ns());
    for (key, delay) in [("irq_delay_p50_with_ns", with), ("irq_delay_p50_without_ns", without)] {
        figures.extend(delay.map(|delay| (key, delay)));
    }
    figures
}

/// The MAC may send PAUSE under these settings.
fn sends(rx: &RxSettings, series: &Series) -> bool {
    match rx.pause {
        Pause::Forced { send, .. } => send,
        Pause::Negotiated => series.0.iter().any(|s| s.send_pause),
    }
}

fn obeys(rx: &RxSettings, series: &Series) -> bool {
    match rx.pause {
        Pause::Forced { obey, .. } => obey,
        Pause::Negotiated => series.0.iter().any(|s| s.obey_pause),
    }
}
