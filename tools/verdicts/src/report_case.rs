//! The four measurements of the bug report as worlds, under each candidate cause: which cause yields all four?
//!
//! OpenBSD's receive settings on the same board: one download and four at a time through the gateway (100 Mbit/s access,
//! 40 ms), one from the house LAN, and one through the gateway with 100 Mbit/s full duplex forced on the board's side.
//! What the report says of them is in each [`MEASUREMENTS`] entry. The house LAN's switch keeps to 802.3: it obeys PAUSE
//! only as negotiated, and its port wakes in time.

use crate::removal::Setting;
use crate::session::{Session, run};
use crate::variant::Variant;
use anyhow::Result;
use board::genet::XoffTrigger;
use board::host::Congestion;
use board::link::{ObeyPause, PauseFlood};
use board::path::{Bottleneck, PathConfig};
use std::fmt::Write;
use std::ops::Range;
use vpi4::MachineConfig;
use vpi4::image::Image;

/// Receive window of a connection, bytes.
const WINDOW_B: u64 = 64 << 10;
const PLAN: &str = "gb.presets=openbsd gb.warmup_ms=1500 gb.window_ms=4000 gb.window_frames=8000 gb.rtt_probes=0";
/// 65535 quanta at 1000 Mbit/s, ns; 4096 ticks are 512 ns more.
const SUSPECT_NS: u64 = 33_553_920;
/// How near a gap must be to a small multiple of it, millionths.
const NEAR_PPM: u64 = 20_000;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Payload, B/s.
    pub rate_bytes_per_s: u64,
    /// Median of the gaps of at least 1 ms, ns.
    pub gap_ns: Option<u64>,
}

/// A measurement of the report.
pub struct Measurement {
    /// What it was.
    pub name: &'static str,
    /// What the report says.
    pub reported: &'static str,
    shape: fn(&mut Setting),
    words: &'static str,
    /// It is of the kind that was reported, given the first measurement.
    form: fn(Figure, Figure) -> bool,
    /// The figure itself is about what was reported, B/s.
    figure: Range<u64>,
}

/// All four.
pub const MEASUREMENTS: [Measurement; 4] = [
    Measurement {
        name: "one flow",
        reported: "25 to 35 kB/s, gaps of k x 33.554 ms",
        shape: gateway,
        words: "",
        form: |figure, _| figure.rate_bytes_per_s < 150_000 && figure.gap_ns.is_some_and(is_suspect),
        figure: 20_000..45_000,
    },
    Measurement {
        name: "four flows",
        reported: "34.7 kB/s: no more than one",
        shape: gateway,
        words: "gb.flows=4",
        form: |figure, one| figure.rate_bytes_per_s > 0 && figure.rate_bytes_per_s <= one.rate_bytes_per_s * 13 / 10,
        figure: 20_000..45_000,
    },
    Measurement {
        name: "house LAN",
        reported: "about 6 MB/s",
        shape: house,
        words: "",
        form: |figure, one| one.rate_bytes_per_s > 0 && figure.rate_bytes_per_s > 50 * one.rate_bytes_per_s,
        figure: 3_000_000..12_000_000,
    },
    Measurement {
        name: "forced 100FD",
        reported: "119 kB/s: faster, and still slow",
        shape: gateway,
        words: "gb.link=forced100full",
        form: |figure, one| {
            one.rate_bytes_per_s > 0 && (2..20).contains(&(figure.rate_bytes_per_s / one.rate_bytes_per_s))
        },
        figure: 60_000..240_000,
    },
];

/// A cause that was suggested, as a configuration of the models.
pub struct Candidate {
    /// As in the list of causes.
    pub id: &'static str,
    /// What it is.
    pub about: &'static str,
    /// On every network.
    board: fn(&mut Setting),
    /// At the gateway only.
    gateway: fn(&mut Setting),
    words: &'static str,
}

