//! The plan: what to measure, read from the boot arguments or the console.
//!
//! Owns the `gb.*` keys, their ranges and defaults, and the order of the points. Words of others
//! (the board's firmware puts many around ours) are ignored; a `gb.` word that cannot be used is
//! reported with what is allowed, and the rest still runs.
//!
//! A plan is a product: presets times the values of every axis (`axis`) times repeats.

mod axis;
mod problem;

pub use axis::MAX_VALUES;
pub use problem::{PlanProblem, nearest};

use crate::http::Url;
use crate::point::{Point, Setup};
use crate::presets::{self, PRESETS, Preset};
use crate::rng::Rng;
use alloc::string::String;
use alloc::vec::Vec;
use axis::{AXES, fitting_window_b};
use core::ops::RangeInclusive;

/// The virtual Pi's own peer. On a real network `gb.url` names a server there.
pub const DEFAULT_URL: &str = "http://peer.genetbench.test/data";
/// Memory for the receive windows of all flows, bytes.
pub const WINDOW_MEMORY_BYTES: u64 = 4 << 20;
/// TCP receive window of a flow if the plan names none, bytes.
const DEFAULT_WINDOW_B: u64 = 262_144;
/// Most points of a plan, repeats not counted.
pub const MAX_POINTS: usize = 500;
/// Most runs of a plan.
pub const MAX_RUNS: usize = 2_000;
/// Printing, opening and probing around a window, ms.
const AROUND_MS: u64 = 1_200;
/// A link that has to be negotiated again, ms.
const RELINK_MS: u64 = 4_000;

/// What to measure and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to fetch; checked when the plan runs.
    pub url: String,
    /// Presets, in the order of the table.
    pub presets: Vec<&'static Preset>,
    /// Axes with several values, or with one that is not the preset's: index into the table of axes, and values.
    axes: Vec<(usize, Vec<u64>)>,
    /// Runs of each point.
    pub repeats: u32,
    /// Runs of a point whose mean is not yet known well enough, at most; below [`Self::repeats`]: no more than these.
    pub max_repeats: u32,
    /// How well a point's mean rate is to be known: half the width of its 95 % interval, thousandths of the mean.
    pub bound_milli: u64,
    /// Time before the window, ms.
    pub warmup_ms: u64,
    /// Measuring window, ms.
    pub window_ms: u64,
    /// Decides the order of the points.
    pub seed: u64,
    /// The window ends early with this many payload frames; 0: it does not.
    pub window_frames: u64,
    /// The warm-up ends early when the rate has settled.
    pub(crate) settles: bool,
    /// Numbers that the words named, a bit for each.
    named: u32,
    /// Small requests timed after each window.
    pub rtt_probes: u32,
    /// Ask for this many bytes of the file; 0 for all of it.
    pub range_b: u64,
    /// Time a link may take to come up, ms.
    pub link_wait_ms: u64,
    /// Look for the cause instead of comparing settings.
    pub verdict: bool,
    /// Measure the hardware in its own loopbacks instead of anything on a network.
    pub calibrate: bool,
    /// The driver whose slowness is to be explained.
    pub subject: &'static Preset,
    /// Words of the boot arguments that could not be used.
    pub problems: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            url: DEFAULT_URL.into(),
            presets: PRESETS.iter().collect(),
            axes: Vec::new(),
            repeats: 1,
            max_repeats: 0,
            bound_milli: 50,
            warmup_ms: 100,
            window_ms: 300,
            seed: 1,
            window_frames: 0,
            settles: false,
            named: 0,
            rtt_probes: 8,
            range_b: 0,
            link_wait_ms: 15_000,
            verdict: false,
            calibrate: false,
            subject: presets::find("openbsd").unwrap_or(&PRESETS[0]),
            problems: 0,
        }
    }
}

impl Plan {
    /// All points in the order in which they run: shuffled, but for points that want the same link, which follow each
    /// other within a repeat, because each change of it costs seconds.
    pub fn points(&self) -> Vec<Point> {
        let mut rng = Rng::new(self.seed);
        let once = self.once();
        (1..=self.repeats).flat_map(|rep| shuffled(&mut rng, &once, rep)).collect()
    }

    /// Every point once, in the order of the table.
    pub fn once(&self) -> Vec<Point> {
        let mut points: Vec<Point> = self.presets.iter().map(|&preset| self.base(preset)).collect();
        for (index, values) in &self.axes {
            let axis = &AXES[*index];
            let with = |point: &Point, value: u64| {
                let mut next = *point;
                next.put(axis, value);
                next
            };
            points = points.iter().flat_map(|p| values.iter().map(move |&v| with(p, v))).take(MAX_POINTS).collect();
        }
        points
    }

    /// A preset with the plan's defaults for everything else.
    pub(crate) fn base(&self, preset: &'static Preset) -> Point {
        let setup = Setup {
            rx: preset.settings,
            link: preset.link,
            flows: 1,
            window_b: DEFAULT_WINDOW_B,
            ack_delay_ms: 0,
            burden_ns: 0,
            watch: true,
        };
        Point { preset, is_preset: true, setup, rep: 1 }
    }

