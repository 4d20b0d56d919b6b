//! What lies between the partner's port (the switch) and a host: the host's own port, a bottleneck, delay, loss.
//!
//! Owns time and loss on that way; frames that get through keep their content. The host's port sends one frame at a
//! time at its rate and tells the host how much room it has, like a network card with a short queue; the switch's free
//! queue is passed on as back-pressure, so that by default nothing is dropped for lack of room. A bottleneck (an access
//! line) has a finite queue and drops what does not fit, without telling anybody. Each stage is a first-in-first-out
//! server, so a frame's arrival is known when it is sent. Does not own the cable between switch and board (`link`).

use std::collections::VecDeque;

use crate::link::Peer;
use crate::rng::SplitMix64;

/// Preamble, FCS and gap of a frame on the wire.
const OVERHEAD_BYTES: usize = 24;
const MIN_BYTES: usize = 60;
const MAX_FRAME_BYTES: usize = 1514;

/// A slower piece of line with a queue before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bottleneck {
    /// Wire rate.
    pub bps: u64,
    /// Bytes that may wait; a frame that finds no room is dropped.
    pub queue_bytes: usize,
}

/// The way between switch and host.
#[derive(Clone, Debug)]
pub struct PathConfig {
    /// Seed of loss, duplication and reordering.
    pub seed: u64,
    /// One-way delay from the host to the switch.
    pub to_board_ns: u64,
    /// One-way delay from the switch to the host.
    pub from_board_ns: u64,
    /// Rate of the host's port.
    pub port_bps: u64,
    /// Bytes the host's port takes ahead of the wire.
    pub port_queue_bytes: usize,
    /// Slow line towards the board.
    pub to_board_bottleneck: Option<Bottleneck>,
    /// Slow line from the board.
    pub from_board_bottleneck: Option<Bottleneck>,
    /// Frames lost towards the board.
    pub to_board_loss_ppm: u32,
    /// Frames lost from the board.
    pub from_board_loss_ppm: u32,
    /// Frames towards the board that come twice.
    pub to_board_duplicate_ppm: u32,
    /// Frames towards the board that are held back by `reorder_ns`.
    pub to_board_reorder_ppm: u32,
    /// How long a reordered frame is held back.
    pub reorder_ns: u64,
    /// The host stops for a full switch queue. Without it the switch drops, as most do.
    pub back_pressure: bool,
}

impl Default for PathConfig {
    /// 0.2 ms round trip together with the default cable's 50 ns each way; gigabit everywhere.
    fn default() -> Self {
        PathConfig {
            seed: 1,
            to_board_ns: 99_950,
            from_board_ns: 99_950,
            port_bps: 1_000_000_000,
            port_queue_bytes: 8 * MAX_FRAME_BYTES,
            to_board_bottleneck: None,
            from_board_bottleneck: None,
            to_board_loss_ppm: 0,
            from_board_loss_ppm: 0,
            to_board_duplicate_ppm: 0,
            to_board_reorder_ppm: 0,
            reorder_ns: 100_000,
            back_pressure: true,
        }
    }
}

impl PathConfig {
    /// The default path with this round trip (split evenly, cable included).
    pub fn round_trip(rtt_ns: u64) -> Self {
        let one_way_ns = (rtt_ns / 2).saturating_sub(50);
        PathConfig { to_board_ns: one_way_ns, from_board_ns: one_way_ns, ..PathConfig::default() }
    }
}

/// What happened on the way, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Sent by the host.
    pub to_board: u64,
    /// Sent by the board.
    pub from_board: u64,
    /// Lost by seed, both ways.
    pub lost: u64,
    /// Of these, lost towards the board.
    pub lost_to_board: u64,
    /// Copies that came in addition, towards the board.
    pub duplicated: u64,
    /// Held back by seed, towards the board.
    pub reordered: u64,
    /// Dropped before a bottleneck, both ways.
    pub bottleneck_drops: u64,
}

