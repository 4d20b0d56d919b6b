//! Calibration: the driver's hardware measures itself, without a network.
//!
//! GENET's public sources leave questions open on which verdicts rest: how long a tick is, what starts the timer, what
//! asks for a PAUSE. With a loopback the MAC sends to itself frames whose times are known, and most of these
//! questions have an answer in microseconds. [`Genet::calibrate`] asks them all, tells each answer with what is
//! documented and how sure it is, and leaves MAC, ring and PHY as they were; the link, which a PHY's loopback takes
//! down, comes back by negotiation.
//!
//! What is asked is in `fact`; how frames are sent and watched in `rig`; the loopbacks in `modes`; the questions
//! themselves in the other files. Nothing waits without a limit, so hardware that does nothing makes open facts.

mod counting;
mod fact;
mod indices;
mod modes;
mod passing;
mod pausing;
mod rig;
mod timing;

pub use fact::{Ask, Fact, QUESTIONS, Question, Sure, Value, Why};

use crate::bring_up::{FRAME_END_US, flush_rbuf, flush_transmit, start_transmit, stop_engine, stop_mac};
use crate::driver::Genet;
use crate::regs::{ext, rdma, umac};
use crate::settings::{RxRing, RxSettings};
use crate::{BringUpError, Clock, DmaMemory, Engine, Registers, Speed};
use fact::Votes;
use modes::MODES;
use phy::{Bcm54210e, PhyState};
use rig::Rig;

/// How long a calibration takes, ms, without the link's return: mostly waits that show that nothing comes.
pub const TAKES_MS: u32 = 2_000;
/// How long the link may take to come back after that, ms.
pub const LINK_RETURNS_MS: u32 = 3_000;

/// Who is told.
pub trait Audience {
    /// An answer. Nothing is under way; when it returns, whatever it printed has left.
    fn fact(&mut self, fact: &Fact);

    /// Somebody wants an end. Asked every 10 ms or so, never between a frame and what it sets off.
    fn stop_wanted(&mut self, now_ns: u64) -> bool;
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Somebody wanted an end.
    pub stopped: bool,
    /// Frames came back in some loop.
    pub looped: bool,
    /// What could not be put back, if something could not.
    pub not_restored: Option<Why>,
}

/// Registers that are put back, beside UMAC_CMD.
const KEPT: [u32; 6] = [
    umac::MAX_FRAME_LEN.offset(),
    umac::PAUSE_QUANTA.offset(),
    umac::PAUSE_CTRL.offset(),
    umac::MDF_CTRL.offset(),
    rdma::MASK.offset(),
    ext::RGMII_OOB_CTRL.offset(),
];
/// Of each ring.
const KEPT_OF_RING: usize = 3;

fn kept_of_ring(ring: RxRing) -> [u32; KEPT_OF_RING] {
    let ring = rdma::Ring::at(ring.number());
    [ring.mbuf_done_thresh().offset(), ring.timeout().offset(), ring.xon_xoff_thresh().offset()]
}

/// What they held.
struct Kept {
    command: u32,
    registers: [u32; KEPT.len()],
    /// Of the ring in use and of the other.
    rings: [(RxRing, [u32; KEPT_OF_RING]); 2],
    /// Frames sent so far.
    sent: u64,
}

impl<R: Registers, D: DmaMemory, C: Clock> Genet<R, D, C> {
    /// Asks all of [`QUESTIONS`] and tells `audience` each answer. Takes about [`TAKES_MS`].
    ///
    /// Frames that wait to be received or sent are lost. Settings are as before afterwards; the link has to come back, and
    /// whoever supervises it must take it for gone (`LinkState::default()`) until the PHY says otherwise.
    pub fn calibrate(&mut self, phy: &mut Bcm54210e, audience: &mut dyn Audience) -> Outcome {
        let settings = self.settings;
        self.end_batch();
        self.irq.mask(&self.regs);
        let kept = self.keep();
        self.leave_the_wire();
        let phy_found = phy.state(&mut self.mdio()).ok();
        let mut rig = Rig::new(self, audience);
        let ended = rig.all(phy, phy_found.as_ref());
        let looped = ended == Ok(true);
        rig.close(match ended {
            Ok(true) => "not_reached",
            Ok(false) => "no_loopback",
            Err(why) => why,
        });
        let stopped = rig.is_stopped();
        let not_restored = self.restore(&settings, &kept, phy, phy_found.as_ref());
        Outcome { stopped, looped, not_restored }
    }

    /// Nothing is received and no PAUSE is sent from here on: what is written to the ring must mean nothing to a partner,
    /// and what a partner sends must not land in it.
    fn leave_the_wire(&self) {
        umac::CMD.modify(&self.regs, umac::CMD::RX_EN::CLEAR + umac::CMD::TX_PAUSE_IGNORE::SET);
        umac::CMD.get(&self.regs);
        self.clock.delay_us(FRAME_END_US);
        self.rx.ring().xon_xoff_thresh().set(&self.regs, 0);
    }

