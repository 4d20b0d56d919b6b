//! The part of the table that only the arrival clock can fill: how long frames lay in the ring before their interrupt.
//!
//! Spacings at the arrival show what the network does; the delay from arrival to interrupt shows what coalescing does. And
//! what watching costs, from points that ran both with and without.

use crate::result::{Figures, RunResult};
use crate::stats::Quantiles;
use crate::table::{label, mbit, time};
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write};

/// Prints it; nothing if nobody watched.
pub(crate) fn print(out: &mut dyn Write, results: &[RunResult]) -> fmt::Result {
    if results.iter().any(|result| quantiles(result).is_some()) {
        writeln!(out, "\n          spacing at arrival   irq after arrival   latch after first frame")?;
        writeln!(out, "preset      p50   p99   max    p50   p90   max         mean   max  unseen")?;
    }
    for result in results {
        if let Some((arrival, delay)) = quantiles(result) {
            writeln!(out, "{}", row(result, &arrival, delay.as_ref()))?;
        }
    }
    for (with, without) in pairs(results) {
        if let (Some(with_figures), Some(without_figures)) = (&with.figures, &without.figures) {
            writeln!(out, "  {}: watching costs {}", label(with), Cost(with_figures, without_figures))?;
        }
    }
    Ok(())
}

fn quantiles(result: &RunResult) -> Option<(Quantiles, Option<Quantiles>)> {
    let figures = result.figures.as_ref()?;
    Some((figures.arrival?, figures.irq_delay))
}

fn row(result: &RunResult, arrival: &Quantiles, delay: Option<&Quantiles>) -> String {
    let cell = |value: Option<u64>| value.map_or(String::from("-"), time);
    let watched = result.figures.as_ref().and_then(|f| f.watched);
    let unseen = watched.map_or(String::from("polled"), |w| format!("{}", w.missed));
    format!(
        "{:<9} {:>5} {:>5} {:>5}  {:>5} {:>5} {:>5}         {:>5} {:>5}  {unseen:>6}",
        label(result),
        time(arrival.p50_ns),
        time(arrival.p99_ns),
        time(arrival.max_ns),
        cell(delay.map(|q| q.p50_ns)),
        cell(delay.map(|q| q.p90_ns)),
        cell(delay.map(|q| q.max_ns)),
        cell(watched.and_then(|w| w.latch_mean_ns)),
        cell(watched.and_then(|w| w.latch_max_ns)),
    )
}

/// Runs that differ in watching only: with and without.
fn pairs(results: &[RunResult]) -> impl Iterator<Item = (&RunResult, &RunResult)> {
    let watched = |result: &&RunResult| result.figures.as_ref().is_some_and(|f| f.watched.is_some());
    results.iter().filter(watched).filter_map(|with| {
        let mut point = with.point;
        point.setup.watch = false;
        Some((with, results.iter().find(|without| without.point == point && without.figures.is_some())?))
    })
}

/// What watching costs: time a frame and rate, with and without.
pub(crate) struct Cost<'a>(pub &'a Figures, pub &'a Figures);

impl Cost<'_> {
    /// Thousandths of the time a frame that watching adds; negative when it came out shorter.
    pub fn milli(&self) -> Option<i64> {
        let (with, without) = (self.0.ns_per_frame? as i64, self.1.ns_per_frame.filter(|ns| *ns > 0)? as i64);
        Some((with - without).saturating_mul(1_000) / without)
    }
}

impl fmt::Display for Cost<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.milli(), self.0.ns_per_frame, self.1.ns_per_frame) {
            (Some(milli), Some(with), Some(without)) => {
                let sign = if milli < 0 { '-' } else { '+' };
                let tenths = milli.unsigned_abs();
                write!(f, "{sign}{}.{} % of core 0's time a frame ({without} -> {with} ns)", tenths / 10, tenths % 10)?;
            }
            _ => write!(f, "an unknown time a frame")?,
        }
        let rate = |figures: &Figures| figures.payload_bps.map_or(String::from("-"), mbit);
        write!(f, ", {} -> {} Mbit/s", rate(self.1), rate(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Watched;
    use crate::plan::Plan;
    use crate::table::COLUMNS;

    fn run(watch: bool, ns_per_frame: u64) -> RunResult {
        let mut point = Plan::default().base(&crate::presets::PRESETS[0]);
        point.setup.watch = watch;
        let q = Quantiles { p50_ns: 999_999_999, p90_ns: 999_999_999, p99_ns: 999_999_999, max_ns: 999_999_999 };
        let watched =
            watch.then_some(Watched { missed: 99_999, latch_max_ns: Some(999_999_999), ..Watched::default() });
        let arrival = watch.then_some(q);
        let figures = Figures {
            ns_per_frame: Some(ns_per_frame),
            payload_bps: Some(948_000_000),
            arrival,
            irq_delay: arrival,
            watched,
            ..Figures::default()
        };
        RunResult { id: 1, point, link: None, got: None, figures: Some(figures), failure: None }
    }

    #[test]
    fn a_pair_tells_its_cost_and_every_line_fits() {
        let mut text = String::new();
        print(&mut text, &[run(false, 2_000), run(true, 2_050)]).unwrap();
        assert!(
            text.contains("watching costs +2.5 % of core 0's time a frame (2000 -> 2050 ns), 948 -> 948 Mbit/s"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        text.clear();
        print(&mut text, &[run(true, 2_000)]).unwrap();
        assert!(text.contains("irq after arrival") && !text.contains("watching costs"), "no pair: {text}");
        text.clear();
        print(&mut text, &[run(false, 2_000)]).unwrap();
        assert_eq!(text, "");
    }

    #[test]
    fn what_came_out_shorter_costs_less_than_nothing() {
        let (with, without) = (run(true, 1_990), run(false, 2_000));
        let cost = format!("{}", Cost(&with.figures.unwrap(), &without.figures.unwrap()));
        assert!(cost.starts_with("-0.5 %"), "{cost}");
    }
}
