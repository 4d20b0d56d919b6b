//! What is true in a world: which causes, taken away at the models, make it faster.
//!
//! Causes of driver and link are looked for with the settings of the driver under suspicion. The largest is taken away
//! first; a cause is true if that raises the rate by a quarter when its turn comes. One that would raise the rate at
//! first and no longer when a larger one is gone is a *consequence* of that one: naming it is neither right nor wrong.
//!
//! Causes of the network are looked for in what is left, with settings that do no harm, each by itself: behind the limit
//! of a network there is always the next one, which is none yet. If none alone makes a quarter but two together do, the
//! one that alone makes a difference is the limit, and the other one is close behind: neither right nor wrong.
//!
//! The convention is docs/VERDICTS.md's.

use crate::removal::{NETWORK, OURS, Setting, one_way_is_enough, remove};
use crate::session::{Rate, Rates};
use anyhow::Result;
use netbench::verdict::Hypothesis;

/// A rise that makes a cause, thousandths.
pub const RISE_MILLI: u64 = 1_250;
/// A rise that tells the limit from what is close behind it, thousandths.
const BINDING_MILLI: u64 = 1_040;
/// Settings that do no harm: an interrupt a frame, all descriptors posted, PAUSE only as negotiated, no EEE.
const HARMLESS: &str = "linux gb.eee=0";

/// How it is with one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A cause.
    Cause,
    /// Slows only as long as a larger cause is there, or is close behind one.
    Consequence,
    /// Neither.
    Not,
}

/// What taking a cause away did.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// Which.
    pub hypothesis: Hypothesis,
    /// How it is.
    pub kind: Kind,
    /// Rate without over rate with it, thousandths, largest seen.
    pub rise_milli: u64,
}

/// The truth about a world.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Causes and consequences, causes in the order in which they were taken away.
    pub findings: Vec<Finding>,
    /// Payload rate with the settings under suspicion, bit/s.
    pub rate_bps: u64,
    /// Payload rate with settings that do no harm, bit/s, where it was measured.
    pub harmless_bps: Option<u64>,
}

impl Truth {
    /// How it is with `hypothesis`.
    pub fn kind(&self, hypothesis: Hypothesis) -> Kind {
        self.findings.iter().find(|f| f.hypothesis == hypothesis).map_or(Kind::Not, |f| f.kind)
    }

    /// What is true, in the order of reports.
    pub fn causes(&self) -> Vec<Hypothesis> {
        Hypothesis::ALL.into_iter().filter(|h| self.kind(*h) == Kind::Cause).collect()
    }
}

/// Finds out what is true in `setting` for `driver`.
///
/// # Errors
/// A session failed.
pub fn find(rates: &Rates<'_>, setting: &Setting, driver: &str) -> Result<Truth> {
    let subject = rates.of(setting, driver)?;
    let mut truth = Truth { findings: Vec::new(), rate_bps: subject.payload_bps, harmless_bps: None };
    if subject.is_full {
        truth.findings.push(Finding { hypothesis: Hypothesis::Nothing, kind: Kind::Cause, rise_milli: 1_000 });
        return Ok(truth);
    }
    let (rest, now) = peel(rates, setting, driver, subject, &OURS, &mut truth.findings)?;
    if now.is_full {
        return Ok(truth);
    }
    let harmless = rates.of(&rest, HARMLESS)?;
    truth.harmless_bps = Some(harmless.payload_bps);
    if !harmless.is_full {
        network(rates, &rest, &harmless, &mut truth.findings)?;
    }
    Ok(truth)
}

/// Takes one cause after the other away, the largest first, until none is left or the link is full. What is left, and
/// its rate.
fn peel(
    rates: &Rates<'_>,
    setting: &Setting,
    driver: &str,
    rate_now: Rate,
    causes: &[Hypothesis],
    findings: &mut Vec<Finding>,
) -> Result<(Setting, Rate)> {
    let (mut setting, mut now) = (setting.clone(), rate_now);
    let mut left = causes.to_vec();
    while !now.is_full {
        let mut best: Option<(usize, u64, Setting, Rate)> = None;
        for (index, cause) in left.iter().enumerate() {
            if now.idle.contains(cause) {
                continue;
            }
            let Some((rise_milli, without, then)) = removed(rates, &setting, driver, &now, *cause)? else { continue };
            if rise_milli >= RISE_MILLI {
                note(findings, *cause, Kind::Consequence, rise_milli);
            }
            if best.as_ref().is_none_or(|(_, most, ..)| rise_milli > *most) {
                best = Some((index, rise_milli, without, then));
            }
        }
        match best {
            Some((index, rise_milli, without, then)) if rise_milli >= RISE_MILLI => {
                note(findings, left.remove(index), Kind::Cause, rise_milli);
                (setting, now) = (without, then);
            }
            _ => break,
        }
    }
    Ok((setting, now))
}

