//! Core 0's side: starts core 1, tells it what to do, takes what it saw.

use super::core1::{CORE, EVENTS, LOST, ORDERS, PROD_INDEX, RING, STATUS, STATUS_BIT};
use super::event::Event;
use super::note;
use super::orders::{FAIL, PARK, RUN, Refusal};
use super::ring::Consumer;
use crate::arch::counter;
use aarch64_cpu::asm::barrier::{SY, dsb};
use boot::secondary::StartError;
use core::sync::atomic::Ordering;
use genet::WatchPoints;

/// How long the core may take from its release to its first sign of life, us.
const START_US: u64 = 20_000;
/// How long an order may take to be obeyed, us. A window may have begun: the ring of 256 frames lasts 3 ms.
const OBEY_US: u64 = 1_000;

/// Why nothing can be watched.
#[derive(Clone, Copy)]
enum Trouble {
    Absent(StartError),
    Refused(Refusal),
}

/// Core 0's side.
pub struct Watcher {
    events: Consumer<'static, EVENTS>,
    /// Core 1 is not used any more.
    gone: bool,
    /// Why, until that is told.
    trouble: Option<Trouble>,
    /// Counter when watching began.
    since_ticks: u64,
}

impl Default for Watcher {
    fn default() -> Self {
        Watcher { events: RING.consumer(), gone: false, trouble: None, since_ticks: 0 }
    }
}

impl Watcher {
    /// Releases core 1, if that was not done, and parks it. Takes long if it does not come: not for use inside a window.
    pub fn prepare(&mut self) {
        if self.gone || ORDERS.is_there() {
            return;
        }
        let patience = Patience::new(START_US);
        // SAFETY: called from the main loop of core 0 alone, once (`gone` after a failure). Page 0 is the firmware's on
        // every boot path: no loader puts a program there (BOARD.md 6: reserved by the device tree).
        match unsafe { boot::secondary::start(CORE, || patience.is_left()) } {
            Ok(()) => {
                self.order(PARK);
            }
            Err(error) => self.give_up(Trouble::Absent(error)),
        }
    }

    /// Starts watching `points`. False: there is no watcher; a core that was not prepared is none.
    pub fn start(&mut self, points: WatchPoints) -> bool {
        if self.gone || !ORDERS.is_there() {
            return false;
        }
        while self.events.pop().is_some() {}
        PROD_INDEX.store(points.prod_index, Ordering::Relaxed);
        STATUS.store(points.status, Ordering::Relaxed);
        STATUS_BIT.store(points.status_bit, Ordering::Relaxed);
        self.since_ticks = counter::ticks();
        self.order(RUN)
    }

    /// Parks core 1: from the return on it reads no device.
    pub fn park(&mut self) {
        if !self.gone && ORDERS.is_there() {
            self.order(PARK);
        }
    }

    /// Makes core 1 fail, to see what comes of it.
    pub fn fail_on_purpose(&mut self) {
        self.prepare();
        if !self.gone {
            self.order(FAIL);
        }
    }

    /// The next event.
    #[inline]
    pub fn take_event(&mut self) -> Option<Event> {
        self.events.pop().map(|word| Event::unpack(word, self.since_ticks))
    }

    /// Events that found the ring full, since reset.
    pub fn lost() -> u64 {
        LOST.load(Ordering::Relaxed)
    }

    /// Tells once why nothing can be watched. Prints: not for use inside a window.
    #[inline]
    pub fn tell(&mut self) {
        if let Some(trouble) = self.trouble.take() {
            tell(trouble);
        }
    }

    /// False: core 1 does not obey, and is not used any more.
    fn order(&mut self, order: u32) -> bool {
        let wake = || {
            dsb(SY); // the order is visible before the event
            aarch64_cpu::asm::sev();
        };
        let patience = Patience::new(OBEY_US);
        match ORDERS.give(order, wake, || patience.is_left()) {
            Ok(()) => true,
            Err(refusal) => {
                self.give_up(Trouble::Refused(refusal));
                false
            }
        }
    }

    #[cold]
    fn give_up(&mut self, trouble: Trouble) {
        self.gone = true;
        self.trouble = Some(trouble);
    }
}

#[cold]
fn tell(trouble: Trouble) {
    match trouble {
        Trouble::Absent(error) => {
            log::warn!("arrival clock: core {CORE} does not start ({error}); two clocks remain: interrupt and delivery")
        }
        Trouble::Refused(Refusal::Failed) => log::warn!(
            "arrival clock: core {CORE} failed and is not used any more: {}",
            note::read().unwrap_or("it left no note")
        ),
        Trouble::Refused(Refusal::Late) => {
            log::warn!("arrival clock: core {CORE} does not obey and is not used any more");
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
