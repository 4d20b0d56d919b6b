//! When RXDMA_MBDONE is raised: a count of packets and a timer, whichever comes first.
//!
//! The rule is the one that Linux's ethtool mapping, Broadcom's old driver ("push timer") and AmiNetXDuo's sweep on a
//! Pi 4 support; the readings they leave open are [`CountMode`], [`TimerStart`] and [`ThresholdZero`]. A new THRESH
//! applies from the next packet, a new TIMEOUT from the next start of the timer (certainty C).

use super::{CountMode, Switches, ThresholdZero, TimerStart};

/// One timeout tick: 1024 cycles of the 125 MHz system clock.
pub const TICK_NS: u64 = 8192;

const NEVER: u64 = u64::MAX;

/// Coalescing state of one receive ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coalesce {
    /// Packets since the count last started.
    count: u32,
    /// An event has been raised and, in count mode "since clear", not been cleared.
    raised: bool,
    deadline: u64,
}

impl Default for Coalesce {
    fn default() -> Self {
        Coalesce { count: 0, raised: false, deadline: NEVER }
    }
}

impl Coalesce {
    /// When the timer expires, `u64::MAX` if it does not run.
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline
    }

    /// A packet is done at `now`; true when this raises the event. `timeout` is the raw register.
    pub(crate) fn packet(&mut self, now: u64, threshold: u32, timeout: u32, switches: &Switches) -> bool {
        self.count += 1;
        let reached = match threshold {
            0 => switches.threshold_zero == ThresholdZero::AsOne,
            limit => self.count >= limit,
        };
        if reached {
            self.event(switches);
            return true;
        }
        let period = u64::from(timeout & 0xFFFF) * TICK_NS;
        if period == 0 || self.raised {
            return false;
        }
        match switches.timer {
            TimerStart::FirstPacket if self.deadline == NEVER => self.deadline = now + period,
            TimerStart::FirstPacket => {}
            TimerStart::LastPacket => self.deadline = now + period,
            TimerStart::FreeRunning => self.deadline = (now / period + 1) * period,
        }
        false
    }

    /// The time is `now`; true when the timer raises the event.
    pub(crate) fn expire(&mut self, now: u64, switches: &Switches) -> bool {
        let due = self.deadline <= now;
        if due {
            self.event(switches);
        }
        due
    }

    /// Software cleared the ring's status bit.
    pub(crate) fn cleared(&mut self, switches: &Switches) {
        if switches.count == CountMode::SinceClear {
            *self = Coalesce::default();
        }
    }

    fn event(&mut self, switches: &Switches) {
        self.deadline = NEVER;
        match switches.count {
            CountMode::SinceEvent => self.count = 0,
            CountMode::SinceClear => self.raised = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of events for packets at `times`, with clears right after each event when `clear`.
    fn events(times: &[u64], threshold: u32, ticks: u32, switches: Switches, clear: bool) -> Vec<u64> {
        let mut ring = Coalesce::default();
        let mut out = Vec::new();
        for &at in times {
            if ring.deadline() <= at {
                let due = ring.deadline();
                assert!(ring.expire(due, &switches));
                out.push(due);
                if clear {
                    ring.cleared(&switches);
                }
            }
            if ring.packet(at, threshold, ticks, &switches) {
                out.push(at);
                if clear {
                    ring.cleared(&switches);
                }
            }
        }
        if ring.deadline() != NEVER {
            out.push(ring.deadline());
        }
        out
    }

    #[test]
    fn timer_starts_differ_as_named() {
        let times = [1_000, 5_000, 9_000];
        let with = |timer| Switches { timer, ..Switches::default() };
        assert_eq!(events(&times, 10, 1, with(TimerStart::FirstPacket), true), [9_192,]);
        assert_eq!(events(&times, 10, 1, with(TimerStart::LastPacket), true), [17_192]);
        assert_eq!(events(&times, 10, 1, with(TimerStart::FreeRunning), true), [8_192, 16_384]);
    }

    #[test]
    fn threshold_counts_from_event_or_clear() {
        let times: Vec<u64> = (1..=6).map(|k| k * 100).collect();
        let mode = |count| Switches { count, ..Switches::default() };
        assert_eq!(events(&times, 2, 0, mode(CountMode::SinceEvent), false), [200, 400, 600]);
        // Nobody clears: the count stays above the threshold and every packet finds the latch set.
        assert_eq!(events(&times, 2, 0, mode(CountMode::SinceClear), false), [200, 300, 400, 500, 600]);
        assert_eq!(events(&times, 2, 0, mode(CountMode::SinceClear), true), [200, 400, 600]);
    }

    #[test]
    fn zero_threshold_and_zero_timeout() {
        let times = [100, 200];
        let as_one = Switches { threshold_zero: ThresholdZero::AsOne, ..Switches::default() };
        assert_eq!(events(&times, 0, 0, Switches::default(), true), []);
        assert_eq!(events(&times, 0, 2, Switches::default(), true), [100 + 2 * TICK_NS]);
        assert_eq!(events(&times, 0, 0, as_one, true), [100, 200]);
    }
}
