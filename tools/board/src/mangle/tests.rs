use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{EthernetAddress, EthernetRepr, IpRepr, Ipv4Address, Ipv4Repr, TcpControl, TcpRepr};

use super::*;

/// Hands out its frames at once.
struct Frames(Vec<Vec<u8>>);

impl Peer for Frames {
    fn receive(&mut self, _: u64, _: &[u8]) {}
    fn poll(&mut self, _: u64, send: &mut dyn FnMut(Vec<u8>)) {
        self.0.drain(..).for_each(send);
    }
    fn next_event(&self) -> Option<u64> {
        (!self.0.is_empty()).then_some(0)
    }
    fn room(&mut self, _: usize) {}
}

fn segment(control: TcpControl, payload: &[u8]) -> Vec<u8> {
    let (from, to) = (Ipv4Address::new(10, 0, 0, 1), Ipv4Address::new(10, 0, 0, 2));
    let tcp = TcpRepr {
        src_port: 80,
        dst_port: 50_000,
        control,
        seq_number: TcpSeqNumber(1000),
        ack_number: Some(TcpSeqNumber(2000)),
        window_len: 500,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload,
    };
    let ip = Ipv4Repr {
        src_addr: from,
        dst_addr: to,
        next_header: IpProtocol::Tcp,
        payload_len: tcp.buffer_len(),
        hop_limit: 64,
    };
    let ethernet = EthernetRepr {
        src_addr: EthernetAddress([2; 6]),
        dst_addr: EthernetAddress([4; 6]),
        ethertype: EthernetProtocol::Ipv4,
    };
    let sums = ChecksumCapabilities::default();
    let mut bytes = vec![0; 14 + ip.buffer_len() + tcp.buffer_len()];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    ethernet.emit(&mut frame);
    IpRepr::Ipv4(ip).emit(frame.payload_mut(), &sums);
    let mut packet = Ipv4Packet::new_unchecked(frame.payload_mut());
    tcp.emit(&mut TcpPacket::new_unchecked(packet.payload_mut()), &from.into(), &to.into(), &sums);
    bytes
}

fn through(rules: Vec<Rule>, frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, u64) {
    let mut stage = Mangler::new(MangleConfig { seed: 1, rules }, Frames(frames.to_vec()));
    let mut out = Vec::new();
    stage.poll(0, &mut |frame| out.push(frame));
    (out, stage.harmed())
}

/// (sequence, acknowledgement, window, port, reset, payload bytes), if IP header and TCP sums are right.
fn read(frame: &[u8]) -> Option<(i32, i32, u16, u16, bool, usize)> {
    let ip = Ipv4Packet::new_checked(&frame[14..]).ok()?;
    let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
    let right = ip.verify_checksum() && tcp.verify_checksum(&ip.src_addr().into(), &ip.dst_addr().into());
    right.then(|| {
        let numbers = (tcp.seq_number().0, tcp.ack_number().0);
        (numbers.0, numbers.1, tcp.window_len(), tcp.dst_port(), tcp.rst(), tcp.payload().len())
    })
}

#[test]
fn each_harm_changes_what_it_says_and_nothing_else() {
    let whole = segment(TcpControl::Psh, b"some data");
    assert_eq!(read(&whole), Some((1000, 2000, 500, 50_000, false, 9)));
    for (harm, expected) in [
        (Harm::TcpChecksum, None),
        (Harm::IpChecksum, None),
        (Harm::Truncate, None),
        (Harm::Noise, None),
        (Harm::Port, Some((1000, 2000, 500, 50_001, false, 9))),
        (Harm::AckAhead, Some((1000, 2000 + FAR, 500, 50_000, false, 9))),
        (Harm::SequenceAhead, Some((1000 + FAR, 2000, 500, 50_000, false, 9))),
        (Harm::SequenceBehind, Some((1000 - FAR, 2000, 500, 50_000, false, 9))),
        (Harm::ZeroWindow, Some((1000, 2000, 0, 50_000, false, 9))),
        (Harm::Reset, Some((1000, 2000, 500, 50_000, true, 0))),
        (Harm::BlindReset, Some((1000 + FAR, 2000, 500, 50_000, true, 0))),
    ] {
        let (out, harmed) = through(vec![Rule::replace(harm, Target::All)], std::slice::from_ref(&whole));
        assert_eq!((out.len(), harmed), (1, 1), "{harm:?}");
        assert_eq!(read(&out[0]), expected, "{harm:?}");
        let (out, _) = through(vec![Rule::forge(harm, Target::All)], std::slice::from_ref(&whole));
        assert_eq!((out.len(), &out[1]), (2, &whole), "{harm:?}: the real one follows");
    }
    assert_eq!(through(vec![Rule::replace(Harm::Drop, Target::All)], std::slice::from_ref(&whole)), (vec![], 1));
    let twice = vec![whole.clone(), whole.clone()];
    assert_eq!(through(vec![Rule::replace(Harm::Repeat, Target::All)], std::slice::from_ref(&whole)), (twice, 1));
}

#[test]
fn rules_meet_their_targets_alone() {
    let frames = [
        segment(TcpControl::Syn, b""),
        segment(TcpControl::None, b""),
        segment(TcpControl::Psh, b"1"),
        segment(TcpControl::Psh, b"2"),
        segment(TcpControl::Fin, b""),
        vec![0xFF; 60],
    ];
    let left = |rule: Rule| through(vec![rule], &frames).0.len();
    assert_eq!(left(Rule::replace(Harm::Drop, Target::Syn)), 5);
    assert_eq!(left(Rule::replace(Harm::Drop, Target::Data)), 4);
    assert_eq!(left(Rule::replace(Harm::Drop, Target::Data).only(1..2)), 5);
    assert_eq!(left(Rule::replace(Harm::Drop, Target::Fin)), 5);
    assert_eq!(left(Rule::replace(Harm::Drop, Target::All)), 1);
    assert_eq!(left(Rule::replace(Harm::Drop, Target::All).share(0)), 6);
}
