//! DNS server: A records of the configured names, RFC 1035.

use smoltcp::socket::udp;

use super::{DnsMode, HostConfig};

const PORT: u16 = 53;
const HEADER_BYTES: usize = 12;
const TYPE_A: u16 = 1;
const CLASS_IN: u16 = 1;
const TTL_SECONDS: u32 = 300;

const NO_ERROR: u16 = 0;
const SERVER_FAILURE: u16 = 2;
const NO_SUCH_NAME: u16 = 3;

/// The server's socket.
pub(super) fn socket() -> udp::Socket<'static> {
    let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 16], vec![0; 16 * 1024]);
    let mut socket = udp::Socket::new(buffer(), buffer());
    // A fresh socket can be bound to any port but 0.
    let _ = socket.bind(PORT);
    socket
}

/// Answers what has arrived; how many queries it answered.
pub(super) fn serve(config: &HostConfig, socket: &mut udp::Socket) -> u64 {
    let mut answered = 0;
    while let Ok((query, from)) = socket.recv() {
        if let Some(reply) = answer(config, query)
            && socket.send_slice(&reply, from).is_ok()
        {
            answered += 1;
        }
    }
    answered
}

/// The answer to one query; none when it is no query or the server is silent.
fn answer(config: &HostConfig, query: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]));
    let (flags, questions) = (word(2)?, word(4)?);
    if config.dns == DnsMode::Silent || flags & 0x8000 != 0 || questions != 1 {
        return None;
    }
    let (name, end) = name(query, HEADER_BYTES)?;
    let (kind, class) = (word(end)?, word(end + 2)?);
    let known = config.names.iter().find(|(known, _)| *known == name).map(|(_, ip)| ip);
    let (code, address) = match config.dns {
        DnsMode::Fail => (SERVER_FAILURE, None),
        DnsMode::NoSuchName => (NO_SUCH_NAME, None),
        _ if known.is_none() => (NO_SUCH_NAME, None),
        _ => (NO_ERROR, known.filter(|_| kind == TYPE_A && class == CLASS_IN)),
    };
    let mut reply = Vec::with_capacity(end + 4 + 16);
    reply.extend_from_slice(&query[..2]);
    // Response, recursion as asked and available.
    reply.extend_from_slice(&(0x8080 | flags & 0x0100 | code).to_be_bytes());
    for count in [1, u16::from(address.is_some()), 0, 0] {
        reply.extend_from_slice(&count.to_be_bytes());
    }
    reply.extend_from_slice(&query[HEADER_BYTES..end + 4]);
    if let Some(ip) = address {
        reply.extend_from_slice(&[0xC0, HEADER_BYTES as u8]); // the question's name
        reply.extend_from_slice(&TYPE_A.to_be_bytes());
        reply.extend_from_slice(&CLASS_IN.to_be_bytes());
        reply.extend_from_slice(&TTL_SECONDS.to_be_bytes());
        reply.extend_from_slice(&4u16.to_be_bytes());
        reply.extend_from_slice(ip);
    }
    Some(reply)
}

/// The name at `at`, lower case with dots, and where it ends. Queries have no compression.
fn name(query: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut name = String::new();
    loop {
        let length = usize::from(*query.get(at)?);
        at += 1;
        if length == 0 {
            return Some((name, at));
        }
        if length > 63 || name.len() > 253 {
            return None;
        }
        if !name.is_empty() {
            name.push('.');
        }
        for byte in query.get(at..at + length)? {
            name.push(char::from(byte.to_ascii_lowercase()));
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut query = vec![0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(label.len() as u8);
            query.extend_from_slice(label.as_bytes());
        }
        query.push(0);
        query.extend_from_slice(&kind.to_be_bytes());
        query.extend_from_slice(&CLASS_IN.to_be_bytes());
        query
    }

    #[test]
    fn known_names_unknown_names_and_other_types() {
        let config = HostConfig::default();
        let known = answer(&config, &query("Peer.GenetBench.test", TYPE_A)).expect("answered");
        assert_eq!(known[..4], [0x12, 0x34, 0x81, 0x80]);
        assert!(known.ends_with(&[0, 4, 10, 77, 0, 1]));
        let unknown = answer(&config, &query("nobody.test", TYPE_A)).expect("answered");
        assert_eq!((unknown[3] & 0xF, unknown[7]), (3, 0));
        let other_type = answer(&config, &query("peer.genetbench.test", 28)).expect("answered");
        assert_eq!((other_type[3] & 0xF, other_type[7]), (0, 0));
    }

    #[test]
    fn broken_queries_get_no_answer() {
        let config = HostConfig::default();
        let whole = query("peer.genetbench.test", TYPE_A);
        for length in 0..whole.len() {
            assert_eq!(answer(&config, &whole[..length]), None);
        }
        assert_eq!(answer(&HostConfig { dns: DnsMode::Silent, ..config }, &whole), None);
    }
}
