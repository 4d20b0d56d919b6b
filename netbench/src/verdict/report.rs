//! Verdicts as records and as text.

use super::hypothesis::{Hypothesis, State};
use super::judge::{Judgement, Verdict};
use crate::point::Point;
use crate::record::Recorder;
use core::fmt::{self, Write};

/// A rate for people: `313 kbit/s`, `52.3 Mbit/s`.
pub(crate) struct Rate(pub u64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{} kbit/s", self.0 / 1_000),
            1_000_000..100_000_000 => write!(f, "{}.{} Mbit/s", self.0 / 1_000_000, self.0 / 100_000 % 10),
            _ => write!(f, "{} Mbit/s", self.0 / 1_000_000),
        }
    }
}

/// A time for people.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{}.{} us", self.0 / 1_000, self.0 / 100 % 10),
            _ => write!(f, "{}.{:02} ms", self.0 / 1_000_000, self.0 / 10_000 % 100),
        }
    }
}

/// Writes the `verdict` records.
pub(crate) fn record(recorder: &mut Recorder, out: &mut dyn Write, judgement: &Judgement) {
    for verdict in &judgement.verdicts {
        recorder.record(out, "verdict", |r| {
            r.word("hypothesis", verdict.hypothesis.word());
            r.word("state", verdict.state.word());
            r.word("because", verdict.because);
            r.num("score_milli", score_milli(verdict));
            for (key, value) in &verdict.figures {
                r.num(key, *value);
            }
        });
    }
}

/// How much speaks for the claim, thousandths: 0 refuted, 500 not known, from there to 1000 by the share of the rate
/// that the cause takes.
fn score_milli(verdict: &Verdict) -> u64 {
    match verdict.state {
        State::Refuted => 0,
        State::Open => 500,
        State::Confirmed => match figure(verdict, "ratio_milli") {
            Some(ratio) => 1_000 - 500_000 / ratio.max(1_000),
            None => 1_000,
        },
    }
}

fn figure(verdict: &Verdict, key: &str) -> Option<u64> {
    verdict.figures.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
}

/// Prints what is not, what is not known, and last what is.
pub(crate) fn print(out: &mut dyn Write, judgement: &Judgement, subject: &Point, is_virtual: bool) -> fmt::Result {
    let marked = if is_virtual { " -- virtual: figures of the virtual Pi, not of a board" } else { "" };
    let changes = subject.changes();
    writeln!(out, "\nVerdict for the settings of {} {changes}{marked}\n", subject.preset.name)?;
    for state in [State::Refuted, State::Open, State::Confirmed] {
        for verdict in judgement.verdicts.iter().filter(|v| v.state == state) {
            let word = if state == State::Confirmed { "CONFIRMED" } else { state.word() };
            writeln!(out, "  {word:<9}  {}", verdict.hypothesis.claim())?;
            write!(out, "             ")?;
            because(out, verdict)?;
            writeln!(out)?;
            if state != State::Refuted {
                writeln!(out, "             next: {}", next_step(verdict, subject))?;
            }
        }
    }
    write!(out, "\n  {} with these settings", Rate(judgement.subject.rate_bps()))?;
    if let Some((point, series)) = &judgement.fixed {
        write!(out, ", {} with {}", Rate(series.rate_bps()), point.changes())?;
    }
    writeln!(out, "; {} runs", judgement.runs)
}

/// The figures in a sentence.
fn because(out: &mut dyn Write, verdict: &Verdict) -> fmt::Result {
    let get = |key| figure(verdict, key).unwrap_or(0);
    if let (Some(with), Some(without)) = (figure(verdict, "with_bps"), figure(verdict, "without_bps")) {
        let (a, b) = sides(verdict);
        write!(out, "{a} {}, {b} {} ({} runs); ", Rate(with), Rate(without), get("runs"))?;
        match (figure(verdict, "gap_with_ns"), figure(verdict, "gap_without_ns")) {
            (Some(with), Some(without)) => write!(out, "gaps of {} become {}; ", Time(with), Time(without))?,
            (Some(with), None) => write!(out, "gaps of {} go away; ", Time(with))?,
            _ => {}
        }
    }
    let delay = (figure(verdict, "irq_delay_p50_with_ns"), figure(verdict, "irq_delay_p50_without_ns"));
    if let (Hypothesis::Coalescing, (Some(with), Some(without))) = (verdict.hypothesis, delay) {
        write!(out, "half the frames wait {} for their interrupt, {} without; ", Time(with), Time(without))?;
    }
    match (verdict.hypothesis, verdict.because) {
        (_, "link_full") => {
            write!(out, "{} of a link of {}: it is full", Rate(get("rate_bps")), Rate(get("link_bps")))
        }
        (_, "full_without_cause") => {
            write!(out, "{} of {} once the confirmed causes are removed", Rate(get("rate_bps")), Rate(get("link_bps")))
        }
        (_, "control_is_full") => {
            write!(out, "other settings fill the link: {} against {}", Rate(get("control_bps")), Rate(get("rate_bps")))
        }
        (_, "not_reached") => write!(out, "the runs ended before it was tried"),
        (Hypothesis::Coalescing, "threshold_1") => {
            write!(out, "the threshold reads 1: every frame has its interrupt, whatever the timeout")
        }
        (Hypothesis::Coalescing, "polled") => write!(out, "this driver polls"),
        (Hypothesis::Coalescing, _) => {
            write!(
                out,
                "threshold {}, timeout {} ticks = {}",
                get("thr"),
                get("tmo_ticks"),
                Time(get("tmo_ticks") * 8_192)
            )
        }
        (Hypothesis::PauseSent, _) => write!(out, "{} PAUSE frames sent", get("pause_sent")),
        (Hypothesis::PauseReceived, "not_obeyed") => {
            write!(out, "{} PAUSE frames came, and these settings ignore them", get("pause_received"))
        }
        (Hypothesis::PauseReceived, _) => write!(out, "{} PAUSE frames received", get("pause_received")),
        (Hypothesis::Eee, "not_active") => write!(out, "not agreed on: one end does not offer it"),
        (Hypothesis::Eee, _) => write!(out, "agreed on by both ends"),
        (Hypothesis::Duplex, "negotiated_full") => write!(out, "full duplex was negotiated by both ends"),
        (Hypothesis::Duplex, _) => {
            write!(out, "{} collisions, {} damaged frames", get("collisions"), get("link_errors"))
        }
        (Hypothesis::Lossy, _) => {
            write!(out, "{} damaged frames, {} in a million", get("link_errors"), get("link_errors_ppm"))
        }
        (Hypothesis::Window, _) => {
            write!(out, "window {} bytes, idle round trip {}", get("window_b"), Time(get("rtt_p50_ns")))
        }
        (Hypothesis::Overrun, _) => {
            write!(out, "{} frames discarded beside {} received", get("discards"), get("frames"))
        }
        (Hypothesis::Cpu, _) => write!(out, "busy {} % of the time", get("busy_milli") / 10),
        (Hypothesis::Path, _) => write!(
            out,
            "{} of a link of {}, {}.{:02} times that with more connections",
            Rate(get("rate_bps")),
            Rate(get("link_bps")),
            get("flows_ratio_milli") / 1_000,
            get("flows_ratio_milli") / 10 % 100
        ),
        (Hypothesis::Nothing, "cause_found") => write!(out, "see what is confirmed"),
        (Hypothesis::Nothing, _) => {
            write!(out, "{} of a link of {}", Rate(get("rate_bps")), Rate(get("link_bps")))
        }
    }
}

