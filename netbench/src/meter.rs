//! What is counted inside a measuring window.
//!
//! Owns the histograms, the intervals and the sums. All memory is allocated before; nothing is
//! divided, printed or read from a device while frames come.

use crate::stats::Histogram;
use crate::transfer::Sink;
use crate::{Load, Port};
use genet::FrameStamp;

/// Intervals of a window.
pub const INTERVALS: usize = 10;
/// What a frame occupies on the wire beside the bytes that the driver sees: preamble 8, FCS 4, gap 12.
const WIRE_EXTRA_BYTES: u64 = 24;
/// The flow whose spacing is taken.
const SPACING_FLOW: usize = 0;

/// Sums of a window or a part of it. Frames are those that carry payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Body bytes that reached the reader.
    pub payload_b: u64,
    /// Bytes of their frames on the wire, with preamble, FCS and gap.
    pub wire_b: u64,
    /// Frames that carried them.
    pub frames: u64,
}

/// A tenth of a window, as far as batches let it be one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// From the window's start, ns.
    pub start_ns: u64,
    /// Length, ns.
    pub duration_ns: u64,
    /// What came.
    pub sums: Sums,
    /// Receive interrupts.
    pub irqs: u64,
    /// Core time not spent asleep, ns.
    pub busy_ns: u64,
}

/// Counts a window.
#[derive(Debug)]
pub(crate) struct Meter {
    /// Spacing at the arrival in the ring.
    pub arrival: Histogram,
    /// From each frame's arrival to the interrupt that fetched it; 0 for one that came after that interrupt.
    pub irq_delay: Histogram,
    /// Spacing at the interrupt.
    pub irq: Histogram,
    /// Spacing as delivered.
    pub deliver: Histogram,
    /// All of the window.
    pub sums: Sums,
    /// The first batch, whose end is where the rate's clock starts.
    pub opening: Sums,
    /// Interrupt time of the first and the last payload frame, ns.
    pub first_irq_ns: u64,
    /// See `first_irq_ns`.
    pub last_irq_ns: u64,
    /// When the last payload was delivered, ns.
    pub last_deliver_ns: u64,
    intervals: [Interval; INTERVALS],
    used: usize,
    start_ns: u64,
    length_ns: u64,
    interval_end_ns: u64,
    interval_start_ns: u64,
    before: Sums,
    load: Load,
    /// Arrival of the flow's frame before, if it is known.
    spacing_arrival_ns: Option<u64>,
    spacing_irq_ns: u64,
    spacing_deliver_ns: u64,
}

impl Meter {
    /// Allocates the histograms.
    pub fn new() -> Meter {
        Meter {
            arrival: Histogram::new(),
            irq_delay: Histogram::new(),
            irq: Histogram::new(),
            deliver: Histogram::new(),
            sums: Sums::default(),
            opening: Sums::default(),
            first_irq_ns: 0,
            last_irq_ns: 0,
            last_deliver_ns: 0,
            intervals: [Interval::default(); INTERVALS],
            used: 0,
            start_ns: 0,
            length_ns: 0,
            interval_end_ns: 0,
            interval_start_ns: 0,
            before: Sums::default(),
            load: Load::default(),
            spacing_arrival_ns: None,
            spacing_irq_ns: 0,
            spacing_deliver_ns: 0,
        }
    }

    /// Opens a window of `length_ns` at `start_ns`.
    pub fn start(&mut self, start_ns: u64, length_ns: u64, load: Load) {
        self.arrival.clear();
        self.irq_delay.clear();
        self.irq.clear();
        self.deliver.clear();
        self.sums = Sums::default();
        self.opening = Sums::default();
        (self.first_irq_ns, self.last_irq_ns, self.last_deliver_ns) = (0, 0, 0);
        self.used = 0;
        (self.start_ns, self.length_ns) = (start_ns, length_ns);
        self.interval_start_ns = start_ns;
        self.interval_end_ns = start_ns + length_ns / INTERVALS as u64;
        self.before = Sums::default();
        self.load = load;
        self.spacing_arrival_ns = None;
        (self.spacing_irq_ns, self.spacing_deliver_ns) = (0, 0);
    }

    /// Closes the window: what came since the last interval is one more.
    pub fn finish(&mut self, now_ns: u64, load: Load) {
        if now_ns > self.interval_start_ns {
            self.close_interval(now_ns, load);
        }
    }

    /// Start and end of the window since reset, ns.
    pub fn span_ns(&self) -> (u64, u64) {
        (self.start_ns, self.interval_start_ns)
    }

    /// Intervals so far.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals[..self.used]
    }

    #[inline(never)]
    fn close_interval(&mut self, now_ns: u64, load: Load) {
        let mut interval = Interval {
            start_ns: self.interval_start_ns - self.start_ns,
            duration_ns: now_ns - self.interval_start_ns,
            sums: Sums {
                payload_b: self.sums.payload_b - self.before.payload_b,
                wire_b: self.sums.wire_b - self.before.wire_b,
                frames: self.sums.frames - self.before.frames,
            },
            irqs: load.irqs - self.load.irqs,
            busy_ns: load.busy_ns.saturating_sub(self.load.busy_ns),
        };
        if self.used == INTERVALS {
            // The rest after the last full interval belongs to it.
            self.used -= 1;
            let last = self.intervals[self.used];
            interval.start_ns = last.start_ns;
            interval.duration_ns += last.duration_ns;
            interval.sums.payload_b += last.sums.payload_b;
            interval.sums.wire_b += last.sums.wire_b;
            interval.sums.frames += last.sums.frames;
            interval.irqs += last.irqs;
            interval.busy_ns += last.busy_ns;
        }
        self.intervals[self.used] = interval;
        self.used += 1;
        self.before = self.sums;
        self.load = load;
        self.interval_start_ns = now_ns;
        // A long batch may have swallowed whole intervals.
        let step_ns = (self.length_ns / INTERVALS as u64).max(1);
        self.interval_end_ns = self.start_ns + ((now_ns - self.start_ns) / step_ns + 1) * step_ns;
    }
}

