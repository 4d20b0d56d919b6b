//! One point of a plan: everything that is set before a window, and how it is told.
//!
//! Owns the settings of a point and their words in records and tables. Which points there are is the plan's business.

use crate::presets::Preset;
use crate::record::Fields;
use alloc::string::String;
use core::fmt::{self, Write};
use genet::{LinkMode, LinkSettings, Pause, Posted, RxMode, RxReadback, RxSettings, Speed};

/// Name of a point whose settings are no preset's.
pub const CUSTOM: &str = "custom";

/// What is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Receive settings of the MAC.
    pub rx: RxSettings,
    /// What is asked of the link.
    pub link: LinkSettings,
    /// Connections.
    pub flows: u16,
    /// TCP receive window of a flow, bytes.
    pub window_b: u64,
    /// Time an acknowledgement may wait for another segment, ms; 0: it goes out when the stack is polled.
    pub ack_delay_ms: u16,
    /// Time that is spent on each frame in addition, ns: an experiment on what the processor's speed does.
    pub burden_ns: u32,
    /// Another core watches frames arrive.
    pub watch: bool,
}

/// One point in its place in the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The preset that it starts from.
    pub preset: &'static Preset,
    /// It is exactly the preset; otherwise axes of the plan changed something, and it is called [`CUSTOM`].
    pub is_preset: bool,
    /// What is set.
    pub setup: Setup,
    /// Which of its repeats, from 1.
    pub rep: u32,
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Point {
    /// The `preset` word of records.
    pub fn name(&self) -> &'static str {
        if self.is_preset { self.preset.name } else { CUSTOM }
    }

    /// The same point, another time.
    pub fn same_but_for_rep(&self, other: &Point) -> bool {
        Point { rep: 0, ..*self } == Point { rep: 0, ..*other }
    }

    /// What differs from the preset that it starts from, as plan words.
    pub fn changes(&self) -> String {
        let mut text = String::new();
        let mut mine = Words::default();
        let mut base = Words::default();
        words(&self.setup, &mut mine);
        words(&Setup { rx: self.preset.settings, link: self.preset.link, ..self.setup }, &mut base);
        for ((key, value), (_, before)) in mine.0.iter().zip(&base.0) {
            if value != before {
                let _ = write!(text, "{}{key}={value}", if text.is_empty() { "" } else { " " });
            }
        }
        text
    }
}

#[derive(Default)]
struct Words(alloc::vec::Vec<(&'static str, Value)>);

/// A value as a record holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

impl Words {
    fn num(&mut self, key: &'static str, value: u64) {
        self.0.push((key, Value::Number(value)));
    }

    fn word(&mut self, key: &'static str, value: &'static str) {
        self.0.push((key, Value::Word(value)));
    }

    fn found(&mut self, key: &'static str, value: Option<u64>) {
        self.number_or(key, value, "found");
    }

    fn number_or(&mut self, key: &'static str, value: Option<u64>, word: &'static str) {
        self.0.push((key, value.map_or(Value::Word(word), Value::Number)));
    }
}

/// Every setting of the MAC and the link under its record key, in one order.
fn words(setup: &Setup, w: &mut Words) {
    let s = &setup.rx;
    w.found("thr", s.threshold.map(u64::from));
    w.found("tmo_ticks", s.timeout_ticks.map(u64::from));
    w.num("posted", s.posted.at_start().into());
    w.num("grow", matches!(s.posted, Posted::Growing { .. }).into());
    w.num("xoff", s.xoff.into());
    w.num("xon", s.xon.into());
    match s.pause {
        Pause::Negotiated => {
            w.word("tx_pause", "auto");
            w.word("rx_pause", "auto");
        }
        Pause::Forced { send, obey } => {
            w.num("tx_pause", send.into());
            w.num("rx_pause", obey.into());
        }
    }
    w.found("quanta", s.quanta.map(u64::from));
    w.num("ring", s.ring.number().into());
    w.number_or("id_mode", s.id_mode_dis.map(u64::from), "auto");
    w.word("mode", mode_word(s.mode));
    w.word("link", link_word(setup.link.mode));
    w.word("adv_pause", advertised_word(&setup.link));
    w.found("eee", setup.link.eee.map(|eee| (eee != 0).into()));
    w.num("rxc_skew", setup.link.rxc_skew.into());
    w.num("gtxclk_delay", setup.link.gtxclk_delay.into());
}

/// Adds the parameters of a point, as asked.
pub(crate) fn asked(r: &mut Fields<'_>, point: &Point) {
    r.word("preset", point.name());
    if !point.is_preset {
        r.word("base", point.preset.name);
    }
    let mut w = Words::default();
    words(&point.setup, &mut w);
    for (key, value) in w.0 {
        match value {
            Value::Number(number) => r.num(key, number),
            Value::Word(word) => r.word(key, word),
        }
    }
    if point.setup.burden_ns > 0 {
        r.num("burden_ns", point.setup.burden_ns);
    }
}

/// Adds what the peer sees of a point.
pub(crate) fn workload(r: &mut Fields<'_>, point: &Point) {
    r.num("rep", point.rep);
    r.word("workload", "http");
    r.num("flows", point.setup.flows);
    r.num("window_b", point.setup.window_b);
    r.num("ack_ms", point.setup.ack_delay_ms);
    r.num("watch", point.setup.watch);
}

/// Adds the parameters as the hardware holds them.
pub(crate) fn read_back(r: &mut Fields<'_>, got: &RxReadback) {
    r.num("thr_got", got.threshold);
    r.num("tmo_ticks_got", got.timeout_ticks);
    r.num("posted_got", got.posted);
    r.num("xoff_got", got.xoff);
    r.num("xon_got", got.xon);
    r.num("tx_pause_got", got.send_pause as u8);
    r.num("rx_pause_got", got.obey_pause as u8);
    r.num("quanta_got", got.quanta);
    r.num("ring_got", got.ring.number());
    r.num("id_mode_got", got.id_mode_dis as u8);
    r.word("mode_got", mode_word(got.mode));
}

fn mode_word(mode: RxMode) -> &'static str {
    match mode {
        RxMode::Interrupt => "irq",
        RxMode::Poll => "poll",
    }
}

/// Words of `gb.adv_pause`, by ANAR bits 10 (symmetric) and 11 (asymmetric).
pub(crate) const ADVERTISED: [(&str, u64); 4] = [("none", 0), ("sym", 1), ("asym", 2), ("both", 3)];

fn advertised_word(link: &LinkSettings) -> &'static str {
    ADVERTISED[usize::from(link.pause) + 2 * usize::from(link.asymmetric_pause)].0
}

/// Words of `gb.link`.
pub(crate) const LINK_MODES: [(&str, LinkMode); 8] = [
    ("auto", LinkMode::Auto),
    ("auto1000", LinkMode::AutoAt(Speed::Mbps1000)),
    ("auto100", LinkMode::AutoAt(Speed::Mbps100)),
    ("auto10", LinkMode::AutoAt(Speed::Mbps10)),
    ("forced100full", LinkMode::Forced { speed: Speed::Mbps100, full_duplex: true }),
    ("forced100half", LinkMode::Forced { speed: Speed::Mbps100, full_duplex: false }),
    ("forced10full", LinkMode::Forced { speed: Speed::Mbps10, full_duplex: true }),
    ("forced10half", LinkMode::Forced { speed: Speed::Mbps10, full_duplex: false }),
];

pub(crate) fn link_word(mode: LinkMode) -> &'static str {
    LINK_MODES.iter().find(|(_, known)| *known == mode).map_or("auto", |(word, _)| word)
}
