//! Messages of the VideoCore property interface (Linux raspberrypi-firmware.h, U-Boot, Circle).
//!
//! Pure layout: a request is built in, and an answer read from, a slice of words.

use core::fmt;

/// Tag of a question and the words it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Tag {
    FirmwareRevision = 0x0000_0001,
    BoardRevision = 0x0001_0002,
    MacAddress = 0x0001_0003,
    BoardSerial = 0x0001_0004,
    ClockRate = 0x0003_0002,
    MaxClockRate = 0x0003_0004,
    SetClockRate = 0x0003_8002,
    MeasuredClockRate = 0x0003_0047,
    Temperature = 0x0003_0006,
    Throttled = 0x0003_0046,
}

/// Clock numbers of the property interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Clock {
    Uart = 2,
    Arm = 3,
    Core = 4,
}

const RESPONSE_OK: u32 = 0x8000_0000;
const ANSWERED: u32 = 0x8000_0000;

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyError {
    /// The firmware did not take or answer the message in time.
    Timeout,
    /// The mailbox answered for somebody else's buffer.
    WrongReply(u32),
    /// The firmware rejected the message; its response code.
    Rejected(u32),
    /// The firmware does not know the tag.
    NoAnswer,
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PropertyError::Timeout => write!(f, "the firmware's mailbox does not answer"),
            PropertyError::WrongReply(word) => write!(f, "the mailbox answered {word:#x}, not our message"),
            PropertyError::Rejected(code) => write!(f, "the firmware rejected the message ({code:#x})"),
            PropertyError::NoAnswer => write!(f, "the firmware does not know this tag"),
        }
    }
}

/// Words of a message with one tag and a value of `VALUE_WORDS` words.
pub const MESSAGE_WORDS: usize = 8;
const VALUE_WORDS: u32 = 2;

/// The message that asks `tag` with up to two words; every tag we use fits in two.
pub fn request(tag: Tag, value: [u32; 2], set_flag: Option<u32>) -> [u32; MESSAGE_WORDS + 1] {
    let extra = set_flag.is_some() as u32;
    let value_bytes = (VALUE_WORDS + extra) * 4;
    let mut words = [0; MESSAGE_WORDS + 1];
    words[0] = (MESSAGE_WORDS as u32 + extra) * 4;
    words[2] = tag as u32;
    words[3] = value_bytes;
    words[4] = value_bytes;
    words[5] = value[0];
    words[6] = value[1];
    words[7] = set_flag.unwrap_or(0);
    words
}

/// The value words of an answer to [`request`].
pub fn answer(words: &[u32; MESSAGE_WORDS + 1]) -> Result<[u32; 2], PropertyError> {
    if words[1] != RESPONSE_OK {
        return Err(PropertyError::Rejected(words[1]));
    }
    if words[4] & ANSWERED == 0 {
        return Err(PropertyError::NoAnswer);
    }
    Ok([words[5], words[6]])
}

/// The MAC address out of its answer: six bytes in memory order.
pub fn mac_of(value: [u32; 2]) -> [u8; 6] {
    let (a, b) = (value[0].to_le_bytes(), value[1].to_le_bytes());
    [a[0], a[1], a[2], a[3], b[0], b[1]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_laid_out_as_the_firmware_reads_it() {
        let words = request(Tag::ClockRate, [Clock::Uart as u32, 0], None);
        assert_eq!(words, [32, 0, 0x0003_0002, 8, 8, 2, 0, 0, 0]);
        let words = request(Tag::SetClockRate, [3, 1_500_000_000], Some(0));
        assert_eq!(words, [36, 0, 0x0003_8002, 12, 12, 3, 1_500_000_000, 0, 0]);
    }

    #[test]
    fn answers_are_checked() {
        let mut words = request(Tag::BoardRevision, [0; 2], None);
        assert_eq!(answer(&words), Err(PropertyError::Rejected(0)));
        words[1] = RESPONSE_OK;
        assert_eq!(answer(&words), Err(PropertyError::NoAnswer));
        words[4] = ANSWERED | 4;
        words[5] = 0xc0_3115;
        assert_eq!(answer(&words), Ok([0xc0_3115, 0]));
    }

    #[test]
    fn mac_is_in_memory_order() {
        assert_eq!(mac_of([0x0132_a6dc, 0x0302]), [0xdc, 0xa6, 0x32, 0x01, 0x02, 0x03]);
    }
}
