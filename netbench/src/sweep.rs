//! One point after the other: settings, warm-up, window, round trips, records.

use crate::failure::Failure;
use crate::meter::Meter;
use crate::net::Net;
use crate::plan::Plan;
use crate::point::{self, Point};
use crate::record::Recorder;
use crate::result::{self, Figures, RunResult};
use crate::stats::Histogram;
use crate::transfer::{Ended, Ignore, Sink, Transfer};
use crate::{Console, LinkState, Port};
use alloc::vec::Vec;
use genet::{ApplyError, FrameStamp, RxMode};

/// How long the console may take to drain before a window, ns. At 115200 baud that is 46 KiB.
const DRAIN_NS: u64 = 4_000_000_000;

/// Silence at the end of a window that is taken for a stall, ns, unless half the window is longer. Three times the
/// longest gap that a setting makes on a gigabit link.
const STALL_NS: u64 = 100_000_000;

/// Time between two looks whether a window has enough frames, ns.
const SLICE_NS: u64 = 20_000_000;
/// Shortest window that ends early, ns.
const SHORTEST_NS: u64 = 60_000_000;
/// Slice of a warm-up, ns.
const SETTLE_NS: u64 = 60_000_000;

/// Payload bytes, and nothing else.
struct Count(u64);

impl Sink for Count {
    fn payload(&mut self, _: usize, bytes: usize, _: FrameStamp, _: u64) {
        self.0 += bytes as u64;
    }
    fn batch_end<P: Port>(&mut self, _: u64, _: &mut P) {}
}

/// What every point of a sweep uses again.
pub(crate) struct Sweep {
    net: Net,
    transfer: Transfer,
    meter: Meter,
    rtt: Histogram,
    mib_before: Vec<(&'static str, u64)>,
    /// When the first body had begun on every flow, ns.
    pub first_body_ns: Option<u64>,
}

impl Sweep {
    /// Allocates what is measured with.
    pub fn new(net: Net, transfer: Transfer) -> Sweep {
        Sweep {
            net,
            transfer,
            meter: Meter::new(),
            rtt: Histogram::new(),
            mib_before: Vec::with_capacity(128),
            first_body_ns: None,
        }
    }

    /// Runs one point and writes its records. `link` is the link and how often it was lost before, or why there
    /// is none.
    pub fn point<P: Port, C: Console>(
        &mut self,
        port: &mut P,
        console: &mut C,
        recorder: &mut Recorder,
        plan: &Plan,
        (id, point): (u32, &Point),
        link: Result<(LinkState, u64), Failure>,
    ) -> RunResult {
        let mut run = RunResult { id, point: *point, link: None, got: None, figures: None, failure: None };
        self.rtt.clear();
        drain(port, console);
        self.mib_before.clear();
        let before = &mut self.mib_before;
        for_each_counter(port, &mut |name, value| before.push((name, value)));
        run.failure = match link {
            Err(no_link) => Some(no_link),
            Ok((link, losses)) => {
                run.link = Some(link);
                let failure = self.measure(port, plan, point, &mut run).err();
                let polled = point.setup.rx.mode == RxMode::Interrupt && !port.has_interrupts();
                // A window without a link in part of it is no measurement, whatever came of it.
                if port.link_losses() > losses {
                    Some(Failure::LinkLost)
                } else if polled {
                    Some(Failure::SettingFailed(ApplyError::NoInterrupt))
                } else {
                    failure
                }
            }
        };
        self.transfer.close(&mut self.net, port);
        if run.failure.is_none() {
            let ignored = run.got.and_then(|got| got.ignored(&point.setup.rx));
            run.failure = ignored.map(|key| Failure::SettingIgnored { key });
        }
        self.record(port, console, recorder, plan, &run);
        run
    }

    fn measure<P: Port>(
        &mut self,
        port: &mut P,
        plan: &Plan,
        point: &Point,
        run: &mut RunResult,
    ) -> Result<(), Failure> {
        let got = port.apply(&point.setup.rx).map_err(Failure::SettingFailed)?;
        run.got = Some(got);
        self.net.fit(point.setup.window_b, point.setup.ack_delay_ms);
        self.transfer.set_burden_ns(point.setup.burden_ns);
        self.transfer.open(&mut self.net, port, point.setup.flows, &mut Ignore)?;
        self.first_body_ns.get_or_insert(port.now_ns());
        self.warm_up(port, plan)?;
        let watching = point.setup.watch && port.watch(true);
        let before = port.totals();
        let start_ns = port.now_ns();
        let load = port.load();
        self.meter.start(start_ns, plan.window_ms * 1_000_000, load);
        let ended = self.window(port, plan, start_ns);
        let end_ns = port.now_ns();
        let load = port.load();
        port.watch(false);
        self.meter.finish(end_ns, load);
        let after = port.totals();
        let mut figures = Figures::new(&self.meter, end_ns - start_ns, &before, &after, Some(&got));
        figures.watched = watching.then(|| port.watched());
        let failure = match ended {
            Ended::Failed(failure) => Some(failure),
            Ended::Done => (figures.frames == 0).then_some(Failure::HttpEnded),
            Ended::Deadline => self.stall(start_ns, end_ns),
        };
        if let Some(failure) = failure {
            run.figures = Some(figures);
            return Err(failure);
        }
        self.transfer.close(&mut self.net, port);
        let probed = self.transfer.probe(&mut self.net, port, plan.rtt_probes, &mut self.rtt);
        figures.rtt_p50_ns = self.rtt.quantile(500);
        run.figures = Some(figures);
        probed
    }

