//! What core 0 wants of core 1, and what core 1 does: a word each.

use core::sync::atomic::{AtomicU32, Ordering};

/// Wait, and read no device.
pub const PARK: u32 = 0;
/// Watch.
pub const RUN: u32 = 1;
/// Fail on purpose.
pub const FAIL: u32 = 2;

const ABSENT: u32 = 0;
const PARKED: u32 = 1;
const RUNNING: u32 = 2;
const FAILED: u32 = 3;

/// Why an order was not obeyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Core 1 failed, and left a note.
    Failed,
    /// It did not do it in time.
    Late,
}

/// Both words, in a line of their own.
#[repr(align(64))]
pub struct Orders {
    wanted: AtomicU32,
    state: AtomicU32,
}

impl Default for Orders {
    fn default() -> Self {
        Self::new()
    }
}

impl Orders {
    /// Core 1 is not there, and shall park when it comes.
    pub const fn new() -> Self {
        Orders { wanted: AtomicU32::new(PARK), state: AtomicU32::new(ABSENT) }
    }

    /// Core 1: one of [`PARK`], [`RUN`], [`FAIL`], and what core 0 wrote before it.
    pub fn wanted(&self) -> u32 {
        self.wanted.load(Ordering::Acquire)
    }

    /// Core 1: the same, for a look at every turn.
    #[inline]
    pub fn still_wanted(&self) -> u32 {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Core 1: reads no device any more.
    pub fn parked(&self) {
        self.state.store(PARKED, Ordering::Release);
    }

    /// Core 1: watches from now on.
    pub fn running(&self) {
        self.state.store(RUNNING, Ordering::Release);
    }

    /// Core 1: stops for good.
    pub fn failed(&self) {
        self.state.store(FAILED, Ordering::Release);
    }

    /// Core 0: core 1 came at some time.
    pub fn is_there(&self) -> bool {
        self.state.load(Ordering::Acquire) != ABSENT
    }

    /// Core 0: orders one of [`PARK`], [`RUN`], [`FAIL`] and waits until core 1 does it or `patient` says no. `wake` makes the
    /// order visible and ends the wait of a parked core.
    ///
    /// # Errors
    /// It does not. It is ordered to park, since nobody will look after it: a core that was only late must not read
    /// devices for ever after.
    pub fn give(&self, order: u32, wake: impl Fn(), mut patient: impl FnMut() -> bool) -> Result<(), Refusal> {
        let obeyed = if order == PARK { PARKED } else { RUNNING };
        self.wanted.store(order, Ordering::Release);
        wake();
        let refusal = loop {
            match self.state.load(Ordering::Acquire) {
                state if state == obeyed => return Ok(()),
                FAILED => break Refusal::Failed,
                _ if patient() => core::hint::spin_loop(),
                _ => break Refusal::Late,
            }
        };
        self.wanted.store(PARK, Ordering::Release);
        wake();
        Err(refusal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn an_order_is_obeyed_or_refused() {
        let orders = Orders::new();
        assert!(!orders.is_there());
        orders.parked();
        assert!(orders.is_there());
        let obey = || if orders.wanted() == RUN { orders.running() } else { orders.parked() };
        assert_eq!(orders.give(RUN, obey, || false), Ok(()));
        assert_eq!(orders.give(PARK, obey, || false), Ok(()));
        assert_eq!(orders.give(FAIL, || orders.failed(), || true), Err(Refusal::Failed));
    }

    #[test]
    fn a_core_that_comes_late_parks() {
        for order in [PARK, RUN, FAIL] {
            let orders = Orders::new();
            let (looks, events) = (Cell::new(0), Cell::new(0));
            let patient = || looks.replace(looks.get() + 1) < 5;
            assert_eq!(orders.give(order, || events.set(events.get() + 1), patient), Err(Refusal::Late));
            assert_eq!((orders.wanted(), orders.still_wanted(), events.get()), (PARK, PARK, 2), "order {order}");
        }
    }
}
