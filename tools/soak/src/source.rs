//! Numbered frames as fast as the port takes them, and a host on the same cable.
//!
//! Owns the content of the frames: header, number, and a piece of the host's body pattern that depends on the number.

use board::host::{HostHandle, fill_body};
use board::link::Peer;
use board::rng::SplitMix64;

/// EtherType of the frames (IEEE local experimental 2).
const ETHERTYPE: u16 = 0x88B6;
const SOURCE: [u8; 6] = [0x02, 0, 0, 0, 0, 0x98];
const NUMBER_AT: usize = 14;
const HEAD_BYTES: usize = 22;
const MIN_BYTES: usize = 60;
const MAX_BYTES: usize = 1514;

/// Lengths of frames, without FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// 60 bytes: 1.49 million frames a second at 1 Gbit/s.
    Shortest,
    /// 1514 bytes: 81 thousand frames a second at 1 Gbit/s.
    Longest,
    /// Every length between, by number.
    Mixed,
}

impl Lengths {
    /// Length of frame `number`, bytes.
    fn bytes(self, number: u64) -> usize {
        match self {
            Lengths::Shortest => MIN_BYTES,
            Lengths::Longest => MAX_BYTES,
            Lengths::Mixed => {
                MIN_BYTES + (SplitMix64::new(number).next_u64() % (MAX_BYTES - MIN_BYTES + 1) as u64) as usize
            }
        }
    }
}

/// Where the content of frame `number` begins in the pattern.
fn pattern_at(number: u64) -> u64 {
    number * 1_471
}

/// Writes frame `number` to `frame`, whose length is the frame's.
fn fill(frame: &mut [u8], destination: &[u8; 6], number: u64) {
    frame[..6].copy_from_slice(destination);
    frame[6..12].copy_from_slice(&SOURCE);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[NUMBER_AT..HEAD_BYTES].copy_from_slice(&number.to_be_bytes());
    fill_body(pattern_at(number), &mut frame[HEAD_BYTES..]);
}

/// The source.
#[derive(Clone, Debug)]
pub struct Source {
    destination: [u8; 6],
    lengths: Lengths,
    next: u64,
    end: u64,
}

impl Source {
    /// A source that has nothing to send yet.
    pub fn new(destination: [u8; 6]) -> Source {
        Source { destination, lengths: Lengths::Mixed, next: 0, end: 0 }
    }

    /// Sends `count` more frames; numbers go on.
    pub fn send(&mut self, count: u64, lengths: Lengths) {
        (self.end, self.lengths) = (self.next + count, lengths);
    }

    /// Frames still to be sent.
    pub fn left(&self) -> u64 {
        self.end - self.next
    }

    /// Number of the next frame: frames sent so far.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut frame = vec![0; self.lengths.bytes(self.next)];
        fill(&mut frame, &self.destination, self.next);
        self.next += 1;
        frame
    }
}

/// Compares received frames with what a source sent.
pub struct Checker {
    destination: [u8; 6],
    scratch: Vec<u8>,
}

/// What a received frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The source's frame of this number, byte for byte.
    Right(u64),
    /// It claims to be this number and differs at this byte (or in length: at its end).
    Wrong {
        /// Number in the frame.
        number: u64,
        /// First byte that differs.
        at: usize,
    },
    /// Not from the source.
    Other,
}

impl Checker {
    /// For frames to `destination`.
    pub fn new(destination: [u8; 6]) -> Checker {
        Checker { destination, scratch: vec![0; MAX_BYTES] }
    }

    /// Compares `frame`, sent with `lengths`.
    pub fn check(&mut self, frame: &[u8], lengths: Lengths) -> Verdict {
        let Some(number) = frame.get(NUMBER_AT..HEAD_BYTES).and_then(|bytes| bytes.try_into().ok()) else {
            return Verdict::Other;
        };
        if frame[12..14] != ETHERTYPE.to_be_bytes() {
            return Verdict::Other;
        }
        let number = u64::from_be_bytes(number);
        let expected = &mut self.scratch[..lengths.bytes(number)];
        fill(expected, &self.destination, number);
        if frame == expected {
            return Verdict::Right(number);
        }
        let same = frame.iter().zip(expected.iter()).take_while(|(a, b)| a == b).count();
        Verdict::Wrong { number, at: same }
    }
}

/// Host and source behind one port; the host comes first.
pub struct Peers {
    /// The host.
    pub host: HostHandle,
    /// The source.
    pub source: Source,
    room_bytes: usize,
}

impl Peers {
    /// Both.
    pub fn new(host: HostHandle, source: Source) -> Peers {
        Peers { host, source, room_bytes: usize::MAX }
    }
}

impl Peer for Peers {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.host.receive(now, frame);
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        if self.host.next_event().is_some_and(|due| due <= now) {
            self.host.poll(now, send);
        }
        if self.source.left() > 0 && self.room_bytes >= MAX_BYTES {
            send(self.source.frame());
        }
    }

    fn next_event(&self) -> Option<u64> {
        if self.source.left() > 0 { Some(0) } else { self.host.next_event() }
    }

    fn room(&mut self, free_bytes: usize) {
        self.room_bytes = free_bytes;
        self.host.room(free_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_and_length_is_seen() {
        let mut source = Source::new([1; 6]);
        source.send(300, Lengths::Mixed);
        let mut checker = Checker::new([1; 6]);
        for number in 0..300 {
            let frame = source.frame();
            assert_eq!(checker.check(&frame, Lengths::Mixed), Verdict::Right(number));
            let at = HEAD_BYTES + number as usize % (frame.len() - HEAD_BYTES);
            let mut damaged = frame.clone();
            damaged[at] ^= 1;
            assert_eq!(checker.check(&damaged, Lengths::Mixed), Verdict::Wrong { number, at });
            let short = &frame[..frame.len() - 1];
            assert_eq!(checker.check(short, Lengths::Mixed), Verdict::Wrong { number, at: short.len() });
        }
        assert_eq!(source.left(), 0);
        assert_eq!(checker.check(&[0; 60], Lengths::Mixed), Verdict::Other);
    }
}
