//! A change that the watcher saw, in one word, so that it is stored and taken whole.

/// A change of PROD_INDEX or of the receive bit of the interrupt latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counter (54 MHz) when the change was seen: at most one turn of the watcher's loop after it happened.
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
    /// As one word, with the low 46 bits of the counter: 15 days.
    #[inline]
    pub const fn pack(self) -> u64 {
        self.ticks << TICKS_SHIFT
            | if self.gap { GAP } else { 0 }
            | if self.pending { PENDING } else { 0 }
            | self.prod as u64
    }

    /// From [`Event::pack`], no more than seven days before or after the counter was `near_ticks`.
    #[inline]
    pub const fn unpack(word: u64, near_ticks: u64) -> Event {
        // Both shifts: the distance in 46 bits, with its sign.
        let distance = (word.wrapping_sub(near_ticks << TICKS_SHIFT) as i64) >> TICKS_SHIFT;
        Event {
            ticks: near_ticks.wrapping_add_signed(distance),
            prod: word as u16,
            pending: word & PENDING != 0,
            gap: word & GAP != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_in_a_word() {
        const DAY: u64 = 54_000_000 * 86_400;
        for ticks in [0, 1, 15 * DAY, (1 << 46) - 1, 1 << 46, (1 << 46) + 1, 16 * DAY, 3_000 * DAY] {
            for prod in [0, 1, 0x8000, 0xffff] {
                for (pending, gap) in [(false, false), (true, false), (false, true), (true, true)] {
                    let event = Event { ticks, prod, pending, gap };
                    for near in [ticks, ticks.saturating_sub(DAY), ticks + 6 * DAY] {
                        assert_eq!(Event::unpack(event.pack(), near), event, "near {near}");
                    }
                }
            }
        }
    }
}
