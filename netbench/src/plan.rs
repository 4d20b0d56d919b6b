//! The plan: what to measure, read from the boot arguments.
//!
//! Owns the `gb.*` keys, their ranges and defaults, and the order of the points. Words of others
//! (the board's firmware puts many around ours) are ignored; a `gb.` word that cannot be used is
//! reported with what is allowed, and the rest still runs.

mod problem;

pub use problem::{PlanProblem, nearest};

use crate::http::Url;
use crate::presets::{self, PRESETS, Preset};
use crate::rng::Rng;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// The virtual Pi's own peer. On a real network `gb.url` names a server there.
pub const DEFAULT_URL: &str = "http://peer.genetbench.test/data";
/// Memory for the receive windows of all flows, bytes.
pub const WINDOW_MEMORY_BYTES: u64 = 4 << 20;

const FLOWS: RangeInclusive<u64> = 1..=16;

/// What to measure and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to fetch; checked when the plan runs.
    pub url: String,
    /// Presets, in the order of the table.
    pub presets: Vec<&'static Preset>,
    /// Numbers of simultaneous connections.
    pub flows: Vec<u16>,
    /// Runs of each point.
    pub repeats: u32,
    /// Time before the window, ms.
    pub warmup_ms: u64,
    /// Measuring window, ms.
    pub window_ms: u64,
    /// Decides the order of the points.
    pub seed: u64,
    /// TCP receive window of a flow, bytes.
    pub window_b: u64,
    /// Small requests timed after each window.
    pub rtt_probes: u32,
    /// Ask for this many bytes of the file; 0 for all of it.
    pub range_b: u64,
    /// Time a link may take to come up, ms.
    pub link_wait_ms: u64,
    /// Words of the boot arguments that could not be used.
    pub problems: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            url: DEFAULT_URL.into(),
            presets: PRESETS.iter().collect(),
            flows: alloc::vec![1],
            repeats: 1,
            warmup_ms: 100,
            window_ms: 300,
            seed: 1,
            window_b: 262_144,
            rtt_probes: 8,
            range_b: 0,
            link_wait_ms: 15_000,
            problems: 0,
        }
    }
}

/// One point in its place in the order.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Settings to apply.
    pub preset: &'static Preset,
    /// Connections.
    pub flows: u16,
    /// Which of its repeats, from 1.
    pub rep: u32,
}

impl Plan {
    /// All points in the shuffled order in which they run.
    pub fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for rep in 1..=self.repeats {
            for &flows in &self.flows {
                points.extend(self.presets.iter().map(|&preset| Point { preset, flows, rep }));
            }
        }
        Rng::new(self.seed).shuffle(&mut points);
        points
    }

    /// Most connections of any point.
    pub fn max_flows(&self) -> u16 {
        self.flows.iter().copied().max().unwrap_or(1)
    }
}

/// A key whose value is one number.
struct NumberKey {
    name: &'static str,
    range: RangeInclusive<u64>,
    set: fn(&mut Plan, u64),
}

const NUMBERS: [NumberKey; 8] = [
    NumberKey { name: "gb.repeats", range: 1..=100, set: |p, v| p.repeats = v as u32 },
    NumberKey { name: "gb.warmup_ms", range: 0..=60_000, set: |p, v| p.warmup_ms = v },
    NumberKey { name: "gb.window_ms", range: 10..=600_000, set: |p, v| p.window_ms = v },
    NumberKey { name: "gb.seed", range: 0..=u64::MAX, set: |p, v| p.seed = v },
    NumberKey { name: "gb.window_b", range: 4_096..=1_048_576, set: |p, v| p.window_b = v },
    NumberKey { name: "gb.rtt_probes", range: 0..=1_000, set: |p, v| p.rtt_probes = v as u32 },
    NumberKey { name: "gb.range_b", range: 0..=u64::MAX, set: |p, v| p.range_b = v },
    NumberKey { name: "gb.link_wait_ms", range: 1_000..=600_000, set: |p, v| p.link_wait_ms = v },
];

