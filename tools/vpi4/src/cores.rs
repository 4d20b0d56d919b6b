//! Cores 1 to 3: released by the firmware's spin table, and whose turn it is.
//!
//! Each core has an engine of its own over the same memory and devices. They take turns in virtual time: the core that is
//! furthest behind runs until it is [`SLICE_NS`] ahead of the next one, a device access or block longer at most, so the
//! order of everything is the same in every run. What one core does reaches the others, and a device sees times that never
//! go back, with an error of that much. Nothing of this costs anything before a core is released, and nothing while it
//! waits in WFE.
//!
//! As on the board (armstub8.S) a core waits on its word of page 0 without caches: it starts when memory itself has the
//! word (stored and cleaned) and an event (SEV) comes. Images of others start core 0 only: their SEV is not looked for.
//!
//! Checked: what a core reads before its caches are on must have been cleaned (`cpu::watch_uncached_reads`); barriers and
//! widths of its device accesses as those of core 0. Its stores before that are not.
//!
//! Not covered: bus contention between cores, spurious wake-ups from WFE, code that one core changes for another.

use crate::cpu::Engine;
use crate::machine::{Machine, Stop};
use crate::polling::Mark;
use crate::seat::{Cpu, Rest};
use crate::state::State;
use unicorn_engine::{UcHookId, uc_error};

/// How far a core may run ahead of another, ns.
const SLICE_NS: u64 = 100;
/// Spin-table word of core 0; eight bytes for each.
const SPIN_TABLE: u64 = 0xd8;

/// A core that was released.
pub(crate) struct Secondary {
    pub engine: Engine,
    /// The hook on its reads, while its cache is off.
    pub uncached: Option<UcHookId>,
}

impl State {
    /// The core executed SEV.
    pub fn send_event(&mut self) {
        let now = self.cpu.cycles;
        self.cpu.event = true;
        for other in &mut self.others {
            match other.rest {
                Rest::Event => other.wake_at(now),
                Rest::Awake | Rest::Interrupt => other.event = true,
            }
        }
        for core in 1..self.cores {
            let runs = self.core(core).is_some() || self.released.iter().any(|(released, _)| *released == core);
            let word = self.ram.memory_word(SPIN_TABLE + 8 * u64::from(core));
            if let (false, Some(at)) = (runs, word.filter(|at| *at != 0)) {
                self.released.push((core, at));
            }
        }
        if !(self.others.is_empty() && self.released.is_empty()) {
            // Before the next block.
            self.cpu.turn_ends = self.cpu.cycles;
            self.cpu.next_event = self.cpu.cycles;
        }
    }

    /// The core executed the WFE at `pc`. True: it stops here until another one sends an event.
    pub fn wait_for_event(&mut self, longest_ns: u64) -> bool {
        if std::mem::take(&mut self.cpu.event) {
            return false;
        }
        if self.cpu.number != 0 && !self.others.is_empty() {
            self.cpu.rest = Rest::Event;
            return true;
        }
        let until = self.cpu.next_event.min(self.cpu.cycles + self.base.cycles(longest_ns));
        self.cpu.sleep_until(until);
        false
    }

    /// Follows a read of core 1 to 3. True if it may be polling while everybody else sleeps.
    pub fn polls(&mut self, address: u64, value: u32) -> bool {
        if self.others.iter().any(|other| other.rest == Rest::Awake) || self.trace.is_some() {
            self.cpu.polling.disturb();
            return false;
        }
        let due = self.board.next_event();
        if std::mem::replace(&mut self.cpu.due_seen, due) != due {
            self.cpu.polling.disturb(); // what an event began may still be under way
        }
        let mark = Mark {
            pc: self.cpu.block_pc,
            address,
            cycles: self.cpu.cycles,
            instructions: self.cpu.stats.instructions,
            genet_reads: self.cpu.stats.genet_reads,
        };
        self.cpu.polling.read(mark, value)
    }

    /// Counts laps of its loop that only repeat themselves.
    pub fn skip_laps(&mut self, registers: impl FnOnce() -> Vec<u64>) {
        if let Some((laps, lap)) = self.cpu.polling.skip(self.cpu.next_event, registers) {
            self.cpu.cycles += laps * lap.cycles;
            self.cpu.block_cycles += laps * lap.cycles;
            self.cpu.stats.instructions += laps * lap.instructions;
            self.cpu.stats.device_reads += laps * lap.reads;
            self.cpu.stats.genet_reads += laps * lap.genet_reads;
        }
    }

    /// Gives the turn to the core that is furthest behind. False: all of them rest.
    fn choose(&mut self) -> bool {
        let place = |cpu: &Cpu| (cpu.rest == Rest::Event, cpu.rest == Rest::Interrupt, cpu.cycles, cpu.number);
        for other in &mut self.others {
            if place(other) < place(&self.cpu) {
                std::mem::swap(&mut self.cpu, other);
                self.cpu.polling.disturb(); // somebody else has run
            }
        }
        let awake = self.others.iter().filter(|other| other.rest == Rest::Awake).map(|other| other.cycles);
        let slice = self.base.cycles(SLICE_NS);
        self.cpu.turn_ends = awake.min().map_or(u64::MAX, |cycles| cycles.saturating_add(slice));
        self.settle();
        self.cpu.rest == Rest::Awake
    }
}

impl Machine {
    /// Starts the cores that were released and gives the turn to the one whose it is.
    pub(crate) fn next_turn(&mut self) -> Option<Stop> {
        while let Some((core, at)) = self.state_mut().released.pop() {
            if let Err(error) = self.start_secondary(core, at) {
                return Some(self.dead(format!("the engine refused core {core}: {error:?}")));
            }
        }
        if self.state().others.is_empty() || self.state_mut().choose() {
            return self.drop_hook().err().map(|error| self.dead(format!("the engine keeps a hook: {error:?}")));
        }
        match self.state().cpu.rest {
            Rest::Interrupt => self.sleep(),
            _ => Some(self.dead("every core waits for an event of another".to_owned())),
        }
    }

    /// The core whose turn it is has its cache on: what it reads need not be judged any more.
    fn drop_hook(&mut self) -> Result<(), uc_error> {
        let (number, cached) = (self.state().cpu.number, self.state().cpu.cached);
        let Some((_, secondary)) = self.secondaries.iter_mut().find(|(core, _)| *core == number) else { return Ok(()) };
        match secondary.uncached.take_if(|_| cached) {
            Some(hook) => secondary.engine.remove_hook(hook),
            None => Ok(()),
        }
    }

    fn start_secondary(&mut self, core: u8, at: u64) -> Result<(), uc_error> {
        let state = self.state_mut();
        let cpu = Cpu { cycles: state.cpu.cycles, block_cycles: state.cpu.cycles, ..Cpu::new(core) };
        state.others.push(cpu);
        let secondary = self.another_engine(at)?;
        self.secondaries.push((core, secondary));
        Ok(())
    }

    /// The core's instructions, device accesses and so on since the reset; `None` while it does not run.
    pub fn core_stats(&self, core: u8) -> Option<crate::Stats> {
        self.state().snapshot(core)
    }
}
