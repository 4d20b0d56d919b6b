//! Reading a whole capture: sessions, whole records, and what is missing.
//!
//! Owns what lines mean to each other: sequence, parts, reprints, resets. A capture may begin and end anywhere, hold
//! text of any kind, damaged lines and reprints. A record comes out only if every line of it is in the capture intact.

use super::{LineError, Record, parse};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// One record, its parts joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Sequence number since reset, of the first part.
    pub seq: u64,
    /// `hello`, `found`, `run`, ...
    pub kind: String,
    /// Keys and raw values in the order of the record, without `part` and `parts`.
    pub fields: Vec<(String, String)>,
}

impl Entry {
    /// Raw value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Value of `key` if it is an unsigned decimal or a `0x` number.
    pub fn num(&self, key: &str) -> Option<u64> {
        super::parse::value_number(self.get(key)?)
    }

    /// Value of `key` with its percent-encoding undone.
    pub fn text(&self, key: &str) -> Option<String> {
        super::percent_decode(self.get(key)?)
    }
}

/// What one start of the board wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRecords {
    /// Whole records, by sequence number.
    pub entries: Vec<Entry>,
    /// Distinct intact lines.
    pub lines: u64,
    /// Sequence numbers below the highest one seen of which there is no intact line.
    pub missing: u64,
    /// Intact lines of records of which other parts are missing; they are in no entry.
    pub incomplete: u64,
}

/// What a capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// One for each start of the board that left an intact line.
    pub sessions: Vec<SessionRecords>,
    /// Lines that begin like a record and are damaged.
    pub damaged: u64,
    /// Lines that are byte for byte what their session had already: a reprint.
    pub repeated: u64,
}

/// Reads a capture. Lines end in CR, LF or both.
///
/// A line that differs from an earlier one with its number begins a session, and what comes without a gap between a
/// `hello` and that line belongs to it too. Lines that are the same are a reprint and fill gaps. A reset after which all
/// is the same, as far as the capture goes, cannot be told from a reprint and is taken for one.
pub fn read_capture(capture: &[u8]) -> Capture {
    let mut read = Capture::default();
    let mut session = Lines::default();
    for line in capture.split(|b| matches!(b, b'\r' | b'\n')) {
        match parse(line) {
            Ok(record) => {
                if !session.fits(record.seq, line) {
                    let next = session.begin_next(record.seq);
                    let ended = core::mem::replace(&mut session, next);
                    read.repeated += ended.repeated;
                    read.sessions.push(ended.join());
                }
                session.take(record.seq, line);
            }
            Err(LineError::NotARecord) => {}
            Err(_) => read.damaged += 1,
        }
    }
    if !session.known.is_empty() {
        read.repeated += session.repeated;
        read.sessions.push(session.join());
    }
    read
}

/// Lines of a session under way.
#[derive(Default)]
struct Lines<'a> {
    known: BTreeMap<u64, &'a [u8]>,
    repeated: u64,
    /// The stretch without a gap up to now: its first number, and one behind its last.
    stretch: (u64, u64),
    /// Numbers in `stretch` that were not known before.
    added: Vec<u64>,
}

impl<'a> Lines<'a> {
    /// The session has no other line of that number.
    fn fits(&self, seq: u64, line: &[u8]) -> bool {
        self.known.get(&seq).is_none_or(|known| *known == line)
    }

    fn take(&mut self, seq: u64, line: &'a [u8]) {
        if seq != self.stretch.1 || self.known.is_empty() {
            self.stretch.0 = seq;
            self.added.clear();
        }
        self.stretch.1 = seq.saturating_add(1);
        if self.known.insert(seq, line).is_none() {
            self.added.push(seq);
        } else {
            self.repeated += 1;
        }
    }

    /// The session that line `seq` begins because it does not fit into this one. A stretch from number 0 on that leads
    /// to it was its beginning and no reprint.
    fn begin_next(&mut self, seq: u64) -> Lines<'a> {
        let mut next = Lines::default();
        if self.stretch == (0, seq) {
            for (seq, line) in self.known.range(0..seq) {
                next.take(*seq, line);
            }
            self.repeated -= seq - self.added.len() as u64;
            for seq in &self.added {
                self.known.remove(seq);
            }
        }
        next
    }

    fn join(&self) -> SessionRecords {
        let mut session = SessionRecords { lines: self.known.len() as u64, ..SessionRecords::default() };
        let highest = self.known.keys().next_back().copied().unwrap_or(0);
        // Wraps only for the record of number 2^64 - 1.
        session.missing = highest.wrapping_add(1).wrapping_sub(session.lines);
        let mut next = 0;
        for seq in self.known.keys().copied() {
            if seq < next {
                continue; // part of the entry before
            }
            match self.entry(seq) {
                Some((entry, lines)) => {
                    session.entries.push(entry);
                    next = seq.saturating_add(lines);
                }
                None => session.incomplete += 1,
            }
        }
        session
    }

    fn record(&self, seq: u64) -> Option<Record<'a>> {
        parse(self.known.get(&seq)?).ok()
    }

    /// The record whose first line is number `seq`, and its number of lines; `None` if it is not its first or some are
    /// missing.
    fn entry(&self, seq: u64) -> Option<(Entry, u64)> {
        let first = self.record(seq)?;
        let own = |(key, value): (&str, &str)| (String::from(key), String::from(value));
        let is_part = |(key, _): &(&str, &str)| !matches!(*key, "part" | "parts");
        let (part, parts) = match (first.num("part"), first.num("parts")) {
            (Some(part), Some(parts)) => (part, parts),
            _ => (1, 1),
        };
        if part != 1 || parts == 0 {
            return None;
        }
        let mut fields: Vec<_> = first.fields().filter(is_part).map(own).collect();
        // A leading run id is repeated in every part.
        let run = first.fields().next().filter(|(key, _)| *key == "run");
        for index in 1..parts {
            let record = self.record(seq.checked_add(index)?)?;
            let belongs = record.kind == first.kind
                && (record.num("part"), record.num("parts")) == (Some(index + 1), Some(parts))
                && run.is_none_or(|run| record.fields().next() == Some(run));
            if !belongs {
                return None;
            }
            let repeated = usize::from(run.is_some());
            fields.extend(record.fields().skip(repeated).filter(is_part).map(own));
        }
        Some((Entry { seq, kind: first.kind.into(), fields }, parts))
    }
}

#[cfg(test)]
mod tests;
