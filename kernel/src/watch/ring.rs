//! A ring of words from one core to another: one producer, one consumer, no locks.
//!
//! What one side writes often lies in a cache line of its own. A full ring refuses the word, and the producer counts it;
//! nothing is overwritten. The two ends are free running counts.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A value in a cache line of its own.
#[repr(align(64))]
struct Line<T>(T);

/// `N` words, a power of two.
pub struct Ring<const N: usize> {
    /// Words ever put in.
    head: Line<AtomicUsize>,
    /// Words ever taken out.
    tail: Line<AtomicUsize>,
    slots: Line<[AtomicU64; N]>,
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Ring<N> {
    const POWER_OF_TWO: () = assert!(N.is_power_of_two());

    /// An empty ring.
    pub const fn new() -> Self {
        let () = Self::POWER_OF_TWO;
        Ring {
            head: Line(AtomicUsize::new(0)),
            tail: Line(AtomicUsize::new(0)),
            slots: Line([const { AtomicU64::new(0) }; N]),
        }
    }

    /// The end that puts in. With two of them at a time words are lost.
    pub fn producer(&self) -> Producer<'_, N> {
        Producer {
            head: self.head.0.load(Ordering::Acquire),
            tail_seen: self.tail.0.load(Ordering::Acquire),
            ring: self,
        }
    }

    /// The end that takes out. With two of them at a time words come twice.
    pub fn consumer(&self) -> Consumer<'_, N> {
        Consumer {
            tail: self.tail.0.load(Ordering::Acquire),
            head_seen: self.head.0.load(Ordering::Acquire),
            ring: self,
        }
    }
}

/// Puts words in.
pub struct Producer<'a, const N: usize> {
    ring: &'a Ring<N>,
    head: usize,
    tail_seen: usize,
}

impl<const N: usize> Producer<'_, N> {
    /// False: the ring is full, and the word is not in it.
    #[inline]
    pub fn push(&mut self, word: u64) -> bool {
        if self.head.wrapping_sub(self.tail_seen) == N {
            // Acquire: the consumer's read of the slot came before its tail.
            self.tail_seen = self.ring.tail.0.load(Ordering::Acquire);
            if self.head.wrapping_sub(self.tail_seen) == N {
                return false;
            }
        }
        self.ring.slots.0[self.head % N].store(word, Ordering::Relaxed);
        self.head = self.head.wrapping_add(1);
        // Release: the slot is written before the count says so.
        self.ring.head.0.store(self.head, Ordering::Release);
        true
    }
}

/// Takes words out.
pub struct Consumer<'a, const N: usize> {
    ring: &'a Ring<N>,
    tail: usize,
    head_seen: usize,
}

impl<const N: usize> Consumer<'_, N> {
    /// The oldest word.
    #[inline]
    pub fn pop(&mut self) -> Option<u64> {
        if self.tail == self.head_seen {
            self.head_seen = self.ring.head.0.load(Ordering::Acquire);
            if self.tail == self.head_seen {
                return None;
            }
        }
        let word = self.ring.slots.0[self.tail % N].load(Ordering::Relaxed);
        self.tail = self.tail.wrapping_add(1);
        self.ring.tail.0.store(self.tail, Ordering::Release);
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_in_order_and_a_full_ring_refuses() {
        let ring = Ring::<4>::new();
        let (mut producer, mut consumer) = (ring.producer(), ring.consumer());
        assert_eq!(consumer.pop(), None);
        let mut next = 0;
        for round in 0..10 {
            let accepted = (0..6).filter(|i| producer.push(next + i)).count() as u64;
            assert_eq!(accepted, 4, "round {round}");
            for i in 0..4 {
                assert_eq!(consumer.pop(), Some(next + i));
            }
            assert_eq!(consumer.pop(), None);
            next += 4;
        }
    }

    #[test]
    fn ends_can_be_taken_up_again() {
        let ring = Ring::<8>::new();
        assert!(ring.producer().push(1) && ring.producer().push(2));
        assert_eq!(ring.consumer().pop(), Some(1));
        assert_eq!((ring.consumer().pop(), ring.consumer().pop()), (Some(2), None));
    }

    #[test]
    fn two_threads_lose_and_invent_nothing() {
        const WORDS: u64 = 200_000;
        let ring = Ring::<64>::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut producer = ring.producer();
                for word in 0..WORDS {
                    while !producer.push(word) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut consumer = ring.consumer();
            for expected in 0..WORDS {
                let word = loop {
                    match consumer.pop() {
                        Some(word) => break word,
                        None => std::thread::yield_now(),
                    }
                };
                assert_eq!(word, expected);
            }
            assert_eq!(consumer.pop(), None);
        });
    }
}
