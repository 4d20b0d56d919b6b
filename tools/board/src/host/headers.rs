//! Reading frame headers as far as the host needs them to sort frames.

use smoltcp::wire::{EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

/// DHCP server port.
pub(super) const DHCP_SERVER_PORT: u16 = 67;

/// The parts of a TCP header that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TcpHead {
    pub(super) source: [u8; 4],
    pub(super) destination: [u8; 4],
    pub(super) source_port: u16,
    pub(super) destination_port: u16,
    pub(super) sequence: u32,
    pub(super) acknowledgement: Option<u32>,
    pub(super) window: u16,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) payload_bytes: usize,
    /// Where the window field lies in the frame.
    pub(super) window_at: usize,
    /// Selectively acknowledged: first sequence number and the one after the last.
    pub(super) sack: [Option<(u32, u32)>; 3],
}

impl TcpHead {
    /// A SYN without ACK.
    pub(super) fn is_first_syn(&self) -> bool {
        self.syn && self.acknowledgement.is_none()
    }

    /// Sequence space it takes.
    pub(super) fn length(&self) -> u32 {
        self.payload_bytes as u32 + u32::from(self.syn) + u32::from(self.fin)
    }
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// TCP over IPv4.
    Tcp(TcpHead),
    /// For a DHCP server.
    Dhcp,
    /// Anything else.
    Other,
}

/// Sorts a frame.
pub(super) fn classify(frame: &[u8]) -> Kind {
    classified(frame).unwrap_or(Kind::Other)
}

fn classified(frame: &[u8]) -> Option<Kind> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ethertype() != EthernetProtocol::Ipv4 {
        return None;
    }
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    match ip.next_header() {
        IpProtocol::Tcp => {
            let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
            Some(Kind::Tcp(TcpHead {
                source: ip.src_addr().octets(),
                destination: ip.dst_addr().octets(),
                source_port: tcp.src_port(),
                destination_port: tcp.dst_port(),
                sequence: tcp.seq_number().0 as u32,
                acknowledgement: tcp.ack().then(|| tcp.ack_number().0 as u32),
                window: tcp.window_len(),
                syn: tcp.syn(),
                fin: tcp.fin(),
                rst: tcp.rst(),
                payload_bytes: tcp.payload().len(),
                sack: match tcp.header_len() > 20 && !tcp.syn() {
                    true => tcp.selective_ack_ranges().unwrap_or_default(),
                    false => [None; 3],
                },
                window_at: EthernetFrame::<&[u8]>::header_len() + usize::from(ip.header_len()) + 14,
            }))
        }
        IpProtocol::Udp => {
            let udp = UdpPacket::new_checked(ip.payload()).ok()?;
            (udp.dst_port() == DHCP_SERVER_PORT).then_some(Kind::Dhcp)
        }
        _ => None,
    }
}
