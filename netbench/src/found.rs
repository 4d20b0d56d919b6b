//! What the registers met at boot mean, in words: the few that decide how a driver receives that never writes them.
//!
//! Owns the meaning; the values come one by one as they are recorded (`found` records, block and register by name).
//! Facts: Linux bcmgenet.h and bcmgenet.c (bit positions, ticks of 8.192 us), IEEE 802.3 Annex 31B (a quantum is 512 bit times).

use core::fmt::{self, Write};

/// One timeout tick, ns: 1024 cycles of 125 MHz.
const TICK_NS: u64 = 8_192;
/// Longest ring, descriptors.
const MAX_RING: u32 = 256;
/// One PAUSE quantum at 1 Gbit/s, ns.
const QUANTUM_NS: u64 = 512;

/// Registers that the words are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundSummary {
    threshold: Option<u32>,
    timeout: Option<u32>,
    xon_xoff: Option<u32>,
    dma_ctrl: Option<u32>,
    prod_index: Option<u32>,
    cons_index: Option<u32>,
    umac_cmd: Option<u32>,
    pause_quanta: Option<u32>,
    eee_advertisement: Option<u32>,
}

impl FoundSummary {
    /// A register as it was found.
    pub fn note(&mut self, block: &str, register: &str, value: u32) {
        let place = match (block, register) {
            ("rdma", "ring16_mbuf_done_thresh") => &mut self.threshold,
            ("rdma", "ring16_timeout") => &mut self.timeout,
            ("rdma", "ring16_xon_xoff_thresh") => &mut self.xon_xoff,
            ("rdma", "ctrl") => &mut self.dma_ctrl,
            ("rdma", "ring16_prod_index") => &mut self.prod_index,
            ("rdma", "ring16_cons_index") => &mut self.cons_index,
            ("umac", "cmd") => &mut self.umac_cmd,
            ("umac", "pause_quanta") => &mut self.pause_quanta,
            ("phy", "eee_advertisement") => &mut self.eee_advertisement,
            _ => return,
        };
        *place = Some(value);
    }

    /// Writes the block of lines, as far as the registers are known.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "Found before the first write (every register: the `found` records):")?;
        if let (Some(threshold), Some(timeout)) = (self.threshold, self.timeout) {
            coalescing(out, threshold & 0x1ff, timeout & 0xffff)?;
        }
        if let (Some(ctrl), Some(prod), Some(cons)) = (self.dma_ctrl, self.prod_index, self.cons_index) {
            let engine = if ctrl & 1 != 0 { "RUNNING, into somebody's buffers" } else { "off" };
            let ring = if ctrl & 1 << 17 != 0 { "on" } else { "off" };
            let used = if prod & 0xffff != 0 { ": the port was used before" } else { ": not used since reset" };
            writeln!(out, "  RX DMA     engine {engine}, ring 16 {ring}, {} frames received{used}", prod & 0xffff)?;
            if prod & 0xffff != cons & 0xffff {
                writeln!(out, "             {} of them never taken", prod.wrapping_sub(cons) & 0xffff)?;
            }
        }
        if let (Some(cmd), Some(marks)) = (self.umac_cmd, self.xon_xoff) {
            let sends = if cmd & 1 << 28 == 0 { "sent" } else { "not sent" };
            let obeys = if cmd & 1 << 8 == 0 { "obeyed" } else { "not obeyed" };
            write!(out, "  PAUSE      {sends} by the MAC (")?;
            match (marks >> 16, marks & 0xffff) {
                // No ring is that long: what a power-on left there.
                (xoff, xon) if xoff > MAX_RING || xon > MAX_RING => write!(out, "watermarks never programmed")?,
                (xoff, xon) => write!(out, "below {xoff} free descriptors, until {xon}")?,
            }
            writeln!(out, "), {obeys}")?;
        }
        if let Some(quanta) = self.pause_quanta {
            write!(out, "             each holds the other end for {} quanta = ", quanta & 0xffff)?;
            time(out, u64::from(quanta & 0xffff) * QUANTUM_NS)?;
            writeln!(out, " at 1 Gbit/s")?;
        }
        match self.eee_advertisement.map(|bits| bits & 6) {
            Some(0) => writeln!(out, "  EEE        not advertised"),
            Some(_) => writeln!(out, "  EEE        advertised by the PHY"),
            None => Ok(()),
        }
    }
}

