//! Why does this board receive slowly? Experiments that change one thing at a time, and what they show.
//!
//! Owns the procedure (`judge`), the evidence (`sample`) and the report (`report`). Points are measured by the
//! bench like those of a sweep. Nothing is known beforehand but the driver whose settings are under suspicion.

mod hypothesis;
mod judge;
mod price;
mod report;
mod sample;

#[cfg(test)]
mod tests;

pub use hypothesis::{Hypothesis, State};
pub use judge::{Judgement, Verdict};

use crate::bench::Bench;
use crate::failure::Failure;
use crate::plan::{Plan, WINDOW_MEMORY_BYTES};
use crate::point::{Point, Setup};
use crate::record::Recorder;
use crate::result::RunResult;
use crate::run::Outcome;
use crate::sweep::drain;
use crate::{Console, Port};
use core::fmt;
use genet::RxSettings;
use judge::{Judge, Room, Trial};
use price::Price;
use sample::Sample;

/// Receive window of a flow if the plan names none, bytes: 200 Mbit/s at a round trip of 20 ms.
const WINDOW_B: u64 = 512 << 10;
/// Connections that share what one may be too weak for, at least.
const MANY_FLOWS: u16 = 4;
/// Longest warm-up if the plan names none, ms. It ends when the rate has settled.
const WARMUP_MS: u64 = 800;
/// Longest window if the plan names none, ms: 15 gaps of 33.554 ms.
const WINDOW_MS: u64 = 500;
/// Frames that end a window early if the plan names no number: 0.1 s of a full gigabit link.
const WINDOW_FRAMES: u64 = 8_000;
/// Small requests timed after each window if the plan names no number.
const RTT_PROBES: u32 = 2;

/// The bench as the judge uses it.
struct OnBench<'b, 'a, P, C> {
    bench: &'b mut Bench<'a, P, C>,
    runs: u32,
    failed: u32,
    heap_b: Option<u64>,
    /// Nothing more can be measured, which the judge is to hear.
    failure: Option<Failure>,
}

impl<P: Port, C: Console> OnBench<'_, '_, P, C> {
    fn measure(&mut self, point: &Point) -> Result<Option<RunResult>, Failure> {
        let ids = self.bench.announce(core::slice::from_ref(point));
        let Some(id) = ids.first() else { return Ok(None) };
        let run = self.bench.measure(*id, point)?;
        self.runs += 1;
        self.failed += u32::from(run.failure.is_some());
        self.heap_b = self.bench.port.heap_b();
        let sample = Sample::of(&run);
        let changes = point.changes();
        let _ = write!(self.bench.console, "  run {id} {}{}{changes}: ", point.preset.name, space(&changes));
        let _ = match (&sample, &run.failure) {
            (Some(sample), None) => writeln!(self.bench.console, "{}", report::Rate(sample.rate_bps)),
            (Some(sample), Some(failure)) => {
                writeln!(self.bench.console, "{} ({})", report::Rate(sample.rate_bps), failure.rc())
            }
            (None, Some(failure)) => writeln!(self.bench.console, "{}: {failure}", failure.rc()),
            (None, None) => writeln!(self.bench.console, "nothing"),
        };
        self.bench.stopped()?;
        Ok(Some(run))
    }

    /// Runs with the arrival clock and without: what it costs. It stays on if that is little or does not matter, unless the
    /// plan says what is wanted.
    fn price_watching(&mut self, subject: &mut Point) -> Result<(), Failure> {
        if !subject.setup.watch || self.bench.plan.names("gb.watch") {
            return Ok(());
        }
        let mut point = *subject;
        let price = Price::find(|watch| {
            point.setup.watch = watch;
            Ok(self.measure(&point)?.and_then(|run| run.figures))
        })?;
        if let Some(price) = price {
            subject.setup.watch = price.is_paid();
            let _ = writeln!(self.bench.console, "watching when frames arrive costs {price}");
        }
        Ok(())
    }
}