    /// `point` with the first value of every axis that the plan names.
    pub(crate) fn with_axes(&self, mut point: Point, which: fn(&str) -> bool) -> Point {
        for (index, values) in &self.axes {
            let axis = &AXES[*index];
            if let (true, Some(value)) = (which(axis.key), values.first()) {
                point.put(axis, *value);
            }
        }
        point
    }

    /// The words named this axis or number.
    pub(crate) fn names(&self, key: &str) -> bool {
        let number = NUMBERS.iter().position(|number| number.name == key);
        number.is_some_and(|index| self.named & 1 << index != 0)
            || self.axes.iter().any(|(index, _)| AXES[*index].key == key)
    }

    /// Most connections of any point.
    pub fn max_flows(&self) -> u16 {
        self.values("gb.flows").max().unwrap_or(1) as u16
    }

    /// Largest window of any point, bytes.
    pub fn max_window_b(&self) -> u64 {
        self.values("gb.window_b").max().unwrap_or(DEFAULT_WINDOW_B)
    }

    /// Any point wants the arrival clock.
    pub fn watches(&self) -> bool {
        let mut values = self.values("gb.watch").peekable();
        values.peek().is_none() || values.any(|value| value != 0)
    }

    fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.axes
            .iter()
            .filter(move |(index, _)| AXES[*index].key == key)
            .flat_map(|(_, values)| values.iter().copied())
    }

    /// How long it takes, s, if `points` run in this order and the link is as the first one wants it.
    pub fn estimate_s(&self, points: &[Point]) -> u64 {
        let relinks = points.windows(2).filter(|pair| pair[0].setup.link != pair[1].setup.link).count() as u64;
        let each_ms = self.warmup_ms + self.window_ms + AROUND_MS;
        (points.len() as u64 * each_ms + relinks * RELINK_MS).div_ceil(1000)
    }
}

impl Point {
    /// Puts a value in. With the settings of its preset a point bears its name, wherever they come from.
    fn put(&mut self, axis: &axis::Axis, value: u64) {
        (axis.apply)(&mut self.setup, value);
        self.is_preset = self.setup.rx == self.preset.settings && self.setup.link == self.preset.link;
    }
}

/// `points` in a new order, the same link settings side by side.
pub(crate) fn shuffled(rng: &mut Rng, points: &[Point], rep: u32) -> Vec<Point> {
    let mut points: Vec<Point> = points.iter().map(|p| Point { rep, ..*p }).collect();
    rng.shuffle(&mut points);
    let mut links = Vec::new();
    for point in &points {
        if !links.contains(&point.setup.link) {
            links.push(point.setup.link);
        }
    }
    points.sort_by_cached_key(|point| links.iter().position(|link| *link == point.setup.link));
    points
}

/// A key whose value is one number.
struct NumberKey {
    name: &'static str,
    range: RangeInclusive<u64>,
    set: fn(&mut Plan, u64),
}

const NUMBERS: [NumberKey; 13] = [
    NumberKey { name: "gb.repeats", range: 1..=100, set: |p, v| p.repeats = v as u32 },
    NumberKey { name: "gb.max_repeats", range: 0..=100, set: |p, v| p.max_repeats = v as u32 },
    NumberKey { name: "gb.bound_milli", range: 1..=1_000, set: |p, v| p.bound_milli = v },
    NumberKey { name: "gb.warmup_ms", range: 0..=60_000, set: |p, v| p.warmup_ms = v },
    NumberKey { name: "gb.settle", range: 0..=1, set: |p, v| p.settles = v == 1 },
    NumberKey { name: "gb.window_ms", range: 10..=600_000, set: |p, v| p.window_ms = v },
    NumberKey { name: "gb.window_frames", range: 0..=u64::MAX, set: |p, v| p.window_frames = v },
    NumberKey { name: "gb.seed", range: 0..=u64::MAX, set: |p, v| p.seed = v },
    NumberKey { name: "gb.rtt_probes", range: 0..=1_000, set: |p, v| p.rtt_probes = v as u32 },
    NumberKey { name: "gb.range_b", range: 0..=u64::MAX, set: |p, v| p.range_b = v },
    NumberKey { name: "gb.link_wait_ms", range: 1_000..=600_000, set: |p, v| p.link_wait_ms = v },
    NumberKey { name: "gb.verdict", range: 0..=1, set: |p, v| p.verdict = v == 1 },
    NumberKey { name: "gb.calibrate", range: 0..=1, set: |p, v| p.calibrate = v == 1 },
];

const OTHERS: [&str; 3] = ["gb.url", "gb.presets", "gb.subject"];
const KEY_COUNT: usize = OTHERS.len() + NUMBERS.len() + AXES.len();

/// All keys, for the message about a misspelt one and for completion.
pub static KEYS: [&str; KEY_COUNT] = {
    let mut keys = [""; KEY_COUNT];
    let mut i = 0;
    while i < KEY_COUNT {
        keys[i] = if i < OTHERS.len() {
            OTHERS[i]
        } else if i < OTHERS.len() + NUMBERS.len() {
            NUMBERS[i - OTHERS.len()].name
        } else {
            AXES[i - OTHERS.len() - NUMBERS.len()].key
        };
        i += 1;
    }
    keys
};

