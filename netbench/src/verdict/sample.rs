//! What one run says about causes, and what two settings that differ in one thing say.
//!
//! Owns the arithmetic of comparing; no run is made here.

use crate::failure::Failure;
use crate::result::RunResult;
use crate::stats::Mean;
use alloc::vec::Vec;

/// What is kept of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Payload over the whole window, bit/s; 0 if nothing came.
    pub rate_bps: u64,
    /// The same with all that occupies the wire.
    pub wire_bps: u64,
    /// Link speed, bit/s.
    pub link_bps: u64,
    /// Link duplex.
    pub full_duplex: bool,
    /// EEE is agreed on.
    pub eee_active: bool,
    /// MBUF_DONE_THRESH as read back.
    pub threshold: u16,
    /// RING_TIMEOUT as read back, ticks.
    pub timeout_ticks: u16,
    /// UMAC_CMD lets PAUSE out.
    pub send_pause: bool,
    /// UMAC_CMD obeys PAUSE.
    pub obey_pause: bool,
    /// Payload frames.
    pub frames: u64,
    /// Frames that the ring had no descriptor for.
    pub discards: u64,
    /// PAUSE frames sent.
    pub pause_sent: u64,
    /// PAUSE frames received.
    pub pause_received: u64,
    /// Damaged frames.
    pub link_errors: u64,
    /// Collisions of our frames.
    pub collisions: u64,
    /// Of these, late ones.
    pub late_collisions: u64,
    /// Share of the time that the processor was busy, thousandths.
    pub busy_milli: u64,
    /// Busy time a payload frame, ns.
    pub ns_per_frame: u64,
    /// Median of the spacings of at least 1 ms, ns, and how many there were.
    pub gap: Option<(u64, u64)>,
    /// Median time from a frame's arrival to its interrupt, ns, if somebody watched.
    pub irq_delay_ns: Option<u64>,
    /// Median round trip, ns.
    pub rtt_ns: Option<u64>,
}

impl Sample {
    /// `None` if the run tells nothing: the link went, or the settings were not taken.
    pub(crate) fn of(run: &RunResult) -> Option<Sample> {
        let speaks = match &run.failure {
            None => true,
            // Nothing or hardly anything comes: what the settings do to the network is the finding.
            Some(Failure::TcpStalled { .. } | Failure::TcpTimeout { .. }) => true,
            Some(_) => false,
        };
        if !speaks {
            return None;
        }
        let link = run.link.unwrap_or_default();
        let mut sample = Sample {
            link_bps: u64::from(link.speed.mbps()) * 1_000_000,
            full_duplex: link.full_duplex,
            eee_active: link.eee_active,
            ..Sample::default()
        };
        if let Some(got) = &run.got {
            (sample.threshold, sample.timeout_ticks) = (got.threshold, got.timeout_ticks);
            (sample.send_pause, sample.obey_pause) = (got.send_pause, got.obey_pause);
        }
        if let Some(f) = &run.figures {
            let rate = |bytes: u64| (u128::from(bytes) * 8_000_000_000 / u128::from(f.window_ns.max(1))) as u64;
            sample.rate_bps = rate(f.payload_b);
            sample.wire_bps = rate(f.wire_b);
            sample.frames = f.frames;
            sample.discards = f.discards;
            sample.pause_sent = f.pause_sent;
            sample.pause_received = f.pause_received;
            sample.link_errors = f.link_errors;
            sample.collisions = f.collisions;
            sample.late_collisions = f.late_collisions;
            sample.busy_milli = f.busy_milli;
            sample.ns_per_frame = f.ns_per_frame.unwrap_or(0);
            sample.gap = f.long_gap;
            sample.irq_delay_ns = f.irq_delay.map(|delay| delay.p50_ns);
            sample.rtt_ns = f.rtt_p50_ns;
        }
        Some(sample)
    }
}

/// Samples of one setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series(pub Vec<Sample>);

impl Series {
    /// Mean of something, 0 without samples.
    pub fn mean(&self, of: impl Fn(&Sample) -> u64) -> u64 {
        let sum: u128 = self.0.iter().map(|s| u128::from(of(s))).sum();
        (sum / self.0.len().max(1) as u128) as u64
    }

    /// Mean payload rate, bit/s.
    pub fn rate_bps(&self) -> u64 {
        self.mean(|s| s.rate_bps)
    }

    /// Sum of something.
    pub fn sum(&self, of: impl Fn(&Sample) -> u64) -> u64 {
        self.0.iter().map(of).sum()
    }

    /// Every sample is so; false without samples.
    pub fn all(&self, is: impl Fn(&Sample) -> bool) -> bool {
        !self.0.is_empty() && self.0.iter().all(is)
    }

    /// Occurrences in a million payload frames.
    pub fn ppm_of_frames(&self, of: impl Fn(&Sample) -> u64) -> u64 {
        self.sum(of).saturating_mul(1_000_000) / self.sum(|s| s.frames).max(1)
    }

    /// Median of the samples' medians of long spacings, ns.
    pub fn gap_ns(&self) -> Option<u64> {
        let mut gaps: Vec<u64> = self.0.iter().filter_map(|s| s.gap.map(|gap| gap.0)).collect();
        crate::stats::median(&mut gaps)
    }

    /// Median of the samples' medians from arrival to interrupt, ns.
    pub fn irq_delay_ns(&self) -> Option<u64> {
        let mut delays: Vec<u64> = self.0.iter().filter_map(|s| s.irq_delay_ns).collect();
        crate::stats::median(&mut delays)
    }

