//! What outlives a reset: how the program was ending and what it did last, as bytes with a check sum.
//!
//! Pure layout and reasoning; `mem::kept` puts the bytes where they survive. Memory that a firmware may overwrite and
//! that holds anything after power-on: what does not check is no record.

use netbench::record::crc32;

/// Bytes of a record: two cache lines.
pub const RECORD_BYTES: usize = 128;
/// Longest text of an event, bytes; longer ones are cut.
pub const TEXT_BYTES: usize = RECORD_BYTES - TEXT_AT - 4;
const TEXT_AT: usize = 16;
const CRC_AT: usize = RECORD_BYTES - 4;
const MAGIC: [u8; 4] = *b"GBK1";
/// Flag: the watchdog resets the board at once instead of after its time.
const FLAG_UNFIT: u8 = 1;

/// What the program was doing with the watchdog when the record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// At work.
    Running,
    /// The watchdog is being started.
    Arming,
    /// Somebody asked for a reset.
    Reboot,
    /// It reported a fault and waits for its reset.
    Fault,
}

/// Short text, cut where it does not fit; anything but printable ASCII becomes `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; TEXT_BYTES],
    len: usize,
    ended: bool,
}

impl Default for Text {
    fn default() -> Self {
        Text { bytes: [0; TEXT_BYTES], len: 0, ended: false }
    }
}

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

/// Takes the first line that is not empty.
impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for character in text.chars() {
            match character {
                '\n' | '\r' => self.ended |= self.len > 0,
                _ if self.ended || self.len == TEXT_BYTES => {}
                _ => {
                    self.bytes[self.len] = if (' '..='~').contains(&character) { character as u8 } else { b'?' };
                    self.len += 1;
                }
            }
        }
        Ok(())
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What the program was doing.
    pub state: State,
    /// The watchdog cannot be used on this machine.
    pub watchdog_unfit: bool,
    /// When the event came, ns since that program's reset.
    pub at_ns: u64,
    /// The event.
    pub event: Text,
}

impl Kept {
    /// The record as it lies in memory.
    pub fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        out[..4].copy_from_slice(&MAGIC);
        out[4] = match self.state {
            State::Running => 1,
            State::Arming => 2,
            State::Reboot => 3,
            State::Fault => 4,
        };
        out[5] = if self.watchdog_unfit { FLAG_UNFIT } else { 0 };
        out[6] = self.event.len as u8;
        out[8..TEXT_AT].copy_from_slice(&self.at_ns.to_le_bytes());
        out[TEXT_AT..CRC_AT].copy_from_slice(&self.event.bytes);
        let crc = crc32(&out[..CRC_AT]);
        out[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads a record back. `None`: memory that never held one, or that lost some of it.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<Self> {
        let (body, crc) = bytes.split_last_chunk::<4>()?;
        let len = usize::from(body[6]);
        if body[..4] != MAGIC || crc32(body) != u32::from_le_bytes(*crc) || len > TEXT_BYTES {
            return None;
        }
        let state = match body[4] {
            1 => State::Running,
            2 => State::Arming,
            3 => State::Reboot,
            4 => State::Fault,
            _ => return None,
        };
        let mut event = Text { len, ..Text::default() };
        event.bytes.copy_from_slice(&body[TEXT_AT..]);
        let at_ns = u64::from_le_bytes(body[8..TEXT_AT].try_into().ok()?);
        Some(Kept { state, watchdog_unfit: body[5] & FLAG_UNFIT != 0, at_ns, event })
    }
}

/// Why the board was reset, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// Power came.
    Power,
    /// The watchdog: ours because the main loop stood still, or somebody else's.
    Watchdog,
    /// The console's `reboot`.
    Reboot,
    /// An exception or a panic of this program.
    Fault,
    /// Nothing tells.
    Unknown,
}