    /// The peer fell silent: nothing came in a window, or in more than half of it at its end. A rate would be the
    /// rate of the time before.
    fn stall(&self, start_ns: u64, end_ns: u64) -> Option<Failure> {
        let silent_ns = end_ns - self.meter.last_deliver_ns.max(start_ns);
        let stalled = self.meter.sums.frames == 0 || silent_ns > STALL_NS.max((end_ns - start_ns) / 2);
        stalled.then_some(Failure::TcpStalled { silent_ms: silent_ns / 1_000_000 })
    }

    /// The stack.
    pub fn net(&mut self) -> &mut Net {
        &mut self.net
    }

    /// Receives and measures until the window is over.
    fn window<P: Port>(&mut self, port: &mut P, plan: &Plan, start_ns: u64) -> Ended {
        let end_ns = start_ns + plan.window_ms * 1_000_000;
        if plan.window_frames == 0 {
            return self.transfer.pump(&mut self.net, port, end_ns, &mut self.meter);
        }
        loop {
            let slice_ns = (port.now_ns() + SLICE_NS).min(end_ns);
            let ended = self.transfer.pump(&mut self.net, port, slice_ns, &mut self.meter);
            let now_ns = port.now_ns();
            let enough = self.meter.sums.frames >= plan.window_frames && now_ns >= start_ns + SHORTEST_NS;
            if ended != Ended::Deadline || enough || now_ns >= end_ns {
                return ended;
            }
        }
    }

    /// Receives without measuring for the plan's time, or until the rate of a slice is about that of the one before.
    fn warm_up<P: Port>(&mut self, port: &mut P, plan: &Plan) -> Result<(), Failure> {
        let deadline_ns = port.now_ns() + plan.warmup_ms * 1_000_000;
        let mut before_b: Option<u64> = None;
        loop {
            let slice_ns = if plan.settles { (port.now_ns() + SETTLE_NS).min(deadline_ns) } else { deadline_ns };
            let mut count = Count(0);
            match self.transfer.pump(&mut self.net, port, slice_ns, &mut count) {
                Ended::Failed(failure) => return Err(failure),
                Ended::Deadline | Ended::Done => {}
            }
            let settled = count.0 > 0 && before_b.is_some_and(|before_b| count.0 <= before_b + before_b / 8);
            if settled || port.now_ns() >= deadline_ns {
                return Ok(());
            }
            before_b = Some(count.0);
        }
    }

    fn record<P: Port, C: Console>(
        &mut self,
        port: &mut P,
        console: &mut C,
        recorder: &mut Recorder,
        plan: &Plan,
        run: &RunResult,
    ) {
        recorder.record(console, "run", |r| {
            r.num("run", run.id);
            point::asked(r, &run.point);
            if let Some(got) = &run.got {
                point::read_back(r, got);
            }
            point::workload(r, &run.point);
            r.num("warmup_ms", plan.warmup_ms);
            if run.figures.is_some() {
                let (start_ns, end_ns) = self.meter.span_ns();
                r.num("start_ns", start_ns);
                r.num("end_ns", end_ns);
            }
            r.text("peer", &plan.url);
        });
        if run.figures.is_some() {
            result::record_window(recorder, console, run.id, &self.meter, &self.rtt);
        }
        let mut index = 0;
        let before = &self.mib_before;
        for_each_counter(port, &mut |name, value| {
            // The order is the same each time.
            let old = before.get(index).filter(|(n, _)| *n == name).map_or(0, |(_, v)| *v);
            index += 1;
            if value > old {
                recorder.record(console, "mib", |r| {
                    r.num("run", run.id);
                    r.word("name", name);
                    r.num("delta", value - old);
                });
            }
        });
        result::record_result(recorder, console, run);
    }
}

/// Every MIB counter, then what is lost or saved behind the MAC: ring and FIFO.
fn for_each_counter<P: Port>(port: &mut P, f: &mut dyn FnMut(&'static str, u64)) {
    port.for_each_mib(f);
    let totals = port.totals();
    f("ring_discards", totals.discards);
    f("rbuf_overflow", totals.rbuf_overflow);
    f("rbuf_errors", totals.rbuf_errors);
    f("frame_errors", totals.frame_errors);
    f("rescues", totals.rescues);
}

/// Waits until the console is silent, so that nothing is printed inside a window. A wish to stop ends it: there will be
/// no window.
pub(crate) fn drain<P: Port, C: Console>(port: &mut P, console: &mut C) {
    let deadline_ns = port.now_ns() + DRAIN_NS;
    while console.pending() > 0 {
        let now_ns = port.now_ns();
        if now_ns >= deadline_ns || port.stop_wanted(now_ns) {
            return;
        }
        port.wait(now_ns + 10_000_000);
    }
}
