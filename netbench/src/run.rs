//! A plan from the link to the table.

use crate::failure::Failure;
use crate::http::Url;
use crate::link_log::LinkLog;
use crate::net::{Lease, Net};
use crate::plan::{Plan, PlanProblem};
use crate::record::Recorder;
use crate::result::{self, RunResult};
use crate::sweep::{Sweep, drain};
use crate::transfer::Transfer;
use crate::{Console, LinkState, Port, table};
use alloc::vec::Vec;

/// How long DHCP may take, ms.
const DHCP_WAIT_MS: u64 = 15_000;
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
        results.sort_by_key(|r| (plan.presets.iter().position(|p| core::ptr::eq(*p, r.preset)), r.flows, r.rep));
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
    let url = Url::parse(&plan.url).map_err(Failure::Url)?;
    let mut links = LinkLog::default();
    let found = wait_for_link(port, console, plan.link_wait_ms);
    links.follow(port, console, recorder);
    found?;
    let losses = port.link_losses();
    let link_ns = port.now_ns();
    let mut net = Net::new(port, plan.max_flows(), plan.window_b, plan.seed);
    console.note(format_args!("asking for an address by DHCP"));
    let _ = writeln!(console, "DHCP: asking for an address (at most {} s)", DHCP_WAIT_MS / 1000);
    let lease = wait_for_lease(port, &mut net).map_err(|failure| blame_link(port, losses, failure))?;
    record_lease(recorder, console, &lease);
    console.note(format_args!("looking up {}", url.host));
    let _ = writeln!(console, "DHCP: {} from {}; looking up {}", lease.address, lease.server, url.host);
    let address = net.resolve(port, &url.host).map_err(|failure| blame_link(port, losses, failure))?;
    let points = plan.points();
    let range_b = (plan.range_b > 0).then_some(plan.range_b);
    let transfer = Transfer::new((address, url.port), plan.max_flows(), &url, range_b);
    let ids: Vec<u32> = points.iter().map(|_| recorder.take_run_id()).collect();
    for (id, point) in ids.iter().zip(&points) {
        result::record_plan(recorder, console, *id, point, plan);
    }
    let each_ms = plan.warmup_ms + plan.window_ms;
    let _ = writeln!(
        console,
        "GET {url} from {address}: {} runs of {each_ms} ms in the order of seed {}, about {} s with printing",
        points.len(),
        plan.seed,
        points.len() as u64 * (each_ms + 1_200) / 1000
    );
    let mut sweep = Sweep::new(net, transfer);
    let mut recorded = lease;
    for (index, (id, point)) in ids.iter().zip(&points).enumerate() {
        let lease = keep_lease(port, console, sweep.net())?;
        if lease != recorded {
            record_lease(recorder, console, &lease);
            recorded = lease;
        }
        let _ = writeln!(
            console,
            "[{}/{}] {} ({}), {} flow{}",
            index + 1,
            points.len(),
            point.preset.name,
            point.preset.about,
            point.flows,
            if point.flows == 1 { "" } else { "s" }
        );
        console.note(format_args!("run {id}: {}, {} flows", point.preset.name, point.flows));
        drain(port, console);
        let losses = port.link_losses(); // looks now, however short ago it did
        let found = wait_for_link(port, console, plan.link_wait_ms);
        links.follow(port, console, recorder);
        if port.stop_wanted(port.now_ns()) {
            return Err(Failure::Stopped);
        }
        let run = sweep.point(port, console, recorder, plan, (*id, point), found.map(|_| losses));
        if let Some(failure) = &run.failure {
            let _ = writeln!(console, "      {}: {failure}", failure.rc());
        }
        results.push(run);
        links.follow(port, console, recorder);
        facts.link_to_first_byte_us = sweep.first_body_ns.map(|ns| (ns - link_ns) / 1000);
        facts.heap_b = port.heap_b();
        if port.stop_wanted(port.now_ns()) {
            return Err(Failure::Stopped);
        }
    }
    Ok(())
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
fn keep_lease<P: Port, C: Console>(port: &mut P, console: &mut C, net: &mut Net) -> Result<Lease, Failure> {
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

fn record_lease<C: Console>(recorder: &mut Recorder, console: &mut C, lease: &Lease) {
    recorder.record(console, "addr", |r| {
        r.word("family", "ipv4");
        r.show("address", lease.address);
        r.word("source", "dhcp");
        if let Some(router) = lease.router {
            r.show("gateway", router);
        }
        if let Some(dns) = lease.dns {
            r.show("dns", dns);
        }
    });
}
