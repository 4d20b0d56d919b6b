//! The cable and the partner's port at its other end.
//!
//! Owns wire time (every frame occupies the wire for preamble, frame, FCS and gap at the negotiated speed),
//! propagation, loss and bit errors by seed, the partner's finite output queue and its reaction to PAUSE (IEEE 802.3
//! Annex 31B), and the partner's abilities for autonegotiation (Annex 28B). Does not own the board's side: the MAC
//! decides when it sends, the PHY decides which mode the link has.

mod cable;
mod half_duplex;

pub use cable::{Direction, Link, LinkStats, Tap};
pub(crate) use cable::{FCS_BYTES, GAP_BYTES, MIN_BYTES, PREAMBLE_BYTES, pause_quanta};

use std::cell::RefCell;
use std::rc::Rc;

/// Speed of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// 10 Mbit/s.
    Mbps10,
    /// 100 Mbit/s.
    Mbps100,
    /// 1000 Mbit/s.
    Mbps1000,
}

impl Speed {
    /// Time of one byte on the wire.
    pub const fn byte_ns(self) -> u64 {
        match self {
            Speed::Mbps10 => 800,
            Speed::Mbps100 => 80,
            Speed::Mbps1000 => 8,
        }
    }

    /// Time of one PAUSE quantum, 512 bit times.
    pub const fn quantum_ns(self) -> u64 {
        self.byte_ns() * 64
    }
}

/// A set of link modes. The bit order is the order of preference of IEEE 802.3 Annex 28B.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes(pub u8);

impl Modes {
    /// 10BASE-T half duplex.
    pub const T10_HALF: Modes = Modes(1);
    /// 10BASE-T full duplex.
    pub const T10_FULL: Modes = Modes(2);
    /// 100BASE-TX half duplex.
    pub const T100_HALF: Modes = Modes(4);
    /// 100BASE-TX full duplex.
    pub const T100_FULL: Modes = Modes(8);
    /// 1000BASE-T half duplex.
    pub const T1000_HALF: Modes = Modes(16);
    /// 1000BASE-T full duplex.
    pub const T1000_FULL: Modes = Modes(32);
    /// What an ordinary gigabit port offers: everything but 1000 half.
    pub const GIGABIT: Modes = Modes(32 | 8 | 4 | 2 | 1);
    /// What a fast Ethernet port offers.
    pub const FAST: Modes = Modes(8 | 4 | 2 | 1);

    /// Both sets' common modes.
    pub const fn and(self, other: Modes) -> Modes {
        Modes(self.0 & other.0)
    }

    /// Either set's modes.
    pub const fn or(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }

    /// True when every mode of `other` is in.
    pub const fn contains(self, other: Modes) -> bool {
        self.0 & other.0 == other.0
    }

    /// The preferred mode: speed and full duplex.
    pub const fn best(self) -> Option<(Speed, bool)> {
        match self.0 {
            32.. => Some((Speed::Mbps1000, true)),
            16..=31 => Some((Speed::Mbps1000, false)),
            8..=15 => Some((Speed::Mbps100, true)),
            4..=7 => Some((Speed::Mbps100, false)),
            2..=3 => Some((Speed::Mbps10, true)),
            1 => Some((Speed::Mbps10, false)),
            0 => None,
        }
    }
}

/// When the partner stops for a PAUSE frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObeyPause {
    /// Never.
    Never,
    /// When the negotiated result allows it: what 802.3 asks for.
    #[default]
    IfNegotiated,
    /// Always on a full-duplex link.
    Always,
}

