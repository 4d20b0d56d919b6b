//! GB1 records: lines of a console capture that programs read.
//!
//! Owns the format (sequence numbers, CRC, escaping, splitting of long records) and the memory of
//! what was written, for a reprint. Reading a line is in [`parse`], a capture in [`read_capture`]. What goes into a record is the
//! business of whoever writes it.
//!
//! A line is `$GB1 <seq> <kind> <key>=<value>...*<crc>\r\n`, at most 240 bytes of printable ASCII.
//! The CRC is CRC-32 of IEEE 802.3 over everything between `$` and `*`.

mod parse;
mod session;

pub use parse::{LineError, Reader, Record, parse, percent_decode};
pub use session::{Capture, Entry, SessionRecords, read_capture};

use crate::Hello;
use alloc::collections::VecDeque;
use alloc::string::String;
use core::fmt::{self, Write};
use core::ops::RangeInclusive;
use crc::{CRC_32_ISO_HDLC, Crc};

/// Longest line, bytes, carriage return and line feed included.
pub const MAX_LINE_BYTES: usize = 240;
/// How much of what was written is kept for a reprint, bytes: a sweep of all presets writes some 45 KiB.
pub const KEPT_BYTES: usize = 512 << 10;
/// Longest value, bytes, so that every field fits into a line with its keys. Longer ones are cut.
pub const MAX_VALUE_BYTES: usize = 144;

/// `*`, eight digits, carriage return, line feed.
const TAIL_BYTES: usize = 11;
/// ` part=nnn parts=nnn`.
const PART_BYTES: usize = 19;

static CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// CRC-32 of IEEE 802.3, as the records carry it.
pub fn crc32(bytes: &[u8]) -> u32 {
    CRC.checksum(bytes)
}

/// An Ethernet address, written `02:00:00:00:00:01`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Writes records and keeps the last of them.
#[derive(Debug)]
pub struct Recorder {
    next_seq: u64,
    next_run: u32,
    is_virtual: bool,
    kept: VecDeque<u8>,
    kept_bytes: usize,
    /// Lines that were dropped from `kept`; each had its sequence number, so this is the first that is left.
    gone: u64,
    body: String,
    line: String,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// A recorder at sequence number 0 that allocates all it needs now.
    pub fn new() -> Self {
        Self::keeping(KEPT_BYTES)
    }

    /// As [`Self::new`], but `kept_bytes` (at least a line) are kept for a reprint.
    pub fn keeping(kept_bytes: usize) -> Self {
        let kept_bytes = kept_bytes.max(MAX_LINE_BYTES);
        Recorder {
            next_seq: 0,
            next_run: 1,
            is_virtual: false,
            kept: VecDeque::with_capacity(kept_bytes),
            kept_bytes,
            gone: 0,
            body: String::with_capacity(4096),
            line: String::with_capacity(MAX_LINE_BYTES),
        }
    }

    /// Records written since reset.
    pub fn records(&self) -> u64 {
        self.next_seq
    }

    /// Records that are not kept any more: sequence numbers below this.
    pub fn gone(&self) -> u64 {
        self.gone
    }

    /// The `hello` record said that this is the virtual Pi.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// A run id that was not given out yet.
    pub(crate) fn take_run_id(&mut self) -> u32 {
        let id = self.next_run;
        self.next_run += 1;
        id
    }