impl Sink for Meter {
    #[inline]
    fn payload(&mut self, flow: usize, bytes: usize, stamp: FrameStamp, now_ns: u64) {
        self.sums.payload_b += bytes as u64;
        self.sums.wire_b += stamp.bytes as u64 + WIRE_EXTRA_BYTES;
        self.sums.frames += 1;
        if self.first_irq_ns == 0 {
            self.first_irq_ns = stamp.irq_ns;
        }
        if stamp.irq_ns == self.first_irq_ns {
            self.opening = self.sums;
        }
        self.last_irq_ns = stamp.irq_ns;
        self.last_deliver_ns = now_ns;
        if let Some(arrival_ns) = stamp.arrival_ns {
            self.irq_delay.add(stamp.irq_ns.saturating_sub(arrival_ns));
        }
        if flow == SPACING_FLOW {
            if let (Some(before_ns), Some(arrival_ns)) = (self.spacing_arrival_ns, stamp.arrival_ns)
                && let Some(spacing_ns) = arrival_ns.checked_sub(before_ns)
            {
                self.arrival.add(spacing_ns);
            }
            self.spacing_arrival_ns = stamp.arrival_ns;
            if self.spacing_deliver_ns != 0 {
                self.irq.add(stamp.irq_ns.saturating_sub(self.spacing_irq_ns));
                self.deliver.add(now_ns.saturating_sub(self.spacing_deliver_ns));
            }
            self.spacing_irq_ns = stamp.irq_ns;
            self.spacing_deliver_ns = now_ns;
        }
    }

    #[inline]
    fn batch_end<P: Port>(&mut self, now_ns: u64, port: &mut P) {
        if now_ns >= self.interval_end_ns {
            let load = port.load();
            self.close_interval(now_ns, load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(meter: &mut Meter, flow: usize, irq_ns: u64, now_ns: u64) {
        meter.payload(flow, 1460, FrameStamp { irq_ns, bytes: 1514, ..FrameStamp::default() }, now_ns);
    }

    #[test]
    fn the_first_batch_starts_the_clock() {
        let mut meter = Meter::new();
        meter.start(1_000, 1_000_000, Load::default());
        for batch in 0..3u64 {
            for i in 0..10 {
                frame(&mut meter, 0, 2_000 + batch * 100_000, 3_000 + batch * 100_000 + i * 10);
            }
        }
        assert_eq!((meter.sums.frames, meter.opening.frames), (30, 10));
        assert_eq!((meter.first_irq_ns, meter.last_irq_ns), (2_000, 202_000));
        assert_eq!(meter.sums.wire_b, 30 * 1538);
        assert_eq!((meter.irq.total(), meter.irq.quantile(500), meter.irq.max()), (29, Some(0), Some(100_000)));
        assert_eq!((meter.deliver.quantile(500), meter.deliver.max()), (Some(10), Some(99_910)));
    }

    #[test]
    fn spacing_is_that_of_one_flow() {
        let mut meter = Meter::new();
        meter.start(0, 1_000, Load::default());
        for i in 1..=5 {
            frame(&mut meter, 0, i * 100, i * 100 + 1);
            frame(&mut meter, 1, i * 100 + 50, i * 100 + 51);
        }
        assert_eq!((meter.irq.total(), meter.irq.min(), meter.irq.max()), (4, Some(100), Some(100)));
        assert_eq!(meter.sums.frames, 10);
    }

    #[test]
    fn an_arrival_before_the_one_before_is_no_spacing() {
        let mut meter = Meter::new();
        meter.start(0, 1_000_000, Load::default());
        for (arrival_ns, irq_ns) in [(500, 600), (400, 700), (450, 800), (900, 850)] {
            let stamp = FrameStamp { irq_ns, arrival_ns: Some(arrival_ns), bytes: 1514, ..FrameStamp::default() };
            meter.payload(0, 1460, stamp, 1_000);
        }
        assert_eq!((meter.arrival.total(), meter.arrival.min(), meter.arrival.max()), (2, Some(50), Some(450)));
        assert_eq!((meter.irq_delay.total(), meter.irq_delay.min(), meter.irq_delay.max()), (4, Some(0), Some(350)));
    }

    #[test]
    fn intervals_cover_the_window_whatever_the_batches_are() {
        for step in [7, 100, 333, 1_000, 2_500, 20_000] {
            let mut meter = Meter::new();
            meter.start(500, 10_000, Load::default());
            let mut now = 500;
            while now < 10_500 {
                now += step;
                frame(&mut meter, 0, now, now);
                if now >= meter.interval_end_ns {
                    meter.close_interval(now, Load { irqs: now, busy_ns: now });
                }
            }
            meter.finish(now + 1, Load { irqs: now + 1, busy_ns: now + 1 });
            let intervals = meter.intervals();
            assert!(intervals.len() <= INTERVALS);
            let mut end = 0;
            for interval in intervals {
                assert_eq!(interval.start_ns, end, "step {step}");
                end += interval.duration_ns;
            }
            assert_eq!(end, now + 1 - 500);
            assert_eq!(intervals.iter().map(|i| i.sums.frames).sum::<u64>(), meter.sums.frames);
            assert_eq!(intervals.iter().map(|i| i.irqs).sum::<u64>(), now + 1);
        }
    }
}
