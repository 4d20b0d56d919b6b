//! Axes: settings of which a plan may name several values, each combined with each of the others.
//!
//! Owns the keys, their words and ranges, and the small language of values: `1,10,32`, `0..64/8` (from, to, step),
//! `1..256*2` (from, to, factor), words such as `found`, and any of these in a list.

use super::{PlanProblem, WINDOW_MEMORY_BYTES};
use crate::point::{ADVERTISED, LINK_MODES, Setup};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use genet::{MAX_THRESHOLD, Pause, Posted, RING_SIZE, RxMode, RxRing};

/// Most values of one axis.
pub const MAX_VALUES: usize = 64;
/// A word that stands for what was found at boot, or for what was negotiated.
const AS_IT_IS: u64 = u64::MAX;
/// Added to `posted` for a ring that grows by OpenBSD's rule.
const GROWS: u64 = 1 << 32;

/// One setting that can have several values in a plan.
pub(crate) struct Axis {
    /// As in the boot arguments.
    pub key: &'static str,
    /// Whether the port is set by it; otherwise only the workload is, and presets stay presets.
    pub is_setting: bool,
    range: RangeInclusive<u64>,
    /// What may stand instead of a number.
    pub words: &'static [(&'static str, u64)],
    /// Puts a value in.
    pub apply: fn(&mut Setup, u64),
}

const LINK_WORDS: [(&str, u64); LINK_MODES.len()] = {
    let mut words = [("", 0); LINK_MODES.len()];
    let mut i = 0;
    while i < words.len() {
        words[i] = (LINK_MODES[i].0, i as u64);
        i += 1;
    }
    words
};

/// No number is allowed, only words.
#[allow(clippy::reversed_empty_ranges)]
const WORDS_ONLY: RangeInclusive<u64> = 1..=0;
const SWITCH: RangeInclusive<u64> = 0..=1;

const fn setting(key: &'static str, range: RangeInclusive<u64>, apply: fn(&mut Setup, u64)) -> Axis {
    Axis { key, is_setting: true, range, words: &[], apply }
}

const fn workload(key: &'static str, range: RangeInclusive<u64>, apply: fn(&mut Setup, u64)) -> Axis {
    Axis { key, is_setting: false, range, words: &[], apply }
}

impl Axis {
    const fn or(self, words: &'static [(&'static str, u64)]) -> Axis {
        Axis { words, ..self }
    }
}

/// A value or, for `found`, none.
fn known(value: u64) -> Option<u16> {
    (value != AS_IT_IS).then_some(value as u16)
}

/// One direction of PAUSE; a word for one of them leaves the other as it is.
fn set_pause(setup: &mut Setup, value: u64, change: fn(&mut (bool, bool), bool)) {
    // What was negotiated is not known here, so a switch that is set alone starts from what the BSDs do.
    let mut both = match setup.rx.pause {
        Pause::Negotiated => (true, true),
        Pause::Forced { send, obey } => (send, obey),
    };
    if value == AS_IT_IS {
        setup.rx.pause = Pause::Negotiated;
        return;
    }
    change(&mut both, value == 1);
    setup.rx.pause = Pause::Forced { send: both.0, obey: both.1 };
}

const FOUND: &[(&str, u64)] = &[("found", AS_IT_IS)];
const AUTO: &[(&str, u64)] = &[("auto", AS_IT_IS)];
const RING: u64 = RING_SIZE as u64;

/// All axes, in the order in which a point's values are put in.
pub(crate) static AXES: &[Axis] = &[
    setting("gb.thr", 0..=MAX_THRESHOLD as u64, |s, v| s.rx.threshold = known(v)).or(FOUND),
    setting("gb.tmo_ticks", 0..=65_535, |s, v| s.rx.timeout_ticks = known(v)).or(FOUND),
    setting("gb.posted", 1..=RING, |s, v| {
        s.rx.posted = match v {
            GROWS.. => Posted::Growing { start: v as u16 },
            _ => Posted::Fixed(v as u16),
        }
    }),
    setting("gb.xoff", 0..=65_535, |s, v| s.rx.xoff = v as u16),
    setting("gb.xon", 0..=65_535, |s, v| s.rx.xon = v as u16),
    setting("gb.tx_pause", SWITCH, |s, v| set_pause(s, v, |both, on| both.0 = on)).or(AUTO),
    setting("gb.rx_pause", SWITCH, |s, v| set_pause(s, v, |both, on| both.1 = on)).or(AUTO),
    setting("gb.quanta", 0..=65_535, |s, v| s.rx.quanta = known(v)).or(FOUND),
    setting("gb.ring", WORDS_ONLY, |s, v| s.rx.ring = if v == 0 { RxRing::Ring0 } else { RxRing::Ring16 })
        .or(&[("0", 0), ("16", 16)]),
    setting("gb.id_mode", SWITCH, |s, v| s.rx.id_mode_dis = known(v).map(|dis| dis != 0)).or(AUTO),
    setting("gb.mode", WORDS_ONLY, |s, v| s.rx.mode = if v == 0 { RxMode::Interrupt } else { RxMode::Poll })
        .or(&[("irq", 0), ("poll", 1)]),
    setting("gb.link", WORDS_ONLY, |s, v| s.link.mode = LINK_MODES[v as usize % LINK_MODES.len()].1).or(&LINK_WORDS),
    setting("gb.adv_pause", WORDS_ONLY, |s, v| (s.link.pause, s.link.asymmetric_pause) = (v & 1 != 0, v & 2 != 0))
        .or(&ADVERTISED),
    setting("gb.eee", SWITCH, |s, v| s.link.eee = known(v).map(|on| if on == 0 { 0 } else { 0x6 })).or(FOUND),
    setting("gb.rxc_skew", SWITCH, |s, v| s.link.rxc_skew = v == 1),
    setting("gb.gtxclk_delay", SWITCH, |s, v| s.link.gtxclk_delay = v == 1),
    workload("gb.flows", 1..=16, |s, v| s.flows = v as u16),
    workload("gb.window_b", 4_096..=1_048_576, |s, v| s.window_b = v),
    workload("gb.ack_ms", 0..=500, |s, v| s.ack_delay_ms = v as u16),
    workload("gb.burden_ns", 0..=1_000_000, |s, v| s.burden_ns = v as u32),
    workload("gb.watch", WORDS_ONLY, |s, v| s.watch = v == 1).or(&[("on", 1), ("off", 0)]),
];

