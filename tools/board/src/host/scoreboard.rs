//! What a sender with selective acknowledgements knows: which segments of the flight have arrived, which are lost, and
//! when to send which again.
//!
//! A segment is lost when three later ones have arrived (RFC 6675), or when one that was sent clearly later has (RFC
//! 8985; that also finds lost retransmissions). Retransmissions follow packet conservation: one for each segment that
//! leaves the network, twice as many after a timeout. Segments are kept as frames and sent again as they were.

use std::collections::VecDeque;

use super::recovery::after;

const DUPLICATE_THRESHOLD: usize = 3;
/// Retransmissions that may go at once when loss is first seen.
const FIRST_ALLOWANCE: usize = 2;

#[derive(Clone, Debug)]
struct Segment {
    start: u32,
    end: u32,
    frame: Vec<u8>,
    sent_at: u64,
    again: bool,
    arrived: bool,
    lost: bool,
}

/// The flight of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    flight: VecDeque<Segment>,
    spare: Vec<Vec<u8>>,
    lost: usize,
    allowance: usize,
    /// When the most recently sent of the arrived segments was sent.
    newest_sent_at: u64,
    /// Anything in the flight is known to have arrived or to be lost.
    troubled: bool,
    after_timeout: bool,
}

impl Scoreboard {
    /// A new segment goes out.
    pub(super) fn sent(&mut self, now: u64, start: u32, end: u32, frame: &[u8]) {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(frame);
        self.flight.push_back(Segment {
            start,
            end,
            frame: copy,
            sent_at: now,
            again: false,
            arrived: false,
            lost: false,
        });
    }

    /// The stack sends the segment at `start` again by itself; false when that is not needed: it has arrived, or went
    /// out again less than `recent_ns` ago.
    pub(super) fn sent_again(&mut self, now: u64, start: u32, recent_ns: u64) -> bool {
        let Some(segment) = self.flight.iter_mut().find(|segment| after(segment.end, start)) else { return true };
        if segment.arrived || (segment.again && now < segment.sent_at + recent_ns) {
            return false;
        }
        self.lost -= usize::from(std::mem::take(&mut segment.lost));
        (segment.again, segment.sent_at) = (true, now);
        true
    }

    /// Everything before `ack` and everything in `ranges` has arrived; `reorder_ns` is how much later a segment must
    /// have been sent to convict an earlier one.
    pub(super) fn arrived(&mut self, ack: u32, ranges: &[Option<(u32, u32)>; 3], reorder_ns: u64) {
        let mut delivered = 0;
        while let Some(segment) = self.flight.front()
            && !after(segment.end, ack)
        {
            delivered += usize::from(!segment.arrived);
            if !segment.again {
                self.newest_sent_at = self.newest_sent_at.max(segment.sent_at);
            }
            self.lost -= usize::from(segment.lost);
            if let Some(gone) = self.flight.pop_front() {
                self.spare.push(gone.frame);
            }
        }
        for (from, to) in ranges.iter().flatten() {
            delivered += self.mark(*from, *to);
        }
        if self.flight.is_empty() {
            (self.troubled, self.after_timeout, self.allowance) = (false, false, 0);
        }
        if self.troubled {
            let before = self.lost;
            self.judge(reorder_ns);
            if before == 0 && self.lost > 0 && self.allowance == 0 {
                self.allowance = FIRST_ALLOWANCE;
            }
            self.allowance += delivered << usize::from(self.after_timeout);
        }
    }

    /// A range that was acknowledged selectively; how many segments of it are news.
    fn mark(&mut self, from: u32, to: u32) -> usize {
        let mut news = 0;
        for segment in &mut self.flight {
            if after(segment.end, to) {
                break;
            }
            if segment.arrived || after(from, segment.start) {
                continue;
            }
            segment.arrived = true;
            self.lost -= usize::from(std::mem::take(&mut segment.lost));
            self.newest_sent_at = self.newest_sent_at.max(segment.sent_at);
            self.troubled = true;
            news += 1;
        }
        news
    }

    fn judge(&mut self, reorder_ns: u64) {
        let mut arrived_later = 0;
        for segment in self.flight.iter_mut().rev() {
            if segment.arrived {
                arrived_later += 1;
                continue;
            }
            let by_count = !segment.again && arrived_later >= DUPLICATE_THRESHOLD;
            let by_time = segment.sent_at + reorder_ns < self.newest_sent_at;
            if !segment.lost && (by_count || by_time) {
                segment.lost = true;
                self.lost += 1;
            }
        }
    }

