//! The table that a session ends with: one row a run, at most 100 columns.

use crate::clocks;
use crate::result::RunResult;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write};

/// Widest line.
pub const COLUMNS: usize = 100;

/// Prints the rows in the order of the presets, then what failed and why.
pub fn print(out: &mut dyn Write, results: &[RunResult], is_virtual: bool) -> fmt::Result {
    let marked = if is_virtual { " -- virtual: figures of the virtual Pi, not of a board" } else { "" };
    writeln!(out, "\nReceive by preset{marked}\n")?;
    writeln!(out, "          thr/ticks         Mbit  spacing at irq   as delivered   frames irqs       busy  ns/")?;
    writeln!(
        out,
        "preset    asked    read     /s    p50   p99  max   p50   p99  max /irq   /s   rtt    %  fr  dis rc"
    )?;
    for result in results {
        writeln!(out, "{}", row(result))?;
    }
    let custom = results.iter().filter(|r| !r.point.is_preset);
    for result in custom.filter(|r| r.point.rep == 1) {
        let point = &result.point;
        write!(out, "  {}: {}, {}", label(result), point.preset.name, point.changes())?;
        if point.setup.flows > 1 {
            write!(out, " flows={}", point.setup.flows)?;
        }
        writeln!(out)?;
    }
    clocks::print(out, results)?;
    for result in results.iter().filter(|r| r.failure.is_some()) {
        if let Some(failure) = &result.failure {
            writeln!(out, "  {}: {}: {failure}", label(result), failure.rc())?;
        }
    }
    Ok(())
}

/// The preset's name, or the number of the run for what is none.
pub(crate) fn label(result: &RunResult) -> String {
    if result.point.is_preset { result.point.preset.name.into() } else { format!("#{}", result.id) }
}

fn row(result: &RunResult) -> String {
    let show = |value: Option<u16>| value.map_or(String::from("-"), |v| format!("{v}"));
    let s = &result.point.setup.rx;
    let asked = format!("{}/{}", show(s.threshold), show(s.timeout_ticks));
    let read = result.got.map_or(String::from("-"), |g| format!("{}/{}", g.threshold, g.timeout_ticks));
    let mut text = format!("{:<9} {asked:<8} {read:<8}", label(result));
    if let Some(f) = &result.figures {
        let _ = write!(text, " {:>4}", f.payload_bps.map_or(String::from("-"), mbit));
        for q in [f.irq, f.deliver] {
            let cell =
                |value: fn(&crate::stats::Quantiles) -> u64| q.as_ref().map_or(String::from("-"), |q| time(value(q)));
            let _ = write!(text, " {:>5} {:>5} {:>4}", cell(|q| q.p50_ns), cell(|q| q.p99_ns), cell(|q| q.max_ns));
        }
        let per_irq = (f.frames * 10 + f.irqs / 2).checked_div(f.irqs).map_or(String::from("-"), tenth);
        let _ = write!(
            text,
            " {per_irq:>4} {:>4} {:>5} {:>3} {:>4} {:>3}",
            count(f.irqs_per_s),
            f.rtt_p50_ns.map_or(String::from("-"), time),
            f.busy_milli / 10,
            f.ns_per_frame.map_or(String::from("-"), count),
            count(f.discards)
        );
    } else {
        let _ = write!(text, " {:>4}{:57}", "-", "");
    }
    let room = COLUMNS.saturating_sub(text.len() + 1);
    let rc = result.rc();
    let _ = write!(text, " {}", &rc[..rc.len().min(room)]);
    text
}

fn tenth(tenths: u64) -> String {
    if tenths < 1000 { format!("{}.{}", tenths / 10, tenths % 10) } else { format!("{}", tenths / 10) }
}

/// Mbit/s in at most four characters: `0.31`, `61.9`, `948`.
pub(crate) fn mbit(bps: u64) -> String {
    match bps / 1_000_000 {
        0..10 => format!("{}.{:02}", bps / 1_000_000, bps / 10_000 % 100),
        10..100 => format!("{}.{}", bps / 1_000_000, bps / 100_000 % 10),
        mbit => format!("{mbit}"),
    }
}

/// A count in at most four characters.
fn count(n: u64) -> String {
    match n {
        0..10_000 => format!("{n}"),
        10_000..1_000_000 => format!("{}k", n / 1000),
        1_000_000..1_000_000_000 => format!("{}M", n / 1_000_000),
        _ => String::from(">1G"),
    }
}

/// A time in at most five characters: `820n`, `12.3u`, `33.6m`, `1.2s`.
pub(crate) fn time(ns: u64) -> String {
    let (value, unit, scale) = match ns {
        0..1_000 => return format!("{ns}n"),
        1_000..1_000_000 => (ns, 'u', 1_000),
        1_000_000..1_000_000_000 => (ns, 'm', 1_000_000),
        _ => (ns, 's', 1_000_000_000),
    };
    let tenths = value / (scale / 10);
    if tenths < 1000 { format!("{}.{}{unit}", tenths / 10, tenths % 10) } else { format!("{}{unit}", tenths / 10) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::PRESETS;
    use crate::result::Figures;
    use crate::stats::Quantiles;

    #[test]
    fn numbers_keep_to_their_columns() {
        for value in [0, 9, 999, 1_000, 9_999, 99_999, 999_999, 1_000_000, 33_554_432, 999_999_999, 1_000_000_000] {
            assert!(time(value).len() <= 5, "{}", time(value));
            assert!(count(value).len() <= 4, "{}", count(value));
            assert!(mbit(value).len() <= 4, "{}", mbit(value));
        }
        assert_eq!((time(33_554_432).as_str(), mbit(310_000).as_str()), ("33.5m", "0.31"));
    }

    #[test]
    fn every_row_fits() {
        let q = Some(Quantiles { p50_ns: 999_999_999, p90_ns: 0, p99_ns: 999_999_999, max_ns: 999_999_999 });
        let figures = Figures {
            payload_bps: Some(948_000_000),
            frames: 99_999,
            irqs: 1_000,
            irq: q,
            deliver: q,
            rtt_p50_ns: Some(999_999_999),
            busy_milli: 1_000,
            ns_per_frame: Some(9_999),
            discards: 999,
            ..Figures::default()
        };
        for preset in &PRESETS {
            for figures in [Some(figures), None] {
                let point = crate::plan::Plan::default().base(preset);
                let result = RunResult { id: 1, point, link: None, got: None, figures, failure: None };
                let row = row(&result);
                assert!(row.len() <= COLUMNS, "{} {row}", row.len());
            }
        }
    }
}
