//! The ring's count of frames: what starts it again, what its ends mean, and what else latches for a frame.

use super::fact::{Ask, Value, Votes, Why};
use super::rig::Rig;
use crate::regs::intrl2::{CLEAR_0, EVENTS, STAT_0};
use crate::settings::{RING_SIZE, RxRing};
use crate::{Clock, DmaMemory, Registers};

/// A timeout that does not end meanwhile, ticks. (Not 0, which is a question of its own.)
const LONG_TICKS: u16 = 40_000;
const RUNS: u16 = 3;

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// Threshold 5, some frames, one disturbance: how many frames more the event takes tells what the disturbance did.
    pub(super) fn count_restart(&mut self) {
        const THRESHOLD: u16 = 5;
        self.ask(Ask::CountRestart, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                let mut left = [0; 3];
                for (which, left) in left.iter_mut().enumerate() {
                    rig.settle(THRESHOLD, LONG_TICKS)?;
                    if which == 0 && rig.frames_to_event(THRESHOLD)? != THRESHOLD {
                        return Err("no_event");
                    }
                    rig.bounce()?;
                    rig.bounce()?;
                    match which {
                        0 | 1 => rig.clear(),
                        _ => rig.free(RING_SIZE),
                    }
                    *left = rig.frames_to_event(2 * THRESHOLD)?;
                }
                Ok(Value::Word(match left {
                    [3, 3, 3] => "event",
                    [5, 5, 3] => "cpu_clear",
                    [3, 3, 5] => "cons_write",
                    [5, 3, 3] => "clear_of_event",
                    _ => "something_else",
                }))
            })
        });
    }

    /// A threshold of 0, without a timeout that ends.
    pub(super) fn threshold_zero(&mut self) {
        self.ask(Ask::ThresholdZero, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                rig.settle(0, LONG_TICKS)?;
                let frames = rig.frames_to_event(4)?;
                if frames == 0 {
                    rig.pass(10_000)?;
                }
                Ok(Value::Word(match (frames, rig.event()) {
                    (1, _) => "as_1",
                    (0, false) => "never",
                    _ => "something_else",
                }))
            })
        });
    }

    /// Thresholds at the size of the ring and above.
    pub(super) fn large_thresholds(&mut self) {
        for (ask, threshold) in [(Ask::Threshold256, RING_SIZE), (Ask::Threshold511, 511)] {
            self.ask(ask, &mut |rig| {
                rig.repeat(RUNS, &mut |rig, _| {
                    rig.settle(threshold, LONG_TICKS)?;
                    match rig.frames_to_event(threshold + 2)? {
                        0 => Err("no_event"),
                        frames => Ok(Value::Number(frames.into())),
                    }
                })
            });
        }
        self.ask(Ask::ThresholdFull, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                rig.settle(300, LONG_TICKS)?;
                for _ in 0..RING_SIZE {
                    rig.bounce()?;
                }
                // Three more, that find no descriptor.
                for _ in 0..3 {
                    rig.send()?;
                }
                rig.pass(1_000)?;
                let answer = Votes::word(rig.event(), "event", "no_event");
                rig.free(RING_SIZE);
                Ok(answer)
            })
        });
    }

    /// PDONE and BDONE for frames of the ring in use.
    pub(super) fn done_bits(&mut self, asks: &[(Ask, bool)]) {
        for &(ask, is_packet) in asks {
            self.ask(ask, &mut |rig| rig.repeat(8, &mut |rig, _| rig.done_bit(is_packet)));
        }
    }

    fn done_bit(&mut self, is_packet: bool) -> Result<Value, Why> {
        self.free(RING_SIZE);
        CLEAR_0.set(self.regs(), u32::MAX);
        self.bounce()?;
        self.genet.clock.delay_us(10);
        let status = STAT_0.read(self.regs());
        let latched = status.is_set(if is_packet { EVENTS::RXDMA_PDONE } else { EVENTS::RXDMA_BDONE });
        Ok(Votes::word(latched, "each_frame", "never"))
    }

    /// The same questions to ring 0, and where frames go that no filter has sent anywhere.
    pub(super) fn ring_0(&mut self) -> Result<(), Why> {
        let free_running = self.free_running;
        self.start(RxRing::Ring0)?;
        self.tick(Ask::Ring0Tick);
        self.free_running = free_running;
        self.done_bits(&[(Ask::Ring0Pdone, true)]);
        self.ask(Ask::DefaultRing, &mut |rig| {
            crate::bring_up::switch_filters_off(rig.regs());
            rig.repeat(RUNS, &mut |rig, _| {
                rig.free(RING_SIZE);
                match rig.bounce() {
                    Ok(_) => Ok(Value::Word("the_ring_that_runs")),
                    Err("no_frame_came") => Ok(Value::Word("ring_16_only")),
                    Err(why) => Err(why),
                }
            })
        });
        self.start(RxRing::Ring16)
    }
}
