//! Somebody else on the same network: a stage at the switch that mixes frames nobody needs with the peer's.
//!
//! Frames come at a fixed pace and go into the switch's output queue like all others: they take wire time, and what
//! finds no room is dropped there. Facts: RFC 826 (ARP), RFC 768 (UDP).

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use crate::link::Peer;
use crate::rng::SplitMix64;

/// What the frames are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StormKind {
    /// ARP requests of many hosts for many others.
    #[default]
    ArpForOthers,
    /// ARP requests of many hosts for the board: each is answered, each wants a place in its cache.
    ArpForBoard,
    /// UDP to everybody, to a port where nobody listens.
    Broadcast,
    /// All of them, by seed.
    Mixed,
}

/// Configuration of the stage. Without frames it does nothing.
#[derive(Clone, Debug, Default)]
pub struct StormConfig {
    /// Seed of addresses and kinds.
    pub seed: u64,
    /// Frames each second; 0 for no storm.
    pub frames_per_s: u64,
    /// How many of them come at once, back to back on the wire; 0 and 1: evenly.
    pub burst_frames: u64,
    /// When they come, ns.
    pub during_ns: Range<u64>,
    /// What they are.
    pub kind: StormKind,
    /// The board's address.
    pub board_ip: [u8; 4],
}

/// A stage and the handle to it.
pub type StormHandle<P> = Rc<RefCell<Storm<P>>>;

/// The stage.
pub struct Storm<P> {
    config: StormConfig,
    inner: P,
    rng: SplitMix64,
    sent: u64,
}

const FRAME_BYTES: usize = 60;

impl<P: Peer> Storm<P> {
    /// `inner` with the storm beside it.
    pub fn new(config: StormConfig, inner: P) -> Self {
        Storm { rng: SplitMix64::new(config.seed), sent: 0, inner, config }
    }

    /// Storm frames handed to the switch so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    fn due(&self) -> Option<u64> {
        if self.config.frames_per_s == 0 {
            return None;
        }
        let before = self.sent - self.sent % self.config.burst_frames.max(1);
        let after = u128::from(before) * 1_000_000_000 / u128::from(self.config.frames_per_s);
        let at = self.config.during_ns.start.saturating_add(after as u64);
        self.config.during_ns.contains(&at).then_some(at)
    }

    fn frame(&mut self) -> Vec<u8> {
        let chance = self.rng.next_u64();
        let kind = match (self.config.kind, chance >> 62) {
            (StormKind::Mixed, 0 | 1) => StormKind::ArpForOthers,
            (StormKind::Mixed, 2) => StormKind::ArpForBoard,
            (StormKind::Mixed, _) => StormKind::Broadcast,
            (kind, _) => kind,
        };
        // A neighbour of the board's: its network is a /24 in every configuration.
        let [a, b, c, _] = self.config.board_ip;
        let host = 100 + (chance % 100) as u8;
        let (mac, ip) = ([0x02, 0, 0, 0, 0x57, host], [a, b, c, host]);
        match kind {
            StormKind::ArpForBoard => arp_request(mac, ip, self.config.board_ip),
            StormKind::Broadcast => broadcast(mac, ip),
            _ => arp_request(mac, ip, [a, b, c, 200 + (chance >> 8 & 31) as u8]),
        }
    }
}

fn start(mac: [u8; 6], ethertype: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_BYTES);
    frame.extend_from_slice(&[0xFF; 6]);
    frame.extend_from_slice(&mac);
    frame.extend_from_slice(&ethertype.to_be_bytes());
    frame
}

fn arp_request(mac: [u8; 6], ip: [u8; 4], wanted: [u8; 4]) -> Vec<u8> {
    let mut frame = start(mac, 0x0806);
    frame.extend_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend_from_slice(&mac);
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(&[0; 6]);
    frame.extend_from_slice(&wanted);
    frame.resize(FRAME_BYTES, 0);
    frame
}

