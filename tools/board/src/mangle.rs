//! A hostile stage between the way to the host and the switch: it alters or forges TCP segments towards the board.
//!
//! Owns which segments are harmed (by seed) and how. Frames stay whole on the wire: their FCS is right, as a bad
//! router or a stranger's segment has it. Facts: RFC 9293 (TCP), RFC 791 (IPv4).

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use smoltcp::wire::{EthernetFrame, EthernetProtocol, IpAddress, IpProtocol, Ipv4Packet, TcpPacket, TcpSeqNumber};

use crate::link::Peer;
use crate::rng::SplitMix64;

/// Far outside any window, in sequence numbers: a GiB.
const FAR: i32 = 1 << 30;

/// What is done to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The TCP checksum is wrong.
    TcpChecksum,
    /// The checksum of the IP header is wrong.
    IpChecksum,
    /// It goes to the port after the right one.
    Port,
    /// It acknowledges data that was never sent.
    AckAhead,
    /// Its data lies beyond the window.
    SequenceAhead,
    /// Its data lies before the window.
    SequenceBehind,
    /// It closes the window it offers.
    ZeroWindow,
    /// It becomes a reset in its place.
    Reset,
    /// It becomes a reset outside the window: a blind attack, to be ignored.
    BlindReset,
    /// It ends in the middle of its TCP header.
    Truncate,
    /// Up to four of its bytes, headers or payload, have other values. The sums stay as they were.
    Noise,
    /// It does not arrive.
    Drop,
    /// It comes once more, unharmed.
    Repeat,
}

/// Which segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every one.
    All,
    /// Those with SYN.
    Syn,
    /// Those with payload.
    Data,
    /// Those with FIN.
    Fin,
}

/// One kind of harm.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What is done.
    pub harm: Harm,
    /// To which segments.
    pub target: Target,
    /// Which of these, counted from 0.
    pub which: Range<u64>,
    /// How often, among these.
    pub ppm: u32,
    /// The harmed copy goes before the segment instead of replacing it.
    pub forge: bool,
}

impl Rule {
    /// Replaces every segment of `target` by its harmed self.
    pub fn replace(harm: Harm, target: Target) -> Self {
        Rule { harm, target, which: 0..u64::MAX, ppm: 1_000_000, forge: false }
    }

    /// Puts a harmed copy before every segment of `target`.
    pub fn forge(harm: Harm, target: Target) -> Self {
        Rule { forge: true, ..Rule::replace(harm, target) }
    }

    /// The same for some of them, counted from 0.
    pub fn only(self, which: Range<u64>) -> Self {
        Rule { which, ..self }
    }

    /// The same for a share of them.
    pub fn share(self, ppm: u32) -> Self {
        Rule { ppm, ..self }
    }
}

/// Configuration of the stage. Without rules it does nothing.
#[derive(Clone, Debug, Default)]
pub struct MangleConfig {
    /// Seed of the shares.
    pub seed: u64,
    /// Applied in their order; at most one harms a segment.
    pub rules: Vec<Rule>,
}

/// A stage and the handle to it.
pub type MangleHandle<P> = Rc<RefCell<Mangler<P>>>;

/// The stage.
pub struct Mangler<P> {
    config: MangleConfig,
    inner: P,
    rng: SplitMix64,
    /// Segments seen by each rule's target.
    seen: Vec<u64>,
    harmed: u64,
}

impl<P: Peer> Mangler<P> {
    /// `inner` behind the stage.
    pub fn new(config: MangleConfig, inner: P) -> Self {
        Mangler { rng: SplitMix64::new(config.seed), seen: vec![0; config.rules.len()], harmed: 0, inner, config }
    }

    /// Other rules from now on; segments are counted anew.
    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        self.seen = vec![0; rules.len()];
        self.config.rules = rules;
        self.harmed = 0;
    }

    /// Segments harmed so far under these rules.
    pub fn harmed(&self) -> u64 {
        self.harmed
    }

    fn pass(&mut self, frame: Vec<u8>, send: &mut dyn FnMut(Vec<u8>)) {
        match self.rule_for(&frame).map(|rule| (rule.harm, rule.forge)) {
            None => send(frame),
            Some((Harm::Drop, _)) => self.harmed += 1,
            Some((harm, forge)) => {
                self.harmed += 1;
                let mut copy = frame.clone();
                if harm == Harm::Noise {
                    self.add_noise(&mut copy);
                } else {
                    // The rule matched, so it is a segment.
                    let _ = apply(harm, &mut copy);
                }
                send(copy);
                if forge || harm == Harm::Repeat {
                    send(frame);
                }
            }
        }
    }

    fn add_noise(&mut self, frame: &mut [u8]) {
        for _ in 0..4 {
            let chance = self.rng.next_u64();
            let at = (chance >> 32) as usize % frame.len();
            frame[at] ^= chance as u8;
        }
    }

    fn rule_for(&mut self, frame: &[u8]) -> Option<&Rule> {
        let (syn, fin, data) = facts(frame)?;
        for (rule, seen) in self.config.rules.iter().zip(&mut self.seen) {
            let matches = match rule.target {
                Target::All => true,
                Target::Syn => syn,
                Target::Data => data,
                Target::Fin => fin,
            };
            if !matches {
                continue;
            }
            let ordinal = *seen;
            *seen += 1;
            if rule.which.contains(&ordinal) && self.rng.chance_ppm(rule.ppm) {
                return Some(rule);
            }
        }
        None
    }
}

