//! `calibrate`: facts on the console while they are measured, and as records afterwards.

use crate::board::uart::{self, Console};
use crate::board::watchdog;
use crate::irq;
use crate::mem::kept;
use crate::port::BoardPort;
use alloc::vec::Vec;
use core::fmt::Write;
use genet::calibrate::{Audience, Fact, LINK_RETURNS_MS, QUESTIONS, TAKES_MS};
use netbench::Port;
use netbench::fact;
use netbench::record::Recorder;

/// Facts beyond one for each question: those that every loop answers.
const MORE_FACTS: usize = 8;

/// Prints each fact when nothing is being measured, and keeps it.
struct Told {
    facts: Vec<Fact>,
    via: &'static str,
}

impl Audience for Told {
    fn fact(&mut self, fact: &Fact) {
        if self.via != fact.via {
            self.via = fact.via;
            let _ = writeln!(Console, "loopback {}", fact.via);
        }
        let _ = fact::write_line(&mut Console, fact);
        if self.facts.len() < self.facts.capacity() {
            self.facts.push(*fact);
        }
        // The queue's interrupts must not fall into the next measurement.
        uart::flush();
    }

    fn stop_wanted(&mut self, now_ns: u64) -> bool {
        irq::turn();
        watchdog::feed(now_ns);
        uart::stop_wanted(now_ns)
    }
}

/// Measures, prints, records; ends with `bye`.
pub fn calibrate(port: &mut BoardPort, recorder: &mut Recorder) {
    kept::note(format_args!("calibrating"));
    let had_link = port.link().up;
    let virtually = if recorder.is_virtual() { " -- virtual" } else { "" };
    let _ = writeln!(
        Console,
        "Calibration{virtually}: {} questions, about {} s; then the link needs up to {} s. Ctrl-C ends it with what it has.",
        QUESTIONS.len(),
        TAKES_MS / 1_000,
        LINK_RETURNS_MS / 1_000
    );
    let _ = fact::write_head(&mut Console);
    let mut told = Told { facts: Vec::with_capacity(QUESTIONS.len() + MORE_FACTS), via: "" };
    uart::flush();
    let outcome = port.calibrate(&mut told);
    for fact in &told.facts {
        fact::record(&mut Console, recorder, fact);
        uart::flush();
    }
    let open = told.facts.iter().filter(|fact| fact.answer.is_err()).count();
    let differ = told.facts.iter().filter(|fact| fact.agrees() == Some(false)).count();
    let _ = writeln!(
        Console,
        "{} facts, {open} of them open, {differ} not as documented{}",
        told.facts.len(),
        if outcome.stopped { "; stopped" } else { "" }
    );
    if !outcome.looped && !outcome.stopped {
        let _ = writeln!(Console, "No loopback returned a frame: only what needs none was measured.");
    }
    if let Some(what) = outcome.not_restored {
        let _ = writeln!(Console, "Not put back as it was: {what}. Reboot before the next measurement.");
    }
    if had_link {
        await_link(port);
    }
    let rc = match (outcome.stopped, outcome.not_restored.is_some(), outcome.looped) {
        (true, ..) => "stopped",
        (_, true, _) => "not.restored",
        (.., false) => "no.loopback",
        _ => "ok",
    };
    recorder.bye_without_runs(&mut Console, rc);
}

/// Waits for the link that a PHY's loopback took down. A Ctrl-C ends this too.
fn await_link(port: &mut BoardPort) {
    let until_ns = port.now_ns() + 2 * 1_000_000 * u64::from(LINK_RETURNS_MS);
    while !port.link().up {
        let now_ns = port.now_ns();
        if now_ns >= until_ns || uart::stop_wanted(now_ns) {
            let _ = writeln!(Console, "The link is not back yet.");
            return;
        }
        port.wait(now_ns + 50_000_000);
    }
}
