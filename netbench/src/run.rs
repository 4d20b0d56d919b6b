//! A plan from the link to the table.

use crate::bench::Bench;
use crate::failure::Failure;
use crate::net::{Lease, Net};
use crate::plan::{Plan, PlanProblem, shuffled};
use crate::point::Point;
use crate::record::Recorder;
use crate::result::RunResult;
use crate::rng::Rng;
use crate::stats::Mean;
use crate::sweep::drain;
use crate::{Console, LinkState, Port, table};
use alloc::string::String;
use alloc::vec::Vec;

/// How long DHCP may take, ms.
pub(crate) const DHCP_WAIT_MS: u64 = 15_000;
/// Time between two looks at the link, ns.
const LINK_LOOK_NS: u64 = 100_000_000;

/// How a plan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Runs made.
    pub runs: u32,
    /// Of these, failed.
    pub failed: u32,
    /// `ok`, or the first failure.
    pub rc: &'static str,
}

/// Tells what is wrong with a plan. The rest of it still runs.
pub fn report_problems<C: Console>(console: &mut C, problems: &[PlanProblem]) {
    for problem in problems {
        let _ = writeln!(console, "plan: {problem}");
    }
}

/// What the last record tells besides the outcome.
#[derive(Default)]
struct Facts {
    heap_b: Option<u64>,
    link_to_first_byte_us: Option<u64>,
}

/// Runs `plan`: link, address, name, every point, and the table last.
pub fn run<P: Port, C: Console>(port: &mut P, console: &mut C, recorder: &mut Recorder, plan: &Plan) -> Outcome {
    if plan.verdict {
        return crate::verdict::run(port, console, recorder, plan);
    }
    let mut results = Vec::new();
    let mut facts = Facts::default();
    let failure = sweep(port, console, recorder, plan, &mut results, &mut facts).err();
    let failed = results.iter().filter(|r| r.failure.is_some()).count() as u32;
    let first = results.iter().find(|r| r.failure.is_some()).map(|r| r.rc());
    let plan_rc = if plan.problems > 0 { "plan.bad" } else { "ok" };
    let rc = failure.as_ref().map(Failure::rc).or(first).unwrap_or(plan_rc);
    let outcome = Outcome { runs: results.len() as u32, failed, rc };
    let pauses = port.totals().pause_received;
    if let Some(failure) = &failure {
        let _ = writeln!(console, "stopped: {failure}");
        if results.is_empty() && pauses > 0 {
            let _ = writeln!(
                console,
                "         The other end sent {pauses} PAUSE frames, which hold our sender: check its flow control."
            );
        }
    }
    recorder.bye(console, outcome.runs, outcome.failed, rc, |r| {
        r.maybe("heap_b", facts.heap_b);
        r.maybe("link_to_first_byte_us", facts.link_to_first_byte_us);
        r.maybe("pause_received", Some(pauses).filter(|pauses| *pauses > 0));
    });
    drain(port, console);
    if !results.is_empty() {
        let order = plan.once();
        results.sort_unstable_by_key(|r| (order.iter().position(|p| p.same_but_for_rep(&r.point)), r.point.rep));
        warn_unsettled(console, plan, &results);
        let _ = table::print(console, &results, recorder.is_virtual());
    }
    drain(port, console);
    outcome
}

fn sweep<P: Port, C: Console>(
    port: &mut P,
    console: &mut C,
    recorder: &mut Recorder,
    plan: &Plan,
    results: &mut Vec<RunResult>,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let points = plan.points();
    let link = points.first().map(|first| first.setup.link).unwrap_or_default();
    let mut bench = Bench::start(port, console, recorder, plan, link, plan.max_flows(), plan.max_window_b())?;
    let ids = bench.announce(&points);
    let _ = writeln!(
        bench.console,
        "GET {} from {}: {} runs of {} ms in the order of seed {}, about {} s with printing",
        bench.url,
        bench.address,
        points.len(),
        plan.warmup_ms + plan.window_ms,
        plan.seed,
        plan.estimate_s(&points)
    );
    for (index, (id, point)) in ids.iter().zip(&points).enumerate() {
        announce_run(bench.console, (index + 1, points.len()), point);
        measure(&mut bench, *id, point, results, facts)?;
    }
    let mut rng = Rng::new(plan.seed ^ plan.max_repeats as u64);
    for rep in plan.repeats + 1..=plan.max_repeats {
        let open: Vec<Point> = plan.once().into_iter().filter(|p| !is_settled(p, results, plan.bound_milli)).collect();
        if open.is_empty() {
            break;
        }
        let _ = writeln!(
            bench.console,
            "repeat {rep} of at most {}: {} points whose mean is not known to {} per mille yet",
            plan.max_repeats,
            open.len(),
            plan.bound_milli
        );
        let points = shuffled(&mut rng, &open, rep);
        let ids = bench.announce(&points);
        for (index, (id, point)) in ids.iter().zip(&points).enumerate() {
            announce_run(bench.console, (index + 1, points.len()), point);
            measure(&mut bench, *id, point, results, facts)?;
        }
    }
    Ok(())
}

