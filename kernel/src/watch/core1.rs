//! Core 1: the loop that watches, and how core 0 starts and parks it.

use super::event::Event;
use super::note;
use super::ring::{Consumer, Ring};
use super::tracker::Tracker;
use crate::arch::counter;
use crate::irq::GenetRegisters;
use aarch64_cpu::asm::barrier::{SY, dsb};
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use genet::{Registers, WatchPoints};

/// The core that watches.
const CORE: u8 = 1;
/// Events that wait for core 0: a full ring of 256 frames makes three each at most.
const EVENTS: usize = 1024;
/// How long the core may take from its release to its first sign of life, us.
const START_US: u64 = 20_000;
/// How long a command may take to be obeyed, us.
const OBEY_US: u64 = 1_000;

static RING: Ring<EVENTS> = Ring::new();
/// Events that the ring had no room for.
static LOST: AtomicU64 = AtomicU64::new(0);

/// What core 0 wants: one of [`PARK`], [`RUN`], [`FAIL`].
static COMMAND: AtomicU32 = AtomicU32::new(PARK);
const PARK: u32 = 0;
const RUN: u32 = 1;
/// Fail on purpose.
const FAIL: u32 = 2;

/// What core 1 does.
static STATE: AtomicU32 = AtomicU32::new(ABSENT);
const ABSENT: u32 = 0;
const PARKED: u32 = 1;
const RUNNING: u32 = 2;
const FAILED: u32 = 3;

/// What is watched; written while core 1 is parked.
static PROD_INDEX: AtomicU32 = AtomicU32::new(0);
static STATUS: AtomicU32 = AtomicU32::new(0);
static STATUS_BIT: AtomicU32 = AtomicU32::new(0);

/// Called by boot on core 1, with MMU and caches on.
#[unsafe(no_mangle)]
extern "C" fn kernel_secondary() -> ! {
    // Interrupts stay masked: none is for this core. A bus error shall show.
    // SAFETY: vectors are installed (secondary.s), and the handler knows which core it runs on.
    unsafe { core::arch::asm!("msr daifclr, #4", options(nostack, preserves_flags)) };
    let registers = GenetRegisters::new();
    loop {
        STATE.store(PARKED, Ordering::Release);
        while COMMAND.load(Ordering::Acquire) == PARK {
            aarch64_cpu::asm::wfe(); // may end for no reason
        }
        if COMMAND.load(Ordering::Acquire) == FAIL {
            crate::crash::abort();
        }
        STATE.store(RUNNING, Ordering::Release);
        watch(&registers);
    }
}

/// Stamps changes until it is parked. A device read a line, in turn; nothing else touches the bus.
fn watch(registers: &GenetRegisters) {
    let prod_index = PROD_INDEX.load(Ordering::Relaxed);
    let (status, bit) = (STATUS.load(Ordering::Relaxed), STATUS_BIT.load(Ordering::Relaxed));
    let read_index = || registers.read(prod_index) as u16;
    let read_latch = || registers.read(status) & bit != 0;
    let mut tracker = Tracker::new(RING.producer(), &LOST, counter::ticks(), read_index(), read_latch());
    while COMMAND.load(Ordering::Relaxed) == RUN {
        tracker.index(read_index(), counter::ticks);
        tracker.latch(read_latch(), counter::ticks);
    }
}

/// Called by the exception handler: this is core 1.
pub fn is_here() -> bool {
    use aarch64_cpu::registers::{MPIDR_EL1, Readable};
    MPIDR_EL1.get() & 0xff == u64::from(CORE)
}

/// Core 1 cannot go on: leaves `what` to be told by core 0, and stops for good.
///
/// # Safety
/// On core 1 only.
pub unsafe fn fail(what: fmt::Arguments<'_>) -> ! {
    // SAFETY: handed on from the caller.
    unsafe { note::leave(what) };
    STATE.store(FAILED, Ordering::Release);
    loop {
        aarch64_cpu::asm::wfe();
    }
}

/// Core 0's side.
pub struct Watcher {
    events: Consumer<'static, EVENTS>,
    /// Nothing can be watched, and that was told.
    gone: bool,
}

impl Default for Watcher {
    fn default() -> Self {
        Watcher { events: RING.consumer(), gone: false }
    }
}

impl Watcher {
    /// Starts watching `points`; releases core 1 the first time. False: there is no watcher, which is told once.
    pub fn start(&mut self, points: WatchPoints) -> bool {
        if self.gone || !self.is_there() {
            return false;
        }
        while self.events.pop().is_some() {}
        PROD_INDEX.store(points.prod_index, Ordering::Relaxed);
        STATUS.store(points.status, Ordering::Relaxed);
        STATUS_BIT.store(points.status_bit, Ordering::Relaxed);
        self.command(RUN, RUNNING)
    }

    /// Parks core 1: from the return on it reads no device.
    pub fn park(&mut self) {
        if !self.gone && STATE.load(Ordering::Acquire) != ABSENT {
            self.command(PARK, PARKED);
        }
    }

    /// Makes core 1 fail, to see what comes of it.
    pub fn fail_on_purpose(&mut self) {
        if !self.gone && self.is_there() {
            self.command(FAIL, RUNNING);
        }
    }

    /// The next event.
    #[inline]
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop().map(Event::unpack)
    }

    /// Events that found the ring full, since reset.
    pub fn lost() -> u64 {
        LOST.load(Ordering::Relaxed)
    }

    fn is_there(&mut self) -> bool {
        if STATE.load(Ordering::Acquire) != ABSENT {
            return true;
        }
        let patience = Patience::new(START_US);
        // SAFETY: called from the main loop of core 0 alone, once (`gone` after a failure). Page 0 is the firmware's on
        // every boot path: no loader puts a program there (BOARD.md 6: reserved by the device tree).
        match unsafe { boot::secondary::start(CORE, || patience.is_left()) } {
            Ok(()) => true,
            Err(error) => {
                self.gone = true;
                log::warn!(
                    "arrival clock: core {CORE} does not start ({error}); two clocks remain: interrupt and delivery"
                );
                false
            }
        }
    }

    /// Tells core 1 what to do and waits until it does. False: it does not.
    fn command(&mut self, command: u32, state: u32) -> bool {
        COMMAND.store(command, Ordering::Release);
        dsb(SY); // the store is visible before the event
        aarch64_cpu::asm::sev();
        let patience = Patience::new(OBEY_US);
        loop {
            match STATE.load(Ordering::Acquire) {
                now if now == state => return true,
                FAILED => log::warn!(
                    "arrival clock: core {CORE} failed and is not used any more: {}",
                    note::read().unwrap_or("it left no note")
                ),
                _ if patience.is_left() => {
                    core::hint::spin_loop();
                    continue;
                }
                _ => log::warn!("arrival clock: core {CORE} does not obey and is not used any more"),
            }
            self.gone = true;
            return false;
        }
    }
}

/// A time limit.
struct Patience {
    end_ns: u64,
}

impl Patience {
    fn new(us: u64) -> Self {
        Patience { end_ns: counter::now_ns() + us * 1_000 }
    }

    fn is_left(&self) -> bool {
        counter::now_ns() < self.end_ns
    }
}
