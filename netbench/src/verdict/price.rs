//! Whether the arrival clock is worth what it costs the subject.
//!
//! Time a frame says that only where core 0 is busy: where it mostly sleeps, the figure is made of idle turns of its loop and
//! of chance, and what watching adds takes nothing from the rate. Where it is busy two pairs are compared, the second in
//! the other order, so that what drifts does not look like a price.

use crate::clocks::Cost;
use crate::result::Figures;
use core::fmt;

/// Added time a frame from which watching arrivals is not worth it, thousandths.
const DEAR_MILLI: i64 = 100;
/// Busy share below which core 0 is mostly idle, thousandths.
const IDLE_MILLI: u64 = 500;

/// What came of it.
pub(super) struct Price {
    with: Figures,
    without: Figures,
    is_idle: bool,
}

impl Price {
    /// Makes the runs: `run` makes one, with or without the clock. `None`: they tell nothing, or nobody watched.
    pub fn find<E>(mut run: impl FnMut(bool) -> Result<Option<Figures>, E>) -> Result<Option<Price>, E> {
        let Some(with) = run(true)?.filter(|figures| figures.watched.is_some()) else { return Ok(None) };
        let Some(without) = run(false)? else { return Ok(None) };
        if with.busy_milli.max(without.busy_milli) < IDLE_MILLI {
            return Ok(Some(Price { with, without, is_idle: true }));
        }
        let Some(without_again) = run(false)? else { return Ok(None) };
        let Some(with_again) = run(true)? else { return Ok(None) };
        let (with, without) = (mean(&with, &with_again), mean(&without, &without_again));
        Ok(Some(Price { with, without, is_idle: false }))
    }

    /// The clock stays on.
    pub fn is_paid(&self) -> bool {
        self.is_idle || Cost(&self.with, &self.without).milli().is_some_and(|milli| milli <= DEAR_MILLI)
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let then = match (self.is_idle, self.is_paid()) {
            (true, _) => "core 0 is mostly idle, it stays on",
            (false, true) => "it stays on",
            (false, false) => "too much, it stays off",
        };
        write!(f, "{}: {then}", Cost(&self.with, &self.without))
    }
}

/// What a price is made of, of two runs.
fn mean(a: &Figures, b: &Figures) -> Figures {
    let of = |a: Option<u64>, b: Option<u64>| Some(u64::midpoint(a?, b?));
    Figures {
        ns_per_frame: of(a.ns_per_frame, b.ns_per_frame),
        payload_bps: of(a.payload_bps, b.payload_bps),
        busy_milli: u64::midpoint(a.busy_milli, b.busy_milli),
        ..*a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Watched;
    use alloc::format;
    use alloc::vec::Vec;

    /// Runs of these times a frame, one after the other: the order of watching, and what came of it.
    fn price(busy_milli: u64, times: &[u64]) -> (Vec<bool>, Option<Price>) {
        let mut order = Vec::new();
        let found = Price::find(|watch| {
            let ns_per_frame = times.get(order.len()).copied();
            order.push(watch);
            let watched = watch.then(Watched::default);
            Ok::<_, ()>(ns_per_frame.map(|_| Figures { ns_per_frame, busy_milli, watched, ..Figures::default() }))
        });
        (order, found.unwrap())
    }

    #[test]
    fn a_busy_core_is_asked_twice_in_both_orders() {
        let (order, found) = price(900, &[2_000, 2_000, 2_000, 2_100]);
        assert_eq!(order, [true, false, false, true]);
        assert!(found.is_some_and(|price| price.is_paid()));
        let (_, found) = price(900, &[3_000, 2_000, 2_000, 3_000]);
        let found = found.unwrap();
        assert!(!found.is_paid() && format!("{found}").contains("+50.0 %"), "{found}");
    }

    #[test]
    fn what_drifts_from_run_to_run_is_no_price() {
        let (_, found) = price(900, &[4_000, 3_000, 2_000, 1_000]);
        assert!(found.is_some_and(|price| price.is_paid()), "33 % in the first pair");
    }

    #[test]
    fn an_idle_core_pays_with_time_that_nobody_wants() {
        let (order, found) = price(200, &[9_000, 2_000]);
        let found = found.unwrap();
        assert!(found.is_paid() && order == [true, false], "{found} {order:?}");
        assert!(format!("{found}").ends_with("core 0 is mostly idle, it stays on"), "{found}");
    }

    #[test]
    fn runs_that_tell_nothing_price_nothing() {
        for runs in 0..4 {
            assert!(price(900, &[2_000; 4][..runs]).1.is_none(), "{runs}");
        }
    }
}
