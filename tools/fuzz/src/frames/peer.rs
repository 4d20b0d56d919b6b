//! The other end: answers ARP, DHCP, DNS and HTTP frame for frame, so that a script gets deep by damaging little.
//!
//! Frames are read and written by offset. It keeps nothing but two sequence numbers and the bytes left a connection,
//! retransmits nothing and believes everything.

use super::Script;
use super::port::MAC;
use std::collections::BTreeMap;

const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER_IP: [u8; 4] = [10, 0, 0, 1];
const OUR_IP: [u8; 4] = [10, 0, 0, 2];
/// Payload of a segment.
const SEGMENT_BYTES: usize = 1000;

const SYN: u8 = 2;
const FIN: u8 = 1;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;

/// What the server says to a request.
#[derive(Clone, Debug)]
pub(super) struct ResponseChoice {
    head: Vec<u8>,
    body_b: usize,
    closes: bool,
}

impl Default for ResponseChoice {
    fn default() -> Self {
        ResponseChoice { head: b"HTTP/1.1 206 OK\r\nContent-Length: 6000\r\n\r\n".into(), body_b: 6000, closes: false }
    }
}

impl ResponseChoice {
    /// Mostly a good one; else one with a flaw, or the script's own.
    pub fn from_script(script: &mut Script<'_>) -> Self {
        let with = |head: &[u8], body_b, closes| ResponseChoice { head: head.into(), body_b, closes };
        match script.u8() {
            0..=99 => Self::default(),
            100..=119 => with(b"HTTP/1.0 200 OK\r\n\r\n", 3000, true),
            120..=134 => with(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", 1, false),
            135..=144 => with(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", 500, true),
            145..=154 => with(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 9, false),
            155..=164 => with(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n", 3000, true),
            165..=174 => with(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", 2000, true),
            175..=184 => with(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n", 2, false),
            185..=194 => with(b"HTTP/1.1 200 OK\r\nX: ", 12_000, false),
            195..=204 => with(b"", 0, true),
            _ => ResponseChoice {
                head: script.bytes(200).into(),
                body_b: usize::from(script.u16() % 4096),
                closes: script.u8() & 1 == 1,
            },
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Connection {
    /// Our next sequence number.
    next: u32,
    /// What we wait for.
    wanted: u32,
    /// Still to be sent.
    queue: Vec<u8>,
    closes: bool,
}

/// The peer.
#[derive(Debug, Default)]
pub(super) struct Peer {
    connections: BTreeMap<u16, Connection>,
}

impl Peer {
    /// `frame` holds a request, so that the next answer may be chosen.
    pub fn wants_response(&self, frame: &[u8]) -> bool {
        tcp_of(frame).is_some_and(|tcp| !tcp.payload.is_empty())
    }

    /// What comes back for `frame`.
    pub fn answer(&mut self, frame: &[u8], response: &ResponseChoice) -> Vec<Vec<u8>> {
        self.answers(frame, response).unwrap_or_default()
    }

    fn answers(&mut self, frame: &[u8], response: &ResponseChoice) -> Option<Vec<Vec<u8>>> {
        match frame.get(12..14)? {
            [8, 6] => Some(vec![arp(frame)?]),
            [8, 0] if *frame.get(23)? == 17 => {
                let payload = frame.get(42..)?;
                match frame.get(36..38)? {
                    [0, 67] => Some(vec![dhcp(payload)?]),
                    [0, 53] => Some(vec![dns(frame, payload)?]),
                    _ => None,
                }
            }
            _ => Some(self.tcp(&tcp_of(frame)?, response)),
        }
    }

    fn tcp(&mut self, tcp: &Tcp<'_>, response: &ResponseChoice) -> Vec<Vec<u8>> {
        if tcp.flags & RST != 0 {
            self.connections.remove(&tcp.from);
            return Vec::new();
        }
        let mut frames = Vec::new();
        if tcp.flags & SYN != 0 {
            let wanted = tcp.sequence.wrapping_add(1);
            let next = 0xffff_f000; // wraps soon
            let connection = Connection { next: next + 1, wanted, ..Connection::default() };
            self.connections.insert(tcp.from, connection);
            frames.push(tcp.reply(next, wanted, SYN | ACK, &[]));
            return frames;
        }
        let Some(connection) = self.connections.get_mut(&tcp.from) else {
            frames.push(tcp.reply(tcp.acknowledged, 0, RST, &[]));
            return frames;
        };
        if !tcp.payload.is_empty() && tcp.sequence == connection.wanted {
            connection.wanted = connection.wanted.wrapping_add(tcp.payload.len() as u32);
            connection.queue.extend_from_slice(&response.head);
            connection.queue.resize(connection.queue.len() + response.body_b, b'b');
            connection.closes = response.closes;
        }
        if tcp.flags & FIN != 0 {
            connection.wanted = connection.wanted.wrapping_add(1);
            connection.closes = true;
            connection.queue.clear();
            frames.push(tcp.reply(connection.next, connection.wanted, ACK, &[]));
        }
        // At most two segments an acknowledgement: the receiver sets the pace.
        for _ in 0..2 {
            let bytes = connection.queue.len().min(SEGMENT_BYTES);
            if bytes == 0 || usize::from(tcp.window) < bytes {
                break;
            }
            let payload: Vec<u8> = connection.queue.drain(..bytes).collect();
            frames.push(tcp.reply(connection.next, connection.wanted, ACK | PSH, &payload));
            connection.next = connection.next.wrapping_add(bytes as u32);
        }
        if connection.queue.is_empty() && connection.closes {
            connection.closes = false;
            frames.push(tcp.reply(connection.next, connection.wanted, FIN | ACK, &[]));
            connection.next = connection.next.wrapping_add(1);
        }
        frames
    }
}

/// A TCP segment of ours.
struct Tcp<'a> {
    from: u16,
    to: u16,
    to_ip: [u8; 4],
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    window: u16,
    payload: &'a [u8],
}

fn tcp_of(frame: &[u8]) -> Option<Tcp<'_>> {
    if frame.get(12..14)? != [8, 0] || *frame.get(23)? != 6 {
        return None;
    }
    // No IP options: smoltcp sends none. The frame may be padded.
    let end = 14 + usize::from(word16(frame, 16)?);
    let payload_at = 34 + usize::from(frame.get(46)? >> 4) * 4;
    Some(Tcp {
        from: word16(frame, 34)?,
        to: word16(frame, 36)?,
        to_ip: frame.get(30..34)?.try_into().ok()?,
        sequence: u32::from_be_bytes(frame.get(38..42)?.try_into().ok()?),
        acknowledged: u32::from_be_bytes(frame.get(42..46)?.try_into().ok()?),
        flags: *frame.get(47)?,
        window: word16(frame, 48)?,
        payload: frame.get(payload_at..end)?,
    })
}

impl Tcp<'_> {
    fn reply(&self, sequence: u32, acknowledged: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut segment = Vec::new();
        segment.extend(self.to.to_be_bytes());
        segment.extend(self.from.to_be_bytes());
        segment.extend(sequence.to_be_bytes());
        segment.extend(acknowledged.to_be_bytes());
        segment.extend([0x50, flags, 0x40, 0, 0, 0, 0, 0]);
        segment.extend_from_slice(payload);
        ip_frame(MAC, self.to_ip, OUR_IP, 6, segment, 16)
    }
}

fn word16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// RFC 1071.
fn checksum(pieces: &[&[u8]]) -> [u8; 2] {
    let mut sum = 0u32;
    for piece in pieces {
        for pair in piece.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Ethernet and IPv4 around `segment`, whose check sum lies at `checksum_at`.
fn ip_frame(to: [u8; 6], from_ip: [u8; 4], to_ip: [u8; 4], protocol: u8, mut segment: Vec<u8>, at: usize) -> Vec<u8> {
    let length = (segment.len() as u16).to_be_bytes();
    let sum = checksum(&[&from_ip, &to_ip, &[0, protocol], &length, &segment]);
    segment[at..at + 2].copy_from_slice(&sum);
    let total = (20 + segment.len() as u16).to_be_bytes();
    let mut header = vec![0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0];
    header.extend(from_ip);
    header.extend(to_ip);
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum);
    let mut frame = [to.as_slice(), &PEER_MAC, &[8, 0], &header, &segment].concat();
    frame.resize(frame.len().max(60), 0);
    frame
}

fn udp_frame(from_port: u16, to_port: u16, to_ip: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(from_port.to_be_bytes());
    datagram.extend(to_port.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend_from_slice(payload);
    ip_frame(MAC, PEER_IP, to_ip, 17, datagram, 6)
}

/// RFC 826: whoever is asked for, it is us.
fn arp(frame: &[u8]) -> Option<Vec<u8>> {
    let asked_for = frame.get(38..42)?;
    if frame.get(20..22)? != [0, 1] || asked_for == OUR_IP {
        return None;
    }
    let sender = frame.get(22..32)?;
    let mut answer =
        [&MAC, PEER_MAC.as_slice(), &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2], &PEER_MAC, asked_for, sender].concat();
    answer.resize(60, 0);
    Some(answer)
}

/// RFC 2131: an offer for a discovery, an acknowledgement for a request.
fn dhcp(request: &[u8]) -> Option<Vec<u8>> {
    let mut options = request.get(240..)?;
    let kind = loop {
        match *options {
            [53, 1, kind, ..] => break kind,
            [0, ref rest @ ..] => options = rest,
            [255, ..] => return None,
            [_, length, ref rest @ ..] => options = rest.get(usize::from(length)..)?,
            _ => return None,
        }
    };
    let answer_kind = match kind {
        1 => 2,
        3 => 5,
        _ => return None,
    };
    let mut answer = vec![2, 1, 6, 0];
    answer.extend_from_slice(request.get(4..8)?);
    answer.resize(16, 0);
    answer.extend(OUR_IP);
    answer.extend(PEER_IP);
    answer.resize(28, 0);
    answer.extend(MAC);
    answer.resize(236, 0);
    answer.extend([
        99,
        130,
        83,
        99,
        53,
        1,
        answer_kind,
        54,
        4,
        10,
        0,
        0,
        1,
        51,
        4,
        0,
        0,
        0,
        60,
        1,
        4,
        255,
        255,
        255,
        0,
    ]);
    answer.extend([3, 4, 10, 0, 0, 1, 6, 4, 10, 0, 0, 1, 255]);
    Some(udp_frame(67, 68, OUR_IP, &answer))
}

/// RFC 1035: every name is ours.
fn dns(frame: &[u8], query: &[u8]) -> Option<Vec<u8>> {
    let end = 42 + usize::from(word16(frame, 38)?).checked_sub(8)?;
    let query = query.get(..end.checked_sub(42)?)?;
    let mut answer = query.to_vec();
    answer.get_mut(2..4)?.copy_from_slice(&[0x81, 0x80]);
    *answer.get_mut(7)? = 1;
    answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4]);
    answer.extend(PEER_IP);
    Some(udp_frame(53, word16(frame, 34)?, OUR_IP, &answer))
}
