//! Reading GB1 lines out of a capture.
//!
//! Owns the checks (shape, alphabet, CRC, sequence). A damaged line is counted, never guessed at.
//! What a record means is the reader's business.

use super::{CRC, MAX_LINE_BYTES, is_word_byte};
use alloc::string::String;
use core::fmt;

/// A line that holds no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineError {
    /// Text for people: it does not begin with `$GB1 `.
    NotARecord,
    /// It begins like a record and is none.
    Malformed,
    /// The check sum is wrong.
    WrongCrc {
        /// As written in the line.
        written: u32,
        /// As computed from it.
        computed: u32,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::NotARecord => write!(f, "not a record"),
            LineError::Malformed => write!(f, "malformed record"),
            LineError::WrongCrc { written, computed } => {
                write!(f, "damaged record: CRC {written:08x} in the line, {computed:08x} computed")
            }
        }
    }
}

impl core::error::Error for LineError {}

/// One intact line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Sequence number since reset.
    pub seq: u64,
    /// `hello`, `found`, `run`, ...
    pub kind: &'a str,
    fields: &'a str,
}

impl<'a> Record<'a> {
    /// Keys and raw values in the order of the line.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.fields.split(' ').filter_map(|field| field.split_once('='))
    }

    /// Raw value of `key`.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.fields().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// Value of `key` if it is an unsigned decimal or a `0x` number.
    pub fn num(&self, key: &str) -> Option<u64> {
        value_number(self.get(key)?)
    }

    /// Value of `key` with its percent-encoding undone.
    pub fn text(&self, key: &str) -> Option<String> {
        percent_decode(self.get(key)?)
    }
}

/// An unsigned decimal or a `0x` number.
pub(super) fn value_number(value: &str) -> Option<u64> {
    match value.strip_prefix("0x") {
        Some(digits) => number(digits, 16),
        None => number(value, 10),
    }
}

/// A number of digits alone: the standard library's parser takes a sign too.
fn number(digits: &str, radix: u32) -> Option<u64> {
    let all = digits.chars().all(|c| c.is_digit(radix));
    u64::from_str_radix(digits, radix).ok().filter(|_| all)
}

/// A sequence number as the writer writes it: no sign, no leading zero.
fn canonical_seq(word: &str) -> Option<u64> {
    number(word, 10).filter(|_| word == "0" || !word.starts_with('0'))
}

/// Undoes percent-encoding. `None` for a stray `%` or what is no UTF-8.
pub fn percent_decode(value: &str) -> Option<String> {
    let mut bytes = alloc::vec::Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = if *first == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(number(core::str::from_utf8(digits).ok()?, 16)? as u8);
            tail
        } else {
            bytes.push(*first);
            tail
        };
    }
    String::from_utf8(bytes).ok()
}

/// Reads one line; a line end is optional.
pub fn parse(line: &[u8]) -> Result<Record<'_>, LineError> {
    if !line.starts_with(b"$GB1 ") {
        return Err(LineError::NotARecord);
    }
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() + 2 > MAX_LINE_BYTES || !line.iter().all(|b| b.is_ascii_graphic() || *b == b' ') {
        return Err(LineError::Malformed);
    }
    let line = core::str::from_utf8(line).map_err(|_| LineError::Malformed)?;
    let (content, digits) = line[1..].rsplit_once('*').ok_or(LineError::Malformed)?;
    let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if digits.len() != 8 || !digits.bytes().all(lower_hex) {
        return Err(LineError::Malformed);
    }
    let written = u32::from_str_radix(digits, 16).map_err(|_| LineError::Malformed)?;
    let computed = CRC.checksum(content.as_bytes());
    if written != computed {
        return Err(LineError::WrongCrc { written, computed });
    }
    let mut words = content["GB1 ".len()..].splitn(3, ' ');
    let seq = words.next().and_then(canonical_seq).ok_or(LineError::Malformed)?;
    let kind = words.next().filter(|k| !k.is_empty() && k.bytes().all(|b| b.is_ascii_lowercase()));
    let fields = words.next();
    let well_formed =
        |field: &str| field.split_once('=').is_some_and(|(k, v)| !k.is_empty() && v.bytes().all(is_word_byte));
    if fields.is_some_and(|fields| !fields.split(' ').all(well_formed)) {
        return Err(LineError::Malformed);
    }
    Ok(Record { seq, kind: kind.ok_or(LineError::Malformed)?, fields: fields.unwrap_or("") })
}

/// Counts what is wrong with a capture while its lines are read in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reader {
    /// Intact records.
    pub records: u64,
    /// Lines that begin like a record and are damaged.
    pub damaged: u64,
    /// Sequence numbers that were skipped.
    pub missing: u64,
    next: u64,
}

impl Reader {
    /// Reads one line. `None` for text and for damaged lines.
    pub fn line<'a>(&mut self, line: &'a [u8]) -> Option<Record<'a>> {
        match parse(line) {
            Ok(record) => {
                self.records += 1;
                // Sequence 0 is a new session; a lower number is a reprint.
                if record.seq >= self.next {
                    self.missing = self.missing.saturating_add(record.seq - self.next);
                    self.next = record.seq.saturating_add(1);
                } else if record.seq == 0 && record.kind == "hello" {
                    self.next = 1;
                }
                Some(record)
            }
            Err(LineError::NotARecord) => None,
            Err(_) => {
                self.damaged += 1;
                None
            }
        }
    }
}