    /// Writes one record of `kind`; `fill` adds its fields. A long record becomes several lines
    /// with `part` (from 1) and `parts`; a leading `run` field is repeated in each of them.
    ///
    /// Nothing can be done about a console that fails, so its errors are dropped.
    pub fn record(&mut self, out: &mut dyn Write, kind: &str, fill: impl FnOnce(&mut Fields<'_>)) {
        let mut body = core::mem::take(&mut self.body);
        body.clear();
        fill(&mut Fields { body: &mut body });
        self.write_body(out, kind, &body);
        self.body = body;
    }

    fn write_body(&mut self, out: &mut dyn Write, kind: &str, body: &str) {
        let head = "$GB1 ".len() + decimal_digits(self.next_seq + 99) + 1 + kind.len();
        let room = MAX_LINE_BYTES - TAIL_BYTES - head;
        if body.len() <= room {
            self.write_line(out, kind, &[body], None);
            return;
        }
        let first_end = body[1..].find(' ').map_or(body.len(), |i| i + 1);
        let (sticky, rest) = if body.starts_with(" run=") { body.split_at(first_end) } else { ("", body) };
        let room = room - PART_BYTES - sticky.len();
        let parts = Chunks { rest, room }.count();
        for (index, chunk) in (Chunks { rest, room }).enumerate() {
            self.write_line(out, kind, &[sticky, chunk], Some((index + 1, parts)));
        }
    }

    fn write_line(&mut self, out: &mut dyn Write, kind: &str, body: &[&str], part: Option<(usize, usize)>) {
        let line = &mut self.line;
        line.clear();
        // Writing to a String does not fail.
        let _ = write!(line, "$GB1 {} {kind}", self.next_seq);
        for piece in body {
            line.push_str(piece);
        }
        if let Some((part, parts)) = part {
            let _ = write!(line, " part={part} parts={parts}");
        }
        let crc = crc32(&line.as_bytes()[1..]);
        let _ = write!(line, "*{crc:08x}\r\n");
        debug_assert!(line.len() <= MAX_LINE_BYTES, "{line}");
        self.next_seq += 1;
        let _ = out.write_str(line);
        while self.kept.len() + line.len() > self.kept_bytes {
            drop_line(&mut self.kept);
            self.gone += 1;
        }
        self.kept.extend(line.as_bytes());
    }

    /// Calls `f` with sequence number and line, CR LF included, of every kept record until it returns false.
    fn for_each_line(&self, mut f: impl FnMut(u64, &str) -> bool) {
        let mut line = String::with_capacity(MAX_LINE_BYTES);
        let mut seq = self.gone;
        for &byte in &self.kept {
            line.push(byte as char);
            if byte == b'\n' {
                if !f(seq, &line) {
                    return;
                }
                seq += 1;
                line.clear();
            }
        }
    }

    /// Writes the kept records in `seqs` again, byte for byte. `go_on` is called before each line, so that a queue of
    /// limited size can empty; false ends it. Returns how many lines were written.
    pub fn reprint<W: Write + ?Sized>(
        &self,
        out: &mut W,
        seqs: RangeInclusive<u64>,
        mut go_on: impl FnMut(&mut W) -> bool,
    ) -> u64 {
        let mut written = 0;
        self.for_each_line(|seq, line| {
            if !seqs.contains(&seq) {
                return seq < *seqs.end();
            }
            let more = go_on(out);
            if more {
                let _ = out.write_str(line);
                written += 1;
            }
            more
        });
        written
    }

    /// The last kept line of `kind`, for [`parse`].
    pub fn last(&self, kind: &str) -> Option<String> {
        let mut last = None;
        self.for_each_line(|_, line| {
            if line.split(' ').nth(2) == Some(kind) {
                last = Some(line.into());
            }
            true
        });
        last
    }

    /// The first record after reset.
    pub fn hello(&mut self, out: &mut dyn Write, hello: &Hello<'_>) {
        self.is_virtual = hello.is_virtual;
        self.record(out, "hello", |r| {
            r.num("gb", 1u8);
            r.text("version", hello.version);
            r.text("commit", hello.commit);
            if let Some(code) = hello.board_revision {
                r.hex("revision", code.into());
            }
            if let Some(serial) = hello.serial {
                r.hex("serial", serial);
            }
            r.word("boot", hello.boot);
            r.num("el", hello.entry_el);
            r.word("reset", hello.reset);
            r.hex("pm_rsts", hello.reset_status.into());
            r.num("core_hz", hello.core_hz);
            r.num("memory_mib", hello.memory_mib);
            if let Some(t) = hello.temperature_milli_c {
                r.num("temperature_milli", t);
            }
            if let Some(flags) = hello.throttled {
                r.hex("throttled", flags.into());
            }
            r.show("mac", Mac(hello.mac));
            r.text("model", hello.model);
            if hello.is_virtual {
                r.num("virtual", 1u8);
            }
            if let Some((event, at_ns)) = hello.last {
                r.num("last_ns", at_ns);
                r.text("last", event);
            }
        });
    }

    /// Ends a session in which no plan could run, for the reason `rc`.
    pub fn bye_without_runs(&mut self, out: &mut dyn Write, rc: &str) {
        self.bye(out, 0, 0, rc, |_| {});
    }

    /// Ends a plan; `more` adds fields. `records` counts this record too.
    pub(crate) fn bye(
        &mut self,
        out: &mut dyn Write,
        runs: u32,
        failed: u32,
        rc: &str,
        more: impl FnOnce(&mut Fields<'_>),
    ) {
        let records = self.next_seq + 1;
        self.record(out, "bye", |r| {
            r.num("runs", runs);
            r.num("failed", failed);
            r.num("records", records);
            r.word("rc", rc);
            more(r);
        });
    }
}

/// Adds the fields of one record.
#[derive(Debug)]
pub struct Fields<'a> {
    body: &'a mut String,
}

impl Fields<'_> {
    fn key(&mut self, key: &str) {
        self.body.push(' ');
        self.body.push_str(key);
        self.body.push('=');
    }