impl Axis {
    /// The values in `text`, each once and in their order. What cannot be used is told; the rest holds.
    pub fn values(&self, text: &str, problems: &mut Vec<PlanProblem>) -> Vec<u64> {
        let mut values = Vec::new();
        for word in text.split(',') {
            let Some(all) = self.expand(word) else {
                problems.push(self.problem(word));
                continue;
            };
            for value in all {
                if values.len() < MAX_VALUES && !values.contains(&value) {
                    values.push(value);
                } else if values.len() == MAX_VALUES {
                    problems.push(PlanProblem::TooMany { key: self.key, what: "values", limit: MAX_VALUES });
                    return values;
                }
            }
        }
        values
    }

    fn problem(&self, word: &str) -> PlanProblem {
        let words = self.words.iter().map(|(word, _)| *word).collect();
        PlanProblem::AxisValue { key: self.key, value: word.into(), range: self.range.clone(), words }
    }

    /// One element of a list. `None` if it is none.
    fn expand(&self, word: &str) -> Option<Vec<u64>> {
        if let Some((_, value)) = self.words.iter().find(|(known, _)| *known == word) {
            return Some(alloc::vec![*value]);
        }
        if let (Some(start), "gb.posted") = (word.strip_suffix('+'), self.key) {
            return Some(alloc::vec![self.number(start)? | GROWS]);
        }
        let Some((from, rest)) = word.split_once("..") else { return Some(alloc::vec![self.number(word)?]) };
        let from = self.number(from)?;
        let is_product = rest.contains('*');
        let step: fn(u64, u64) -> Option<u64> = if is_product { u64::checked_mul } else { u64::checked_add };
        let (to, by) = rest.split_once(['/', '*']).unwrap_or((rest, "1"));
        let (to, by): (u64, u64) = (self.number(to)?, by.parse().ok()?);
        if to < from || by == 0 || is_product && (by < 2 || from == 0) {
            return None;
        }
        let mut values = alloc::vec![from];
        let mut last = from;
        while let Some(next) = step(last, by).filter(|next| *next <= to)
            && values.len() <= MAX_VALUES
        {
            values.push(next);
            last = next;
        }
        Some(values)
    }

    fn number(&self, text: &str) -> Option<u64> {
        text.parse().ok().filter(|value| self.range.contains(value))
    }
}

/// The window that fits if each of `flows` has it, bytes.
pub(crate) const fn fitting_window_b(flows: u16) -> u64 {
    WINDOW_MEMORY_BYTES / flows as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(key: &str, text: &str) -> (Vec<u64>, usize) {
        let mut problems = Vec::new();
        let axis = AXES.iter().find(|axis| axis.key == key).unwrap();
        let values = axis.values(text, &mut problems);
        (values, problems.len())
    }

    #[test]
    fn lists_ranges_steps_factors_and_words() {
        assert_eq!(values("gb.thr", "1,10,1"), (vec![1, 10], 0));
        assert_eq!(values("gb.thr", "0..4"), (vec![0, 1, 2, 3, 4], 0));
        assert_eq!(values("gb.thr", "0..64/16,found"), (vec![0, 16, 32, 48, 64, AS_IT_IS], 0));
        assert_eq!(values("gb.thr", "1..511*2"), (vec![1, 2, 4, 8, 16, 32, 64, 128, 256], 0));
        assert_eq!(values("gb.posted", "2+,3"), (vec![2 | GROWS, 3], 0));
        assert_eq!(values("gb.link", "auto100,forced100full"), (vec![2, 4], 0));
    }

    #[test]
    fn what_is_no_value_is_told_and_the_rest_holds() {
        for bad in ["512", "x", "", "1..", "..4", "4..1", "1..4/0", "0..4*2", "1..4*1", "-1", "1..4/x", "auto"] {
            assert_eq!(values("gb.thr", &std::format!("7,{bad}")), (vec![7], 1), "{bad}");
        }
        assert_eq!(values("gb.link", "0,fast"), (vec![], 2));
        let (many, problems) = values("gb.tmo_ticks", "0..65535");
        assert_eq!((many.len(), problems), (MAX_VALUES, 1));
        assert_eq!(values("gb.tmo_ticks", "0..65535/1024").0.len(), 64);
    }

    #[test]
    fn every_word_and_end_of_a_range_can_be_put_in() {
        let preset = &crate::presets::PRESETS[0];
        let setup = Setup {
            rx: preset.settings,
            link: preset.link,
            flows: 1,
            window_b: 4096,
            ack_delay_ms: 0,
            burden_ns: 0,
            watch: true,
        };
        for axis in AXES {
            let mut seen = vec![setup];
            let numbers = [*axis.range.start(), *axis.range.end()].into_iter().filter(|v| axis.range.contains(v));
            for value in axis.words.iter().map(|(_, value)| *value).chain(numbers) {
                let mut changed = setup;
                (axis.apply)(&mut changed, value);
                seen.push(changed);
            }
            assert!(seen.iter().any(|s| *s != setup), "{} changes nothing", axis.key);
        }
    }
}
