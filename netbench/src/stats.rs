//! Histograms of spacings and delays, and what is read out of them.
//!
//! Owns a log-linear histogram: 128 buckets an octave, so a bucket is at most 0.8 % wide and
//! 33.554 ms is told from its neighbours. Memory is fixed; adding a value divides nothing and
//! allocates nothing. Count, minimum, maximum and sum are exact, quantiles are within 0.4 %.

use alloc::vec;
use alloc::vec::Vec;

/// log2 of the buckets in an octave.
pub const BUCKET_BITS: u32 = 7;
const SUB: u64 = 1 << BUCKET_BITS;
/// Values from 2^40 ns (18 minutes) on share the last bucket.
const TOP_BIT: u32 = 40;
const BUCKETS: usize = ((TOP_BIT - BUCKET_BITS + 1) as usize) << BUCKET_BITS;

/// 65535 PAUSE quanta at 1 Gbit/s, and within 15 ppm 4096 timeout ticks, ns.
pub const SUSPECT_SPACING_NS: u64 = 33_554_000;
/// How close is near: 2 %.
const NEAR_PPM: u64 = 20_000;
/// Multiples of a timeout that are looked for. From the 25th on everything would be near one.
const MULTIPLES: u64 = 8;

/// Counts of values in buckets of constant relative width.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// A window of ten minutes of the smallest frames has 9e8.
    counts: Vec<u32>,
    total: u64,
    sum: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram. This is the only allocation it ever makes (17 KiB).
    pub fn new() -> Self {
        Histogram { counts: vec![0; BUCKETS], total: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
        self.sum = 0;
        self.min = u64::MAX;
        self.max = 0;
    }

    /// Adds a value, ns.
    #[inline]
    pub fn add(&mut self, value_ns: u64) {
        // The index is in range by construction; `get_mut` keeps a panic out of the hot path.
        if let Some(count) = self.counts.get_mut(bucket_of(value_ns)) {
            *count = count.saturating_add(1);
        }
        self.total += 1;
        self.sum = self.sum.wrapping_add(value_ns);
        self.min = self.min.min(value_ns);
        self.max = self.max.max(value_ns);
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Exact smallest value, ns.
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// Exact largest value, ns.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// The value that `milli` thousandths of all values do not exceed, ns.
    pub fn quantile(&self, milli: u64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = (self.total * milli).div_ceil(1000).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return Some(middle(index).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Median of the values of at least `from_ns`, ns, and how many there are. `None` if there are none.
    pub fn median_from(&self, from_ns: u64) -> Option<(u64, u64)> {
        let first = bucket_of(from_ns);
        let above: u64 = self.counts[first..].iter().copied().map(u64::from).sum();
        let mut left = above.div_ceil(2);
        if above == 0 {
            return None;
        }
        for (index, count) in self.counts.iter().enumerate().skip(first) {
            let count = u64::from(*count);
            if count >= left {
                return Some((middle(index).clamp(self.min, self.max), above));
            }
            left -= count;
        }
        None
    }

    /// What a result quotes.
    pub fn quantiles(&self) -> Option<Quantiles> {
        Some(Quantiles {
            p50_ns: self.quantile(500)?,
            p90_ns: self.quantile(900)?,
            p99_ns: self.quantile(990)?,
            max_ns: self.max()?,
        })
    }

    /// Share of values within 2 % of `target_ns`, ppm. Zero if there are no values.
    pub fn near_ppm(&self, target_ns: u64) -> u64 {
        self.share_ppm(|value| is_near(value, target_ns))
    }

    /// Share of values within 2 % of one to eight times `period_ns`, ppm.
    pub fn near_multiples_ppm(&self, period_ns: u64) -> u64 {
        self.share_ppm(|value| (1..=MULTIPLES).any(|k| is_near(value, k * period_ns)))
    }

    fn share_ppm(&self, mut wanted: impl FnMut(u64) -> bool) -> u64 {
        let counts = self.counts.iter().enumerate();
        let hits: u64 = counts.filter(|(i, n)| **n > 0 && wanted(middle(*i))).map(|(_, n)| u64::from(*n)).sum();
        hits * 1_000_000 / self.total.max(1)
    }

    /// Lower bounds and counts of the buckets that are not empty, ascending. `coarser` octaves
    /// hold 2^`coarser` times fewer buckets.
    pub fn buckets(&self, coarser: u32) -> impl Iterator<Item = (u64, u64)> + '_ {
        let step = 1usize << coarser.min(BUCKET_BITS);
        let sums = self.counts.chunks(step).map(|c| c.iter().copied().map(u64::from).sum::<u64>()).enumerate();
        sums.filter(|(_, n)| *n > 0).map(move |(i, n)| (lower_bound(i * step), n))
    }
}

/// Spacing as a result quotes it, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// Median.
    pub p50_ns: u64,
    /// 90 % are no longer.
    pub p90_ns: u64,
    /// 99 % are no longer.
    pub p99_ns: u64,
    /// Longest, exact.
    pub max_ns: u64,
}

fn is_near(value: u64, target: u64) -> bool {
    target > 0 && value.abs_diff(target) <= target / 1000 * NEAR_PPM / 1000
}

#[inline]
fn bucket_of(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let top = 63 - value.leading_zeros();
    if top >= TOP_BIT {
        return BUCKETS - 1;
    }
    // `value >> (top - BITS)` lies in SUB..2*SUB, so the octaves follow each other without a gap.
    (((top - BUCKET_BITS) as usize) << BUCKET_BITS) + (value >> (top - BUCKET_BITS)) as usize
}

fn lower_bound(index: usize) -> u64 {
    let index = index as u64;
    if index < SUB {
        return index;
    }
    (SUB + index % SUB) << (index / SUB - 1)
}

fn middle(index: usize) -> u64 {
    let low = lower_bound(index);
    low + (lower_bound(index + 1) - low) / 2
}

/// Mean of a few values and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mean {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: u64,
    /// Half the width of the 95 % interval of the mean (Student's t), thousandths of the mean; `u64::MAX` for less
    /// than two values or a mean of zero.
    pub half_width_milli: u64,
}