/// All that were suggested.
pub const CANDIDATES: [Candidate; 9] = [
    Candidate {
        id: "none",
        about: "nothing wrong but two buffers at first",
        board: |_| {},
        gateway: |_| {},
        words: "",
    },
    Candidate {
        id: "H1",
        about: "frames wait 4096 ticks, none is lost",
        board: |s| {
            left_alone(s);
            s.machine.board.genet.ideal.patient = true;
        },
        gateway: |_| {},
        words: "",
    },
    Candidate {
        id: "H1b",
        about: "frames wait 4096 ticks in a small ring",
        board: left_alone,
        gateway: |_| {},
        words: "",
    },
    Candidate {
        id: "H2",
        about: "few free descriptors ask for PAUSE, the gateway obeys",
        board: level,
        gateway: obeys,
        words: "",
    },
    Candidate {
        id: "H2b",
        about: "PAUSE is asked for however many are free",
        board: level,
        gateway: obeys,
        words: "gb.xoff=300 gb.xon=300",
    },
    Candidate {
        id: "H3",
        about: "EEE: the gateway wakes the link too early",
        board: |_| {},
        gateway: |s| {
            let partner = &mut s.machine.board.link.partner;
            (partner.eee, partner.eee_early_ns, partner.eee_bad_wakes_ppm) = (0x6, 15_000, 300_000);
        },
        words: "",
    },
    Candidate {
        id: "H4",
        about: "clock timing at 1000 Mbit/s: a fifth of the frames is damaged",
        board: |s| s.machine.board.link.to_board_fcs_ppm = 200_000,
        gateway: |_| {},
        words: "",
    },
    Candidate {
        id: "H5",
        about: "a small ring and a slow core lose bursts",
        board: |s| s.machine.cost.cpu_hz /= 5,
        gateway: |_| {},
        words: "",
    },
    Candidate {
        id: "H6",
        about: "the gateway's PAUSE holds our acknowledgements",
        board: |_| {},
        gateway: |s| {
            let flood =
                PauseFlood { from_ns: 0, until_ns: u64::MAX, interval_ns: SUSPECT_NS + 100_000, quanta: 65_535 };
            s.machine.board.link.partner.pause_flood = Some(flood);
        },
        words: "",
    },
];

fn gateway(s: &mut Setting) {
    let board = &mut s.machine.board;
    let there = PathConfig::round_trip(40_000_000);
    (board.path.to_board_ns, board.path.from_board_ns) = (there.to_board_ns, there.from_board_ns);
    board.path.to_board_bottleneck = Some(Bottleneck { bps: 100_000_000, queue_bytes: 1 << 20 });
    board.peer.congestion = Congestion::Cubic;
}

fn house(s: &mut Setting) {
    let there = PathConfig::round_trip(500_000);
    (s.machine.board.path.to_board_ns, s.machine.board.path.from_board_ns) = (there.to_board_ns, there.from_board_ns);
    s.machine.board.peer.congestion = Congestion::Cubic;
}

fn left_alone(s: &mut Setting) {
    Variant { threshold: 0, timeout_ticks: 4096, ..Variant::BASE }.apply(&mut s.machine.board);
}

fn level(s: &mut Setting) {
    s.machine.board.genet.switches.xoff = XoffTrigger::EachFrame;
}

fn obeys(s: &mut Setting) {
    s.machine.board.link.partner.obeys_pause = ObeyPause::Always;
}

fn is_suspect(gap_ns: u64) -> bool {
    (1..=3).any(|k| gap_ns.abs_diff(k * SUSPECT_NS) <= k * SUSPECT_NS / 1_000_000 * NEAR_PPM)
}

