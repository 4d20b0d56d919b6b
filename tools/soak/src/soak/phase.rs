//! Kinds of phases, and which comes when.

use crate::source::Lengths;
use netbench::presets::{PRESETS, Preset};
use std::fmt;

/// What a phase does to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Longest frames without a gap.
    Line,
    /// Shortest frames without a gap.
    Storm,
    /// All lengths; loss, duplicates, reordering, bit errors, a switch that drops, frames damaged in the MAC.
    Faults,
    /// Short frames, a reader that stalls, and a partner that does not obey PAUSE.
    Stalls,
    /// All lengths, the cable pulled and put back under load.
    Flaps,
    /// HTTP, four connections.
    Http,
    /// The same with loss, duplicates, reordering, and the cable pulled once.
    HttpFaults,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] =
        [Kind::Line, Kind::Storm, Kind::Faults, Kind::Stalls, Kind::Flaps, Kind::Http, Kind::HttpFaults];

    /// Lengths of its numbered frames.
    pub(super) fn lengths(self) -> Lengths {
        match self {
            Kind::Line => Lengths::Longest,
            Kind::Storm | Kind::Stalls => Lengths::Shortest,
            _ => Lengths::Mixed,
        }
    }

    /// Its frames come over a path that loses, doubles and reorders.
    pub(super) fn has_faults(self) -> bool {
        matches!(self, Kind::Faults | Kind::HttpFaults)
    }

    /// Its share of the frames. Long frames take the most, so that byte counts wrap with nobody reading them.
    const fn weight(self) -> u64 {
        match self {
            Kind::Line => 4,
            _ => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Line => "line rate",
            Kind::Storm => "short frames",
            Kind::Faults => "faults",
            Kind::Stalls => "stalls",
            Kind::Flaps => "link flaps",
            Kind::Http => "HTTP",
            Kind::HttpFaults => "HTTP, faults",
        })
    }
}

/// Every kind with every preset: as the numbers have no common divisor, counting both up together does it.
pub(super) const PHASES_OF_A_ROUND: u64 = (Kind::ALL.len() * PRESETS.len()) as u64;
/// All weights of a round.
pub(super) const WEIGHT_OF_A_ROUND: u64 = {
    let mut sum = 0;
    let mut kind = 0;
    while kind < Kind::ALL.len() {
        sum += Kind::ALL[kind].weight();
        kind += 1;
    }
    sum * PRESETS.len() as u64
};

/// A phase.
pub(super) struct Phase {
    pub(super) kind: Kind,
    pub(super) preset: &'static Preset,
    /// Frames to send; of HTTP, to receive.
    pub(super) frames: u64,
}

impl Phase {
    /// Phase `index` of a round, `unit` frames for a weight of 1.
    pub(super) fn of_round(index: u64, unit: u64) -> Phase {
        let kind = Kind::ALL[index as usize % Kind::ALL.len()];
        Phase { kind, preset: &PRESETS[index as usize % PRESETS.len()], frames: unit * kind.weight() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_every_kind_with_every_preset_once() {
        let mut seen = std::collections::BTreeSet::new();
        for index in 0..PHASES_OF_A_ROUND {
            let phase = Phase::of_round(index, 1);
            assert!(seen.insert((phase.kind as usize, phase.preset.name)));
        }
        assert_eq!(seen.len(), Kind::ALL.len() * PRESETS.len());
        assert!(Kind::ALL.iter().enumerate().all(|(at, kind)| *kind as usize == at));
    }
}