/// What the two sides of the comparison are called.
fn sides(verdict: &Verdict) -> (&'static str, &'static str) {
    match verdict.hypothesis {
        Hypothesis::Window => ("with half the window", "with all of it"),
        Hypothesis::Lossy => ("one connection", "several"),
        Hypothesis::Cpu => ("with more work a frame", "without"),
        _ => ("as it is", "without the suspect"),
    }
}

/// What whoever reads it should do.
fn next_step(verdict: &Verdict, subject: &Point) -> &'static str {
    let open = verdict.state == State::Open;
    let openbsd = subject.preset.name == "openbsd";
    match verdict.hypothesis {
        Hypothesis::Coalescing if open => {
            "run `verdict` again with gb.window_ms=2000, or `calibrate` to see what the timer does"
        }
        Hypothesis::Coalescing if openbsd => {
            "OpenBSD bse(4): write 10 to 0x3024 (ring 16 MBUF_DONE_THRESH), then 7 to 0x30AC (RING16_TIMEOUT)"
        }
        Hypothesis::Coalescing => {
            "the driver: write 10 to 0x3024 (ring 16 MBUF_DONE_THRESH), then 7 to 0x30AC (RING16_TIMEOUT), or 1 and 0"
        }
        Hypothesis::PauseSent if open => "put a switch that ignores PAUSE between board and gateway, and run again",
        Hypothesis::PauseSent if openbsd => {
            "OpenBSD bse(4): set bit 28 of UMAC_CMD (0x808) unless PAUSE was negotiated; if_rxr_init(.., 32, 256)"
        }
        Hypothesis::PauseSent => {
            "the driver: set TX_PAUSE_IGNORE (UMAC_CMD 0x808, bit 28) unless PAUSE was negotiated; post more than 16 buffers"
        }
        Hypothesis::PauseReceived => "switch flow control off at the other end's port, or find out what congests it",
        Hypothesis::Eee if open => "run again with gb.eee=0 and with gb.eee=1, three repeats each",
        Hypothesis::Eee => "do not offer EEE: MMD 7.60 = 0 (Linux: ethtool --set-eee eth0 eee off), or another switch",
        Hypothesis::Duplex if open => "look at the other end's port: is it set to negotiate?",
        Hypothesis::Duplex => "let both ends negotiate, or force both to the same mode",
        Hypothesis::Lossy => "another cable, another port; look at the other end's error counters",
        Hypothesis::Window if open => "run again with gb.window_b=262144 and gb.window_b=1048576",
        Hypothesis::Window => "a larger receive window (OpenBSD: sysctl net.inet.tcp.recvspace), or a nearer server",
        Hypothesis::Path if open => "run again against a server on this network (gb.url=http://HOST/FILE)",
        Hypothesis::Path => "the board is not it: measure again against a server on this network",
        Hypothesis::Overrun if open => "the ring is full while all descriptors are posted: see the processor's load",
        Hypothesis::Overrun => "the driver: post more descriptors (all 256), and refill them sooner",
        Hypothesis::Cpu if open => "run again with gb.burden_ns=0,1000,2000",
        Hypothesis::Cpu => "fewer interrupts (10 frames or 57 us), or a faster clock (arm_boost=1 in config.txt)",
        Hypothesis::Nothing if open => "nothing that was tried explains it: send this capture with a bug report",
        Hypothesis::Nothing => "look for the trouble elsewhere: the link is full with this driver's settings",
    }
}