impl<P: Peer> Peer for Mangler<P> {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.inner.receive(now, frame);
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        if self.config.rules.is_empty() {
            return self.inner.poll(now, send);
        }
        let mut frames = Vec::new();
        self.inner.poll(now, &mut |frame| frames.push(frame));
        for frame in frames {
            self.pass(frame, send);
        }
    }

    fn next_event(&self) -> Option<u64> {
        self.inner.next_event()
    }

    fn room(&mut self, free_bytes: usize) {
        self.inner.room(free_bytes);
    }
}

/// SYN, FIN and payload of a TCP segment; none for other frames.
fn facts(frame: &[u8]) -> Option<(bool, bool, bool)> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ethertype() != EthernetProtocol::Ipv4 {
        return None;
    }
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    if ip.next_header() != IpProtocol::Tcp {
        return None;
    }
    let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
    Some((tcp.syn(), tcp.fin(), !tcp.payload().is_empty()))
}

/// Harms `frame`, a TCP segment. Sums are right afterwards unless they are what is wrong.
fn apply(harm: Harm, frame: &mut Vec<u8>) -> Option<()> {
    if harm == Harm::Truncate {
        // Ethernet and IP headers and 10 bytes of TCP; the IP length says so too.
        let kept = EthernetFrame::<&[u8]>::header_len() + 20 + 10;
        frame.truncate(kept);
        let mut ip = Ipv4Packet::new_unchecked(frame.get_mut(14..)?);
        ip.set_total_len(30);
        ip.fill_checksum();
        return Some(());
    }
    let mut ip = Ipv4Packet::new_checked(frame.get_mut(14..)?).ok()?;
    let (from, to) = (IpAddress::Ipv4(ip.src_addr()), IpAddress::Ipv4(ip.dst_addr()));
    if harm == Harm::IpChecksum {
        let sum = ip.checksum();
        ip.set_checksum(!sum);
        return Some(());
    }
    let header_bytes = usize::from(ip.header_len());
    let mut tcp = TcpPacket::new_checked(ip.payload_mut()).ok()?;
    let tcp_header_bytes = usize::from(tcp.header_len());
    let moved = |number: TcpSeqNumber, by: i32| TcpSeqNumber(number.0.wrapping_add(by));
    match harm {
        Harm::TcpChecksum => {
            let sum = tcp.checksum();
            tcp.set_checksum(sum ^ 0x5A5A);
            return Some(());
        }
        Harm::Port => {
            let port = tcp.dst_port();
            tcp.set_dst_port(port.wrapping_add(1).max(1));
        }
        Harm::AckAhead => {
            let number = moved(tcp.ack_number(), FAR);
            tcp.set_ack_number(number);
        }
        Harm::SequenceAhead => {
            let number = moved(tcp.seq_number(), FAR);
            tcp.set_seq_number(number);
        }
        Harm::SequenceBehind => {
            let number = moved(tcp.seq_number(), -FAR);
            tcp.set_seq_number(number);
        }
        Harm::ZeroWindow => tcp.set_window_len(0),
        Harm::Reset | Harm::BlindReset => {
            if harm == Harm::BlindReset {
                let number = moved(tcp.seq_number(), FAR);
                tcp.set_seq_number(number);
            }
            let acknowledges = tcp.ack();
            tcp.clear_flags();
            tcp.set_ack(acknowledges);
            tcp.set_rst(true);
            let bytes = header_bytes + tcp_header_bytes;
            ip.set_total_len(bytes as u16);
            ip.fill_checksum();
            frame.truncate(EthernetFrame::<&[u8]>::header_len() + bytes);
        }
        Harm::IpChecksum | Harm::Truncate | Harm::Noise | Harm::Drop | Harm::Repeat => {}
    }
    let mut ip = Ipv4Packet::new_checked(frame.get_mut(14..)?).ok()?;
    TcpPacket::new_checked(ip.payload_mut()).ok()?.fill_checksum(&from, &to);
    Some(())
}

#[cfg(test)]
mod tests;
