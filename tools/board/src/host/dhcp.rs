//! DHCP server for one client: RFC 2131, stateless, answered frame for frame.

use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    DhcpMessageType, DhcpPacket, DhcpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr, IpAddress,
    IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, UdpPacket, UdpRepr,
};

use super::headers::DHCP_SERVER_PORT;
use super::{DhcpFlaw, DhcpMode, HostConfig};

mod flaw;

const CLIENT_PORT: u16 = 68;

/// The answers to the DHCP message in `frame`, in their order.
pub(super) fn answers(config: &HostConfig, frame: &[u8], lease_given: &mut bool) -> Vec<Vec<u8>> {
    let own = answer(config, config.ip, frame, lease_given);
    let second = config.second_dhcp.and_then(|second| {
        let other = HostConfig { ip: second.ip, board_ip: second.board_ip, ..config.clone() };
        answer(&other, config.ip, frame, lease_given).map(|reply| (reply, second.first))
    });
    match second {
        Some((second, true)) => [second].into_iter().chain(own).collect(),
        Some((second, false)) => own.into_iter().chain([second]).collect(),
        None => own.into_iter().collect(),
    }
}

/// The answer of the server at `config.ip`, if the message deserves one. It names `gateway` as router and name server.
fn answer(config: &HostConfig, gateway: [u8; 4], frame: &[u8], lease_given: &mut bool) -> Option<Vec<u8>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    let ip = Ipv4Packet::new_checked(ethernet.payload()).ok()?;
    let udp = UdpPacket::new_checked(ip.payload()).ok()?;
    let packet = DhcpPacket::new_checked(udp.payload()).ok()?;
    let request = DhcpRepr::parse(&packet).ok()?;
    let ours = Ipv4Address::from(config.ip);
    let renews = !request.client_ip.is_unspecified();
    let message_type = match (request.message_type, config.dhcp) {
        (_, DhcpMode::Silent) => return None,
        (DhcpMessageType::Discover, DhcpMode::NoRenewal { again: false, .. }) if *lease_given => return None,
        (DhcpMessageType::Discover, _) => DhcpMessageType::Offer,
        (DhcpMessageType::Request, mode) => {
            if request.server_identifier.is_some_and(|server| server != ours) {
                return None; // it chose another server
            }
            let wanted = request.requested_ip.unwrap_or(request.client_ip);
            match mode {
                DhcpMode::Nak => DhcpMessageType::Nak,
                DhcpMode::NoRenewal { nak, .. } if renews => {
                    if !nak {
                        return None;
                    }
                    DhcpMessageType::Nak
                }
                DhcpMode::Flawed(DhcpFlaw::Address(_)) => DhcpMessageType::Ack,
                _ if wanted != Ipv4Address::from(config.board_ip) => DhcpMessageType::Nak,
                _ => DhcpMessageType::Ack,
            }
        }
        _ => return None,
    };
    *lease_given |= message_type == DhcpMessageType::Ack;
    let reply = reply(config, gateway.into(), &request, message_type);
    Some(frame_of(config, &reply, request.broadcast))
}

fn reply(
    config: &HostConfig,
    gateway: Ipv4Address,
    request: &DhcpRepr,
    message_type: DhcpMessageType,
) -> DhcpRepr<'static> {
    let ours = Ipv4Address::from(config.ip);
    let granted = message_type != DhcpMessageType::Nak;
    let lease = match config.dhcp {
        DhcpMode::ShortLease { seconds } | DhcpMode::NoRenewal { seconds, .. } => seconds,
        _ => config.lease_seconds,
    };
    let mut reply = DhcpRepr {
        message_type,
        transaction_id: request.transaction_id,
        secs: 0,
        client_hardware_address: request.client_hardware_address,
        client_ip: request.client_ip,
        your_ip: if granted { Ipv4Address::from(config.board_ip) } else { Ipv4Address::UNSPECIFIED },
        server_ip: ours,
        router: granted.then_some(gateway),
        subnet_mask: granted.then(|| Ipv4Address::from_bits(mask(config.prefix_length))),
        relay_agent_ip: Ipv4Address::UNSPECIFIED,
        broadcast: request.broadcast,
        requested_ip: None,
        client_identifier: None,
        server_identifier: Some(ours),
        parameter_request_list: None,
        dns_servers: None,
        max_size: None,
        lease_duration: granted.then_some(lease),
        renew_duration: None,
        rebind_duration: None,
        additional_options: &[],
    };
    if granted {
        // The list holds at least one.
        let _ = reply.dns_servers.insert(Default::default()).push(gateway);
    }
    reply
}

fn mask(prefix_length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix_length.min(32))).unwrap_or(0)
}

/// Unicast to a client that can take it, broadcast when it asked for that.
fn frame_of(config: &HostConfig, reply: &DhcpRepr, broadcast: bool) -> Vec<u8> {
    let ours = Ipv4Address::from(config.ip);
    let everybody = broadcast || reply.message_type == DhcpMessageType::Nak;
    let (to_mac, to_ip) = match everybody {
        true => (EthernetAddress::BROADCAST, Ipv4Address::BROADCAST),
        false => (reply.client_hardware_address, reply.your_ip),
    };
    let mut message = vec![0; reply.buffer_len()];
    // The buffer has the length that the message asked for.
    let _ = reply.emit(&mut DhcpPacket::new_unchecked(&mut message[..]));
    if let DhcpMode::Flawed(flaw) = config.dhcp {
        flaw::spoil(flaw, &mut message);
    }
    let udp = UdpRepr { src_port: DHCP_SERVER_PORT, dst_port: CLIENT_PORT };
    let ip = Ipv4Repr {
        src_addr: ours,
        dst_addr: to_ip,
        next_header: IpProtocol::Udp,
        payload_len: udp.header_len() + message.len(),
        hop_limit: 64,
    };
    let ethernet =
        EthernetRepr { src_addr: EthernetAddress(config.mac), dst_addr: to_mac, ethertype: EthernetProtocol::Ipv4 };
    let mut bytes = vec![0; ethernet.buffer_len() + ip.buffer_len() + ip.payload_len];
    let checksums = ChecksumCapabilities::default();
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    ethernet.emit(&mut frame);
    let mut packet = Ipv4Packet::new_unchecked(frame.payload_mut());
    ip.emit(&mut packet, &checksums);
    udp.emit(
        &mut UdpPacket::new_unchecked(packet.payload_mut()),
        &IpAddress::Ipv4(ours),
        &IpAddress::Ipv4(to_ip),
        message.len(),
        |payload| payload.copy_from_slice(&message),
        &checksums,
    );
    bytes
}
