//! What is wrong with a plan, said so that it can be put right without a manual.

use super::{KEYS, WINDOW_MEMORY_BYTES};
use crate::http::UrlError;
use crate::presets::PRESETS;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

/// A word of the boot arguments that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanProblem {
    /// No such key.
    UnknownKey {
        /// As written.
        key: String,
        /// A key that differs by a letter or two.
        nearest: Option<&'static str>,
    },
    /// The key stands alone.
    NoValue {
        /// As written.
        key: String,
    },
    /// No number, or one that is not allowed.
    OutOfRange {
        /// The key.
        key: String,
        /// As written.
        value: String,
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// No value of this axis.
    AxisValue {
        /// The key.
        key: &'static str,
        /// As written.
        value: String,
        /// Numbers allowed; empty if only words are.
        range: RangeInclusive<u64>,
        /// Words allowed.
        words: Vec<&'static str>,
    },
    /// More values, points or runs than are taken.
    TooMany {
        /// The key, or what has too many.
        key: &'static str,
        /// Of what.
        what: &'static str,
        /// How many are taken.
        limit: usize,
    },
    /// No such preset.
    UnknownPreset {
        /// The key.
        key: &'static str,
        /// As written.
        name: String,
        /// A preset whose name differs by a letter or two.
        nearest: Option<&'static str>,
    },
    /// The URL cannot be fetched.
    Url {
        /// As written.
        value: String,
        /// Why.
        error: UrlError,
    },
    /// The windows of all flows do not fit into memory.
    Memory {
        /// Most flows of any point.
        flows: u16,
        /// Window asked for, bytes.
        window_b: u64,
        /// Window used instead, bytes.
        used_b: u64,
    },
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanProblem::UnknownKey { key, nearest } => {
                write!(f, "`{key}` is no key of the plan and is ignored")?;
                suggest(f, *nearest)?;
                write!(f, ". Keys:")?;
                KEYS.iter().try_for_each(|key| write!(f, " {key}"))
            }
            PlanProblem::NoValue { key } => write!(f, "`{key}` has no value and is ignored: write {key}=VALUE"),
            PlanProblem::OutOfRange { key, value, min, max } => {
                write!(f, "`{key}={value}` is not possible and is ignored: a number from {min} to {max} is")
            }
            PlanProblem::AxisValue { key, value, range, words } => {
                write!(f, "`{value}` in {key} is not possible and is ignored:")?;
                if !range.is_empty() {
                    write!(
                        f,
                        " a number from {} to {}, a range A..B, A..B/STEP or A..B*FACTOR",
                        range.start(),
                        range.end()
                    )?;
                }
                for (index, word) in words.iter().enumerate() {
                    let or = if index > 0 || !range.is_empty() { "," } else { "" };
                    write!(f, "{or} {word}")?;
                }
                write!(f, " can be")
            }
            PlanProblem::TooMany { key, what, limit } => {
                write!(f, "{key} has more than {limit} {what}; the first {limit} are taken")
            }
            PlanProblem::UnknownPreset { key, name, nearest } => {
                write!(f, "`{name}` in {key} is no preset and is ignored")?;
                suggest(f, *nearest)?;
                write!(f, ". Presets:{}", if *key == "gb.presets" { " all" } else { "" })?;
                PRESETS.iter().try_for_each(|preset| write!(f, " {}", preset.name))
            }
            PlanProblem::Url { value, error } => write!(f, "`gb.url={value}` is ignored: {error}"),
            PlanProblem::Memory { flows, window_b, used_b } => write!(
                f,
                "{flows} flows with gb.window_b={window_b} do not fit: their product may be {WINDOW_MEMORY_BYTES} at \
                 most, so each gets {used_b}"
            ),
        }
    }
}

impl core::error::Error for PlanProblem {}

fn suggest(f: &mut fmt::Formatter<'_>, nearest: Option<&str>) -> fmt::Result {
    nearest.map_or(Ok(()), |word| write!(f, "; did you mean `{word}`?"))
}

/// The candidate that `word` most likely stands for: at most a third of it differs.
pub fn nearest(word: &str, candidates: &[&'static str]) -> Option<&'static str> {
    let best = candidates.iter().map(|c| (distance(word.as_bytes(), c.as_bytes()), *c)).min()?;
    (best.0 <= (word.len() / 3).clamp(1, 3)).then_some(best.1)
}

/// Levenshtein's distance.
fn distance(a: &[u8], b: &[u8]) -> usize {
    // Boot arguments may hold anything; the work stays bounded.
    if a.len() > 40 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + (x != y) as usize;
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