/// One first-in-first-out line.
#[derive(Clone, Copy, Debug)]
struct Line {
    bps: u64,
    busy_until: u64,
}

impl Line {
    fn new(bps: u64) -> Self {
        Line { bps: bps.max(1), busy_until: 0 }
    }

    fn wire_ns(&self, frame_bytes: usize) -> u64 {
        let bits = (frame_bytes.max(MIN_BYTES) + OVERHEAD_BYTES) as u64 * 8;
        (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(self.bps)) as u64
    }

    /// Bytes still to be sent at `now`.
    fn backlog_bytes(&self, now: u64) -> usize {
        let ns = self.busy_until.saturating_sub(now);
        (u128::from(ns) * u128::from(self.bps) / 8_000_000_000) as usize
    }

    /// When at most `bytes` are left to send.
    fn drained_to(&self, bytes: usize) -> u64 {
        let ns = (bytes as u128 * 8_000_000_000 / u128::from(self.bps)) as u64;
        self.busy_until.saturating_sub(ns)
    }

    /// Takes a frame at `now`; when its last bit is out.
    fn send(&mut self, now: u64, frame_bytes: usize) -> u64 {
        self.busy_until = self.busy_until.max(now) + self.wire_ns(frame_bytes);
        self.busy_until
    }
}

/// A peer behind a path.
pub struct Path<P> {
    config: PathConfig,
    inner: P,
    rng: SplitMix64,
    port: Line,
    to_board_line: Option<Line>,
    from_board_line: Option<Line>,
    /// On their way to the switch: arrival and frame.
    to_board: VecDeque<(u64, Vec<u8>)>,
    to_board_bytes: usize,
    /// On their way to the host.
    from_board: VecDeque<(u64, Vec<u8>)>,
    switch_free: usize,
    spare: Vec<Vec<u8>>,
    stats: PathStats,
}

impl<P: Peer> Path<P> {
    /// `inner` at the far end of a path.
    pub fn new(config: PathConfig, inner: P) -> Self {
        Path {
            rng: SplitMix64::new(config.seed),
            port: Line::new(config.port_bps),
            to_board_line: config.to_board_bottleneck.map(|line| Line::new(line.bps)),
            from_board_line: config.from_board_bottleneck.map(|line| Line::new(line.bps)),
            to_board: VecDeque::new(),
            to_board_bytes: 0,
            from_board: VecDeque::new(),
            switch_free: usize::MAX,
            spare: Vec::new(),
            stats: PathStats::default(),
            inner,
            config,
        }
    }

    /// What happened on the way.
    pub fn stats(&self) -> PathStats {
        self.stats
    }

    /// Frames on their way to the switch.
    pub fn under_way_to_board(&self) -> usize {
        self.to_board.len()
    }

    /// Its configuration; delays and probabilities may change at any time, rates and bottlenecks are fixed.
    pub fn config_mut(&mut self) -> &mut PathConfig {
        &mut self.config
    }

    /// The far end.
    pub fn inner_mut(&mut self) -> &mut P {
        &mut self.inner
    }

    /// Bytes the host may hand over at `now`, and when it may again if that is too little for a frame.
    fn room_for_host(&self, now: u64) -> (usize, Option<u64>) {
        let port = self.config.port_queue_bytes.saturating_sub(self.port.backlog_bytes(now));
        let switch = match self.config.back_pressure {
            true => self.switch_free.saturating_sub(self.to_board_bytes),
            false => usize::MAX,
        };
        if switch < MAX_FRAME_BYTES {
            return (0, None); // the switch will say when
        }
        if port < MAX_FRAME_BYTES {
            let later = self.port.drained_to(self.config.port_queue_bytes.saturating_sub(MAX_FRAME_BYTES + 1));
            return (0, Some(later));
        }
        (port.min(switch), None)
    }