impl<P: Port, C: Console> Trial for OnBench<'_, '_, P, C> {
    fn run(&mut self, point: &Point) -> Result<Option<Sample>, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        Ok(self.measure(point)?.as_ref().and_then(Sample::of))
    }

    fn say(&mut self, what: fmt::Arguments<'_>) {
        let _ = writeln!(self.bench.console, "{what}");
    }
}

fn space(text: &str) -> &'static str {
    if text.is_empty() { "" } else { " " }
}

/// Looks for the cause. The verdicts come last.
pub(crate) fn run<P: Port, C: Console>(port: &mut P, console: &mut C, recorder: &mut Recorder, plan: &Plan) -> Outcome {
    let plan = defaults(plan);
    let mut subject = plan.with_axes(plan.base(plan.subject), |_| true);
    let many_flows = MANY_FLOWS.max(subject.setup.flows.saturating_mul(2)).min(16);
    let largest_window_b = WINDOW_MEMORY_BYTES / u64::from(many_flows);
    if !plan.names("gb.window_b") {
        subject.setup.window_b = WINDOW_B.min(largest_window_b);
    }
    subject.setup.window_b = subject.setup.window_b.min(largest_window_b);
    let room = Room { many_flows, largest_window_b };
    let _ = writeln!(
        console,
        "verdict: why is receiving slow with the settings of {} ({})?\n\
         Changes one thing at a time, three to six runs of each; half a minute to five minutes in all.",
        subject.preset.name, subject.preset.about
    );
    let judged = on_bench(port, console, recorder, &plan, subject, room);
    let (judgement, runs, failed, heap_b, failure) = match judged {
        Ok(judged) => judged,
        Err(failure) => (None, 0, 0, None, Some(failure)),
    };
    if let Some(failure) = &failure {
        let _ = writeln!(console, "stopped: {failure}");
    }
    let plan_rc = if plan.problems > 0 { "plan.bad" } else { "ok" };
    let rc = failure.as_ref().map_or(plan_rc, Failure::rc);
    if let Some(judgement) = &judgement {
        report::record(recorder, console, judgement);
    }
    recorder.bye(console, runs, failed, rc, |r| r.maybe("heap_b", heap_b));
    drain(port, console);
    if let Some(judgement) = &judgement {
        let _ = report::print(console, judgement, &subject, recorder.is_virtual());
    }
    drain(port, console);
    Outcome { runs, failed, rc }
}

type Judged = (Option<Judgement>, u32, u32, Option<u64>, Option<Failure>);

fn on_bench<P: Port, C: Console>(
    port: &mut P,
    console: &mut C,
    recorder: &mut Recorder,
    plan: &Plan,
    mut subject: Point,
    room: Room,
) -> Result<Judged, Failure> {
    let Setup { link, window_b, .. } = subject.setup;
    let mut bench = Bench::start(port, console, recorder, plan, link, room.many_flows, window_b)?;
    let _ = writeln!(bench.console, "GET {} from {}", bench.url, bench.address);
    let mut trial = OnBench { bench: &mut bench, runs: 0, failed: 0, heap_b: None, failure: None };
    trial.failure = trial.price_watching(&mut subject).err();
    let (judgement, failure) = Judge::new(&mut trial, subject, RxSettings::default(), room).judge();
    Ok((Some(judgement), trial.runs, trial.failed, trial.heap_b, failure))
}

/// What a verdict uses where the plan names nothing.
fn defaults(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let named = |key| plan.names(key);
    let (warmup, window, frames, probes) =
        (named("gb.warmup_ms"), named("gb.window_ms"), named("gb.window_frames"), named("gb.rtt_probes"));
    if !warmup {
        (plan.warmup_ms, plan.settles) = (WARMUP_MS, true);
    }
    if !window {
        plan.window_ms = WINDOW_MS;
    }
    if !frames {
        plan.window_frames = WINDOW_FRAMES;
    }
    if !probes {
        plan.rtt_probes = RTT_PROBES;
    }
    plan
}