/// Student's t, two-sided 95 %, thousandths, by degrees of freedom from 1; about 1.96 from 30 on.
const T95_MILLI: [u64; 30] = [
    12_706, 4_303, 3_182, 2_776, 2_571, 2_447, 2_365, 2_306, 2_262, 2_228, 2_201, 2_179, 2_160, 2_145, 2_131, 2_120,
    2_110, 2_101, 2_093, 2_086, 2_080, 2_074, 2_069, 2_064, 2_060, 2_056, 2_052, 2_048, 2_045, 2_042,
];

impl Mean {
    /// `None` without values.
    pub fn of(values: impl Iterator<Item = u64> + Clone) -> Option<Mean> {
        let count = values.clone().count() as u64;
        if count == 0 {
            return None;
        }
        let mean = (values.clone().map(u128::from).sum::<u128>() / u128::from(count)) as u64;
        if count < 2 || mean == 0 {
            return Some(Mean { count, mean, half_width_milli: u64::MAX });
        }
        // Deviations in millionths of the mean, so that the squares fit.
        let square = |value: u64| (u128::from(value.abs_diff(mean)) * 1_000_000 / u128::from(mean)).pow(2);
        let variance = values.map(square).sum::<u128>() / u128::from(count - 1);
        let error_ppm = (variance / u128::from(count)).isqrt();
        let t = T95_MILLI.get(count as usize - 2).copied().unwrap_or(1_960);
        Some(Mean { count, mean, half_width_milli: (error_ppm * u128::from(t) / 1_000_000) as u64 })
    }
}

