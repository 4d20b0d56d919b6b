//! Open readings of the hardware: all 72 combinations of what nobody has measured about receive coalescing.
//!
//! What a threshold counts from, when the timer starts, what threshold 0 means, and what a reset leaves in both
//! registers. A verdict that is right under one of them only is not right.

use board::board::BoardConfig;
use board::genet::{CountMode, ThresholdZero, TimerStart};
use netbench::{RxMode, RxSettings};
use std::fmt;

/// One combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// What the threshold counts from.
    pub count: CountMode,
    /// When the ring timer starts.
    pub timer: TimerStart,
    /// What threshold 0 means.
    pub zero: ThresholdZero,
    /// MBUF_DONE_THRESH after reset.
    pub threshold: u16,
    /// Ring timeout after reset, ticks of 8.192 us.
    pub timeout_ticks: u16,
}

const COUNTS: [(CountMode, &str); 2] = [(CountMode::SinceEvent, "event"), (CountMode::SinceClear, "clear")];
const TIMERS: [(TimerStart, &str); 3] =
    [(TimerStart::FirstPacket, "first"), (TimerStart::LastPacket, "last"), (TimerStart::FreeRunning, "free")];
const ZEROS: [(ThresholdZero, &str); 2] = [(ThresholdZero::Never, "never"), (ThresholdZero::AsOne, "as1")];
const THRESHOLDS: [u16; 2] = [1, 0];
const TIMEOUTS_TICKS: [u16; 3] = [0, 4096, 65_535];

impl Variant {
    /// The reading with the most evidence, and a reset that leaves an interrupt a frame.
    pub const BASE: Variant = Variant {
        count: CountMode::SinceEvent,
        timer: TimerStart::FirstPacket,
        zero: ThresholdZero::Never,
        threshold: 1,
        timeout_ticks: 0,
    };

    /// All 72; the base is the first.
    pub fn all() -> Vec<Variant> {
        let mut all = Vec::new();
        for threshold in THRESHOLDS {
            for timeout_ticks in TIMEOUTS_TICKS {
                for (zero, _) in ZEROS {
                    for (timer, _) in TIMERS {
                        all.extend(COUNTS.map(|(count, _)| Variant { count, timer, zero, threshold, timeout_ticks }));
                    }
                }
            }
        }
        all
    }

    /// The one that the board is set up for.
    pub fn of(board: &BoardConfig) -> Variant {
        let (switches, found) = (&board.genet.switches, &board.genet.found);
        Variant {
            count: switches.count,
            timer: switches.timer,
            zero: switches.threshold_zero,
            threshold: found.threshold as u16,
            timeout_ticks: found.timeout as u16,
        }
    }

    /// Sets the board up so.
    pub fn apply(&self, board: &mut BoardConfig) {
        let genet = &mut board.genet;
        (genet.switches.count, genet.switches.timer) = (self.count, self.timer);
        genet.switches.threshold_zero = self.zero;
        (genet.found.threshold, genet.found.timeout) = (self.threshold.into(), self.timeout_ticks.into());
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |found: Option<&'static str>| found.unwrap_or("?");
        write!(
            f,
            "thr{}/tmo{}/{}/{}/{}",
            self.threshold,
            self.timeout_ticks,
            word(COUNTS.iter().find(|(v, _)| *v == self.count).map(|(_, w)| *w)),
            word(TIMERS.iter().find(|(v, _)| *v == self.timer).map(|(_, w)| *w)),
            word(ZEROS.iter().find(|(v, _)| *v == self.zero).map(|(_, w)| *w)),
        )
    }
}

/// The reading that `driver` cannot tell from `variant`: what it writes itself or never comes to use does not matter. At a
/// threshold of 1 each frame is an event, whenever the timer would start.
pub fn seen_by(driver: &RxSettings, variant: &Variant) -> Variant {
    let threshold = driver.threshold.unwrap_or(variant.threshold);
    let timeout_ticks = driver.timeout_ticks.unwrap_or(variant.timeout_ticks);
    if driver.mode == RxMode::Poll || threshold == 1 || threshold == 0 && variant.zero == ThresholdZero::AsOne {
        return Variant::BASE;
    }
    let mut seen = *variant;
    if driver.threshold.is_some() {
        (seen.threshold, seen.zero) = (Variant::BASE.threshold, Variant::BASE.zero);
    }
    if driver.timeout_ticks.is_some() {
        seen.timeout_ticks = Variant::BASE.timeout_ticks;
    }
    if timeout_ticks == 0 {
        seen.timer = Variant::BASE.timer;
    }
    seen
}

/// Readings of one seed in a run that is not full: the base, and of the others that `driver` can tell apart a share, so
/// that all seeds together have all.
pub fn spread(driver: &RxSettings, seed: usize, seeds: usize) -> Vec<Variant> {
    let different = |v: &Variant| *v != Variant::BASE && seen_by(driver, v) == *v;
    let others = Variant::all().into_iter().filter(different).skip(seed).step_by(seeds.max(1));
    std::iter::once(Variant::BASE).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netbench::presets;
    use std::collections::BTreeSet;

    fn settings(driver: &str) -> &'static RxSettings {
        &presets::find(driver).unwrap().settings
    }

    #[test]
    fn there_are_72_and_each_has_its_name() {
        let all = Variant::all();
        let names: BTreeSet<String> = all.iter().map(Variant::to_string).collect();
        assert_eq!((all.len(), names.len(), all[0]), (72, 72, Variant::BASE));
    }

    #[test]
    fn a_driver_sees_what_it_leaves_alone() {
        let seen = |driver| {
            let names =
                Variant::all().iter().map(|v| seen_by(settings(driver), v).to_string()).collect::<BTreeSet<_>>();
            names.len()
        };
        // A reset's threshold 0 that means never: without a timer, or two timeouts, three starts, two counts.
        assert_eq!([seen("openbsd"), seen("freebsd")], [1 + 2 + 12; 2]);
        assert_eq!([seen("linux"), seen("uboot"), seen("ticks4096"), seen("netbsd")], [1, 1, 6, 6]);
    }

    #[test]
    fn all_seeds_together_have_all_that_is_seen() {
        for driver in ["openbsd", "linux", "ticks4096"] {
            let driver = settings(driver);
            let spread: Vec<Variant> = (0..3).flat_map(|seed| spread(driver, seed, 3)).collect();
            assert!(Variant::all().iter().all(|v| spread.contains(&seen_by(driver, v))));
        }
    }
}