    /// Lets the host send as long as it wants to and may.
    fn poll_host(&mut self, now: u64) {
        loop {
            if self.inner.next_event().is_none_or(|due| due > now) {
                return;
            }
            let (room, _) = self.room_for_host(now);
            if room == 0 {
                return;
            }
            self.inner.room(room);
            let mut sent = Vec::new();
            self.inner.poll(now, &mut |frame| sent.push(frame));
            if sent.is_empty() {
                return;
            }
            for frame in sent {
                self.send_to_board(now, frame);
            }
        }
    }

    fn send_to_board(&mut self, now: u64, frame: Vec<u8>) {
        self.stats.to_board += 1;
        let mut at = self.port.send(now, frame.len());
        if let (Some(line), Some(bottleneck)) = (&mut self.to_board_line, self.config.to_board_bottleneck) {
            if line.backlog_bytes(at) + frame.len() > bottleneck.queue_bytes {
                self.stats.bottleneck_drops += 1;
                return;
            }
            at = line.send(at, frame.len());
        }
        at += self.config.to_board_ns;
        if self.rng.chance_ppm(self.config.to_board_loss_ppm) {
            self.stats.lost += 1;
            self.stats.lost_to_board += 1;
            return;
        }
        if self.rng.chance_ppm(self.config.to_board_reorder_ppm) {
            self.stats.reordered += 1;
            at += self.config.reorder_ns;
        }
        if self.rng.chance_ppm(self.config.to_board_duplicate_ppm) {
            self.stats.duplicated += 1;
            self.enqueue_to_board(at, frame.clone());
        }
        self.enqueue_to_board(at, frame);
    }

    /// Keeps the queue in order of arrival; only reordered frames do not go to its end.
    fn enqueue_to_board(&mut self, at: u64, frame: Vec<u8>) {
        self.to_board_bytes += frame.len();
        let place = self.to_board.iter().rposition(|(other, _)| *other <= at).map_or(0, |last| last + 1);
        self.to_board.insert(place, (at, frame));
    }

    fn deliver_to_host(&mut self, now: u64) {
        while let Some((at, frame)) = pop_due(&mut self.from_board, now) {
            self.inner.receive(at, &frame);
            self.spare.push(frame);
        }
    }
}

impl<P: Peer> Peer for Path<P> {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.stats.from_board += 1;
        let mut at = now;
        if let (Some(line), Some(bottleneck)) = (&mut self.from_board_line, self.config.from_board_bottleneck) {
            if line.backlog_bytes(at) + frame.len() > bottleneck.queue_bytes {
                self.stats.bottleneck_drops += 1;
                return;
            }
            at = line.send(at, frame.len());
        }
        if self.rng.chance_ppm(self.config.from_board_loss_ppm) {
            self.stats.lost += 1;
            return;
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(frame);
        self.from_board.push_back((at + self.config.from_board_ns, copy));
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        self.deliver_to_host(now);
        self.poll_host(now);
        while let Some((_, frame)) = pop_due(&mut self.to_board, now) {
            self.to_board_bytes -= frame.len();
            self.switch_free = self.switch_free.saturating_sub(frame.len());
            send(frame);
        }
    }

    fn next_event(&self) -> Option<u64> {
        let arriving = self.to_board.front().map(|(at, _)| *at);
        let leaving = self.from_board.front().map(|(at, _)| *at);
        let host = self.inner.next_event().and_then(|due| match self.room_for_host(due) {
            (0, None) => None,
            (0, Some(later)) => Some(due.max(later)),
            _ => Some(due),
        });
        [arriving, leaving, host].into_iter().flatten().min()
    }

    fn room(&mut self, free_bytes: usize) {
        self.switch_free = free_bytes;
    }
}

fn pop_due(queue: &mut VecDeque<(u64, Vec<u8>)>, now: u64) -> Option<(u64, Vec<u8>)> {
    if queue.front()?.0 <= now { queue.pop_front() } else { None }
}

#[cfg(test)]
mod tests;
