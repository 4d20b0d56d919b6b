//! PAUSE of our own: what asks for it, when it ends, how often it comes, how long it holds.
//!
//! Watermarks far from 0 and from the ring's size are used, so that the ring never overflows. Our PAUSE comes back
//! through the loop; the MAC ignores it except where how long it holds is the question.

use super::fact::{Ask, Value, Votes, Why};
use super::rig::Rig;
use super::timing::per_unit;
use crate::regs::{rdma, umac};
use crate::settings::RING_SIZE;
use crate::{Clock, DmaMemory, Registers};

/// MIB: PAUSE frames sent, frames sent.
const TX_PF: u32 = 0xcb4;
const TX_PACKETS: u32 = 0xca8;
const XOFF: u16 = 200;
const XON: u16 = 220;
/// Bit 17 of PAUSE_CTRL lets PAUSE be repeated.
const REPEAT: u32 = 1 << 17;
/// From what asks for a PAUSE to its count, us: the frame takes 6.7 us at 100 Mbit/s.
const SENT_US: u32 = 30;
const RUNS: u16 = 3;

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// All questions that one speed can answer.
    pub(super) fn pausing(&mut self) -> Result<(), Why> {
        let found = (umac::PAUSE_CTRL.get(self.regs()), rdma::MASK.get(self.regs()));
        self.mask_polarity();
        if let Some(open) = self.open_mask {
            rdma::MASK.set(self.regs(), open);
            self.ask(Ask::PauseHeld, &mut |rig| rig.held());
            umac::PAUSE_CTRL.set(self.regs(), 0);
            self.levels();
            self.ask(Ask::PauseCount, &mut |rig| rig.repeat(RUNS, &mut |rig, _| rig.counted()));
            self.ask(Ask::PauseRepeat, &mut |rig| rig.repeat(RUNS, &mut |rig, _| rig.repeated()));
        }
        self.calm();
        umac::PAUSE_CTRL.set(self.regs(), found.0);
        rdma::MASK.set(self.regs(), found.1);
        Ok(())
    }

    /// PAUSE sent and, if `obey`, heeded.
    fn let_pause_out(&self, obey: bool) {
        let obey = umac::CMD::RX_PAUSE_IGNORE.val((!obey).into());
        umac::CMD.modify(self.regs(), umac::CMD::TX_PAUSE_IGNORE::CLEAR + obey);
    }

    /// No PAUSE asked for, sent or heeded, and nothing held.
    fn calm(&mut self) {
        self.free(RING_SIZE);
        self.genet.clock.delay_us(SENT_US); // the PAUSE of 0 that ends the last one
        self.watermarks(0, 0);
        umac::CMD.modify(self.regs(), umac::CMD::TX_PAUSE_IGNORE::SET + umac::CMD::RX_PAUSE_IGNORE::SET);
    }

    /// With all descriptors free and watermarks set.
    fn arm(&mut self, obey: bool) -> Result<u32, Why> {
        self.calm();
        self.go_on()?;
        self.watermarks(XOFF.into(), XON.into());
        self.let_pause_out(obey);
        Ok(self.read(TX_PF))
    }

    /// Lets frames pile up until a PAUSE is sent: descriptors that were free then, 0 if none was sent, and the time.
    fn pile_up(&mut self, before: u32) -> Result<(u16, u64), Why> {
        for frames in 1..=RING_SIZE - XOFF + 8 {
            self.bounce()?;
            self.genet.clock.delay_us(SENT_US);
            if self.read(TX_PF) != before {
                return Ok((RING_SIZE - frames, self.now()));
            }
        }
        Ok((0, 0))
    }

    fn mask_polarity(&mut self) {
        let bit = 1 << crate::settings::RxRing::Ring16.number();
        self.ask(Ask::Mask, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                let mut sent = [false; 2];
                for (sent, mask) in sent.iter_mut().zip([0, bit]) {
                    rdma::MASK.set(rig.regs(), mask);
                    let before = rig.arm(false)?;
                    *sent = rig.pile_up(before)?.0 > 0;
                    if *sent {
                        rig.open_mask = Some(mask);
                    }
                }
                match sent {
                    [true, false] => Ok(Value::Word("blocks")),
                    [false, true] => Ok(Value::Word("enables")),
                    [true, true] => Ok(Value::Word("does_nothing")),
                    [false, false] => Err("no_pause_sent"),
                }
            })
        });
    }

    /// Free descriptors where PAUSE begins and ends, and whether every frame below asks again.
    fn levels(&mut self) {
        self.ask(Ask::XoffFree, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                let before = rig.arm(false)?;
                match rig.pile_up(before)?.0 {
                    0 => Err("no_pause_sent"),
                    free => Ok(Value::Number(free.into())),
                }
            })
        });
        self.ask(Ask::XoffTrigger, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                const MORE: u32 = 5;
                let before = rig.arm(false)?;
                rig.pile_up(before)?;
                let first = rig.read(TX_PF);
                for _ in 0..MORE {
                    rig.bounce()?;
                    rig.genet.clock.delay_us(SENT_US);
                }
                Ok(Value::Word(match rig.read(TX_PF).wrapping_sub(first) {
                    0 => "on_entry",
                    MORE => "for_each_frame",
                    _ => "something_else",
                }))
            })
        });
        self.ask(Ask::XonFree, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                let before = rig.arm(false)?;
                let (from, _) = rig.pile_up(before)?;
                let held = rig.read(TX_PF);
                for free in from..=RING_SIZE {
                    rig.free(free);
                    rig.genet.clock.delay_us(SENT_US);
                    if rig.read(TX_PF) != held {
                        return Ok(Value::Number(free.into()));
                    }
                }
                Err("no_pause_sent")
            })
        });
    }

    /// PAUSE frames while the ring stays below XOFF and nothing arrives.
    fn held(&mut self) -> Result<Votes, Why> {
        self.repeat(RUNS, &mut |rig, _| {
            let before = rig.arm(false)?;
            rig.pile_up(before)?;
            rig.pass(20_000)?;
            Ok(Value::Number(rig.read(TX_PF).wrapping_sub(before).into()))
        })
    }

    /// Whether PAUSE frames are among the frames sent.
    fn counted(&mut self) -> Result<Value, Why> {
        let before = self.arm(false)?;
        let packets = self.read(TX_PACKETS);
        self.sent = 0;
        self.pile_up(before)?;
        let pauses = self.read(TX_PF).wrapping_sub(before);
        let others = self.read(TX_PACKETS).wrapping_sub(packets).wrapping_sub(self.sent);
        match others {
            _ if pauses == 0 => Err("no_pause_sent"),
            0 => Ok(Value::Word("in_tx_pf_only")),
            others if others == pauses => Ok(Value::Word("everywhere")),
            _ => Ok(Value::Word("something_else")),
        }
    }

    /// Time from PAUSE to PAUSE for one unit of PAUSE_CTRL: from two settings, so that what is constant drops out.
    fn repeated(&mut self) -> Result<Value, Why> {
        const UNITS: [u16; 2] = [1_000, 3_000];
        const PAUSES: u32 = 4;
        const LIMIT_NS: u64 = 200_000_000;
        let mut periods_ns = [0; 2];
        for (period_ns, units) in periods_ns.iter_mut().zip(UNITS) {
            umac::PAUSE_CTRL.set(self.regs(), REPEAT | u32::from(units));
            let before = self.arm(false)?;
            self.pile_up(before)?;
            let mut first = None;
            let until_ns = self.now() + LIMIT_NS;
            let start = self.read(TX_PF);
            while *period_ns == 0 {
                let pauses = self.read(TX_PF).wrapping_sub(start);
                let now_ns = self.now();
                match first {
                    None if pauses >= 1 => first = Some((pauses, now_ns)),
                    Some((had, at_ns)) if pauses >= had + PAUSES => {
                        *period_ns = (now_ns - at_ns) / u64::from(pauses - had);
                    }
                    _ => {}
                }
                if now_ns > until_ns {
                    umac::PAUSE_CTRL.set(self.regs(), 0);
                    return Err("not_repeated");
                }
            }
            umac::PAUSE_CTRL.set(self.regs(), 0);
        }
        Ok(per_unit(periods_ns[1].saturating_sub(periods_ns[0]), UNITS[1] - UNITS[0]))
    }

    /// How long our own PAUSE holds us, for one quantum: from two settings.
    pub(super) fn quantum(&mut self, ask: Ask) {
        const QUANTA: [u16; 2] = [1_000, 3_000];
        let Some(open) = self.open_mask else { return };
        let found = (umac::PAUSE_QUANTA.get(self.regs()), rdma::MASK.get(self.regs()));
        let control = umac::PAUSE_CTRL.get(self.regs());
        rdma::MASK.set(self.regs(), open);
        umac::PAUSE_CTRL.set(self.regs(), 0);
        self.ask(ask, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                let mut holds_ns = [0; 2];
                for (hold_ns, quanta) in holds_ns.iter_mut().zip(QUANTA) {
                    umac::PAUSE_QUANTA.set(rig.regs(), quanta.into());
                    *hold_ns = rig.hold()?;
                }
                match holds_ns[1].saturating_sub(holds_ns[0]) {
                    0..10_000 => Err("not_held"),
                    hold_ns => Ok(per_unit(hold_ns, QUANTA[1] - QUANTA[0])),
                }
            })
        });
        self.calm();
        umac::PAUSE_CTRL.set(self.regs(), control);
        umac::PAUSE_QUANTA.set(self.regs(), found.0);
        rdma::MASK.set(self.regs(), found.1);
    }

    /// From our PAUSE to the next frame that comes through.
    fn hold(&mut self) -> Result<u64, Why> {
        const LIMIT_US: u64 = 100_000;
        let before = self.arm(true)?;
        let (free, at_ns) = self.pile_up(before)?;
        if free == 0 {
            return Err("no_pause_sent");
        }
        self.send()?;
        let held_ns = self.arrival(LIMIT_US)? - at_ns;
        self.calm();
        Ok(held_ns)
    }
}
