//! What the cable's model delivered to the board: the truth about a full link, counted without the firmware.

use board::link::{Direction, Tap};
use std::cell::RefCell;
use std::rc::Rc;

/// Preamble, start-of-frame delimiter, frame check sequence and inter-packet gap, bytes.
const AROUND_BYTES: u64 = 8 + 4 + 12;
/// Shortest frame without its check sequence, bytes.
const SHORTEST_BYTES: u64 = 60;

/// Frames of TCP that reached the board: when, ns, and the bytes that each takes on the wire.
#[derive(Clone, Debug, Default)]
pub struct Wire(Rc<RefCell<Vec<(u64, u32)>>>);

impl Wire {
    /// What looks at the cable for it.
    pub fn tap(&self) -> Tap {
        let frames = self.0.clone();
        Box::new(move |at_ns, direction, frame| {
            let is_tcp = frame.get(12..14) == Some(&[0x08, 0x00]) && frame.get(23) == Some(&6);
            if direction == Direction::ToBoard && is_tcp {
                let bytes = (frame.len() as u64).max(SHORTEST_BYTES) + AROUND_BYTES;
                frames.borrow_mut().push((at_ns, bytes as u32));
            }
        })
    }

    /// Bytes on the wire from `start_ns` to `end_ns`.
    pub fn bytes(&self, start_ns: u64, end_ns: u64) -> u64 {
        let frames = self.0.borrow();
        let first = frames.partition_point(|(at_ns, _)| *at_ns < start_ns);
        frames[first..].iter().take_while(|(at_ns, _)| *at_ns < end_ns).map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// Share of `link_bps` that these are, thousandths.
    pub fn share_milli(&self, start_ns: u64, end_ns: u64, link_bps: u64) -> u64 {
        let room = u128::from(end_ns.saturating_sub(start_ns)) * u128::from(link_bps) / 1_000_000_000;
        (u128::from(self.bytes(start_ns, end_ns) * 8) * 1_000 / room.max(1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_tcp_to_the_board_in_the_window_with_all_that_occupies_the_wire() {
        let wire = Wire::default();
        let mut tap = wire.tap();
        let mut frame = vec![0; 1514];
        frame[12] = 0x08;
        frame[23] = 6;
        // One frame of full size each 12.304 us fills a gigabit.
        (0..100).for_each(|n| tap(n * 12_304, Direction::ToBoard, &frame));
        (0..100).for_each(|n| tap(n * 12_304, Direction::FromBoard, &frame));
        frame[23] = 17;
        (0..100).for_each(|n| tap(n * 12_304, Direction::ToBoard, &frame));
        assert_eq!(wire.share_milli(0, 100 * 12_304, 1_000_000_000), 1_000);
        assert_eq!(wire.share_milli(50 * 12_304, 150 * 12_304, 1_000_000_000), 500);
        assert_eq!(wire.share_milli(2_000_000, 3_000_000, 1_000_000_000), 0);
    }
}