    /// Nothing has come back for too long: all that has not arrived counts as lost, and one segment tries its luck.
    pub(super) fn timed_out(&mut self) {
        for segment in &mut self.flight {
            segment.lost = !segment.arrived;
        }
        self.lost = self.flight.iter().filter(|segment| segment.lost).count();
        (self.allowance, self.troubled, self.after_timeout) = (1, true, true);
    }

    /// Something may go out again.
    pub(super) fn wants_to_send(&self) -> bool {
        self.lost > 0 && self.allowance > 0
    }

    /// The next frame to go out again.
    pub(super) fn next(&mut self, now: u64) -> Option<Vec<u8>> {
        if !self.wants_to_send() {
            return None;
        }
        let segment = self.flight.iter_mut().find(|segment| segment.lost)?;
        (segment.lost, segment.again, segment.sent_at) = (false, true, now);
        self.lost -= 1;
        self.allowance -= 1;
        Some(segment.frame.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [Option<(u32, u32)>; 3] = [None; 3];

    fn flight(count: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        for index in 0..count {
            // Crosses the end of sequence space.
            let start = (u32::MAX - 2_500).wrapping_add(index * 1_000);
            board.sent(u64::from(index) * 12_000, start, start.wrapping_add(1_000), &[index as u8; 60]);
        }
        board
    }

    fn place(segment: u32) -> u32 {
        (u32::MAX - 2_500).wrapping_add(segment * 1_000)
    }

    fn sacked(from: u32, to: u32) -> [Option<(u32, u32)>; 3] {
        [Some((place(from), place(to))), None, None]
    }

    #[test]
    fn without_loss_nothing_is_sent_again() {
        let mut board = flight(10);
        board.arrived(place(4), &NONE, 50_000);
        board.arrived(place(10), &NONE, 50_000);
        assert!(!board.wants_to_send() && board.flight.is_empty());
    }

    #[test]
    fn holes_are_filled_as_segments_leave_the_network() {
        let mut board = flight(20);
        board.arrived(place(2), &NONE, 1_000_000);
        board.arrived(place(2), &sacked(5, 7), 1_000_000);
        assert!(!board.wants_to_send(), "two are not enough");
        board.arrived(place(2), &sacked(5, 8), 1_000_000);
        let again: Vec<u8> = std::iter::from_fn(|| board.next(900_000)).map(|frame| frame[0]).collect();
        assert_eq!(again, [2, 3, 4]);
        board.arrived(place(8), &NONE, 1_000_000);
        assert!(!board.wants_to_send());
    }

    #[test]
    fn a_lost_retransmission_is_noticed_by_time() {
        let mut board = flight(10);
        board.arrived(place(0), &sacked(1, 5), 50_000);
        assert_eq!(board.next(200_000).map(|frame| frame[0]), Some(0));
        board.sent(300_000, place(10), place(11), &[10; 60]);
        board.arrived(place(0), &sacked(10, 11), 50_000);
        let again: Vec<u8> = std::iter::from_fn(|| board.next(500_000)).map(|frame| frame[0]).collect();
        assert_eq!(again[0], 0);
    }

    #[test]
    fn after_a_timeout_the_flight_starts_slowly() {
        let mut board = flight(10);
        board.timed_out();
        assert_eq!(std::iter::from_fn(|| board.next(0)).count(), 1);
        board.arrived(place(1), &NONE, 50_000);
        assert_eq!(std::iter::from_fn(|| board.next(0)).count(), 2);
        board.arrived(place(3), &NONE, 50_000);
        assert_eq!(std::iter::from_fn(|| board.next(0)).count(), 4);
    }

    #[test]
    fn the_stacks_own_retransmission_counts() {
        let mut board = flight(10);
        board.arrived(place(0), &sacked(1, 4), 1_000_000);
        assert!(board.sent_again(100_000, place(0), 200_000));
        assert!(!board.sent_again(200_000, place(0), 200_000), "just sent");
        assert!(!board.sent_again(200_000, place(2), 200_000), "has arrived");
        assert!(!board.wants_to_send());
    }
}