    fn keep(&self) -> Kept {
        let read = |offset| self.regs.read(offset);
        Kept {
            command: umac::CMD.get(&self.regs),
            registers: KEPT.map(read),
            rings: [RxRing::Ring16, RxRing::Ring0].map(|ring| (ring, kept_of_ring(ring).map(read))),
            sent: self.tx.frames,
        }
    }

    /// Starts the transmit ring anew, empty: a frame that never left a loop must not go onto the wire one day. The MAC
    /// is off.
    fn restart_transmit(&mut self) -> Result<(), BringUpError> {
        let stopped = stop_engine(&self.regs, &self.clock, Engine::Transmit);
        flush_transmit(&self.regs, &self.clock);
        if stopped.is_ok() {
            self.tx.start(&self.regs);
        }
        start_transmit(&self.regs);
        stopped
    }

    /// Puts everything back; what failed first. The MAC is off until all else is in place.
    fn restore(
        &mut self,
        settings: &RxSettings,
        kept: &Kept,
        phy: &mut Bcm54210e,
        phy_found: Option<&PhyState>,
    ) -> Option<Why> {
        stop_mac(&self.regs, &self.clock);
        let transmit_back = self.tx.frames == kept.sent || self.restart_transmit().is_ok();
        flush_rbuf(&self.regs, &self.clock);
        let phy_back = phy_found.is_none_or(|found| phy.restore(&mut self.mdio(), found).is_ok());
        let ring_back = self.restart_ring(settings.ring, settings.posted).is_ok();
        KEPT.into_iter().zip(kept.registers).for_each(|(offset, value)| self.regs.write(offset, value));
        for (ring, values) in kept.rings {
            kept_of_ring(ring).into_iter().zip(values).for_each(|(offset, value)| self.regs.write(offset, value));
        }
        let enables = umac::CMD::TX_EN::SET + umac::CMD::RX_EN::SET;
        umac::CMD.set(&self.regs, kept.command & !enables.mask());
        let applied = self.apply(settings);
        if phy_found.is_some() {
            // The link is gone until the PHY has negotiated anew.
            self.link_changed(&crate::LinkState::default());
        }
        umac::CMD.set(&self.regs, kept.command);
        match applied {
            _ if !phy_back => Some("phy"),
            _ if !ring_back => Some("ring"),
            _ if !transmit_back => Some("transmit_ring"),
            Err(_) => Some("settings"),
            Ok(got) => got.ignored(settings),
        }
    }
}

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// Everything, in all loops. True if any returned frames.
    fn all(&mut self, phy: &mut Bcm54210e, phy_found: Option<&PhyState>) -> Result<bool, Why> {
        self.as_found();
        self.index_writes()?;
        let mut looped = false;
        for mode in MODES {
            if mode.by_phy && phy_found.is_none() {
                self.mode = mode;
                self.ask(mode.asks, &mut |_| Err("no_mdio"));
                continue;
            }
            if self.is_stopped() || !self.enter(mode, phy) {
                continue;
            }
            // A step that cannot go on leaves its questions open, and the next begins with a fresh ring.
            let _ = self.in_loop(phy, phy_found, looped);
            looped = true;
        }
        Ok(looped)
    }

    /// What an untouched driver gets.
    fn as_found(&mut self) {
        let found = self.genet.found.coalescing(RxRing::Ring16);
        for (ask, value) in [(Ask::ResetThreshold, found.threshold), (Ask::ResetTimeout, found.timeout_ticks)] {
            self.ask(ask, &mut |_| Ok(Votes::once(Value::Number(value.into()))));
        }
    }

    /// The questions that this loop can answer and that are not answered yet.
    fn in_loop(&mut self, phy: &mut Bcm54210e, found: Option<&PhyState>, again: bool) -> Result<(), Why> {
        self.tick(Ask::Tick);
        if !again {
            self.timer_start();
            self.timer_writes();
            self.count_restart();
            self.threshold_zero();
            self.threshold_zero_timer();
            self.timeout_zero();
            self.large_thresholds();
            self.start(RxRing::Ring16)?;
            self.done_bits(&[(Ask::Pdone, true), (Ask::Bdone, false)]);
            self.ring_0()?;
            self.slot_rule()?;
            self.discards_counted();
            self.start(RxRing::Ring16)?;
            self.pausing()?;
            self.empty_filter();
        }
        let quantum = if self.mode.speed == Speed::Mbps1000 { Ask::Quantum1000 } else { Ask::Quantum100 };
        if !self.is_answered(quantum) {
            self.quantum(quantum);
        }
        if self.mode.speed == Speed::Mbps100 && !self.is_answered(Ask::LongFrames) {
            self.long_frames();
        }
        if let Some(found) = found
            && self.mode.by_phy
            && !self.is_answered(Ask::RgmiiTx)
        {
            self.clock_delays(phy, found);
        }
        Ok(())
    }
}
