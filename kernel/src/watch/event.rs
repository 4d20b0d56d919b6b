//! A change that the watcher saw, in one word, so that it is stored and taken whole.

/// A change of PROD_INDEX or of the receive bit of the interrupt latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counter (54 MHz) when the change was seen: at most one turn of the watcher's loop after it happened. 46 bits:
    /// 15 days.
    pub ticks: u64,
    /// PROD_INDEX since then.
    pub prod: u16,
    /// The receive interrupt is latched since then.
    pub pending: bool,
    /// Events before this one are missing: when the frames up to `prod` came is not known.
    pub gap: bool,
}

const PENDING: u64 = 1 << 16;
const GAP: u64 = 1 << 17;
const TICKS_SHIFT: u32 = 18;

impl Event {
    /// As one word.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.ticks << TICKS_SHIFT
            | if self.gap { GAP } else { 0 }
            | if self.pending { PENDING } else { 0 }
            | self.prod as u64
    }

    /// From [`Event::pack`].
    #[inline]
    pub const fn unpack(word: u64) -> Event {
        Event { ticks: word >> TICKS_SHIFT, prod: word as u16, pending: word & PENDING != 0, gap: word & GAP != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_in_a_word() {
        for ticks in [0, 1, 54_000_000 * 86_400 * 15] {
            for prod in [0, 1, 0x8000, 0xffff] {
                for (pending, gap) in [(false, false), (true, false), (false, true), (true, true)] {
                    let event = Event { ticks, prod, pending, gap };
                    assert_eq!(Event::unpack(event.pack()), event);
                }
            }
        }
    }
}