    /// How well the mean rate is known.
    pub fn spread(&self) -> Option<Mean> {
        Mean::of(self.0.iter().map(|s| s.rate_bps))
    }

    fn lowest(&self) -> u64 {
        self.0.iter().map(|s| s.rate_bps).min().unwrap_or(0)
    }

    fn highest(&self) -> u64 {
        self.0.iter().map(|s| s.rate_bps).max().unwrap_or(0)
    }
}

/// Fewest samples of each side for any finding.
pub const FEWEST: usize = 3;
/// Samples of each side after which a comparison that shows nothing clear is left open.
pub const MOST: usize = 6;
/// A change that counts, thousandths. Two settings of one cause in the way differ by a factor; a fourth is well above
/// what windows of one setting differ by where a mean is any good.
const BIG_MILLI: u64 = 1_250;
/// Half the width of the 95 % interval of a mean that is known well, thousandths of it.
const KNOWN_MILLI: u64 = 150;
/// A change that does not, thousandths.
const SMALL_MILLI: u64 = 1_100;

/// Rates of two settings that differ in one thing, from runs that took turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// With the suspect.
    pub with: Series,
    /// Without it.
    pub without: Series,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Without the suspect it is faster, in every run.
    Slows,
    /// The means differ by little.
    None,
    /// Without the suspect it is slower, in every run: it is no cause of slowness.
    Helps,
    /// Runs of one setting differ as much as the settings do, or there are too few.
    Unclear,
}

impl Comparison {
    /// Mean rate without over mean rate with the suspect, thousandths; `u64::MAX` if nothing came with it.
    pub fn ratio_milli(&self) -> u64 {
        let (with, without) = (self.with.rate_bps(), self.without.rate_bps());
        match (with, without) {
            (0, 0) => 1_000,
            (0, _) => u64::MAX,
            _ => (u128::from(without) * 1_000 / u128::from(with)) as u64,
        }
    }

    /// An effect needs every run of one side to be faster than every run of the other, and the more runs the smaller it
    /// is. By chance alone, three and three runs are in that order once in 20 times, six and six once in 924.
    pub fn effect(&self) -> Effect {
        let runs = self.with.0.len().min(self.without.0.len());
        let ratio = self.ratio_milli();
        let (slows, helps) = (ratio, 1_000_000_u64.checked_div(ratio).unwrap_or(u64::MAX));
        if runs >= runs_for(slows) && self.without.lowest() > self.with.highest() {
            Effect::Slows
        } else if runs >= runs_for(helps) && self.without.highest() < self.with.lowest() {
            Effect::Helps
        } else if runs >= FEWEST && (1_000_000 / SMALL_MILLI..=SMALL_MILLI).contains(&ratio) && self.is_known(runs) {
            Effect::None
        } else {
            Effect::Unclear
        }
    }

    /// The means are known well enough to say that they are the same.
    fn is_known(&self, runs: usize) -> bool {
        let known = |series: &Series| series.spread().is_some_and(|mean| mean.half_width_milli <= KNOWN_MILLI);
        runs >= MOST || self.with.highest() + self.without.highest() == 0 || known(&self.with) && known(&self.without)
    }
}

/// Runs of each side that an effect of this size needs; more than are ever made if it is too small to count.
fn runs_for(ratio_milli: u64) -> usize {
    match ratio_milli {
        8_000.. => FEWEST,
        3_000.. => FEWEST + 1,
        1_800.. => FEWEST + 2,
        BIG_MILLI.. => MOST,
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(rates: &[u64]) -> Series {
        Series(rates.iter().map(|&rate_bps| Sample { rate_bps, ..Sample::default() }).collect())
    }

    fn effect(with: &[u64], without: &[u64]) -> Effect {
        Comparison { with: series(with), without: series(without) }.effect()
    }

    #[test]
    fn an_effect_needs_runs_that_do_not_overlap_and_more_of_them_if_it_is_small() {
        assert_eq!(effect(&[10, 10], &[100, 100]), Effect::Unclear);
        assert_eq!(effect(&[10, 11, 12], &[100, 90, 110]), Effect::Slows);
        assert_eq!(effect(&[10, 11, 95], &[100, 90, 110]), Effect::Unclear);
        assert_eq!(effect(&[50, 50, 50], &[100, 100, 100]), Effect::Unclear);
        assert_eq!(effect(&[50; 5], &[100; 5]), Effect::Slows);
        assert_eq!(effect(&[25; 4], &[100; 4]), Effect::Slows);
        assert_eq!(effect(&[75; 5], &[100; 5]), Effect::Unclear);
        assert_eq!(effect(&[75; 6], &[100; 6]), Effect::Slows);
        assert_eq!(effect(&[60, 100, 140], &[65, 100, 135]), Effect::Unclear);
        assert_eq!(effect(&[0, 0, 0], &[1, 1, 1]), Effect::Slows);
        assert_eq!(effect(&[100, 100, 100], &[10, 10, 10]), Effect::Helps);
    }

    #[test]
    fn small_changes_are_none_and_middling_ones_unclear() {
        assert_eq!(effect(&[100, 101, 99], &[105, 104, 106]), Effect::None);
        assert_eq!(effect(&[100, 100, 100], &[118, 118, 118]), Effect::Unclear);
        assert_eq!(effect(&[0, 0, 0], &[0, 0, 0]), Effect::None);
    }
}
