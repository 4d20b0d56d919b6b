//! The watcher's side: what it read, against what it read before.

use super::event::Event;
use super::ring::Producer;
use core::sync::atomic::{AtomicU64, Ordering};

/// Turns readings into events. An event that finds the ring full is counted, and the next one that fits says that some are
/// missing.
pub struct Tracker<'a, const N: usize> {
    producer: Producer<'a, N>,
    /// As read last.
    event: Event,
    lost: &'a AtomicU64,
}

impl<'a, const N: usize> Tracker<'a, N> {
    /// Begins with the first reading. Its event is a gap: what is in the ring already came at times that nobody saw.
    /// Nobody else may write `lost`.
    pub fn new(producer: Producer<'a, N>, lost: &'a AtomicU64, ticks: u64, prod: u16, pending: bool) -> Self {
        let mut tracker = Tracker { producer, event: Event { ticks, prod, pending, gap: true }, lost };
        tracker.push();
        tracker
    }

    /// PROD_INDEX was read; `ticks` tells the time if it has changed.
    #[inline]
    pub fn index(&mut self, prod: u16, ticks: impl FnOnce() -> u64) {
        if prod != self.event.prod {
            (self.event.ticks, self.event.prod) = (ticks(), prod);
            self.push();
        }
    }

    /// The interrupt latch was read; `ticks` as for [`Tracker::index`].
    #[inline]
    pub fn latch(&mut self, pending: bool, ticks: impl FnOnce() -> u64) {
        if pending != self.event.pending {
            (self.event.ticks, self.event.pending) = (ticks(), pending);
            self.push();
        }
    }

    fn push(&mut self) {
        self.event.gap = !self.producer.push(self.event.pack());
        if self.event.gap {
            self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::matcher::Matcher;
    use super::super::ring::Ring;
    use super::*;

    #[test]
    fn only_changes_are_told_and_timed() {
        let (ring, lost) = (Ring::<8>::new(), AtomicU64::new(0));
        let mut tracker = Tracker::new(ring.producer(), &lost, 1, 7, false);
        tracker.index(7, || panic!("no change"));
        tracker.latch(true, || 5);
        tracker.index(9, || 6);
        tracker.latch(true, || panic!("no change"));
        let mut consumer = ring.consumer();
        let events: Vec<Event> = std::iter::from_fn(|| consumer.pop().map(|word| Event::unpack(word, 0))).collect();
        let event = |ticks, prod, pending, gap| Event { ticks, prod, pending, gap };
        assert_eq!(events, [event(1, 7, false, true), event(5, 7, true, false), event(6, 9, true, false)]);
        assert_eq!(lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_full_ring_is_counted_and_leaves_frames_without_an_arrival_not_with_a_wrong_one() {
        let (ring, lost) = (Ring::<8>::new(), AtomicU64::new(0));
        let mut consumer = ring.consumer();
        let mut tracker = Tracker::new(ring.producer(), &lost, 0, 0xfff0, false);
        let came = |n: u16| 100 * u64::from(n);
        for n in 1..=20 {
            tracker.index(0xfff0u16.wrapping_add(n), || came(n));
        }
        assert_eq!(lost.load(Ordering::Relaxed), 13, "20 frames, one event before them, room for eight");
        let mut matcher = Matcher::default();
        let mut arrivals = Vec::new();
        for frame in 0..7u16 {
            arrivals.push(
                matcher.arrival(0xfff0u16.wrapping_add(frame), || consumer.pop().map(|word| Event::unpack(word, 0))),
            );
        }
        tracker.index(0xfff0u16.wrapping_add(21), || came(21));
        tracker.index(0xfff0u16.wrapping_add(22), || came(22));
        for frame in 7..22u16 {
            arrivals.push(
                matcher.arrival(0xfff0u16.wrapping_add(frame), || consumer.pop().map(|word| Event::unpack(word, 0))),
            );
        }
        let expected: Vec<_> = (1..=22).map(|n| (n <= 7 || n == 22).then(|| came(n))).collect();
        assert_eq!(arrivals, expected);
        assert_eq!((matcher.missed, matcher.gaps), (14, 1));
    }
}