    /// A count or a quantity.
    pub fn num(&mut self, key: &str, value: impl Into<u64>) {
        self.show(key, value.into());
    }

    /// A quantity that may be negative.
    pub fn signed(&mut self, key: &str, value: i64) {
        self.show(key, value);
    }

    /// A quantity that may not have been measured: then the field is absent.
    pub fn maybe(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.num(key, value);
        }
    }

    /// A register's value.
    pub fn hex(&mut self, key: &str, value: u64) {
        self.show(key, format_args!("{value:#x}"));
    }

    /// A name, in lower case. What a word may not hold is escaped.
    pub fn word(&mut self, key: &str, value: &str) {
        self.key(key);
        let start = self.body.len();
        for byte in value.bytes() {
            push_escaped(self.body, byte.to_ascii_lowercase(), start);
        }
    }

    /// Free text, percent-encoded.
    pub fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        let start = self.body.len();
        for byte in value.bytes() {
            push_escaped(self.body, byte, start);
        }
    }

    /// Something that prints as a word or a number: an address, an [`Mac`].
    pub fn show(&mut self, key: &str, value: impl fmt::Display) {
        self.key(key);
        let _ = write!(self.body, "{value}");
    }
}

/// Appends `byte` as part of a value that began at `start`; drops it when the value is full.
fn push_escaped(body: &mut String, byte: u8, start: usize) {
    if body.len() - start + 3 > MAX_VALUE_BYTES {
        return;
    }
    if is_word_byte(byte) && byte != b'%' {
        body.push(byte as char);
    } else {
        let _ = write!(body, "%{byte:02x}");
    }
}

/// A byte that may stand in a value.
const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b':' | b'/' | b'%' | b'+' | b'-')
}

const fn decimal_digits(mut value: u64) -> usize {
    let mut digits = 1;
    while value >= 10 {
        value /= 10;
        digits += 1;
    }
    digits
}

fn drop_line(kept: &mut VecDeque<u8>) {
    while let Some(byte) = kept.pop_front() {
        if byte == b'\n' {
            return;
        }
    }
}

/// Cuts ` a=1 b=2 ...` into runs of whole fields that are at most `room` bytes long.
struct Chunks<'a> {
    rest: &'a str,
    room: usize,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let mut end = 0;
        while end < self.rest.len() {
            let next = self.rest[end + 1..].find(' ').map_or(self.rest.len(), |i| end + 1 + i);
            // A field of its own always goes, lest this never ends; keys are short and values cut.
            if next > self.room && end > 0 {
                break;
            }
            end = next;
        }
        let (chunk, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests;