impl ResetReason {
    /// The word of the `hello` record.
    pub const fn word(self) -> &'static str {
        match self {
            ResetReason::Power => "power",
            ResetReason::Watchdog => "watchdog",
            ResetReason::Reboot => "reboot",
            ResetReason::Fault => "fault",
            ResetReason::Unknown => "unknown",
        }
    }

    /// What it means, for a person.
    pub const fn about(self) -> &'static str {
        match self {
            ResetReason::Power => "power came",
            ResetReason::Watchdog => "the watchdog reset the board",
            ResetReason::Reboot => "the console's reboot",
            ResetReason::Fault => "the program failed and reset the board",
            ResetReason::Unknown => "neither PM_RSTS nor memory tells why",
        }
    }
}

/// PM_RSTS: a full reset by the watchdog (HADWRF). Bits 4 and 6, the watchdog's other resets, are also bits of the
/// partition number, so they prove nothing.
const HAD_WATCHDOG_RESET: u32 = 1 << 5;
/// PM_RSTS: a power-on reset (HADPOR).
const HAD_POWER_ON: u32 = 1 << 12;

/// The reason, from PM_RSTS (0 if unknown) and from the record that was found.
///
/// Boards disagree: after a watchdog reset logs show 0x20 and 0x1020 (so HADPOR alone means power), a bootloader may cut
/// the power itself after a watchdog reset (0x1000, memory mostly kept), and reading the register clears it
/// (raspberrypi/linux 932, 1586, 4527; raspberrypi/rpi-eeprom 279). A record that announced the reset is therefore
/// believed first.
pub fn reset_reason(status: u32, kept: Option<&Kept>) -> ResetReason {
    match kept.map(|kept| kept.state) {
        Some(State::Reboot) => ResetReason::Reboot,
        Some(State::Fault) => ResetReason::Fault,
        Some(State::Arming) => ResetReason::Watchdog, // it fired at once
        _ if status & HAD_WATCHDOG_RESET != 0 => ResetReason::Watchdog,
        _ if status & HAD_POWER_ON != 0 => ResetReason::Power,
        // The register tells nothing, but memory lived through it.
        Some(_) => ResetReason::Watchdog,
        None => ResetReason::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::fmt::Write;

    fn kept(state: State, event: &str) -> Kept {
        let mut text = Text::default();
        text.write_str(event).unwrap();
        Kept { state, watchdog_unfit: false, at_ns: 12_345_678_900, event: text }
    }

    #[test]
    fn records_come_back_as_they_were_and_every_damaged_bit_is_noticed() {
        let record = Kept { watchdog_unfit: true, ..kept(State::Fault, "*** EXCEPTION: data abort") };
        let bytes = record.encode();
        assert_eq!(Kept::decode(&bytes), Some(record));
        for bit in 0..RECORD_BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Kept::decode(&damaged), None, "bit {bit}");
        }
    }

    #[test]
    fn what_memory_holds_after_power_on_is_no_record() {
        for garbage in [0, 0x55, 0xff] {
            assert_eq!(Kept::decode(&[garbage; RECORD_BYTES]), None);
        }
    }

    #[test]
    fn a_text_is_one_line_of_printable_ascii_that_fits() {
        assert_eq!(kept(State::Running, "\n*** PANIC: \u{e4}t\tx\nmore").event.as_str(), "*** PANIC: ?t?x");
        assert_eq!(kept(State::Running, &"x".repeat(500)).event.as_str().len(), TEXT_BYTES);
    }

    #[test]
    fn reasons_of_the_registers_values_that_boards_have_shown() {
        let running = kept(State::Running, "console");
        for status in [0x20, 0x1020, 0x0aa0] {
            assert_eq!(reset_reason(status, None), ResetReason::Watchdog, "{status:#x}");
            assert_eq!(reset_reason(status, Some(&running)), ResetReason::Watchdog);
        }
        assert_eq!(reset_reason(0x1000, None), ResetReason::Power);
        assert_eq!(reset_reason(0x1000, Some(&running)), ResetReason::Power, "unplugged for a moment");
        assert_eq!(reset_reason(0, Some(&running)), ResetReason::Watchdog);
        assert_eq!(reset_reason(0x555, None), ResetReason::Unknown, "a partition number");
        for status in [0, 0x20, 0x1000] {
            assert_eq!(reset_reason(status, Some(&kept(State::Reboot, ""))), ResetReason::Reboot);
            assert_eq!(reset_reason(status, Some(&kept(State::Fault, ""))), ResetReason::Fault);
        }
    }
}
