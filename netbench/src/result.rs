//! What came out of one run: the figures, and the records that hold them. The table reads the same structs.

use crate::failure::Failure;
use crate::meter::Meter;
use crate::plan::Plan;
use crate::point::{self, Point};
use crate::record::Recorder;
use crate::stats::{Histogram, Quantiles, SUSPECT_SPACING_NS};
use crate::{LinkState, RxMode, RxReadback, Totals, Watched};
use core::fmt::Write;

/// One timeout tick, ns (8.192 us: 1024 cycles of a 125 MHz clock).
const TICK_NS: u64 = 8_192;
/// A spacing from here on is a gap that a person sees in a capture, ns.
const LONG_GAP_NS: u64 = 1_000_000;
/// Bucket lines of a histogram in a record.
const RECORDED_BUCKETS: usize = 64;

/// One run of one point.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Run id, unique in a session.
    pub id: u32,
    /// What was asked for.
    pub point: Point,
    /// The link it ran on, if there was one.
    pub link: Option<LinkState>,
    /// As the hardware held it.
    pub got: Option<RxReadback>,
    /// Figures of the window, if one was measured.
    pub figures: Option<Figures>,
    /// Why it failed; a setting that was ignored has figures too.
    pub failure: Option<Failure>,
}

impl RunResult {
    /// `ok`, or the failing operation.
    pub fn rc(&self) -> &'static str {
        self.failure.as_ref().map_or("ok", Failure::rc)
    }
}

/// Figures of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Body bytes that reached the reader.
    pub payload_b: u64,
    /// Payload rate, from the first batch to the last; absent if all came in one batch.
    pub payload_bps: Option<u64>,
    /// The same with all that occupies the wire.
    pub wire_bps: Option<u64>,
    /// Payload frames.
    pub frames: u64,
    /// Receive interrupts.
    pub irqs: u64,
    /// Receive interrupts in a second.
    pub irqs_per_s: u64,
    /// Spacing at the arrival in the ring, if somebody watched.
    pub arrival: Option<Quantiles>,
    /// From a frame's arrival to the interrupt that fetched it.
    pub irq_delay: Option<Quantiles>,
    /// What the arrival clock saw; `None` without one.
    pub watched: Option<Watched>,
    /// Spacing at the interrupt.
    pub irq: Option<Quantiles>,
    /// Spacing as delivered.
    pub deliver: Option<Quantiles>,
    /// Share of interrupt spacings near 33.554 ms, ppm.
    pub near_suspect_ppm: u64,
    /// Share near a multiple of the timeout that was read back, ppm.
    pub near_timeout_ppm: Option<u64>,
    /// Median round trip of a small request, ns.
    pub rtt_p50_ns: Option<u64>,
    /// Busy share of the window, thousandths.
    pub busy_milli: u64,
    /// Busy time a payload frame, ns.
    pub ns_per_frame: Option<u64>,
    /// Frames for which the ring had no descriptor.
    pub discards: u64,
    /// `discards` is a lower bound: the hardware's counter was found at its end.
    pub discards_capped: bool,
    /// Frames found after unmasking.
    pub rescues: u64,
    /// PAUSE frames that the MAC sent.
    pub pause_sent: u64,
    /// PAUSE frames that came.
    pub pause_received: u64,
    /// Frames that arrived damaged: FCS, code, alignment, length, runts.
    pub link_errors: u64,
    /// Collisions of our frames.
    pub collisions: u64,
    /// Of these, late ones.
    pub late_collisions: u64,
    /// Length of the window, ns.
    pub window_ns: u64,
    /// Bytes of the payload frames on the wire, with preamble, FCS and gap.
    pub wire_b: u64,
    /// Median of the interrupt spacings of at least 1 ms, ns, and how many there were.
    pub long_gap: Option<(u64, u64)>,
}

impl Figures {
    /// From a window that lasted `window_ns`, with the totals before and after it.
    pub(crate) fn new(
        meter: &Meter,
        window_ns: u64,
        before: &Totals,
        after: &Totals,
        got: Option<&RxReadback>,
    ) -> Figures {
        let span_ns = meter.last_irq_ns.saturating_sub(meter.first_irq_ns);
        let rate = |bytes: u64| (span_ns > 0).then(|| (bytes as u128 * 8_000_000_000 / span_ns as u128) as u64);
        let irqs: u64 = meter.intervals().iter().map(|i| i.irqs).sum();
        let busy_ns: u64 = meter.intervals().iter().map(|i| i.busy_ns).sum();
        let window_ns = window_ns.max(1);
        let timeout_ns = got.map(|g| g.timeout_ticks as u64 * TICK_NS).filter(|ns| *ns > 0);
        Figures {
            payload_b: meter.sums.payload_b,
            payload_bps: rate(meter.sums.payload_b - meter.opening.payload_b),
            wire_bps: rate(meter.sums.wire_b - meter.opening.wire_b),
            frames: meter.sums.frames,
            irqs,
            irqs_per_s: (irqs as u128 * 1_000_000_000 / window_ns as u128) as u64,
            arrival: meter.arrival.quantiles(),
            irq_delay: meter.irq_delay.quantiles().filter(|_| got.is_some_and(|got| got.mode == RxMode::Interrupt)),
            watched: None,
            irq: meter.irq.quantiles(),
            deliver: meter.deliver.quantiles(),
            near_suspect_ppm: meter.irq.near_ppm(SUSPECT_SPACING_NS),
            near_timeout_ppm: timeout_ns.map(|ns| meter.irq.near_multiples_ppm(ns)),
            rtt_p50_ns: None,
            busy_milli: (busy_ns as u128 * 1000 / window_ns as u128) as u64,
            ns_per_frame: busy_ns.checked_div(meter.sums.frames),
            discards: after.discards - before.discards,
            discards_capped: after.discards_capped > before.discards_capped,
            rescues: after.rescues - before.rescues,
            pause_sent: after.pause_sent - before.pause_sent,
            pause_received: after.pause_received - before.pause_received,
            link_errors: after.link_errors - before.link_errors,
            collisions: after.collisions - before.collisions,
            late_collisions: after.late_collisions - before.late_collisions,
            window_ns,
            wire_b: meter.sums.wire_b,
            long_gap: meter.irq.median_from(LONG_GAP_NS),
        }
    }
}