/// The port at the other end of the cable.
#[derive(Clone, Debug)]
pub struct Partner {
    /// False: the cable ends in nothing.
    pub present: bool,
    /// False: the port is forced to `forced`.
    pub autonegotiates: bool,
    /// Modes it offers.
    pub modes: Modes,
    /// Speed and full duplex when it does not negotiate.
    pub forced: (Speed, bool),
    /// Its ANAR bits 10 (symmetric PAUSE) and 11 (asymmetric), in 1:0 here.
    pub pause_bits: u8,
    /// MMD 7.60 mask of EEE modes it offers (0x2 100TX, 0x4 1000T).
    pub eee: u16,
    /// How much too early it sends after a bad wake of the link: frames that start within this time are lost, because the
    /// board's PHY is not awake yet. A port that keeps to 802.3 clause 78 always waits long enough.
    pub eee_early_ns: u64,
    /// Share of wakes that are bad, by seed, in a million.
    pub eee_bad_wakes_ppm: u32,
    /// Whether it stops for PAUSE.
    pub obeys_pause: ObeyPause,
    /// From the last bit of a PAUSE frame to its effect. 802.3 Annex 31B allows two quanta at gigabit.
    pub pause_response_ns: u64,
    /// Capacity of its output queue; frames that do not fit are dropped and counted.
    pub queue_bytes: usize,
    /// It sends PAUSE frames of its own accord, ahead of what is queued, negotiated or not.
    pub pause_flood: Option<PauseFlood>,
}

/// PAUSE frames without end, as a switch with a fault sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFlood {
    /// When the first one may go, ns.
    pub from_ns: u64,
    /// When there are no more, ns.
    pub until_ns: u64,
    /// From one to the next, ns.
    pub interval_ns: u64,
    /// What they say.
    pub quanta: u16,
}

impl Default for Partner {
    fn default() -> Self {
        Partner {
            present: true,
            autonegotiates: true,
            modes: Modes::GIGABIT,
            forced: (Speed::Mbps1000, true),
            pause_bits: 0b11,
            eee: 0,
            eee_early_ns: 0,
            eee_bad_wakes_ppm: 0,
            obeys_pause: ObeyPause::IfNegotiated,
            pause_response_ns: 0,
            queue_bytes: 512 * 1024,
            pause_flood: None,
        }
    }
}

/// Configuration of the cable and what it leads to.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Seed of loss and bit errors.
    pub seed: u64,
    /// One way, end to end (5 ns a metre).
    pub propagation_ns: u64,
    /// Frames lost on the way to the board.
    pub to_board_loss_ppm: u32,
    /// Frames lost on the way from the board.
    pub from_board_loss_ppm: u32,
    /// Frames that reach the board with a wrong FCS.
    pub to_board_fcs_ppm: u32,
    /// Frames that reach the partner with a wrong FCS (it drops them).
    pub from_board_fcs_ppm: u32,
    /// Whether the cable is in at reset.
    pub plugged: bool,
    /// Later changes: (time in ns, plugged).
    pub plug_events: Vec<(u64, bool)>,
    /// The other end.
    pub partner: Partner,
}

impl Default for LinkConfig {
    fn default() -> Self {
        LinkConfig {
            seed: 1,
            propagation_ns: 50,
            to_board_loss_ppm: 0,
            from_board_loss_ppm: 0,
            to_board_fcs_ppm: 0,
            from_board_fcs_ppm: 0,
            plugged: true,
            plug_events: Vec::new(),
            partner: Partner::default(),
        }
    }
}

/// What sits behind the partner's port. Frames are without FCS.
pub trait Peer {
    /// A good frame has arrived completely. PAUSE frames end in the port and are not shown.
    fn receive(&mut self, now: u64, frame: &[u8]);
    /// Hands frames to the port's output queue. Called at or after `next_event`, and after `receive` and `room`
    /// when `next_event` is due then. Must make progress: once polled it is not polled again at the same `now`
    /// unless something arrived or left the queue.
    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>));
    /// When it wants to be polled; a time in the past means at once.
    fn next_event(&self) -> Option<u64>;
    /// Free bytes of the output queue, told before each poll and whenever a frame left the queue.
    fn room(&mut self, free_bytes: usize);
}

impl<P: Peer> Peer for Rc<RefCell<P>> {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.borrow_mut().receive(now, frame);
    }
    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        self.borrow_mut().poll(now, send);
    }
    fn next_event(&self) -> Option<u64> {
        self.borrow().next_event()
    }
    fn room(&mut self, free_bytes: usize) {
        self.borrow_mut().room(free_bytes);
    }
}
