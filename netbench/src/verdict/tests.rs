//! The judge against worlds made of arithmetic: what it confirms is there, and it confirms nothing else.

use super::hypothesis::{Hypothesis, State};
use super::judge::{Judge, Judgement, Room, Trial};
use super::sample::Sample;
use crate::failure::Failure;
use crate::plan::{Plan, parse};
use crate::point::{Point, Setup};
use crate::rng::Rng;
use core::fmt;
use genet::{LinkMode, Pause, Posted, RxSettings};

/// Limits of a world, and chance.
struct World {
    rng: Rng,
    /// Noise of each run, thousandths.
    noise_milli: u64,
    link_bps: u64,
    path_bps: u64,
    rtt_us: u64,
    found: (u16, u16),
    partner_obeys: bool,
    partner_floods: bool,
    damage_ppm: u64,
    half: bool,
    /// A ring that overflows loses so much now and then that a rate with it says nothing.
    wild_losses: bool,
    runs: u32,
    fails_after: u32,
}

impl World {
    fn new(seed: u64) -> World {
        World {
            rng: Rng::new(seed),
            noise_milli: 20,
            link_bps: 1_000_000_000,
            path_bps: u64::MAX,
            rtt_us: 200,
            found: (1, 0),
            partner_obeys: false,
            partner_floods: false,
            damage_ppm: 0,
            half: false,
            wild_losses: false,
            runs: 0,
            fails_after: u32::MAX,
        }
    }

    /// The least of all limits.
    fn rate(&self, setup: &Setup, sample: &mut Sample) -> u64 {
        let rx = &setup.rx;
        sample.threshold = rx.threshold.unwrap_or(self.found.0);
        sample.timeout_ticks = rx.timeout_ticks.unwrap_or(self.found.1);
        let delay_us = if sample.threshold == 1 { 0 } else { u64::from(sample.timeout_ticks) * 8_192 / 1_000 };
        let window_b = setup.window_b * u64::from(setup.flows);
        let mut bps = (self.link_bps / 1_000 * 949).min(self.path_bps);
        bps = bps.min(window_b * 8_000_000 / (self.rtt_us + delay_us));
        let sends = matches!(rx.pause, Pause::Forced { send: true, .. });
        let few = matches!(rx.posted, Posted::Growing { .. }) || rx.posted.at_start() < 5;
        if sends && few {
            sample.pause_sent = 10;
            if self.partner_obeys {
                let quanta = u64::from(rx.quanta.unwrap_or(0xffff));
                bps = bps.min(345_000 * 65_535 / quanta);
            }
        } else if few && !self.partner_obeys {
            sample.discards = 5;
        }
        sample.obey_pause = !matches!(rx.pause, Pause::Forced { obey: false, .. });
        if self.partner_floods {
            sample.pause_received = 50;
            if sample.obey_pause {
                bps = bps.min(window_b * 8_000_000 / 20_000); // acknowledgements go out once in 20 ms
            }
        }
        if self.damage_ppm > 0 {
            sample.link_errors = 20;
            bps = bps.min(30_000_000 * u64::from(setup.flows));
        }
        let forced = matches!(setup.link.mode, LinkMode::Forced { .. });
        sample.full_duplex = forced || !self.half;
        if self.half && !forced {
            (sample.collisions, sample.link_errors) = (100, 50);
            bps = bps.min(1_000_000);
        }
        bps
    }
}

impl Trial for World {
    fn run(&mut self, point: &Point) -> Result<Option<Sample>, Failure> {
        self.runs += 1;
        if self.runs > self.fails_after {
            return Err(Failure::DhcpLost);
        }
        let mut sample = Sample { link_bps: self.link_bps, frames: 8_000, busy_milli: 300, ..Sample::default() };
        let bps = self.rate(&point.setup, &mut sample);
        if self.wild_losses && point.setup.rx.pause == (Pause::Forced { send: false, obey: true }) {
            sample.rate_bps = bps / (1 + 9_999 * (u64::from(self.runs) / 2 % 2));
            return Ok(Some(sample));
        }
        let noise = self.rng.below(2 * self.noise_milli as usize + 1) as u64;
        sample.rate_bps = (u128::from(bps) * u128::from(1_000 - self.noise_milli + noise) / 1_000) as u64;
        sample.wire_bps = sample.rate_bps.min(bps) / 949 * 1_000;
        Ok(Some(sample))
    }