fn announce_run<C: Console>(console: &mut C, (number, of): (usize, usize), point: &Point) {
    let about = if point.is_preset { String::from(point.preset.about) } else { point.changes() };
    let flows = point.setup.flows;
    let s = if flows == 1 { "" } else { "s" };
    let _ = writeln!(console, "[{number}/{of}] {} ({about}), {flows} flow{s}", point.name());
}

fn measure<P: Port, C: Console>(
    bench: &mut Bench<'_, P, C>,
    id: u32,
    point: &Point,
    results: &mut Vec<RunResult>,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let run = bench.measure(id, point)?;
    if let Some(failure) = &run.failure {
        let _ = writeln!(bench.console, "      {}: {failure}", failure.rc());
    }
    results.push(run);
    facts.link_to_first_byte_us = bench.link_to_first_byte_us();
    facts.heap_b = bench.port.heap_b();
    bench.stopped()
}

/// The mean rate of a point is known within the bound.
fn is_settled(point: &Point, results: &[RunResult], bound_milli: u64) -> bool {
    mean_of(point, results).is_some_and(|mean| mean.half_width_milli <= bound_milli)
}

fn mean_of(point: &Point, results: &[RunResult]) -> Option<Mean> {
    let rates = results.iter().filter(|r| r.point.same_but_for_rep(point));
    Mean::of(rates.filter_map(|r| r.figures.as_ref()?.payload_bps))
}

/// Warns of points whose mean is not known as well as the plan asks for.
fn warn_unsettled<C: Console>(console: &mut C, plan: &Plan, results: &[RunResult]) {
    if plan.repeats.max(plan.max_repeats) < 2 {
        return;
    }
    for point in plan.once() {
        let Some(mean) = mean_of(&point, results).filter(|mean| mean.half_width_milli > plan.bound_milli) else {
            continue;
        };
        let changes = point.changes();
        let _ = writeln!(
            console,
            "warning: {} {changes}: the mean of {} runs is known to +-{}.{} % only, {}.{} % were asked for",
            point.name(),
            mean.count,
            mean.half_width_milli / 10,
            mean.half_width_milli % 10,
            plan.bound_milli / 10,
            plan.bound_milli % 10
        );
    }
}

/// What to report for `failure`: the link, if it was lost more than `losses` times.
pub(crate) fn blame_link<P: Port>(port: &mut P, losses: u64, failure: Failure) -> Failure {
    let lost = failure != Failure::Stopped && (port.link_losses() > losses || !port.link().up);
    if lost { Failure::LinkLost } else { failure }
}

pub(crate) fn wait_for_link<P: Port, C: Console>(
    port: &mut P,
    console: &mut C,
    wait_ms: u64,
) -> Result<LinkState, Failure> {
    let link = port.link();
    if link.up {
        return Ok(link);
    }
    console.note(format_args!("waiting for the link"));
    let _ = writeln!(console, "link: waiting for the other end (at most {} s)", wait_ms / 1000);
    let deadline_ns = port.now_ns() + wait_ms * 1_000_000;
    loop {
        let now_ns = port.now_ns();
        if port.stop_wanted(now_ns) {
            return Err(Failure::Stopped);
        }
        if now_ns >= deadline_ns {
            return Err(Failure::LinkDown { waited_ms: wait_ms });
        }
        port.wait((now_ns + LINK_LOOK_NS).min(deadline_ns));
        let link = port.link();
        if link.up {
            return Ok(link);
        }
    }
}

/// The lease, after its end another one. Without one nothing more can be measured.
pub(crate) fn keep_lease<P: Port, C: Console>(port: &mut P, console: &mut C, net: &mut Net) -> Result<Lease, Failure> {
    net.poll(port);
    if let Some(lease) = net.lease() {
        return Ok(*lease);
    }
    let _ = writeln!(console, "DHCP: the lease has ended; asking for another (at most {} s)", DHCP_WAIT_MS / 1000);
    wait_for_lease(port, net).map_err(|failure| match failure {
        Failure::DhcpTimeout { .. } => Failure::DhcpLost,
        other => other,
    })
}

pub(crate) fn wait_for_lease<P: Port>(port: &mut P, net: &mut Net) -> Result<Lease, Failure> {
    let deadline_ns = port.now_ns() + DHCP_WAIT_MS * 1_000_000;
    loop {
        net.poll(port);
        if let Some(lease) = net.lease() {
            return Ok(*lease);
        }
        if let Some(failure) = net.no_lease().filter(|failure| *failure != Failure::DhcpLost) {
            return Err(failure);
        }
        if port.stop_wanted(port.now_ns()) {
            return Err(Failure::Stopped);
        }
        if port.now_ns() >= deadline_ns {
            return Err(Failure::DhcpTimeout { waited_ms: DHCP_WAIT_MS });
        }
        net.wait(port, deadline_ns);
    }
}
