//! Open readings of the hardware: all 72 combinations of what nobody has measured about receive coalescing.
//!
//! What a threshold counts from, when the timer starts, what threshold 0 means, and what a reset leaves in both
//! registers. A verdict that is right under one of them only is not right.

use board::board::BoardConfig;
use board::genet::{CountMode, ThresholdZero, TimerStart};
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

    /// How many of its five settings differ from `other`'s.
    pub fn distance(&self, other: &Variant) -> usize {
        usize::from(self.count != other.count)
            + usize::from(self.timer != other.timer)
            + usize::from(self.zero != other.zero)
            + usize::from(self.threshold != other.threshold)
            + usize::from(self.timeout_ticks != other.timeout_ticks)
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

/// The reset of the bug report's lead: 33.554 ms, and a threshold that never comes.
const SUSPECT: Variant = Variant { threshold: 0, timeout_ticks: 4096, ..Variant::BASE };

/// Variants of one world and seed in a run that is not full: the base; of those that differ from it or from the suspect
/// reset in one thing a share, so that all seeds together have all; and one combination from the rest, another for each
/// world and seed. A driver that writes both registers does not care what a reset left in them: half as many.
pub fn spread(world: usize, seed: usize, seeds: usize, leaves_found: bool) -> Vec<Variant> {
    let near = |v: &Variant| v.distance(&Variant::BASE).min(v.distance(&SUSPECT)) <= 1;
    let written = |v: &Variant| (v.threshold, v.timeout_ticks) == (1, 0);
    let all = Variant::all();
    let close: Vec<Variant> = all[1..].iter().filter(|v| near(v) && (leaves_found || written(v))).copied().collect();
    let far: Vec<Variant> = all.iter().filter(|v| !near(v)).copied().collect();
    let mut chosen = vec![Variant::BASE];
    chosen.extend(close.iter().skip(seed).step_by(seeds.max(1)));
    // 17 has no factor in common with their number: the walk meets each.
    chosen.extend(far.get((world * seeds + seed) * 17 % far.len().max(1)));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_72_and_each_has_its_name() {
        let all = Variant::all();
        let names: std::collections::BTreeSet<String> = all.iter().map(Variant::to_string).collect();
        assert_eq!((all.len(), names.len(), all[0]), (72, 72, Variant::BASE));
    }

    #[test]
    fn a_spread_has_every_single_change_and_many_others() {
        let mut seen: Vec<Variant> = Vec::new();
        for world in 0..20 {
            let mut here: Vec<Variant> = (0..3).flat_map(|seed| spread(world, seed, 3, true)).collect();
            assert!(Variant::all().iter().filter(|v| v.distance(&Variant::BASE) <= 1).all(|v| here.contains(v)));
            seen.append(&mut here);
        }
        assert_eq!(Variant::all().iter().filter(|v| seen.contains(v)).count(), 72);
    }
}