/// The words that a key takes beside numbers, or instead of them, for completion.
pub fn words_of(key: &str) -> impl Iterator<Item = &'static str> {
    AXES.iter().filter(move |axis| axis.key == key).flat_map(|axis| axis.words.iter().map(|(word, _)| *word))
}

/// Reads the `gb.*` words of `bootargs`. Of a key that comes twice the last one holds.
pub fn parse(bootargs: &str) -> (Plan, Vec<PlanProblem>) {
    let mut plan = Plan::default();
    let mut problems = Vec::new();
    let mut presets = None;
    for word in bootargs.split_ascii_whitespace().filter(|w| w.starts_with("gb.")) {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        if let Err(problem) = set(&mut plan, key, value, &mut presets, &mut problems) {
            problems.push(problem);
        }
    }
    let changes_settings = plan.axes.iter().any(|(index, _)| AXES[*index].is_setting);
    plan.presets = match presets {
        Some(presets) => presets,
        None if changes_settings => PRESETS[..1].iter().collect(),
        None => plan.presets,
    };
    plan.axes.sort_unstable_by_key(|(index, _)| *index);
    fit_windows(&mut plan, &mut problems);
    let points = plan.axes.iter().fold(plan.presets.len(), |n, (_, values)| n.saturating_mul(values.len()));
    if points > MAX_POINTS {
        problems.push(PlanProblem::TooMany { key: "the plan", what: "points", limit: MAX_POINTS });
    }
    let points = points.clamp(1, MAX_POINTS);
    if points * plan.repeats.max(plan.max_repeats) as usize > MAX_RUNS {
        problems.push(PlanProblem::TooMany { key: "the plan", what: "runs", limit: MAX_RUNS });
        let most = (MAX_RUNS / points) as u32;
        (plan.repeats, plan.max_repeats) = (plan.repeats.min(most), plan.max_repeats.min(most));
    }
    plan.problems = problems.len() as u32;
    (plan, problems)
}

/// Windows of all flows must fit into memory together.
fn fit_windows(plan: &mut Plan, problems: &mut Vec<PlanProblem>) {
    let fit = fitting_window_b(plan.max_flows());
    let window_b = plan.max_window_b();
    if window_b <= fit {
        return;
    }
    problems.push(PlanProblem::Memory { flows: plan.max_flows(), window_b, used_b: fit });
    for (index, values) in &mut plan.axes {
        if AXES[*index].key == "gb.window_b" {
            values.iter_mut().for_each(|value| *value = (*value).min(fit));
            values.dedup();
        }
    }
}

fn set(
    plan: &mut Plan,
    key: &str,
    value: &str,
    presets: &mut Option<Vec<&'static Preset>>,
    problems: &mut Vec<PlanProblem>,
) -> Result<(), PlanProblem> {
    if !KEYS.contains(&key) {
        return Err(PlanProblem::UnknownKey { key: key.into(), nearest: problem::nearest(key, &KEYS) });
    }
    if value.is_empty() {
        return Err(PlanProblem::NoValue { key: key.into() });
    }
    if let Some(index) = NUMBERS.iter().position(|number| number.name == key) {
        (NUMBERS[index].set)(plan, in_range(key, value, &NUMBERS[index].range)?);
        plan.named |= 1 << index;
        return Ok(());
    }
    if let Some(index) = AXES.iter().position(|axis| axis.key == key) {
        let values = AXES[index].values(value, problems);
        if !values.is_empty() {
            plan.axes.retain(|(known, _)| *known != index);
            plan.axes.push((index, values));
        }
        return Ok(());
    }
    match key {
        "gb.url" => {
            Url::parse(value).map_err(|error| PlanProblem::Url { value: value.into(), error })?;
            plan.url = value.into();
        }
        "gb.subject" => plan.subject = presets::find(value).ok_or_else(|| unknown_preset("gb.subject", value))?,
        _ => set_presets(presets, value, problems),
    }
    Ok(())
}

fn unknown_preset(key: &'static str, name: &str) -> PlanProblem {
    let names: [&str; PRESETS.len()] = core::array::from_fn(|i| PRESETS[i].name);
    PlanProblem::UnknownPreset { key, name: name.into(), nearest: problem::nearest(name, &names) }
}

fn set_presets(presets: &mut Option<Vec<&'static Preset>>, value: &str, problems: &mut Vec<PlanProblem>) {
    let mut wanted: Vec<&'static Preset> = Vec::new();
    for name in value.split(',') {
        match presets::find(name) {
            Some(preset) if wanted.iter().all(|w| w.name != name) => wanted.push(preset),
            Some(_) => {}
            None if name == "all" => wanted = PRESETS.iter().collect(),
            None => problems.push(unknown_preset("gb.presets", name)),
        }
    }
    if !wanted.is_empty() {
        *presets = Some(wanted);
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