    fn say(&mut self, _: fmt::Arguments<'_>) {}
}

fn subject(words: &str) -> Point {
    let (plan, problems) = parse(words);
    assert_eq!(problems, []);
    let mut point = plan.with_axes(plan.base(plan.subject), |_| true);
    point.setup.window_b = 512 << 10;
    point
}

fn judge(world: &mut World, words: &str) -> (Judgement, Option<Failure>) {
    let room = Room { many_flows: 4, largest_window_b: 1 << 20 };
    Judge::new(world, subject(words), RxSettings::default(), room).judge()
}

fn confirmed(judgement: &Judgement) -> Vec<Hypothesis> {
    judgement.verdicts.iter().filter(|v| v.state == State::Confirmed).map(|v| v.hypothesis).collect()
}

/// Confirmed causes are these whatever chance does.
fn expect(words: &str, make: fn(&mut World), expected: &[Hypothesis]) {
    for seed in 1..=200 {
        let mut world = World::new(seed);
        make(&mut world);
        let (judgement, failure) = judge(&mut world, words);
        assert_eq!(failure, None);
        assert_eq!(confirmed(&judgement), expected, "seed {seed}: {:#?}", judgement.verdicts);
        assert_eq!(judgement.verdicts.len(), Hypothesis::ALL.len());
    }
}

#[test]
fn a_full_link_is_nothing_wrong() {
    expect("gb.subject=linux", |_| {}, &[Hypothesis::Nothing]);
    expect("", |_| {}, &[Hypothesis::Nothing]);
}

#[test]
fn pause_sent_is_told_from_coalescing_by_experiment() {
    expect("", |w| w.partner_obeys = true, &[Hypothesis::PauseSent]);
    expect("gb.subject=freebsd", |w| w.found = (511, 4096), &[Hypothesis::Coalescing]);
    // Both at once: the one that hides the other is removed first.
    let both = |w: &mut World| (w.partner_obeys, w.found) = (true, (511, 4096));
    expect("", both, &[Hypothesis::Coalescing, Hypothesis::PauseSent]);
}

#[test]
fn short_quanta_prove_that_pause_holds_where_a_run_without_pause_proves_nothing() {
    for seed in 1..=200 {
        let mut world = World::new(seed);
        (world.partner_obeys, world.wild_losses) = (true, true);
        let (judgement, _) = judge(&mut world, "");
        let pause = judgement.verdicts.iter().find(|v| v.hypothesis == Hypothesis::PauseSent).unwrap();
        assert_eq!((pause.state, pause.because), (State::Confirmed, "short_quanta"), "seed {seed}");
    }
    let mut world = World::new(1);
    world.partner_obeys = true;
    let (judgement, _) = judge(&mut world, "");
    let pause = judgement.verdicts.iter().find(|v| v.hypothesis == Hypothesis::PauseSent).unwrap();
    assert_eq!(pause.because, "no_pause_sent", "what is clear needs no second proof");
}

#[test]
fn what_the_network_does_is_told_apart() {
    expect("gb.subject=linux", |w| w.path_bps = 50_000_000, &[Hypothesis::Path]);
    expect("gb.subject=linux", |w| w.rtt_us = 80_000, &[Hypothesis::Window]);
    expect("gb.subject=linux", |w| w.damage_ppm = 500, &[Hypothesis::Lossy]);
    let half = |w: &mut World| (w.half, w.link_bps) = (true, 100_000_000);
    expect("gb.subject=linux", half, &[Hypothesis::Duplex]);
}

#[test]
fn a_window_is_not_blamed_for_acknowledgements_that_pause_holds() {
    let held = |w: &mut World| (w.partner_floods, w.path_bps) = (true, 400_000_000);
    expect("gb.subject=freebsd", held, &[Hypothesis::PauseReceived, Hypothesis::Path]);
}

#[test]
fn the_reports_own_case_has_two_layers() {
    let case = |w: &mut World| (w.partner_obeys, w.path_bps, w.rtt_us) = (true, 95_000_000, 40_000);
    expect("", case, &[Hypothesis::PauseSent, Hypothesis::Path]);
}

#[test]
fn noise_alone_convicts_nobody_of_ours() {
    let mut confirmed_causes = 0;
    for seed in 1..=300 {
        let mut world = World::new(seed);
        (world.noise_milli, world.path_bps, world.found) = (600, 40_000_000, (10, 7));
        let (judgement, _) = judge(&mut world, "gb.subject=openbsd");
        confirmed_causes += confirmed(&judgement).len();
    }
    assert_eq!(confirmed_causes, 0);
}

#[test]
fn what_is_known_before_a_failure_stands() {
    let mut world = World::new(1);
    (world.partner_obeys, world.path_bps, world.fails_after) = (true, 50_000_000, 14);
    let (judgement, failure) = judge(&mut world, "");
    assert_eq!(failure, Some(Failure::DhcpLost));
    assert_eq!(confirmed(&judgement), [Hypothesis::PauseSent]);
    let path = judgement.verdicts.iter().find(|v| v.hypothesis == Hypothesis::Path).unwrap();
    assert_eq!((path.state, path.because), (State::Open, "not_reached"));
}

#[test]
fn the_plan_names_the_subject() {
    let (plan, _) = parse("gb.verdict=1 gb.subject=netbsd gb.posted=4");
    assert!(plan.verdict && !Plan::default().verdict);
    assert_eq!(subject("gb.subject=netbsd gb.posted=4").changes(), "posted=4");
}