/// All keys, for the message about a misspelt one.
pub const KEYS: [&str; 11] = [
    "gb.url",
    "gb.presets",
    "gb.flows",
    "gb.repeats",
    "gb.warmup_ms",
    "gb.window_ms",
    "gb.seed",
    "gb.window_b",
    "gb.rtt_probes",
    "gb.range_b",
    "gb.link_wait_ms",
];

/// Reads the `gb.*` words of `bootargs`. Of a key that comes twice the last one holds.
pub fn parse(bootargs: &str) -> (Plan, Vec<PlanProblem>) {
    let mut plan = Plan::default();
    let mut problems = Vec::new();
    for word in bootargs.split_ascii_whitespace().filter(|w| w.starts_with("gb.")) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if let Err(problem) = set(&mut plan, key, value, &mut problems) {
            problems.push(problem);
        }
    }
    let fit = WINDOW_MEMORY_BYTES / plan.max_flows() as u64;
    if plan.window_b > fit {
        problems.push(PlanProblem::Memory { flows: plan.max_flows(), window_b: plan.window_b, used_b: fit });
        plan.window_b = fit;
    }
    plan.problems = problems.len() as u32;
    (plan, problems)
}

fn set(plan: &mut Plan, key: &str, value: &str, problems: &mut Vec<PlanProblem>) -> Result<(), PlanProblem> {
    if !KEYS.contains(&key) {
        return Err(PlanProblem::UnknownKey { key: key.into(), nearest: problem::nearest(key, &KEYS) });
    }
    if value.is_empty() {
        return Err(PlanProblem::NoValue { key: key.into() });
    }
    if let Some(number) = NUMBERS.iter().find(|number| number.name == key) {
        (number.set)(plan, in_range(key, value, &number.range)?);
        return Ok(());
    }
    match key {
        "gb.url" => {
            Url::parse(value).map_err(|error| PlanProblem::Url { value: value.into(), error })?;
            plan.url = value.into();
        }
        "gb.presets" => set_presets(plan, value, problems),
        _ => set_flows(plan, value, problems),
    }
    Ok(())
}

fn set_presets(plan: &mut Plan, value: &str, problems: &mut Vec<PlanProblem>) {
    let mut wanted: Vec<&'static Preset> = Vec::new();
    for name in value.split(',') {
        match presets::find(name) {
            Some(preset) if wanted.iter().all(|w| w.name != name) => wanted.push(preset),
            Some(_) => {}
            None if name == "all" => wanted = PRESETS.iter().collect(),
            None => {
                let names: [&str; PRESETS.len()] = core::array::from_fn(|i| PRESETS[i].name);
                problems
                    .push(PlanProblem::UnknownPreset { name: name.into(), nearest: problem::nearest(name, &names) });
            }
        }
    }
    if !wanted.is_empty() {
        plan.presets = wanted;
    }
}

fn set_flows(plan: &mut Plan, value: &str, problems: &mut Vec<PlanProblem>) {
    let mut wanted: Vec<u16> = Vec::new();
    for word in value.split(',') {
        match in_range("gb.flows", word, &FLOWS) {
            Ok(flows) if !wanted.contains(&(flows as u16)) => wanted.push(flows as u16),
            Ok(_) => {}
            Err(problem) => problems.push(problem),
        }
    }
    if !wanted.is_empty() {
        plan.flows = wanted;
    }
}

fn in_range(key: &str, value: &str, range: &RangeInclusive<u64>) -> Result<u64, PlanProblem> {
    value.parse().ok().filter(|number| range.contains(number)).ok_or_else(|| PlanProblem::OutOfRange {
        key: key.into(),
        value: value.into(),
        min: *range.start(),
        max: *range.end(),
    })
}

#[cfg(test)]
mod tests;
