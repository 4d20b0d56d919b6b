//! One boot of the firmware in one world, and what its records say.

use crate::removal::Setting;
use crate::variant::{Variant, seen_by};
use crate::wire::Wire;
use anyhow::{Context, Result, bail};
use netbench::presets;
use netbench::record::{SessionRecords, read_capture};
use netbench::verdict::{Hypothesis, State};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use vpi4::image::Image;
use vpi4::{Machine, Stop};

/// Receive window of a connection in every session, bytes: what a verdict uses by itself.
pub const WINDOW_B: u64 = 512 << 10;
/// Share of the link's bits that make it full, thousandths.
const FULL_MILLI: u64 = 930;
/// What a ring full of frames may hold from before a window, bytes.
const RING_B: u64 = 256 * 1_514;
/// How a rate is measured: the warm-up of a verdict is as long at most, and so is its window.
const RATE_PLAN: &str =
    "gb.warmup_ms=800 gb.settle=1 gb.window_ms=500 gb.window_frames=4000 gb.rtt_probes=0 gb.repeats=1";

/// Reads kernel8.img.
///
/// # Errors
/// It is not there, or no arm64 image.
pub fn image(path: &Path) -> Result<Image> {
    let bytes = std::fs::read(path).with_context(|| format!("{} (built by `make kernel`)", path.display()))?;
    Image::parse(bytes).with_context(|| path.display().to_string())
}

/// What a session left.
#[derive(Clone, Debug)]
pub struct Session {
    /// All that the console printed.
    pub text: Vec<u8>,
    /// Its records.
    pub records: SessionRecords,
    /// `rc` of its `bye`.
    pub rc: String,
    /// Virtual time from reset to the end, ns.
    pub virtual_ns: u64,
    /// Causes whose mechanism never acted in the models.
    pub idle: Vec<Hypothesis>,
    /// What the cable's model delivered.
    pub wire: Wire,
    /// What the link's model ran at in the end: bit/s, and both ends in full duplex.
    pub link: (u64, bool),
}

/// Ring 16's MBUF_DONE_THRESH.
const THRESHOLD: u32 = 0x3024;

/// What did nothing since reset: the run would have been the same, to the bit, without it.
fn idle(machine: &Machine) -> Vec<Hypothesis> {
    let genet = machine.board().genet();
    let never = [
        (Hypothesis::Coalescing, genet.peek(THRESHOLD) == 1),
        (Hypothesis::PauseSent, genet.link().stats().partner_pause_obeyed == 0),
        (Hypothesis::Overrun, genet.stats().discarded == 0),
        (Hypothesis::Eee, genet.link().mode().is_none_or(|mode| !mode.eee)),
    ];
    never.into_iter().filter(|(_, never)| *never).map(|(hypothesis, _)| hypothesis).collect()
}

/// Boots with these words of a plan.
///
/// # Errors
/// The firmware did not come to its `bye`, misused the hardware, or wrote records that are not whole.
pub fn run(image: &Image, setting: &Setting, words: &str) -> Result<Session> {
    let mut config = setting.machine.clone();
    config.board.bootargs = words.to_owned();
    let mut machine = Machine::new(config, image)?;
    let wire = Wire::default();
    machine.with_genet(|genet, _, _| genet.link_mut().set_tap(Some(wire.tap())));
    let stop = machine.run();
    let text = machine.uart().to_vec();
    let tail = || String::from_utf8_lossy(&text[text.len().saturating_sub(2_000)..]).into_owned();
    let Stop::Bye(rc) = stop else { bail!("no bye but {stop:?} after\n{}", tail()) };
    if let Some(finding) = machine.findings().first() {
        bail!("the firmware's fault at {} ns: {}: {}", finding.at_ns, finding.device, finding.text);
    }
    let idle = idle(&machine);
    let mode = machine.board().genet().link().mode();
    let link = mode.map_or((0, false), |mode| {
        (8_000_000_000 / mode.speed.byte_ns(), mode.full_duplex && mode.partner_full_duplex)
    });
    let virtual_ns = machine.stats().now_ns;
    let mut capture = read_capture(&text);
    let (Some(records), 0) = (capture.sessions.pop(), capture.damaged) else { bail!("damaged records") };
    if !capture.sessions.is_empty() || records.missing + records.incomplete > 0 {
        bail!("records are missing");
    }
    Ok(Session { text, records, rc, virtual_ns, idle, wire, link })
}

