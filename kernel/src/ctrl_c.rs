//! When a typed Ctrl-C ends what is going on.
//!
//! Pure reasoning over bytes and times. Line noise holds one ETX in 256 bytes and must not end a measurement, so an ETX
//! counts only if it stands at a border of the input: nothing came for a while before it, or nothing comes after it.

/// The byte.
pub const ETX: u8 = 0x03;
/// Silence that makes a border, ns: 57 byte times at 115200 baud.
pub const QUIET_NS: u64 = 5_000_000;

/// Watches input for a Ctrl-C.
#[derive(Clone, Copy, Debug)]
pub struct CtrlC {
    last_ns: u64,
    /// All zero at first, or the queues beside it would take up room in the image.
    due_ns: Option<u64>,
}

impl CtrlC {
    /// Nothing came yet.
    pub const fn new() -> Self {
        CtrlC { last_ns: 0, due_ns: None }
    }

    /// Forgets a Ctrl-C.
    pub fn forget(&mut self) {
        self.due_ns = None;
    }

    /// A byte was read from the line at `now_ns`; `None` for one with an error. Returns from when on the Ctrl-C counts, ns;
    /// `u64::MAX` for never. A later byte may take back what is not due yet.
    pub fn take(&mut self, byte: Option<u8>, now_ns: u64) -> u64 {
        let quiet_before = now_ns.saturating_sub(self.last_ns) >= QUIET_NS;
        self.last_ns = now_ns;
        if self.due_ns.is_none_or(|due_ns| due_ns > now_ns) {
            self.due_ns = match byte {
                Some(ETX) if quiet_before => Some(now_ns),
                Some(ETX) => Some(now_ns + QUIET_NS),
                _ => None,
            };
        }
        self.due_ns.unwrap_or(u64::MAX)
    }
}

impl Default for CtrlC {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn due(input: &[(u64, &[u8])]) -> Option<u64> {
        let mut ctrl_c = CtrlC::new();
        let mut due = u64::MAX;
        for (at_ns, bytes) in input {
            bytes.iter().for_each(|b| due = ctrl_c.take((*b != 0xff).then_some(*b), *at_ns));
        }
        Some(due).filter(|due| *due < u64::MAX)
    }

    #[test]
    fn counts_at_a_border_of_the_input_only() {
        assert_eq!(due(&[(20 * MS, b"\x03")]), Some(20 * MS));
        assert_eq!(due(&[(20 * MS, b"\x03help\r")]), Some(20 * MS), "the first after silence");
        assert_eq!(due(&[(20 * MS, b"run\r\x03")]), Some(25 * MS), "the last before silence");
        assert_eq!(due(&[(20 * MS, b"a\x03"), (22 * MS, b"b")]), None, "in the middle");
        assert_eq!(due(&[(20 * MS, b"a\x03"), (25 * MS, b"b")]), Some(25 * MS), "it was due already");
        assert_eq!(due(&[(20 * MS, b"a\x03\xff")]), None, "an error is noise");
        assert_eq!(due(&[(20 * MS, b"help\r")]), None);
    }

    #[test]
    fn noise_without_a_pause_never_counts() {
        let mut ctrl_c = CtrlC::new();
        ctrl_c.take(Some(b'x'), 10 * MS);
        // 0x03 comes 400 times, twice in a row now and then.
        for at in 0..100_000u64 {
            let byte = (at * 7919 % 251) as u8;
            let due_ns = ctrl_c.take(Some(byte), 10 * MS + at * 87_000);
            assert!(due_ns > 10 * MS + (at + 1) * 87_000, "byte {at}");
        }
    }

    #[test]
    fn stays_until_it_is_forgotten() {
        let mut ctrl_c = CtrlC::new();
        ctrl_c.take(Some(ETX), 20 * MS);
        assert_eq!(ctrl_c.take(Some(b'x'), 30 * MS), 20 * MS);
        ctrl_c.forget();
        assert_eq!(ctrl_c.take(Some(b'x'), 31 * MS), u64::MAX);
    }
}
