//! Peers without a protocol: one that says nothing, one that sends frames at a fixed pace.
//!
//! Made for tests of the receive path, where arrival times must be known exactly.

use crate::link::Peer;

/// A peer that never sends and ignores what it gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Peer for Silent {
    fn receive(&mut self, _now: u64, _frame: &[u8]) {}
    fn poll(&mut self, _now: u64, _send: &mut dyn FnMut(Vec<u8>)) {}
    fn next_event(&self) -> Option<u64> {
        None
    }
    fn room(&mut self, _free_bytes: usize) {}
}

/// Sends `count` frames of `len_bytes` (without FCS), the k-th handed to the partner's port at
/// `start_ns + k * interval_ns`, and keeps what it receives.
#[derive(Clone, Debug)]
pub struct PacedSource {
    /// First frame's time.
    pub start_ns: u64,
    /// Time from one frame to the next.
    pub interval_ns: u64,
    /// Frames in all.
    pub count: u64,
    /// Length of each frame, Ethernet header included, FCS not.
    pub len_bytes: usize,
    /// Destination address of each frame.
    pub destination: [u8; 6],
    /// Keep received frames (time of arrival, bytes).
    pub keep: bool,
    /// Received frames, when kept.
    pub received: Vec<(u64, Vec<u8>)>,
    /// Frames received, kept or not.
    pub received_frames: u64,
    sent: u64,
}

impl PacedSource {
    /// Source address of the frames.
    pub const SOURCE: [u8; 6] = [0x02, 0, 0, 0, 0, 0x99];
    /// EtherType of the frames (IEEE local experimental 1).
    pub const ETHERTYPE: u16 = 0x88B5;

    /// `count` frames of `len_bytes` to `destination`, `interval_ns` apart, from `start_ns` on.
    pub fn new(start_ns: u64, interval_ns: u64, count: u64, len_bytes: usize, destination: [u8; 6]) -> Self {
        PacedSource {
            start_ns,
            interval_ns,
            count,
            len_bytes: len_bytes.max(22),
            destination,
            keep: false,
            received: Vec::new(),
            received_frames: 0,
            sent: 0,
        }
    }

    /// Frames handed to the port so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The `index`-th frame: header, index in big endian, then a byte ramp.
    pub fn frame(&self, index: u64) -> Vec<u8> {
        let mut frame = Vec::with_capacity(self.len_bytes);
        frame.extend_from_slice(&self.destination);
        frame.extend_from_slice(&Self::SOURCE);
        frame.extend_from_slice(&Self::ETHERTYPE.to_be_bytes());
        frame.extend_from_slice(&index.to_be_bytes());
        frame.extend((frame.len()..self.len_bytes).map(|at| (at as u64 + index) as u8));
        frame
    }
}

impl Peer for PacedSource {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.received_frames += 1;
        if self.keep {
            self.received.push((now, frame.to_vec()));
        }
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        while self.next_event().is_some_and(|due| due <= now) {
            send(self.frame(self.sent));
            self.sent += 1;
        }
    }

    fn next_event(&self) -> Option<u64> {
        (self.sent < self.count).then(|| self.start_ns + self.sent * self.interval_ns)
    }

    fn room(&mut self, _free_bytes: usize) {}
}
