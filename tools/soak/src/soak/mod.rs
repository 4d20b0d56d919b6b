//! The soak: frames at line rate through every preset, under faults, each of them accounted for.
//!
//! Owns the order of the phases, the rig that they run on and the report. A run is a number of boards after each other;
//! each board goes through every kind of phase with every preset. The first thing that does not add up ends the run.

mod faults;
mod http;
mod ledger;
mod phase;
mod raw;
mod rig;

pub use ledger::{Ledger, Wraps};
pub use phase::Kind;

use crate::heap;
use board::genet::DiscardEnd;
use board::rng::SplitMix64;
use netbench::Port;
use netbench::presets::PRESETS;
use phase::{Phase, WEIGHT_OF_A_ROUND};
use rig::Rig;
use std::fmt;

/// Boards in a run: one for each thing that the discard counter may do at its end.
const BOARDS: [DiscardEnd; 2] = [DiscardEnd::Saturates, DiscardEnd::Wraps];

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct SoakConfig {
    /// Frames to receive, at least.
    pub frames: u64,
    /// Decides everything else.
    pub seed: u64,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Frames received.
    pub frames: u64,
    /// Virtual time, all boards, ns.
    pub virtual_ns: u64,
}

/// Live bytes of the firmware's heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapFigures {
    /// After the first phase of the first board, what that board has.
    pub first_bytes: i64,
    /// After the last phase of the last board, what that board has.
    pub last_bytes: i64,
    /// Most after any phase.
    pub most_bytes: i64,
    /// Allocations while numbered frames were received.
    pub raw_allocations: u64,
}

/// What came of it. Two runs of one configuration give the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Frames received.
    pub frames: u64,
    /// Virtual time, all boards, ns.
    pub virtual_ns: u64,
    /// Where frames went, by kind of phase, in the order of [`Kind::ALL`].
    pub rows: [Ledger; Kind::ALL.len()],
    /// Phases.
    pub phases: u32,
    /// Hash over all frames handed out.
    pub frame_hash: u64,
    /// Hash over the hashes of all HTTP streams.
    pub body_hash: u64,
    /// HTTP body bytes.
    pub body_bytes: u64,
    /// Counters that wrapped.
    pub wraps: Wraps,
    /// Heap.
    pub heap: HeapFigures,
    /// Times that the cable was pulled.
    pub flaps: u64,
    /// Receive interrupts.
    pub irqs: u64,
    /// Frames found without an interrupt.
    pub rescues: u64,
}

/// The first thing that did not add up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// Phase: kind, preset, number.
    pub phase: String,
    /// Virtual time of its board, ns.
    pub at_ns: u64,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, at {}.{:06} s: {}",
            self.phase,
            self.at_ns / 1_000_000_000,
            self.at_ns / 1_000 % 1_000_000,
            self.text
        )
    }
}

impl std::error::Error for Discrepancy {}

/// Runs a soak; `progress` is called now and then.
///
/// # Errors
/// The first discrepancy.
pub fn run(config: &SoakConfig, progress: &mut dyn FnMut(Progress)) -> Result<Report, Discrepancy> {
    let mut report = Report::default();
    let each = config.frames.div_ceil(BOARDS.len() as u64);
    for (number, discards) in BOARDS.into_iter().enumerate() {
        let seed = SplitMix64::new(config.seed).next_u64() ^ number as u64;
        board(each, seed, discards, &mut report, progress)?;
    }
    Ok(report)
}

/// One board, `frames` frames at least.
fn board(
    frames: u64,
    seed: u64,
    discards: DiscardEnd,
    report: &mut Report,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), Discrepancy> {
    let heap_before = heap::of_firmware().live_bytes;
    let mut rig = Rig::new(seed, discards).map_err(|text| Discrepancy { phase: "start".into(), at_ns: 0, text })?;
    let unit = frames.div_ceil(WEIGHT_OF_A_ROUND);
    let mut index = 0;
    let mut before = rig.ledger();
    while index < phase::PHASES_OF_A_ROUND || rig.received() < frames {
        let phase = match index < phase::PHASES_OF_A_ROUND {
            true => Phase::of_round(index, unit),
            // Presets that discard most of what comes received less than was sent: the rest comes now.
            false => Phase { kind: Kind::Line, preset: &PRESETS[0], frames: frames - rig.received() },
        };
        let (frames_before, ns_before) = (report.frames, report.virtual_ns);
        let mut tell = |frames, ns| progress(Progress { frames: frames_before + frames, virtual_ns: ns_before + ns });
        let outcome = rig.phase(&phase, &mut tell);
        let outcome = outcome.and_then(|()| rig.check_books());
        outcome.map_err(|text| Discrepancy {
            phase: format!("phase {} ({} with preset {})", report.phases, phase.kind, phase.preset.name),
            at_ns: rig.desk.now_ns(),
            text,
        })?;
        let after = rig.ledger();
        report.rows[phase.kind as usize].add(&after.since(&before));
        before = after;
        let live = heap::of_firmware().live_bytes - heap_before;
        if report.phases == 0 {
            report.heap.first_bytes = live;
        }
        report.heap.most_bytes = report.heap.most_bytes.max(live);
        report.heap.last_bytes = live;
        report.phases += 1;
        index += 1;
    }
    report.frames += rig.received();
    report.virtual_ns += rig.desk.now_ns();
    rig.add_to(report);
    Ok(())
}