/// Median of a few values (the lower one of two in the middle). Sorts them.
pub fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn buckets_follow_each_other_and_are_narrow() {
        for index in 0..BUCKETS - 1 {
            let (low, next) = (lower_bound(index), lower_bound(index + 1));
            assert!(next > low);
            assert!(next - low <= 1.max(low / 100), "{low} {next}");
            assert_eq!((bucket_of(low), bucket_of(next - 1), bucket_of(next)), (index, index, index + 1));
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_agree_with_sorting() {
        let mut rng = Rng::new(3);
        let mut histogram = Histogram::new();
        let mut values: std::vec::Vec<u64> = (0..10_000).map(|_| rng.next_u64() >> (20 + rng.below(40))).collect();
        values.iter().for_each(|v| histogram.add(*v));
        values.sort();
        for milli in [1, 250, 500, 900, 990, 999, 1000] {
            let exact = values[(values.len() * milli as usize).div_ceil(1000).max(1) - 1];
            let got = histogram.quantile(milli).unwrap();
            assert!(
                got.abs_diff(exact) <= exact.min(1 << TOP_BIT) / 200 + 1 || exact >= 1 << TOP_BIT,
                "{milli} {exact} {got}"
            );
        }
        assert_eq!((histogram.min(), histogram.max()), (values.first().copied(), values.last().copied()));
        assert_eq!(histogram.total(), 10_000);
    }

    #[test]
    fn two_humps_are_told_apart() {
        let mut histogram = Histogram::new();
        assert_eq!((histogram.quantiles(), histogram.near_ppm(1000)), (None, 0));
        (0..178).for_each(|_| histogram.add(0));
        histogram.add(33_554_432);
        histogram.add(2 * 33_554_432);
        let q = histogram.quantiles().unwrap();
        assert_eq!((q.p50_ns, q.max_ns), (0, 67_108_864));
        assert!(q.p99_ns.abs_diff(33_554_432) < 335_000, "{q:?}");
        let (gap, gaps) = histogram.median_from(1_000_000).unwrap();
        assert!(gaps == 2 && gap.abs_diff(33_554_432) < 335_000, "{gap}");
        assert_eq!(histogram.median_from(100_000_000), None);
        assert_eq!(histogram.near_ppm(SUSPECT_SPACING_NS), 1_000_000 / 180);
        assert_eq!(histogram.near_multiples_ppm(33_554_432), 2_000_000 / 180);
        assert_eq!(histogram.near_multiples_ppm(0), 0);
        // The two differ by 15 ppm and share a hump; 4 % away is another.
        assert_eq!(histogram.near_ppm(34_900_000), 0);
    }

    #[test]
    fn coarser_buckets_hold_the_same_values() {
        let mut histogram = Histogram::new();
        (0..5_000u64).for_each(|i| histogram.add(i * i));
        for coarser in 0..=BUCKET_BITS {
            assert_eq!(histogram.buckets(coarser).map(|(_, n)| n).sum::<u64>(), 5_000);
        }
        assert!(histogram.buckets(3).count() < histogram.buckets(0).count());
        assert!(histogram.buckets(0).map(|(low, _)| low).is_sorted());
        histogram.clear();
        assert_eq!((histogram.total(), histogram.buckets(0).count(), histogram.max()), (0, 0, None));
    }

    #[test]
    fn means_know_how_well_they_are_known() {
        assert_eq!(Mean::of([].into_iter()), None);
        assert_eq!(Mean::of([5].into_iter()).unwrap().half_width_milli, u64::MAX);
        assert_eq!(Mean::of([7, 7, 7].into_iter()), Some(Mean { count: 3, mean: 7, half_width_milli: 0 }));
        // 90, 100, 110: standard deviation 10, error 5.77, times 4.303 is 24.8.
        assert_eq!(Mean::of([90, 100, 110].into_iter()).unwrap().half_width_milli, 248);
        let big = u64::MAX / 2;
        assert_eq!(Mean::of([big, big].into_iter()).unwrap().mean, big);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [5]), Some(5));
        assert_eq!(median(&mut [9, 1, 5]), Some(5));
        assert_eq!(median(&mut [9, 1, 5, 2]), Some(2));
    }
}
