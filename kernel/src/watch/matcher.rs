//! Which frame came when: the watcher's events against the frames' places in the ring.
//!
//! Frame n of the free-running 16-bit index has arrived as soon as PROD_INDEX is past n, so its arrival is the first event
//! with a PROD_INDEX beyond it. Frames must be asked for in their order; they need not all be.

use super::event::Event;

/// More frames than the hardware's ring holds cannot come between two events: the ring was set up anew.
const RING_FRAMES: u16 = 256;

/// Longest turn of the watcher's loop that is allowed for, ticks: 2 us.
const TURN_TICKS: u64 = 108;

/// What was seen of the interrupt latch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latch {
    /// Times that the receive interrupt was latched after a frame.
    pub rises: u64,
    /// Sum of the times that the first frame of each waited for it, ticks of 1/54 us.
    pub sum_ticks: u64,
    /// Longest of them.
    pub max_ticks: u64,
}

impl Latch {
    fn count(&mut self, waited_ticks: u64) {
        self.rises += 1;
        self.sum_ticks += waited_ticks;
        self.max_ticks = self.max_ticks.max(waited_ticks);
    }
}

/// Follows the events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Matcher {
    /// The event that moved PROD_INDEX last.
    current: Option<Event>,
    /// The current event is the first: frames up to it came before watching began.
    first: bool,
    /// The latch after the event before.
    pending: bool,
    /// When it rose without a frame that it may be about.
    rose_early: Option<u64>,
    /// Arrival of the first frame that no interrupt announces yet.
    waits_since: Option<u64>,
    /// What the latch did.
    pub latch: Latch,
    /// Frames whose arrival is not known.
    pub missed: u64,
    /// Gaps in the events.
    pub gaps: u64,
}

impl Matcher {
    /// When frame `index` came, ticks; `next` takes the next event from the watcher. `None` if it was not seen: events were
    /// lost, or the frame came before watching began.
    #[inline]
    pub fn arrival(&mut self, index: u16, mut next: impl FnMut() -> Option<Event>) -> Option<u64> {
        loop {
            if let Some(event) = self.current
                && is_past(event.prod, index)
            {
                self.missed += u64::from(event.gap && !self.first);
                return (!event.gap).then_some(event.ticks);
            }
            let Some(event) = next() else {
                self.missed += 1;
                return None;
            };
            self.take(event);
        }
    }

    /// Takes events that are only about frames before `index`, so that the ring does not fill up while nobody asks.
    #[inline]
    pub fn forget(&mut self, index: u16, mut next: impl FnMut() -> Option<Event>) {
        while self.current.is_none_or(|event| !is_past(event.prod, index)) {
            let Some(event) = next() else { return };
            self.take(event);
        }
    }

    #[inline]
    fn take(&mut self, mut event: Event) {
        let moved = self.current.map_or(0, |current| event.prod.wrapping_sub(current.prod));
        event.gap |= moved > RING_FRAMES;
        if event.gap {
            return self.take_gap(event);
        }
        if event.pending && !self.pending {
            match self.waits_since.take() {
                Some(since) => self.latch.count(event.ticks.saturating_sub(since)),
                // The watcher read the index just before the frame came, and the latch just after.
                None => self.rose_early = Some(event.ticks),
            }
        }
        self.pending = event.pending;
        if moved > 0 {
            let early = self.rose_early.take().is_some_and(|rose| event.ticks.saturating_sub(rose) <= TURN_TICKS);
            if early {
                self.latch.count(0);
            } else if !event.pending {
                self.waits_since.get_or_insert(event.ticks);
            }
            self.current = Some(event);
            self.first = false;
        }
    }

    /// After a gap nothing from before it counts.
    #[cold]
    fn take_gap(&mut self, event: Event) {
        self.first = self.current.is_none();
        self.gaps += u64::from(!self.first);
        self.waits_since = None;
        self.rose_early = None;
        self.pending = event.pending;
        self.current = Some(event);
    }
}

/// PROD_INDEX `prod` says that frame `index` is in the ring, modulo 65536. One that was not given back is at most a ring's
/// length behind.
#[inline]
const fn is_past(prod: u16, index: u16) -> bool {
    let beyond = prod.wrapping_sub(index);
    0 < beyond && beyond <= RING_FRAMES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(ticks: u64, prod: u16, pending: bool) -> Event {
        Event { ticks, prod, pending, gap: false }
    }

    fn gap(ticks: u64, prod: u16) -> Event {
        Event { gap: true, ..event(ticks, prod, false) }
    }

    #[test]
    fn each_frame_has_the_first_event_beyond_it_across_the_wrap() {
        let events =
            [gap(0, 0xfffe), event(10, 0xffff, false), event(20, 1, false), event(25, 1, true), event(30, 2, true)];
        let mut events = events.into_iter();
        let mut matcher = Matcher::default();
        let mut at = |index| matcher.arrival(index, || events.next());
        assert_eq!([at(0xfffe), at(0xffff), at(0)], [Some(10), Some(20), Some(20)]);
        assert_eq!([at(1), at(2)], [Some(30), None], "the last has not come");
        assert_eq!((matcher.missed, matcher.gaps), (1, 0));
        assert_eq!(matcher.latch, Latch { rises: 1, sum_ticks: 15, max_ticks: 15 });
    }

    #[test]
    fn frames_that_nobody_asks_for_cost_no_time_of_others() {
        let mut events = (1..=10u16).map(|n| event(u64::from(n) * 100, n, false));
        let mut matcher = Matcher::default();
        matcher.take(gap(0, 0));
        assert_eq!(matcher.arrival(6, || events.next()), Some(700));
        matcher.forget(8, || events.next());
        assert_eq!(matcher.arrival(8, || events.next()), Some(900));
        matcher.forget(20, || events.next());
        assert_eq!((events.next(), matcher.missed), (None, 0));
    }

    #[test]
    fn what_was_lost_is_not_guessed() {
        let mut events = [gap(5, 100), event(10, 101, false), gap(50, 120), event(60, 121, false)].into_iter();
        let mut matcher = Matcher::default();
        let mut at = |index| matcher.arrival(index, || events.next());
        assert_eq!(at(99), None, "before it began");
        assert_eq!([at(100), at(101), at(119), at(120)], [Some(10), None, None, Some(60)]);
        assert_eq!((matcher.missed, matcher.gaps), (2, 1));
    }

    #[test]
    fn a_ring_that_was_set_up_anew_is_a_gap() {
        let mut events = [gap(0, 500), event(10, 501, false), event(20, 0, false), event(30, 1, false)].into_iter();
        let mut matcher = Matcher::default();
        assert_eq!(matcher.arrival(500, || events.next()), Some(10));
        matcher.forget(0, || events.next());
        assert_eq!(matcher.arrival(0, || events.next()), Some(30));
        assert_eq!(matcher.gaps, 1);
    }

    #[test]
    fn the_latch_waits_from_the_first_frame_that_nothing_announces() {
        let mut matcher = Matcher::default();
        for e in [gap(0, 0), event(10, 1, false), event(20, 2, false), event(50, 2, true), event(60, 3, true)] {
            matcher.take(e);
        }
        matcher.take(event(70, 3, false));
        matcher.take(event(80, 3, true));
        let latch = Latch { rises: 1, sum_ticks: 40, max_ticks: 40 };
        assert_eq!(matcher.latch, latch, "frame 3 came under a latched bit, and nothing after the clearing");
        matcher.take(event(90, 4, true));
        assert_eq!(
            matcher.latch,
            Latch { rises: 2, ..latch },
            "the latch was read just before the index that made it rise"
        );
    }
}
