//! The ring's timer: how long a tick is, which frame starts it, what stops it.
//!
//! Short timeouts of some hundred microseconds are used, long against everything else that happens meanwhile.

use super::fact::{Ask, Value, Votes, Why};
use super::rig::Rig;
use crate::{Clock, DmaMemory, Registers};

/// A threshold that nothing here reaches.
const NEVER: u16 = 300;
/// The two timeouts between which the slope is taken: a constant delay of the event does not count.
const SHORT_TICKS: u16 = 61;
const LONG_TICKS: u16 = 183;
/// A tick as documented, ns: for limits of waiting only.
const NOMINAL_NS: u64 = 8_192;
/// Repeats; each begins at another phase of whatever runs by itself.
const RUNS: u16 = 6;

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// How long the event of a lone frame takes with this timeout.
    fn lone_delay(&mut self, ticks: u16, phase: u16) -> Result<u64, Why> {
        self.settle(NEVER, ticks)?;
        self.pass(17 + 131 * u32::from(phase))?;
        let came_ns = self.bounce()?;
        let event_ns = self.event_until(came_ns + 4 * NOMINAL_NS * u64::from(ticks))?;
        Ok(event_ns.ok_or("no_event")? - came_ns)
    }

    /// Finds out whether the timer runs by itself, and how long a tick is.
    pub(super) fn tick(&mut self, ask: Ask) {
        let mut spread = (u64::MAX, 0);
        for phase in 0..RUNS {
            if let Ok(delay) = self.lone_delay(SHORT_TICKS, phase) {
                spread = (spread.0.min(delay), spread.1.max(delay));
            }
        }
        self.free_running = spread.1 > 0 && spread.1 - spread.0 > spread.1 / 4;
        self.ask(ask, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, run| {
                if rig.free_running {
                    return rig.period(SHORT_TICKS);
                }
                let (short, long) = (rig.lone_delay(SHORT_TICKS, run)?, rig.lone_delay(LONG_TICKS, run)?);
                Ok(per_unit(long.saturating_sub(short), LONG_TICKS - SHORT_TICKS))
            })
        });
    }

    /// The tick of a timer whose events come at fixed times, from frames that never let it starve.
    fn period(&mut self, ticks: u16) -> Result<Value, Why> {
        const EVENTS: u16 = 5;
        self.settle(NEVER, ticks)?;
        let until_ns = self.now() + 4 * u64::from(EVENTS) * NOMINAL_NS * u64::from(ticks);
        let (mut first_ns, mut events) = (0, 0);
        while events <= EVENTS {
            let came_ns = self.bounce()?;
            if let Some(event_ns) = self.event_until(came_ns + 20_000)? {
                self.clear();
                self.free(crate::settings::RING_SIZE);
                if events == 0 {
                    first_ns = event_ns;
                }
                if events == EVENTS {
                    return Ok(per_unit(event_ns - first_ns, EVENTS * ticks));
                }
                events += 1;
            }
            if self.now() > until_ns {
                return Err("no_event");
            }
        }
        Err("no_event")
    }

    /// Which of three frames the timeout runs from.
    pub(super) fn timer_start(&mut self) {
        let free_running = self.free_running;
        self.ask(Ask::TimerStart, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, run| {
                if free_running {
                    return Ok(Value::Word("free_running"));
                }
                let lone = rig.lone_delay(SHORT_TICKS, run)?;
                rig.settle(NEVER, SHORT_TICKS)?;
                let first_ns = rig.bounce()?;
                rig.pass((lone / 4_000) as u32)?;
                rig.bounce()?;
                rig.pass((lone / 4_000) as u32)?;
                let last_ns = rig.bounce()?;
                let event_ns = rig.event_until(last_ns + 3 * lone)?.ok_or("no_event")?;
                let is_near = |from_ns: u64| (event_ns - from_ns).abs_diff(lone) < lone / 8;
                Ok(Value::Word(match (is_near(first_ns), is_near(last_ns)) {
                    (true, _) => "first_packet",
                    (_, true) => "last_packet",
                    _ => "something_else",
                }))
            })
        });
    }

    /// What two writes do to a timeout that is running.
    pub(super) fn timer_writes(&mut self) {
        for ask in [Ask::TimerClear, Ask::TimerCons] {
            self.ask(ask, &mut |rig| rig.repeat(RUNS, &mut |rig, run| rig.disturb(run, ask == Ask::TimerClear)));
        }
    }

    fn disturb(&mut self, run: u16, by_clear: bool) -> Result<Value, Why> {
        const TIMEOUT_NS: u64 = SHORT_TICKS as u64 * NOMINAL_NS;
        for attempt in 0..16 {
            self.settle(NEVER, SHORT_TICKS)?;
            self.pass(17 + 61 * u32::from(run + attempt))?;
            let came_ns = self.bounce()?;
            if self.event_until(came_ns + TIMEOUT_NS / 2)?.is_some() {
                continue; // one that runs by itself came before there was time to do anything
            }
            if by_clear {
                self.clear()
            } else {
                self.free(crate::settings::RING_SIZE)
            }
            let event_ns = self.event_until(came_ns + 3 * TIMEOUT_NS)?;
            return Ok(Value::Word(match event_ns.map(|event_ns| event_ns - came_ns) {
                Some(delay) if delay * 8 < TIMEOUT_NS * 9 => "goes_on",
                Some(_) => "starts_again",
                None => "ends",
            }));
        }
        Err("no_time")
    }

    /// A timeout of 0, looked at for longer than 65536 ticks the first time.
    pub(super) fn timeout_zero(&mut self) {
        self.ask(Ask::TimeoutZero, &mut |rig| {
            rig.repeat(3, &mut |rig, run| {
                rig.settle(NEVER, 0)?;
                let came_ns = rig.bounce()?;
                let wait_ns = if run == 0 { 600_000_000 } else { 20_000_000 };
                let event_ns = rig.event_until(came_ns + wait_ns)?;
                Ok(Value::Word(match event_ns.map(|event_ns| event_ns - came_ns) {
                    None => "off",
                    Some(0..100_000) => "at_once",
                    Some(_) => "late",
                }))
            })
        });
    }

    /// Whether a timeout works beside THRESH 0.
    pub(super) fn threshold_zero_timer(&mut self) {
        self.ask(Ask::ThresholdZeroTimer, &mut |rig| {
            rig.repeat(3, &mut |rig, _| {
                rig.settle(0, SHORT_TICKS)?;
                let came_ns = rig.bounce()?;
                let limit_ns = 2 * NOMINAL_NS * u64::from(SHORT_TICKS);
                let event_ns = rig.event_until(came_ns + limit_ns)?;
                Ok(Value::Word(match event_ns.map(|event_ns| event_ns - came_ns) {
                    None => "silent",
                    Some(0..20_000) => "at_once",
                    Some(_) => "fires",
                }))
            })
        });
    }
}

/// Rounded.
pub(super) fn per_unit(ns: u64, units: u16) -> Value {
    Value::Number((ns + u64::from(units) / 2) / u64::from(units))
}

impl Votes {
    /// From a yes or no.
    pub(super) fn word(is: bool, yes: &'static str, no: &'static str) -> Value {
        Value::Word(if is { yes } else { no })
    }
}
