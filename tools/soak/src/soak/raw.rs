//! Numbered frames without a stack: every one compared with what was sent.

use super::phase::{Kind, Phase};
use super::rig::{MS, Rig, Tell};
use crate::heap;
use crate::source::{Lengths, Verdict};
use board::genet::DiscardEnd;
use netbench::Port;
use smoltcp::phy::{Device, RxToken};
use smoltcp::time::Instant;

/// Longest time between two looks at what is to be done, ns.
const TURN_NS: u64 = 10 * MS;
/// PROD_INDEX of receive ring 16; its upper half counts discards (Linux bcmgenet).
const PROD_INDEX: u32 = 0x2000 + 0xC00 + 16 * 0x40 + 0x08;
/// Calls of `progress` are this many frames apart.
const TELL_FRAMES: u64 = 100_000;

/// Which numbers came.
struct Seen {
    first: u64,
    bits: Vec<u64>,
    last: Option<u64>,
    /// Frames that came again.
    again: u64,
    /// Frames that came after one with a higher number.
    late: u64,
    /// First frame that was not right.
    wrong: Option<(u64, usize)>,
}

impl Seen {
    fn note(&mut self, verdict: Verdict) {
        let number = match verdict {
            Verdict::Right(number) => number,
            Verdict::Wrong { number, at } => {
                self.wrong.get_or_insert((number, at));
                return;
            }
            Verdict::Other => return,
        };
        let Some(word) = number.checked_sub(self.first).map(|at| (at / 64) as usize).filter(|at| *at < self.bits.len())
        else {
            self.wrong.get_or_insert((number, 0));
            return;
        };
        let bit = 1 << ((number - self.first) % 64);
        self.again += u64::from(self.bits[word] & bit != 0);
        self.bits[word] |= bit;
        self.late += u64::from(self.last.is_some_and(|last| number < last));
        self.last = Some(number);
    }
}

impl Rig {
    /// Sends and receives the frames of `phase`.
    pub(super) fn raw(&mut self, phase: &Phase, tell: &mut Tell<'_>) -> Result<(), String> {
        let lengths = phase.kind.lengths();
        let first = self.path.borrow_mut().inner_mut().source.next_number();
        let duplicated = self.path.borrow().stats().duplicated;
        let words = (phase.frames / 64 + 2) as usize;
        let mut seen = Seen { first, bits: vec![0; words], last: None, again: 0, late: 0, wrong: None };
        let allocations = heap::of_firmware().allocations;
        if phase.kind == Kind::Flaps {
            self.flap(phase, lengths, &mut seen, tell)?;
        } else {
            self.send(phase.frames, lengths);
            self.receive_all(phase.kind, lengths, &mut seen, tell, |_| false)?;
        }
        self.raw_allocations += heap::of_firmware().allocations - allocations;
        if let Some((number, at)) = seen.wrong {
            return Err(format!("frame {number} (of {first} and up) differs from what was sent at byte {at}"));
        }
        let copies = self.path.borrow().stats().duplicated - duplicated;
        if seen.again > copies || (seen.late > 0 && !phase.kind.has_faults()) {
            return Err(format!(
                "{} frames came again and {} late, but {copies} were doubled on the way",
                seen.again, seen.late
            ));
        }
        Ok(())
    }

    fn send(&mut self, frames: u64, lengths: Lengths) {
        self.path.borrow_mut().inner_mut().source.send(frames, lengths);
        // Whoever is asleep at the other end has to be woken: the port says that it has room.
        self.desk.handle().model(|model, now, env| model.wake_peer(now, env));
    }

    /// Receives until nothing is under way any more or `enough`.
    fn receive_all(
        &mut self,
        kind: Kind,
        lengths: Lengths,
        seen: &mut Seen,
        tell: &mut Tell<'_>,
        enough: impl Fn(&mut Rig) -> bool,
    ) -> Result<(), String> {
        let mut received = 0;
        let mut told = 0;
        let mut next_event = self.below(1_000);
        while self.under_way() > 0 && !enough(self) {
            received += self.receive_batch(lengths, seen);
            if received >= next_event {
                match kind {
                    Kind::Faults => self.inject(),
                    Kind::Stalls => self.stall(),
                    _ => {}
                }
                next_event = received + 1 + self.below(1_000);
            }
            if received - told >= TELL_FRAMES {
                told = received;
                tell(self.received(), self.desk.now_ns());
            }
            if seen.wrong.is_some() {
                break;
            }
        }
        self.receive_batch(lengths, seen);
        Ok(())
    }

    /// One turn of a main loop: waits, takes the batch, looks at the link. Returns its frames.
    fn receive_batch(&mut self, lengths: Lengths, seen: &mut Seen) -> u64 {
        let Rig { desk, checker, .. } = self;
        heap::firmware(|| {
            let deadline_ns = desk.now_ns() + TURN_NS;
            desk.wait(deadline_ns);
            let mut frames = 0;
            while let Some((frame, _)) = desk.receive(Instant::ZERO) {
                frame.consume(|bytes| heap::rest(|| seen.note(checker.check(bytes, lengths))));
                frames += 1;
            }
            desk.link();
            frames
        })
    }

    /// The reader does something else: mostly shortly, sometimes so long that the discard counter runs far.
    fn stall(&mut self) {
        let longest_ms = match self.discards {
            // Above 0xC000 the driver clears the counter; what comes between two looks must fit above that.
            DiscardEnd::Saturates => 10,
            DiscardEnd::Wraps => 25,
        };
        let ns = match self.below(8) {
            0 => MS + self.below(longest_ms * MS),
            _ => MS / 10 + self.below(MS),
        };
        let discards = |rig: &Rig| {
            rig.desk.handle().world(|world| (world.model().peek(PROD_INDEX) >> 16, world.model().stats().discarded))
        };
        let (counter, before) = discards(self);
        self.desk.busy(ns);
        let (_, after) = discards(self);
        if self.discards == DiscardEnd::Wraps {
            self.discard_wraps += (u64::from(counter) + after - before) >> 16;
        }
    }

    /// Pulls the cable while frames flow, goes on sending without a link, and again when it comes back.
    fn flap(&mut self, phase: &Phase, lengths: Lengths, seen: &mut Seen, tell: &mut Tell<'_>) -> Result<(), String> {
        let part = phase.frames / 4;
        self.send(part, lengths);
        let pull_at = 1 + self.below(part);
        self.receive_all(phase.kind, lengths, seen, tell, |rig| rig.source_left() < pull_at)?;
        self.plug(false);
        self.receive_all(phase.kind, lengths, seen, tell, |_| false)?;
        self.send(part, lengths);
        self.receive_all(phase.kind, lengths, seen, tell, |_| false)?;
        self.plug(true);
        while self.desk.handle().world(|world| world.model().link().mode().is_none()) {
            self.turn(MS);
        }
        // The driver does not know of the link yet: what comes now meets a receiver that is off.
        self.send(phase.frames - 2 * part, lengths);
        self.receive_all(phase.kind, lengths, seen, tell, |_| false)
    }

    fn source_left(&mut self) -> u64 {
        self.path.borrow_mut().inner_mut().source.left()
    }
}