fn broadcast(mac: [u8; 6], ip: [u8; 4]) -> Vec<u8> {
    let mut frame = start(mac, 0x0800);
    // IPv4, 46 bytes, UDP, from the neighbour to everybody.
    frame.extend_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(&[0xFF; 4]);
    let sum = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
    let folded = !((sum & 0xFFFF) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&folded.to_be_bytes());
    // Port 9 (discard), 26 bytes, without a checksum.
    frame.extend_from_slice(&[0, 9, 0, 9, 0, 26, 0, 0]);
    frame.resize(FRAME_BYTES, 0);
    frame
}

impl<P: Peer> Peer for Storm<P> {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.inner.receive(now, frame);
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        while self.due().is_some_and(|due| due <= now) {
            send(self.frame());
            self.sent += 1;
        }
        self.inner.poll(now, send);
    }

    fn next_event(&self) -> Option<u64> {
        self.due().into_iter().chain(self.inner.next_event()).min()
    }

    fn room(&mut self, free_bytes: usize) {
        self.inner.room(free_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Silent;
    use smoltcp::wire::{ArpPacket, ArpRepr, EthernetFrame, EthernetProtocol, Ipv4Packet, UdpPacket};

    fn storm(kind: StormKind) -> Storm<Silent> {
        let during_ns = 1_000..1_000_000_000;
        let config = StormConfig { seed: 3, frames_per_s: 100_000, during_ns, kind, ..StormConfig::default() };
        Storm::new(StormConfig { board_ip: [10, 77, 0, 50], ..config }, Silent)
    }

    #[test]
    fn bursts_come_at_once_and_keep_the_pace() {
        let mut stage = storm(StormKind::Mixed);
        stage.config.burst_frames = 200;
        let mut frames = 0;
        stage.poll(1_000, &mut |_| frames += 1);
        assert_eq!((frames, stage.next_event()), (200, Some(2_001_000)));
        stage.poll(9_999_999, &mut |_| frames += 1);
        assert_eq!((frames, stage.next_event()), (1_000, Some(10_001_000)));
    }

    #[test]
    fn frames_come_at_their_pace_and_only_while_the_storm_lasts() {
        let mut stage = storm(StormKind::Mixed);
        assert_eq!(stage.next_event(), Some(1_000));
        let mut frames = 0;
        stage.poll(1_000 + 9_999_999, &mut |_| frames += 1);
        assert_eq!((frames, stage.next_event()), (1_000, Some(10_001_000)));
        stage.poll(5_000_000_000, &mut |_| frames += 1);
        assert_eq!((frames, stage.sent(), stage.next_event()), (100_000, 100_000, None));
    }

    #[test]
    fn every_kind_is_what_it_says() {
        for kind in [StormKind::ArpForOthers, StormKind::ArpForBoard, StormKind::Broadcast] {
            storm(kind).poll(1_000_000, &mut |frame| {
                let ethernet = EthernetFrame::new_checked(&frame[..]).unwrap();
                assert!(ethernet.dst_addr().is_broadcast() && frame.len() == FRAME_BYTES);
                if ethernet.ethertype() == EthernetProtocol::Arp {
                    let arp = ArpRepr::parse(&ArpPacket::new_checked(ethernet.payload()).unwrap()).unwrap();
                    let ArpRepr::EthernetIpv4 { target_protocol_addr, .. } = arp else { panic!("{arp:?}") };
                    let for_board = target_protocol_addr.octets() == [10, 77, 0, 50];
                    assert_eq!(for_board, kind == StormKind::ArpForBoard);
                } else {
                    let ip = Ipv4Packet::new_checked(ethernet.payload()).unwrap();
                    assert!(ip.verify_checksum() && ip.dst_addr().is_broadcast());
                    assert_eq!(UdpPacket::new_checked(ip.payload()).unwrap().dst_port(), 9);
                    assert_eq!(kind, StormKind::Broadcast);
                }
            });
        }
    }
}
