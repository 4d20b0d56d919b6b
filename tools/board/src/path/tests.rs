//! Tests of the path's timing.

use super::*;

/// Sends `left` full frames as soon as it may; keeps what it gets.
#[derive(Default)]
struct Sender {
    left: usize,
    room: usize,
    received: Vec<(u64, usize)>,
}

impl Peer for Sender {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.received.push((now, frame.len()));
    }
    fn poll(&mut self, _: u64, send: &mut dyn FnMut(Vec<u8>)) {
        while self.left > 0 && self.room >= MAX_FRAME_BYTES {
            self.left -= 1;
            self.room -= MAX_FRAME_BYTES;
            send(vec![self.left as u8; MAX_FRAME_BYTES]);
        }
    }
    fn next_event(&self) -> Option<u64> {
        (self.left > 0).then_some(0)
    }
    fn room(&mut self, free_bytes: usize) {
        self.room = free_bytes;
    }
}

/// Arrival times at a switch with `switch_bytes` of queue that never drains.
fn arrivals(config: PathConfig, frames: usize, switch_bytes: usize) -> (Vec<u64>, PathStats) {
    let mut path = Path::new(config, Sender { left: frames, ..Sender::default() });
    let (mut times, mut free) = (Vec::new(), switch_bytes);
    path.room(free);
    let mut polls = 0;
    while let Some(now) = path.next_event() {
        path.room(free);
        path.poll(now, &mut |frame| {
            times.push(now);
            free -= frame.len();
        });
        polls += 1;
        assert!(polls < 10 * frames + 100, "no progress at {now}");
    }
    (times, path.stats())
}

#[test]
fn frames_leave_at_the_ports_rate_and_arrive_after_the_delay() {
    let (times, _) = arrivals(PathConfig::default(), 100, usize::MAX);
    let expected: Vec<u64> = (1..=100).map(|frame| frame * 12_304 + 99_950).collect();
    assert_eq!(times, expected);
}

#[test]
fn back_pressure_stops_the_host_before_the_switch_overflows() {
    let (times, _) = arrivals(PathConfig::default(), 100, 10 * MAX_FRAME_BYTES);
    assert_eq!(times.len(), 10);
}

#[test]
fn a_bottleneck_spaces_and_drops() {
    let line = Bottleneck { bps: 100_000_000, queue_bytes: 20 * MAX_FRAME_BYTES };
    let config = PathConfig { to_board_bottleneck: Some(line), ..PathConfig::default() };
    let (times, stats) = arrivals(config, 100, usize::MAX);
    assert_eq!(times.len() + stats.bottleneck_drops as usize, 100);
    assert!((25..40).contains(&times.len()), "{}", times.len());
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 123_040));
    assert_eq!(times[1] - times[0], 123_040);
}

#[test]
fn loss_duplication_and_reordering_follow_the_seed() {
    let config = PathConfig {
        to_board_loss_ppm: 100_000,
        to_board_duplicate_ppm: 100_000,
        to_board_reorder_ppm: 100_000,
        ..PathConfig::default()
    };
    let (times, stats) = arrivals(config.clone(), 1000, usize::MAX);
    assert!((60..140).contains(&stats.lost), "{}", stats.lost);
    assert!(times.len() as u64 > 1000 - stats.lost);
    assert!(times.is_sorted());
    assert_eq!(arrivals(config.clone(), 1000, usize::MAX).0, times);
    assert_ne!(arrivals(PathConfig { seed: 2, ..config }, 1000, usize::MAX).0, times);
}

#[test]
fn the_other_direction_has_its_delay_too() {
    let mut path = Path::new(PathConfig::default(), Sender::default());
    path.receive(5_000, &[0; 60]);
    assert_eq!(path.next_event(), Some(104_950));
    path.poll(104_950, &mut |_| {});
    assert_eq!(path.inner_mut().received, [(104_950, 60)]);
}
