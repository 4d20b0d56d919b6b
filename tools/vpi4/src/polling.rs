//! A core that polls while everybody else sleeps: laps of its loop that can only repeat themselves are counted, not run.
//!
//! A lap goes from one device read to the next by the same block of the same address. When two laps in a row read the same
//! values in the same time, wrote to no device, used no system register, and began with the same general registers, then so
//! will every lap before the next event: devices change nothing before it, and no other core is awake. After an event laps
//! are looked at anew, because what it began may take a little longer. Nothing is skipped while accesses are traced; the
//! outcome is the same (`tests/three_clocks.rs` compares).
//!
//! Not covered: what a lap keeps in memory or in SIMD registers is not looked at. A loop that counts its laps there alone
//! would be skipped, and count too few; the watcher keeps what it does in general registers, and stores only what changed.

/// Most device reads of a lap.
const MAX_READS: u64 = 8;
/// Fewer laps than this are run: finding out costs as much.
const FEW_LAPS: u64 = 8;
/// Equal laps after which registers are looked at.
const EQUAL: u32 = 2;

/// What a lap came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lap {
    /// Length, cycles.
    pub cycles: u64,
    pub instructions: u64,
    pub reads: u64,
    pub genet_reads: u64,
    /// Of addresses and values.
    digest: u64,
}

/// Where a core was at a device read.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub pc: u64,
    pub address: u64,
    pub cycles: u64,
    pub instructions: u64,
    pub genet_reads: u64,
}

/// Follows the device reads of a core.
#[derive(Debug, Default)]
pub struct Polling {
    /// Where laps begin, and what there was then.
    head: Option<Mark>,
    reads: u64,
    digest: u64,
    last: Lap,
    equal: u32,
    registers: Vec<u64>,
}

impl Polling {
    /// The core did something that is no polling, or another core ran.
    pub fn disturb(&mut self) {
        self.head = None;
        self.equal = 0;
        self.registers.clear();
    }

    /// The core read `value`. True at the end of a lap like the ones before.
    pub fn read(&mut self, mark: Mark, value: u32) -> bool {
        let mut repeats = false;
        match self.head {
            Some(head) if (head.pc, head.address) == (mark.pc, mark.address) => {
                let lap = Lap {
                    cycles: mark.cycles - head.cycles,
                    instructions: mark.instructions - head.instructions,
                    reads: self.reads,
                    genet_reads: mark.genet_reads - head.genet_reads,
                    digest: self.digest,
                };
                self.equal = if lap == self.last { self.equal + 1 } else { 0 };
                repeats = self.equal >= EQUAL;
                if !repeats {
                    self.registers.clear();
                }
                self.last = lap;
                self.begin(mark);
            }
            Some(_) if self.reads < MAX_READS => {}
            _ => {
                self.disturb();
                self.begin(mark);
            }
        }
        self.reads += 1;
        let word = mark.address << 32 ^ u64::from(value) ^ mark.pc << 16;
        self.digest = (self.digest ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        repeats
    }

    fn begin(&mut self, mark: Mark) {
        self.head = Some(mark);
        self.reads = 0;
        self.digest = 0;
    }

    /// Laps to skip before `until` (cycles), and what each comes to. `registers` as they are now.
    pub fn skip(&mut self, until: u64, registers: impl FnOnce() -> Vec<u64>) -> Option<(u64, Lap)> {
        let head = self.head?;
        // One lap is left, so that what happens at the event happens in a lap that is run.
        let laps = (until.saturating_sub(head.cycles) / self.last.cycles.max(1)).saturating_sub(1);
        if laps < FEW_LAPS {
            return None;
        }
        let registers = registers();
        if registers != self.registers {
            self.registers = registers;
            return None;
        }
        // The lap that begins now begins after them.
        let skipped = Mark {
            cycles: head.cycles + laps * self.last.cycles,
            instructions: head.instructions + laps * self.last.instructions,
            genet_reads: head.genet_reads + laps * self.last.genet_reads,
            ..head
        };
        self.head = Some(skipped);
        Some((laps, self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Laps of two reads, 100 cycles each.
    fn poll(polling: &mut Polling, from: u64, laps: u64, value: impl Fn(u64) -> u32) -> Vec<bool> {
        (from..from + laps)
            .map(|lap| {
                let mark = |pc, address, at| Mark {
                    pc,
                    address,
                    cycles: 200 * lap + at,
                    instructions: 10 * lap,
                    genet_reads: 2 * lap,
                };
                let repeats = polling.read(mark(0x1000, 0x10, 0), value(lap));
                assert!(!polling.read(mark(0x2000, 0x20, 100), 0));
                repeats
            })
            .collect()
    }

    #[test]
    fn equal_laps_with_equal_registers_are_skipped_up_to_the_event() {
        let mut polling = Polling::default();
        assert_eq!(poll(&mut polling, 0, 5, |_| 7), [false, false, false, true, true]);
        assert_eq!(polling.skip(5_000, || vec![1]), None, "the first look at the registers");
        assert_eq!(polling.skip(5_000, || vec![2]), None, "one counts");
        let (laps, lap) = polling.skip(5_000, || vec![2]).unwrap();
        assert_eq!((laps, lap.cycles, lap.instructions, lap.reads, lap.genet_reads), (20, 200, 10, 2, 2));
        assert_eq!(polling.skip(5_000, || vec![2]), None, "no more than one lap is left");
    }

    #[test]
    fn a_value_that_changes_and_a_short_time_are_run() {
        let mut polling = Polling::default();
        assert!(poll(&mut polling, 0, 9, |lap| lap as u32 / 2).iter().all(|repeats| !repeats));
        let mut polling = Polling::default();
        assert!(poll(&mut polling, 0, 5, |_| 7)[4]);
        assert_eq!(polling.skip(800 + 200 * 8, || panic!("not worth a look")), None);
        polling.disturb();
        assert_eq!(polling.skip(1_000_000, Vec::new), None);
    }
}