/// One measurement under one cause.
///
/// # Errors
/// The session failed.
pub fn measure(image: &Image, candidate: &Candidate, measurement: &Measurement, seed: u64) -> Result<Figure> {
    let mut machine = MachineConfig::default();
    machine.board = machine.board.seeded(seed);
    let mut setting = Setting { machine, window_b: WINDOW_B, words: "" };
    (measurement.shape)(&mut setting);
    (candidate.board)(&mut setting);
    if measurement.name != "house LAN" {
        (candidate.gateway)(&mut setting);
    }
    // The damage of wrong clock delays is at 1000 Mbit/s: at 100 the MAC samples nibbles.
    if measurement.words.contains("forced100") {
        setting.machine.board.link.to_board_fcs_ppm = 0;
    }
    let words = format!("{PLAN} gb.window_b={WINDOW_B} {} {}", measurement.words, candidate.words);
    Ok(figure(&run(image, &setting, &words)?))
}

fn figure(session: &Session) -> Figure {
    let of = |kind: &str| session.records.entries.iter().find(|entry| entry.kind == kind);
    let time = |key| of("run").and_then(|entry| entry.num(key)).unwrap_or(0);
    let window_ns = time("end_ns").saturating_sub(time("start_ns")).max(1);
    let payload_b = of("result").and_then(|entry| entry.num("payload_b")).unwrap_or(0);
    Figure {
        rate_bytes_per_s: (u128::from(payload_b) * 1_000_000_000 / u128::from(window_ns)) as u64,
        gap_ns: of("result").and_then(|entry| entry.num("gap_p50_ns")),
    }
}

/// The table, causes by measurements, and how many each yields, in form and in figures.
pub fn render(table: &[(usize, [Figure; 4])]) -> String {
    let mut out = String::from("| Cause | |");
    for measurement in &MEASUREMENTS {
        let _ = write!(out, " {} |", measurement.name);
    }
    out.push_str(" Form | Figures |\n|---|---|---|---|---|---|---|---|\n| report | |");
    for measurement in &MEASUREMENTS {
        let _ = write!(out, " {} |", measurement.reported);
    }
    out.push_str(" | |\n");
    for (index, figures) in table {
        let candidate = &CANDIDATES[*index];
        let _ = write!(out, "| {} | {} |", candidate.id, candidate.about);
        for (measurement, figure) in MEASUREMENTS.iter().zip(figures) {
            let gap = figure.gap_ns.map_or(String::new(), |ns| format!(", gaps {:.3} ms", ns as f64 / 1e6));
            let form = if (measurement.form)(*figure, figures[0]) { "form" } else { "-" };
            let exact = if measurement.figure.contains(&figure.rate_bytes_per_s) { ", figure" } else { "" };
            let _ = write!(out, " {:.1} kB/s{gap}: {form}{exact} |", figure.rate_bytes_per_s as f64 / 1e3);
        }
        let (form, exact) = yields(figures);
        let _ = writeln!(out, " {form} of 4 | {exact} of 4 |");
    }
    out
}

/// How many of the measurements these are like: in form, and in figures.
pub fn yields(figures: &[Figure; 4]) -> (usize, usize) {
    let each = || MEASUREMENTS.iter().zip(figures);
    let form = each().filter(|(measurement, figure)| (measurement.form)(**figure, figures[0])).count();
    let exact = each().filter(|(measurement, figure)| measurement.figure.contains(&figure.rate_bytes_per_s)).count();
    (form, exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reports_own_figures_match_and_others_do_not() {
        let figure = |rate_bytes_per_s, gap_ns| Figure { rate_bytes_per_s, gap_ns };
        let report = [
            figure(34_200, Some(33_554_100)),
            figure(34_700, Some(33_554_000)),
            figure(6_000_000, None),
            figure(119_000, None),
        ];
        assert_eq!(yields(&report), (4, 4));
        let delay_alone =
            [figure(845_000, Some(33_554_432)), figure(3_380_000, None), figure(845_000, None), figure(845_000, None)];
        assert_eq!(yields(&delay_alone), (0, 0));
        assert!(is_suspect(67_107_840) && !is_suspect(40_000_000));
    }
}