/// One `plan` record.
pub(crate) fn record_plan(recorder: &mut Recorder, out: &mut dyn Write, id: u32, point: &Point, plan: &Plan) {
    recorder.record(out, "plan", |r| {
        r.num("run", id);
        point::asked(r, point);
        point::workload(r, point);
        r.num("warmup_ms", plan.warmup_ms);
        r.num("window_ms", plan.window_ms);
        r.num("rtt_probes", plan.rtt_probes);
        r.num("range_b", plan.range_b);
        r.text("peer", &plan.url);
    });
}

/// The `ival` and `hist` records of a window.
pub(crate) fn record_window(recorder: &mut Recorder, out: &mut dyn Write, id: u32, meter: &Meter, rtt: &Histogram) {
    for (index, interval) in meter.intervals().iter().enumerate() {
        recorder.record(out, "ival", |r| {
            r.num("run", id);
            r.num("index", index as u64);
            r.num("start_ns", interval.start_ns);
            r.num("duration_ns", interval.duration_ns);
            r.num("payload_b", interval.sums.payload_b);
            r.num("wire_b", interval.sums.wire_b);
            r.num("frames", interval.sums.frames);
            r.num("irqs", interval.irqs);
            r.num("busy_ns", interval.busy_ns);
        });
    }
    let arrival = ("arrival", &meter.arrival);
    for (which, histogram) in [arrival, ("irq", &meter.irq), ("deliver", &meter.deliver), ("latency", rtt)] {
        if histogram.total() == 0 {
            continue;
        }
        let mut coarser = 0;
        while coarser < 7 && histogram.buckets(coarser).count() > RECORDED_BUCKETS {
            coarser += 1;
        }
        recorder.record(out, "hist", |r| {
            r.num("run", id);
            r.word("which", which);
            r.num("total", histogram.total());
            r.maybe("min_ns", histogram.min());
            r.maybe("max_ns", histogram.max());
            for (bound_ns, count) in histogram.buckets(coarser) {
                r.show("bucket", format_args!("{bound_ns}:{count}"));
            }
        });
    }
}

/// The `result` record.
pub(crate) fn record_result(recorder: &mut Recorder, out: &mut dyn Write, result: &RunResult) {
    recorder.record(out, "result", |r| {
        r.num("run", result.id);
        r.word("preset", result.point.name());
        r.num("flows", result.point.setup.flows);
        r.num("rep", result.point.rep);
        r.word("rc", result.rc());
        if let Some(status) = result.failure.as_ref().and_then(Failure::http_status) {
            r.num("http_status", status);
        }
        let Some(f) = &result.figures else { return };
        r.num("payload_b", f.payload_b);
        r.maybe("payload_bps", f.payload_bps);
        r.maybe("wire_bps", f.wire_bps);
        r.num("frames", f.frames);
        r.num("irqs", f.irqs);
        r.maybe("frames_per_irq_milli", (f.frames * 1000).checked_div(f.irqs));
        for (clock, quantiles) in [("arrival", f.arrival), ("irq", f.irq), ("deliver", f.deliver)] {
            let Some(q) = quantiles else { continue };
            for (name, value) in [("p50", q.p50_ns), ("p90", q.p90_ns), ("p99", q.p99_ns), ("max", q.max_ns)] {
                r.num(&alloc::format!("{clock}_{name}_ns"), value);
            }
        }
        if let Some(q) = f.irq_delay {
            r.num("irq_delay_p50_ns", q.p50_ns);
            r.num("irq_delay_p90_ns", q.p90_ns);
            r.num("irq_delay_max_ns", q.max_ns);
        }
        if let Some(watched) = &f.watched {
            r.num("latches", watched.latches);
            r.maybe("latch_mean_ns", watched.latch_mean_ns);
            r.maybe("latch_max_ns", watched.latch_max_ns);
            r.num("arrivals_missed", watched.missed);
            r.num("arrivals_lost", watched.lost);
        }
        r.num("near_33554us_ppm", f.near_suspect_ppm);
        r.maybe("near_timeout_ppm", f.near_timeout_ppm);
        if let Some((gap_ns, gaps)) = f.long_gap {
            r.num("gap_p50_ns", gap_ns);
            r.num("gaps", gaps);
        }
        r.maybe("rtt_p50_ns", f.rtt_p50_ns);
        r.num("busy_milli", f.busy_milli);
        r.maybe("ns_per_frame", f.ns_per_frame);
        r.num("discards", f.discards);
        if f.discards_capped {
            r.num("discards_capped", true);
        }
        r.num("rescues", f.rescues);
        for (key, count) in [
            ("pause_sent", f.pause_sent),
            ("pause_received", f.pause_received),
            ("link_errors", f.link_errors),
            ("collisions", f.collisions),
            ("late_collisions", f.late_collisions),
        ] {
            r.maybe(key, Some(count).filter(|count| *count > 0));
        }
    });
}