fn coalescing(out: &mut dyn Write, frames: u32, ticks: u32) -> fmt::Result {
    write!(out, "  RX ring    interrupt after {frames} frame{} or {ticks} ticks", if frames == 1 { "" } else { "s" })?;
    if ticks > 0 {
        write!(out, " = ")?;
        time(out, u64::from(ticks) * TICK_NS)?;
    }
    match (frames, ticks) {
        (1, _) => writeln!(out, ": a driver that never writes this pair gets one for each frame"),
        (_, 0) => writeln!(out, ", no timer: a driver that never writes this pair waits for the count"),
        _ => writeln!(out, ": a driver that never writes this pair lets frames wait"),
    }
}

/// A time in us below 1 ms, else in ms with three places.
fn time(out: &mut dyn Write, ns: u64) -> fmt::Result {
    match ns {
        0..1_000_000 => write!(out, "{}.{:03} us", ns / 1_000, ns % 1_000),
        _ => {
            let us = (ns + 500) / 1_000;
            write!(out, "{}.{:03} ms", us / 1_000, us % 1_000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(registers: &[(&str, &str, u32)]) -> String {
        let mut summary = FoundSummary::default();
        registers.iter().for_each(|(block, register, value)| summary.note(block, register, *value));
        let mut text = String::new();
        summary.write(&mut text).unwrap();
        text
    }

    #[test]
    fn the_suspects_are_told_in_words() {
        let found = text(&[
            ("rdma", "ring16_mbuf_done_thresh", 511),
            ("rdma", "ring16_timeout", 4096),
            ("rdma", "ring16_xon_xoff_thresh", 5 << 16 | 16),
            ("rdma", "ctrl", 0x2_0000),
            ("rdma", "ring16_prod_index", 0xd6),
            ("rdma", "ring16_cons_index", 0xd4),
            ("umac", "cmd", 1 << 8),
            ("umac", "pause_quanta", 0xffff),
            ("phy", "eee_advertisement", 6),
        ]);
        for words in [
            "511 frames or 4096 ticks = 33.554 ms: a driver that never writes this pair lets frames wait",
            "engine off, ring 16 on, 214 frames received: the port was used before",
            "2 of them never taken",
            "sent by the MAC (below 5 free descriptors, until 16), not obeyed",
            "65535 quanta = 33.554 ms at 1 Gbit/s",
            "EEE        advertised",
        ] {
            assert!(found.contains(words), "no `{words}` in {found}");
        }
        assert!(found.lines().all(|line| line.len() <= 120), "{found}");
    }

    #[test]
    fn other_pairs_and_unknown_registers() {
        let pair = |frames, ticks| {
            text(&[("rdma", "ring16_mbuf_done_thresh", frames), ("rdma", "ring16_timeout", ticks), ("no", "such", 1)])
        };
        assert!(
            pair(1, 0).contains("after 1 frame or 0 ticks: a driver that never writes this pair gets one for each")
        );
        assert!(pair(10, 7).contains("10 frames or 7 ticks = 57.344 us: "));
        assert!(pair(16, 0).contains("no timer"));
        let marks = [("umac", "cmd", 1 << 28), ("rdma", "ring16_xon_xoff_thresh", 0x4dd4_ebdd)];
        assert!(text(&marks).contains("not sent by the MAC (watermarks never programmed), obeyed"));
        assert_eq!(text(&[]).lines().count(), 1, "nothing is made up");
    }
}