/// The words of a plan that looks for the cause: which driver is under suspicion, and nothing about the world.
pub fn verdict_words(subject: &str) -> String {
    format!("gb.verdict=1 gb.subject={subject}")
}

/// What a session says of each hypothesis.
pub fn states(session: &Session) -> Vec<(Hypothesis, State)> {
    let verdicts = || session.records.entries.iter().filter(|entry| entry.kind == "verdict");
    let state = |hypothesis: Hypothesis| {
        let entry = verdicts().find(|entry| entry.get("hypothesis") == Some(hypothesis.word()));
        match entry.and_then(|entry| entry.get("state")) {
            Some("confirmed") => State::Confirmed,
            Some("refuted") => State::Refuted,
            _ => State::Open,
        }
    };
    Hypothesis::ALL.map(|hypothesis| (hypothesis, state(hypothesis))).to_vec()
}

/// A mean over the runs of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Payload over the whole window, bit/s; a run in which nothing came counts as 0.
    pub payload_bps: u64,
    /// The link was full in every run.
    pub is_full: bool,
    /// Causes whose mechanism never acted.
    pub idle: Vec<Hypothesis>,
}

/// Rates of settings, each measured once.
pub struct Rates<'a> {
    image: &'a Image,
    known: Mutex<HashMap<String, Rate>>,
}

impl<'a> Rates<'a> {
    /// Rates of `image`; none is known yet.
    pub fn new(image: &'a Image) -> Self {
        Rates { image, known: Mutex::default() }
    }

    /// What a driver's settings receive, without any verdict. `driver` is a preset, further words of a plan may follow.
    /// Readings of the hardware that the driver cannot tell apart have one rate.
    ///
    /// # Errors
    /// As [`run`].
    pub fn of(&self, setting: &Setting, driver: &str) -> Result<Rate> {
        let mut setting = setting.clone();
        let name = driver.split(' ').next().unwrap_or(driver);
        if let Some(preset) = presets::find(name) {
            let board = &mut setting.machine.board;
            seen_by(&preset.settings, &Variant::of(board)).apply(board);
        }
        let key = format!("{driver} {setting:?}");
        let known = || self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(rate) = known().get(&key) {
            return Ok(rate.clone());
        }
        let words = format!("gb.presets={driver} {RATE_PLAN} gb.window_b={} {}", setting.window_b, setting.words);
        let session = run(self.image, &setting, &words)?;
        let rate = rate_of(&session)?;
        known().insert(key, rate.clone());
        Ok(rate)
    }
}

/// The firmware's payload over the windows; whether the link was full is for the cable's model to say.
fn rate_of(session: &Session) -> Result<Rate> {
    let of = |kind: &'static str| session.records.entries.iter().filter(move |entry| entry.kind == kind);
    let (link_bps, full_duplex) = session.link;
    let (mut runs, mut sum_bps, mut is_full) = (0, 0, full_duplex);
    for result in of("result") {
        let run = of("run").find(|entry| entry.num("run") == result.num("run"));
        let time = |key| run.and_then(|entry| entry.num(key)).unwrap_or(0);
        let (start_ns, end_ns) = (time("start_ns"), time("end_ns"));
        let payload_b = result.num("payload_b").unwrap_or(0);
        let delivered_b = session.wire.bytes(start_ns, end_ns);
        if payload_b > delivered_b + RING_B {
            bail!("the firmware counts {payload_b} bytes of payload where the cable delivered {delivered_b}");
        }
        let window_ns = end_ns.saturating_sub(start_ns).max(1);
        sum_bps += (u128::from(payload_b) * 8_000_000_000 / u128::from(window_ns)) as u64;
        is_full &= session.wire.share_milli(start_ns, end_ns, link_bps) >= FULL_MILLI;
        runs += 1;
    }
    Ok(Rate { payload_bps: sum_bps / runs.max(1), is_full: is_full && runs > 0, idle: session.idle.clone() })
}
