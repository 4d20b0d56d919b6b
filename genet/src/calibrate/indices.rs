//! Index, pointer and discard counter: which take writes when, which decides where a frame goes, how the counter ends.

use super::fact::{Ask, Value, Votes, Why};
use super::rig::Rig;
use crate::bring_up::{start_receive, stop_engine};
use crate::regs::rdma;
use crate::settings::{RING_SIZE, RxRing};
use crate::{Clock, DmaMemory, Engine, Registers, descriptor};
use tock_registers::fields::FieldValue;

const RUNS: u16 = 3;
/// Slot that a pointer is set to while the index says 0.
const OTHER_SLOT: u8 = 5;

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// Writes to what the hardware owns, in the three states of the engine. Needs no frame. The engine stands with an
    /// index that no ring can have while it is looked at and no longer: it is off when an answer is told.
    pub(super) fn index_writes(&mut self) -> Result<(), Why> {
        self.ring = rdma::Ring::at(RxRing::Ring16.number());
        let ring_bit = rdma::CTRL::RINGS.val(1 << RxRing::Ring16.number());
        let index = self.ring.prod_index();
        let pointer = self.ring.write_ptr();
        let mut write_index = |rig: &mut Self, run| {
            let before = rig.index();
            let other = u32::from(before.wrapping_add(0x0123 + run));
            index.set(rig.regs(), other);
            Ok(taken(rig.index().into(), before.into(), other))
        };
        let mut write_pointer = |rig: &mut Self, run| {
            let before = pointer.get(rig.regs());
            let other = (before + 3 * u32::from(1 + run)) % (3 * u32::from(RING_SIZE));
            pointer.set(rig.regs(), other);
            Ok(taken(pointer.get(rig.regs()), before, other))
        };
        self.in_state(Ask::ProdWriteOff, rdma::CTRL::EN::CLEAR, &mut write_index)?;
        self.in_state(Ask::ProdWriteRing, ring_bit, &mut write_index)?;
        self.in_state(Ask::PointerRing, ring_bit, &mut write_pointer)?;
        self.in_state(Ask::ProdWriteRunning, ring_bit + rdma::CTRL::EN::SET, &mut write_index)?;
        self.start(RxRing::Ring16)
    }

    /// Asks with the engine in `state` and an empty ring, and stops it before the answer is told.
    fn in_state(
        &mut self,
        ask: Ask,
        state: FieldValue<u32, rdma::CTRL::Register>,
        measure: &mut dyn FnMut(&mut Self, u16) -> Result<Value, Why>,
    ) -> Result<(), Why> {
        self.stop()?;
        self.ask(ask, &mut |rig| {
            rig.empty();
            rdma::CTRL.write(rig.regs(), state);
            let votes = rig.repeat(RUNS, measure);
            rig.stop()?;
            rig.empty();
            votes
        });
        Ok(())
    }

    /// Producer where the consumer is, as far as it takes the write.
    fn empty(&mut self) {
        self.ring.prod_index().set(self.regs(), 0);
        self.ring.cons_index().set(self.regs(), self.index().into());
    }

    fn stop(&mut self) -> Result<(), Why> {
        let genet = &*self.genet;
        stop_engine(&genet.regs, &genet.clock, Engine::Receive).map_err(|_| "dma_stuck")
    }

    /// Index and pointer name different descriptors: which of them a frame fills.
    pub(super) fn slot_rule(&mut self) -> Result<(), Why> {
        self.ask(Ask::SlotRule, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                rig.stop()?;
                rig.ring.prod_index().set(rig.regs(), 0);
                let by_index = rig.index() as u8;
                let by_pointer = by_index.wrapping_add(OTHER_SLOT);
                rig.ring.set_pointers(rig.regs(), 3 * u32::from(by_pointer));
                for slot in [by_index, by_pointer] {
                    rig.write(rdma::descriptor(slot), 0);
                }
                rig.attach(RxRing::Ring16);
                start_receive(rig.regs(), RxRing::Ring16);
                rig.bounce()?;
                let filled = |slot| descriptor::filled(rig.read(rdma::descriptor(slot)));
                Ok(Value::Word(match (filled(by_index), filled(by_pointer)) {
                    (true, false) => "index",
                    (false, true) => "pointer",
                    _ => "something_else",
                }))
            })
        });
        self.start(RxRing::Ring16)
    }

    /// The discard counter: what it counts, what a write of 0 does, what follows 65535.
    pub(super) fn discards_counted(&mut self) {
        self.ask(Ask::DiscardStep, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                rig.start_with_two()?;
                let before = rig.discards();
                rig.send_many(3)?;
                Ok(Value::Number((rig.discards().wrapping_sub(before) & 0xffff).into()))
            })
        });
        self.ask(Ask::DiscardClear, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                rig.start_with_two()?;
                rig.send_many(3)?;
                if rig.discards() == 0 {
                    return Err("nothing_counted");
                }
                rig.ring.prod_index().set(rig.regs(), 0);
                Ok(Votes::word(rig.discards() == 0, "clears", "ignored"))
            })
        });
        self.ask(Ask::DiscardEnd, &mut |rig| {
            rig.start_with_two()?;
            let mut last = rig.discards();
            // A counter that stands still is at its end, or does not count.
            for _ in 0..0x1_0000 / 256 + 2 {
                rig.send_many(256)?;
                let now = rig.discards();
                if now <= last {
                    return Ok(Votes::once(Value::Word(match (now, last) {
                        (0xffff, 0xffff) => "stays",
                        (now, last) if now < last => "starts_at_0",
                        _ => return Err("stands_still"),
                    })));
                }
                last = now;
            }
            Err("no_end")
        });
        self.free(RING_SIZE);
    }

    /// Two frames come, and all others find no descriptor.
    fn start_with_two(&mut self) -> Result<(), Why> {
        self.free(2);
        self.bounce()?;
        self.bounce()?;
        Ok(())
    }

    /// Sends frames that need not arrive, and waits until the last is through.
    fn send_many(&mut self, frames: u16) -> Result<(), Why> {
        self.go_on()?;
        for _ in 0..frames {
            self.send()?;
        }
        self.pass(200)
    }
}

fn taken(now: u32, before: u32, other: u32) -> Value {
    Value::Word(match now {
        now if now == other => "taken",
        now if now == before => "ignored",
        _ => "something_else",
    })
}
