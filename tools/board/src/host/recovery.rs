//! Loss recovery for a sender whose stack has only fast retransmission and a slow timeout.
//!
//! smoltcp sends the first unacknowledged segment again at the third duplicate acknowledgement, and otherwise waits for
//! a timeout of at least a second. Real servers use selective acknowledgements (`scoreboard`), older ones fill further
//! holes at each partial acknowledgement (RFC 6582), and all time out after 200 ms (Linux). This watches segments and
//! acknowledgements go by. For NewReno it has the stack see the last acknowledgement three times more when such a server
//! would retransmit; with selective acknowledgements it sends kept segments itself. Round-trip estimation: RFC 6298.

use super::headers::TcpHead;
use super::scoreboard::Scoreboard;
use super::{HostConfig, Recovery};

/// Timeout before the first round-trip sample, and the longest one.
const INITIAL_RTO_NS: u64 = 1_000_000_000;
const MAX_RTO_NS: u64 = 60_000_000_000;
const DUPLICATES: usize = 3;

/// What is known about one connection's flight.
#[derive(Clone, Debug, Default)]
pub(super) struct LossRecovery {
    started: bool,
    scoreboard: Scoreboard,
    /// First unacknowledged sequence number.
    oldest: u32,
    /// One past the highest sent.
    highest: u32,
    /// Bytes of sequence space sent, in 64 bits.
    sent_span: u64,
    duplicates: usize,
    window: u16,
    /// In recovery until this is acknowledged.
    recover: Option<u32>,
    /// The last acknowledgement without data, as it came.
    last_ack: Vec<u8>,
    window_at: usize,
    /// Next sequence number of theirs: what a fed acknowledgement must carry to be acceptable.
    their_next: u32,
    feed: Vec<Vec<u8>>,
    deadline: Option<u64>,
    backoff: u32,
    /// Segment being timed: its end and when it was sent.
    timed: Option<(u32, u64)>,
    /// Smoothed round trip and its variation.
    estimate: Option<(u64, u64)>,
}

/// What a segment that the stack sends is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// New.
    First,
    /// Sent before.
    Again,
    /// Sent before and not needed: not to be put on the wire.
    Needless,
}