/// What limits the network, each cause by itself; if none does, two of them.
fn network(rates: &Rates<'_>, setting: &Setting, now: &Rate, findings: &mut Vec<Finding>) -> Result<()> {
    let mut alone: Vec<(Hypothesis, u64, Setting)> = Vec::new();
    for cause in NETWORK {
        if let Some((rise_milli, without, _)) = removed(rates, setting, HARMLESS, now, cause)? {
            alone.push((cause, rise_milli, without));
        }
    }
    for (cause, rise_milli, _) in alone.iter().filter(|(_, rise_milli, _)| *rise_milli >= RISE_MILLI) {
        note(findings, *cause, Kind::Cause, *rise_milli);
    }
    if alone.iter().any(|(_, rise_milli, _)| *rise_milli >= RISE_MILLI) {
        return Ok(());
    }
    alone.sort_by_key(|(_, rise_milli, _)| std::cmp::Reverse(*rise_milli));
    let Some((limit, most_milli, without)) = alone.first().filter(|(_, rise_milli, _)| *rise_milli >= BINDING_MILLI)
    else {
        return Ok(());
    };
    for (behind, ..) in &alone[1..] {
        let both = removed(rates, without, HARMLESS, now, *behind)?;
        if let Some((rise_milli, ..)) = both.filter(|(rise_milli, ..)| *rise_milli >= RISE_MILLI) {
            note(findings, *behind, Kind::Consequence, rise_milli);
            note(findings, *limit, Kind::Cause, *most_milli);
        }
    }
    Ok(())
}

/// What it brings to take `cause` away: the least of its ways and the first way's setting, or the most and its, where one
/// is enough. `None` if there is nothing to take away.
fn removed(
    rates: &Rates<'_>,
    setting: &Setting,
    driver: &str,
    now: &Rate,
    cause: Hypothesis,
) -> Result<Option<(u64, Setting, Rate)>> {
    let mut result: Option<(u64, Setting, Rate)> = None;
    let mut ways = remove(cause, setting);
    if cause == Hypothesis::Overrun && !now.idle.contains(&Hypothesis::PauseSent) {
        // A ring that is not small asks for no PAUSE either: that would take two causes away.
        ways.truncate(1);
    }
    for way in ways {
        let then = rates.of(&way, driver)?;
        let rise_milli = rise(now, &then);
        result = Some(match result.take() {
            None => (rise_milli, way, then),
            Some(first) if one_way_is_enough(cause) && rise_milli <= first.0 => first,
            Some(_) if one_way_is_enough(cause) => (rise_milli, way, then),
            Some((before, first, first_rate)) => (before.min(rise_milli), first, first_rate),
        });
        if rise_milli < RISE_MILLI && !one_way_is_enough(cause) {
            break;
        }
    }
    Ok(result)
}

/// Rate then over rate now, thousandths, at most a million.
fn rise(now: &Rate, then: &Rate) -> u64 {
    let ratio = u128::from(then.payload_bps) * 1_000 / u128::from(now.payload_bps.max(1));
    match (now.payload_bps, then.payload_bps) {
        (0, 0) => 1_000,
        _ => ratio.min(1_000_000_000) as u64,
    }
}

fn note(findings: &mut Vec<Finding>, hypothesis: Hypothesis, kind: Kind, rise_milli: u64) {
    let before = findings.iter().position(|f| f.hypothesis == hypothesis);
    let most = before.map_or(0, |at| findings.remove(at).rise_milli);
    findings.push(Finding { hypothesis, kind, rise_milli: rise_milli.max(most) });
}
