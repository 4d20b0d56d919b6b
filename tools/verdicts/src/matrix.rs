//! The confusion matrix: what is true against what was said.

use crate::truth::{Kind, Truth};
use netbench::verdict::{Hypothesis, State};
use std::fmt;

/// One session with what was true.
#[derive(Clone, Debug)]
pub struct Row {
    /// World.
    pub world: &'static str,
    /// Reading of the hardware.
    pub variant: String,
    /// Seed of all that chance decides.
    pub seed: u64,
    /// What is true.
    pub truth: Truth,
    /// What the firmware said.
    pub states: Vec<(Hypothesis, State)>,
    /// Virtual time of the session, ns.
    pub virtual_ns: u64,
    /// Time it took on this machine, ms.
    pub host_ms: u64,
}

impl Row {
    /// What was said of `hypothesis`.
    pub fn said(&self, hypothesis: Hypothesis) -> State {
        self.states.iter().find(|(h, _)| *h == hypothesis).map_or(State::Open, |(_, state)| *state)
    }

    /// Confirmed, and neither a cause nor a consequence of one.
    pub fn false_confirmations(&self) -> Vec<Hypothesis> {
        let wrong = |h: &Hypothesis| self.said(*h) == State::Confirmed && self.truth.kind(*h) == Kind::Not;
        Hypothesis::ALL.into_iter().filter(wrong).collect()
    }

    /// True and not confirmed.
    pub fn missed(&self) -> Vec<Hypothesis> {
        self.truth.causes().into_iter().filter(|h| self.said(*h) != State::Confirmed).collect()
    }
}

/// Numbers of sessions for one hypothesis: confirmed, refuted, open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u32; 3]);

impl Counts {
    fn add(&mut self, state: State) {
        self.0[match state {
            State::Confirmed => 0,
            State::Refuted => 1,
            State::Open => 2,
        }] += 1;
    }

    fn total(self) -> u32 {
        self.0.iter().sum()
    }
}

/// All sessions, by hypothesis.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// In the order of [`Hypothesis::ALL`]: where it is a cause, where it is a consequence, where it is neither.
    pub lines: Vec<(Hypothesis, [Counts; 3])>,
    /// Sessions.
    pub sessions: usize,
}

impl Matrix {
    /// Counts.
    pub fn of(rows: &[Row]) -> Matrix {
        let line = |h: Hypothesis| {
            let mut counts = [Counts::default(); 3];
            for row in rows {
                counts[row.truth.kind(h) as usize].add(row.said(h));
            }
            (h, counts)
        };
        Matrix { lines: Hypothesis::ALL.into_iter().map(line).collect(), sessions: rows.len() }
    }

    /// Confirmed though neither cause nor consequence.
    pub fn false_confirmations(&self) -> u32 {
        self.lines.iter().map(|(_, counts)| counts[Kind::Not as usize].0[0]).sum()
    }

    /// Confirmed though only a consequence of a larger cause, or close behind one.
    pub fn of_consequences(&self) -> u32 {
        self.lines.iter().map(|(_, counts)| counts[Kind::Consequence as usize].0[0]).sum()
    }

    /// Share of true causes that were confirmed, millionths; all of none.
    pub fn true_confirmed_ppm(&self) -> u64 {
        let causes = || self.lines.iter().map(|(_, counts)| counts[Kind::Cause as usize]);
        let total: u64 = causes().map(|c| u64::from(c.total())).sum();
        let confirmed: u64 = causes().map(|c| u64::from(c.0[0])).sum();
        (confirmed * 1_000_000).checked_div(total).unwrap_or(1_000_000)
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "                      cause                consequence             neither")?;
        writeln!(f, "hypothesis      conf. refut.  open    conf. refut.  open    conf. refut.  open")?;
        for (hypothesis, counts) in &self.lines {
            write!(f, "{:<14}", hypothesis.word())?;
            for Counts([confirmed, refuted, open]) in counts {
                write!(f, "  {confirmed:>5} {refuted:>6} {open:>5}")?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "{} sessions, {} false confirmations ({} of consequences), {}.{} % of the true causes confirmed (virtual)",
            self.sessions,
            self.false_confirmations(),
            self.of_consequences(),
            self.true_confirmed_ppm() / 10_000,
            self.true_confirmed_ppm() / 1_000 % 10
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Finding;

    fn row(kind: Kind, state: State) -> Row {
        let hypothesis = Hypothesis::Overrun;
        let findings = match kind {
            Kind::Not => vec![],
            _ => vec![Finding { hypothesis, kind, rise_milli: 2_000 }],
        };
        Row {
            world: "w",
            variant: "v".into(),
            seed: 1,
            truth: Truth { findings, rate_bps: 1, harmless_bps: None },
            states: vec![(hypothesis, state)],
            virtual_ns: 1,
            host_ms: 1,
        }
    }

    #[test]
    fn only_what_is_neither_cause_nor_consequence_is_a_false_confirmation() {
        let rows = [
            row(Kind::Cause, State::Confirmed),
            row(Kind::Cause, State::Refuted),
            row(Kind::Cause, State::Open),
            row(Kind::Consequence, State::Confirmed),
            row(Kind::Consequence, State::Refuted),
            row(Kind::Not, State::Refuted),
        ];
        let matrix = Matrix::of(&rows);
        assert_eq!((matrix.false_confirmations(), matrix.true_confirmed_ppm()), (0, 333_333));
        assert_eq!(rows[1].missed(), [Hypothesis::Overrun]);
        let wrong = [row(Kind::Not, State::Confirmed)];
        assert_eq!((Matrix::of(&wrong).false_confirmations(), wrong[0].false_confirmations().len()), (1, 1));
        assert_eq!(Matrix::of(&[]).true_confirmed_ppm(), 1_000_000);
    }
}
