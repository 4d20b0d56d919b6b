//! What a host is made from, and its faults.

use std::ops::Range;
use std::rc::Rc;

/// Congestion control of its TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// The client's window alone limits what is in flight.
    #[default]
    None,
    /// RFC 5681 and 6582.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// Loss recovery of its TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// What smoltcp has: one fast retransmission a loss, otherwise a timeout of at least 1 s.
    Stack,
    /// RFC 6582 on top: a partial acknowledgement sends the next hole at once, and a timeout of at least `rto_ns`.
    NewReno {
        /// Shortest retransmission timeout. Linux has 200 ms.
        rto_ns: u64,
    },
    /// Selective acknowledgements, as servers of today use them (RFC 6675, 8985), and a timeout of at least `rto_ns`.
    Selective {
        /// Shortest retransmission timeout. Linux has 200 ms.
        rto_ns: u64,
    },
}

/// What its DHCP server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DhcpMode {
    /// Offers and acknowledges `board_ip`.
    #[default]
    Answer,
    /// Never answers.
    Silent,
    /// Offers, then answers every request with NAK.
    Nak,
    /// Leases that end after this many seconds.
    ShortLease {
        /// Lease time, s.
        seconds: u32,
    },
    /// The same, and requests to renew them fail.
    NoRenewal {
        /// Lease time, s.
        seconds: u32,
        /// Renewals are refused with NAK. Otherwise they are not answered.
        nak: bool,
        /// A client that starts anew gets a lease again. Otherwise only the first one was given.
        again: bool,
    },
    /// Offers and acknowledgements are damaged.
    Flawed(DhcpFlaw),
}

/// What is wrong with the messages of a DHCP server (RFC 2131, RFC 2132).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DhcpFlaw {
    /// The message ends in the middle of its options: of the subnet mask.
    TruncatedOptions,
    /// The subnet mask's length reaches past the end of the message.
    OptionPastEnd,
    /// Another transaction's number.
    WrongTransaction,
    /// The options do not begin with the magic cookie.
    WrongCookie,
    /// This address for the board.
    Address([u8; 4]),
    /// This subnet mask.
    Mask([u8; 4]),
    /// No subnet mask.
    NoMask,
    /// No router.
    NoRouter,
    /// No server identifier.
    NoServer,
    /// The subnet mask is in the file field (option overload).
    Overload,
}

/// A second DHCP server on the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondDhcp {
    /// Its address.
    pub ip: [u8; 4],
    /// What it gives away.
    pub board_ip: [u8; 4],
    /// Its answers come before the other's. Otherwise after them.
    pub first: bool,
}

/// What its DNS server does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DnsMode {
    /// Answers for the configured names, NXDOMAIN for others.
    #[default]
    Answer,
    /// Never answers.
    Silent,
    /// NXDOMAIN for every name.
    NoSuchName,
    /// SERVFAIL.
    Fail,
}

/// A fault of its HTTP server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HttpFault {
    /// No fault.
    #[default]
    None,
    /// Nobody listens: connections are reset.
    Refuse,
    /// Every path is 404.
    NotFound,
    /// The connection is closed after this many body bytes.
    ShortBody {
        /// Body bytes sent.
        after_bytes: u64,
    },
    /// The connection is reset after this many body bytes were acknowledged.
    Reset {
        /// Body bytes sent.
        after_bytes: u64,
    },
    /// Nothing comes after this many body bytes; the connection stays open.
    Stall {
        /// Body bytes sent.
        after_bytes: u64,
    },
    /// The head comes one byte at a time.
    SlowHead {
        /// Time between two bytes.
        interval_ns: u64,
    },
    /// The head is not HTTP.
    GarbageHead,
    /// Connections close after each response.
    CloseEach,
    /// This many bytes more than Content-Length says.
    LongBody {
        /// Surplus bytes.
        extra_bytes: u64,
    },
    /// Content-Range names other bytes than asked for.
    WrongRange,
    /// 302 to this place.
    Redirect {
        /// Value of the Location header.
        location: String,
    },
    /// The request is read and never answered.
    Mute,
    /// Nothing comes for a while after this many body bytes, then the rest.
    Pause {
        /// Body bytes sent before.
        after_bytes: u64,
        /// How long it lasts.
        pause_ns: u64,
    },
    /// This head and so many body bytes, whatever was asked for.
    Raw {
        /// The head as sent, with its end if it has one.
        head: Vec<u8>,
        /// Body bytes after it.
        body_bytes: u64,
        /// The connection is closed afterwards. Otherwise it stays open and the next request gets the same.
        close: bool,
    },
}

/// A file of its HTTP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Absolute path.
    pub path: String,
    /// Length. The content is [`super::body_byte`] of the offset.
    pub bytes: u64,
}

/// Configuration of a host.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Seed of sequence numbers.
    pub seed: u64,
    /// Its MAC address.
    pub mac: [u8; 6],
    /// Its IPv4 address; gateway and name server of the board too.
    pub ip: [u8; 4],
    /// Length of the network prefix.
    pub prefix_length: u8,
    /// What the DHCP server gives away.
    pub board_ip: [u8; 4],
    /// Lease time, s.
    pub lease_seconds: u32,
    /// DHCP server.
    pub dhcp: DhcpMode,
    /// A second DHCP server, at the same MAC address.
    pub second_dhcp: Option<SecondDhcp>,
    /// DNS server.
    pub dns: DnsMode,
    /// Names it knows, lower case, with their addresses.
    pub names: Vec<(String, [u8; 4])>,
    /// Port of the HTTP server.
    pub http_port: u16,
    /// Its files with generated content, by HTTP and TFTP.
    pub objects: Vec<Object>,
    /// Files with content of their own, by name, for TFTP only.
    pub files: Vec<(String, Rc<[u8]>)>,
    /// From the last byte of a request to the first of the response.
    pub response_latency_ns: u64,
    /// The HTTP server's fault.
    pub fault: HttpFault,
    /// Requests (for [`HttpFault::Refuse`]: connections), counted from 0, that meet the fault.
    pub fault_requests: Range<u64>,
    /// Connections at a time.
    pub max_connections: usize,
    /// Send buffer of each connection.
    pub send_buffer_bytes: usize,
    /// Congestion control.
    pub congestion: Congestion,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Limits what TCP sends, in bit/s on the wire.
    pub pace_bps: Option<u64>,
}

impl Default for HostConfig {
    fn default() -> Self {
        let ip = [10, 77, 0, 1];
        HostConfig {
            seed: 1,
            mac: [0x02, 0x67, 0x62, 0, 0, 0x01],
            ip,
            prefix_length: 24,
            board_ip: [10, 77, 0, 50],
            lease_seconds: 86_400,
            dhcp: DhcpMode::default(),
            second_dhcp: None,
            dns: DnsMode::default(),
            names: vec![("peer.genetbench.test".to_owned(), ip)],
            http_port: 80,
            files: Vec::new(),
            objects: vec![Object { path: "/data".to_owned(), bytes: 64 << 20 }],
            response_latency_ns: 20_000,
            fault: HttpFault::None,
            fault_requests: 0..u64::MAX,
            max_connections: 64,
            send_buffer_bytes: 1 << 20,
            congestion: Congestion::None,
            recovery: Recovery::Selective { rto_ns: 200_000_000 },
            pace_bps: None,
        }
    }
}
