//! What belongs to one core, and how the engines of all cores share the one state of the machine.

use crate::order::Order;
use crate::polling::Polling;
use crate::state::{State, Stats};
use crate::timer::Timer;
use board::env::Finding;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Performance counters: the cycle counter, which stands still while the core sleeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pmu {
    /// PMCR_EL0 as written, E and LC bits.
    pub control: u64,
    /// Awake cycles at which the counter was 0.
    pub origin: u64,
}

/// What a core does when it is not its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rest {
    /// It would go on.
    #[default]
    Awake,
    /// WFI: until its interrupt line rises.
    Interrupt,
    /// WFE: until another core sends an event. (A core that is alone wakes by itself, see `cpu`.)
    Event,
}

/// State of one core beside its registers.
#[derive(Debug, Default)]
pub struct Cpu {
    /// Its number: MPIDR_EL1 affinity 0.
    pub number: u8,
    /// Time at the end of the current block, cycles.
    pub cycles: u64,
    /// Time at the start of the current block, cycles.
    pub block_cycles: u64,
    pub block_pc: u64,
    pub block_bytes: u32,
    /// Next cycle at which something other than this core's program happens, the end of its turn included.
    pub next_event: u64,
    /// End of its turn, cycles.
    pub turn_ends: u64,
    pub order: Order,
    pub physical: Timer,
    pub virtual_timer: Timer,
    pub pmu: Pmu,
    /// The GIC wants this core.
    pub line: bool,
    pub want_irq: bool,
    pub rest: Rest,
    /// Where it goes on after a WFE.
    pub resume_at: Option<u64>,
    /// The event register: SEV by any core sets it, WFE clears it.
    pub event: bool,
    /// Its data cache is on.
    pub cached: bool,
    pub stats: Stats,
    pub polling: Polling,
    /// The devices' next event at its last read, ns.
    pub due_seen: Option<u64>,
    /// What it did wrong before it had caches.
    pub findings: Vec<Finding>,
}

impl Cpu {
    pub fn new(number: u8) -> Self {
        Cpu { number, turn_ends: u64::MAX, ..Cpu::default() }
    }

    /// Sleeps from now to `until`, cycles.
    pub fn sleep_until(&mut self, until: u64) {
        if until > self.cycles {
            self.stats.idle_cycles += until - self.cycles;
            self.cycles = until;
            self.block_cycles = until;
        }
    }

    /// What it rested for came at `at`, cycles.
    pub fn wake_at(&mut self, at: u64) {
        self.rest = Rest::Awake;
        self.sleep_until(at);
    }
}

/// An engine's share of the machine's state: all engines of a machine hold the same one.
pub struct Seat(Rc<UnsafeCell<State>>);

impl Seat {
    pub fn new(state: State) -> Self {
        Seat(Rc::new(UnsafeCell::new(state)))
    }

    /// A seat at the same table.
    pub fn another(&self) -> Self {
        Seat(self.0.clone())
    }
}

impl Deref for Seat {
    type Target = State;

    fn deref(&self) -> &State {
        // SAFETY: `Rc` keeps it on one thread. At any time one engine runs or none does, and its hooks are the only code
        // that holds a reference meanwhile; the machine asks through one engine at a time and keeps no reference over a
        // call of another. So a shared reference never meets a unique one.
        unsafe { &*self.0.get() }
    }
}

impl DerefMut for Seat {
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: as in `deref`: no other reference to the state is alive while this one is.
        unsafe { &mut *self.0.get() }
    }
}