/// `a` lies after `b` in sequence space.
pub(super) fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl LossRecovery {
    /// Payload bytes sent at least once.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_span.saturating_sub(1) // the SYN
    }

    /// When it wants to act.
    pub(super) fn due(&self) -> Option<u64> {
        self.deadline
    }

    /// The acknowledgements to be fed to the stack.
    pub(super) fn take_feed(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.feed)
    }

    /// The stack sends a segment.
    pub(super) fn sent(&mut self, now: u64, head: &TcpHead, frame: &[u8], config: &HostConfig) -> Sent {
        if head.rst {
            self.deadline = None;
            return Sent::First;
        }
        if head.length() == 0 {
            return Sent::First;
        }
        let end = head.sequence.wrapping_add(head.length());
        if !self.started {
            (self.started, self.oldest, self.highest) = (true, head.sequence, head.sequence);
        }
        if self.deadline.is_none() {
            self.deadline = self.timeout_ns(config).map(|rto| now + rto);
        }
        let selective = matches!(config.recovery, Recovery::Selective { .. });
        if after(end, self.highest) {
            if selective && !head.syn {
                self.scoreboard.sent(now, self.highest, end, frame);
            }
            self.sent_span += u64::from(end.wrapping_sub(self.highest));
            self.highest = end;
            self.timed = self.timed.or(Some((end, now)));
            return Sent::First;
        }
        self.timed = None; // Karn's rule
        let recent_ns = self.estimate.map_or(0, |(smooth, _)| smooth);
        if selective && !head.syn && !self.scoreboard.sent_again(now, head.sequence, recent_ns) {
            return Sent::Needless;
        }
        Sent::Again
    }

    /// Something is to be sent again without the stack.
    pub(super) fn wants_to_send(&self) -> bool {
        self.scoreboard.wants_to_send()
    }

    /// The next frame to be sent again without the stack.
    pub(super) fn next_again(&mut self, now: u64) -> Option<Vec<u8>> {
        let frame = self.scoreboard.next(now);
        if frame.is_some() {
            self.timed = None;
        }
        frame
    }

    /// A segment came in, after the stack has seen it; true when there is something to feed.
    pub(super) fn acknowledged(&mut self, now: u64, head: &TcpHead, frame: &[u8], config: &HostConfig) -> bool {
        let Some(ack) = head.acknowledgement.filter(|_| self.started && !head.syn && !head.rst) else { return false };
        if matches!(config.recovery, Recovery::Selective { .. }) && !after(ack, self.highest) {
            let reorder_ns = self.estimate.map_or(1_000_000, |(smooth, _)| smooth / 4);
            self.scoreboard.arrived(ack, &head.sack, reorder_ns);
        }
        let plain = head.payload_bytes == 0 && !head.fin;
        let their_end = head.sequence.wrapping_add(head.length());
        if self.last_ack.is_empty() || after(their_end, self.their_next) {
            self.their_next = their_end;
        }
        if after(ack, self.oldest) && !after(ack, self.highest) {
            self.keep(plain, head, frame);
            return self.advance(now, ack, plain, config);
        }
        if ack == self.oldest && self.oldest != self.highest && plain {
            if head.window == self.window {
                self.duplicates += 1;
                if self.duplicates == DUPLICATES && self.recover.is_none() {
                    self.recover = Some(self.highest);
                }
            } else {
                self.duplicates = 0;
            }
            self.keep(plain, head, frame);
        }
        false
    }

    /// Keeps an acknowledgement for repetition; one that came with data, and the last plain one, are no longer true.
    fn keep(&mut self, plain: bool, head: &TcpHead, frame: &[u8]) {
        self.window = head.window;
        self.window_at = head.window_at;
        self.last_ack.clear();
        if plain {
            self.last_ack.extend_from_slice(frame);
        }
    }

    /// The kept acknowledgement with the sequence number that is right now.
    fn current_ack(&self) -> Vec<u8> {
        let mut frame = self.last_ack.clone();
        let sequence_at = self.window_at.saturating_sub(10);
        if let Some(field) = frame.get_mut(sequence_at..sequence_at + 4) {
            field.copy_from_slice(&self.their_next.to_be_bytes());
        }
        frame
    }

    fn advance(&mut self, now: u64, ack: u32, plain: bool, config: &HostConfig) -> bool {
        self.oldest = ack;
        self.duplicates = 0;
        self.backoff = 0;
        if let Some((end, sent_at)) = self.timed
            && !after(end, ack)
        {
            self.timed = None;
            self.sample(now.saturating_sub(sent_at));
        }
        let all = self.oldest == self.highest;
        self.deadline = if all { None } else { self.timeout_ns(config).map(|rto| now + rto) };
        match self.recover {
            Some(point) if after(point, ack) => {
                let feeds = plain && matches!(config.recovery, Recovery::NewReno { .. });
                if feeds {
                    self.repeat_last_ack();
                }
                feeds
            }
            _ => {
                self.recover = None;
                false
            }
        }
    }

    fn repeat_last_ack(&mut self) {
        self.feed.extend(std::iter::repeat_n(self.current_ack(), DUPLICATES));
        self.duplicates = DUPLICATES;
    }

    /// Acts on a timeout that is due; true when there is something to feed.
    pub(super) fn timed_out(&mut self, now: u64, config: &HostConfig) -> bool {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return false;
        }
        self.backoff = (self.backoff + 1).min(16);
        self.deadline = self.timeout_ns(config).map(|rto| now + rto);
        if matches!(config.recovery, Recovery::Selective { .. }) {
            self.scoreboard.timed_out();
            return false;
        }
        if self.oldest == self.highest || self.last_ack.is_empty() {
            return false; // the stack's own timer covers the handshake
        }
        self.recover = Some(self.highest);
        // Another window and back makes the stack forget the duplicates it has counted.
        let mut other_window = self.current_ack();
        if let Some(byte) = other_window.get_mut(self.window_at + 1) {
            *byte ^= 1;
        }
        self.feed.push(other_window);
        self.feed.push(self.current_ack());
        self.repeat_last_ack();
        true
    }

    fn sample(&mut self, rtt: u64) {
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            Some((smooth, variation)) => ((smooth * 7 + rtt) / 8, (variation * 3 + smooth.abs_diff(rtt)) / 4),
        });
    }

    /// Time to the next timeout; none when the stack's own is all there is.
    fn timeout_ns(&self, config: &HostConfig) -> Option<u64> {
        let (Recovery::NewReno { rto_ns } | Recovery::Selective { rto_ns }) = config.recovery else { return None };
        let base = self.estimate.map_or(INITIAL_RTO_NS, |(smooth, variation)| (smooth + 4 * variation).max(rto_ns));
        Some((base << self.backoff).min(MAX_RTO_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(sequence: u32, payload_bytes: usize, acknowledgement: Option<u32>) -> TcpHead {
        TcpHead {
            source: [0; 4],
            destination: [0; 4],
            source_port: 1,
            destination_port: 2,
            sequence,
            acknowledgement,
            window: 500,
            syn: false,
            fin: false,
            rst: false,
            payload_bytes,
            window_at: 48,
            sack: [None; 3],
        }
    }

    fn flight() -> (LossRecovery, HostConfig) {
        let config = HostConfig { recovery: Recovery::NewReno { rto_ns: 200_000_000 }, ..HostConfig::default() };
        let mut recovery = LossRecovery::default();
        recovery.sent(0, &TcpHead { syn: true, ..segment(u32::MAX - 99, 0, None) }, &[], &config);
        let ack = segment(0, 0, Some(u32::MAX - 98));
        recovery.acknowledged(200_000, &ack, &[1; 60], &config);
        for index in 0..10u32 {
            let sequence = (u32::MAX - 98).wrapping_add(index * 1000);
            assert_eq!(recovery.sent(300_000, &segment(sequence, 1000, Some(1)), &[], &config), Sent::First);
        }
        (recovery, config)
    }

    #[test]
    fn a_partial_acknowledgement_repeats_itself_and_a_full_one_ends_recovery() {
        let (mut recovery, config) = flight();
        let base = u32::MAX - 98;
        assert_eq!(recovery.sent_bytes(), 10_000);
        for _ in 0..3 {
            assert!(!recovery.acknowledged(400_000, &segment(0, 0, Some(base)), &[2; 60], &config));
        }
        assert_eq!(recovery.sent(400_000, &segment(base, 1000, Some(1)), &[], &config), Sent::Again);
        assert!(recovery.acknowledged(600_000, &segment(0, 0, Some(base.wrapping_add(3000))), &[3; 60], &config));
        let mut frame = vec![3; 60];
        frame[38..42].fill(0); // their sequence number
        assert_eq!(recovery.take_feed(), vec![frame; 3]);
        assert!(!recovery.acknowledged(700_000, &segment(0, 0, Some(base.wrapping_add(10_000))), &[4; 60], &config));
        assert_eq!(recovery.due(), None);
    }

    #[test]
    fn the_timeout_is_the_shortest_allowed_and_doubles() {
        let (mut recovery, config) = flight();
        assert_eq!(recovery.due(), Some(300_000 + 200_000_000));
        assert!(!recovery.timed_out(200_299_999, &config));
        assert!(recovery.timed_out(200_300_000, &config));
        assert_eq!(recovery.take_feed().len(), 5);
        assert_eq!(recovery.due(), Some(200_300_000 + 400_000_000));
    }
}
