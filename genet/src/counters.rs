//! Counters that never wrap: 64-bit totals of everything that GENET counts in fewer bits.
//!
//! Owns the widening. Hardware counters are read now and then (the byte counts wrap in 34 s at 1 Gbit/s); the driver
//! sees to it that this happens often enough while frames flow.

use crate::Registers;
use crate::descriptor::FrameErrors;
use crate::regs::{Register, mib, rbuf};

/// Totals since bring-up.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Frames handed to the stack.
    pub rx_frames: u64,
    /// Frames that the ring dropped because no descriptor was free.
    pub discards: u64,
    /// Looks that found the 16-bit discard counter at its end, where it may have stood for long: with any, `discards`
    /// is a lower bound.
    pub discards_capped: u64,
    /// Frames lost because RBUF was full.
    pub rbuf_overflow: u64,
    /// Frames that RBUF dropped with an error.
    pub rbuf_errors: u64,
    /// Frames found in the ring though no interrupt had announced them.
    pub rescues: u64,
    /// Frames that came with an error bit, in pieces or with an impossible length; dropped. [`Self::errors`] has the
    /// reasons.
    pub frame_errors: u64,
    /// [`Self::frame_errors`] by reason.
    pub errors: FrameErrors,
    /// Good frames thrown away when the ring was restarted for other settings.
    pub flushed: u64,
    /// Times that PROD_INDEX made no sense and the ring was restarted.
    pub ring_resets: u64,
    /// Frames given to the hardware to send.
    pub tx_frames: u64,
    /// Frames that found the transmit ring full, or were too long, and were dropped.
    pub tx_dropped: u64,
    mib: [Wide; mib::COUNT],
    rbuf: [Wide; 2],
}

impl Counters {
    /// All zero, the hardware's present values being the start.
    pub(crate) fn start<R: Registers>(regs: &R) -> Self {
        let mut counters = Counters {
            rx_frames: 0,
            discards: 0,
            discards_capped: 0,
            rbuf_overflow: 0,
            rbuf_errors: 0,
            rescues: 0,
            frame_errors: 0,
            errors: FrameErrors::default(),
            flushed: 0,
            ring_resets: 0,
            tx_frames: 0,
            tx_dropped: 0,
            mib: [Wide::default(); mib::COUNT],
            rbuf: [Wide::default(); 2],
        };
        for (wide, (_, offset)) in counters.mib.iter_mut().zip(mib::ALL) {
            wide.last = regs.read(offset);
        }
        counters.rbuf[0].last = rbuf::OVFL_CNT.get(regs);
        counters.rbuf[1].last = rbuf::ERR_CNT.get(regs);
        counters
    }

    /// PAUSE frames that the MAC sent.
    pub fn pause_sent(&self) -> u64 {
        self.mib[mib::TX_PF].total
    }

    /// PAUSE frames that the MAC received.
    pub fn pause_received(&self) -> u64 {
        self.mib[mib::RX_PF].total
    }

    /// Every MIB counter: name, total.
    pub fn for_each_mib(&self, mut f: impl FnMut(&'static str, u64)) {
        for (wide, (name, _)) in self.mib.iter().zip(mib::ALL) {
            f(name, wide.total);
        }
    }

    /// One MIB counter by name.
    pub fn mib(&self, name: &str) -> Option<u64> {
        mib::ALL.iter().position(|(known, _)| *known == name).map(|at| self.mib[at].total)
    }

    /// Reads all hardware counters but the ring's.
    pub(crate) fn refresh<R: Registers>(&mut self, regs: &R) {
        for (wide, (_, offset)) in self.mib.iter_mut().zip(mib::ALL) {
            wide.advance_wrapping(regs.read(offset));
        }
        self.rbuf_overflow = self.rbuf[0].advance_saturating(regs, &rbuf::OVFL_CNT);
        self.rbuf_errors = self.rbuf[1].advance_saturating(regs, &rbuf::ERR_CNT);
    }
}

/// A 32-bit hardware counter, widened.
#[derive(Clone, Copy, Debug, Default)]
struct Wide {
    last: u32,
    total: u64,
}

impl Wide {
    fn advance_wrapping(&mut self, now: u32) {
        self.total += u64::from(now.wrapping_sub(self.last));
        self.last = now;
    }

    /// A counter that stays at all ones until 0 is written (as Linux does).
    fn advance_saturating<R: Registers>(&mut self, regs: &R, register: &Register) -> u64 {
        let now = register.get(regs);
        self.total += u64::from(now.checked_sub(self.last).unwrap_or(now));
        self.last = now;
        if now == u32::MAX {
            register.set(regs, 0);
            self.last = 0;
        }
        self.total
    }
}
