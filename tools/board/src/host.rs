//! The machine at the other end: DHCP, DNS, ping, TFTP and an HTTP/1.1 server on the smoltcp stack.
//!
//! Owns its Ethernet and IP addresses, the services and their faults, fairness between connections (round robin, a
//! frame each), pacing, and loss recovery beyond what the stack does. Each connection has a socket set of its own, made
//! when its SYN comes: buffers are allocated lazily and a frame costs the same however many connections there are.
//! Facts: RFC 2131 (DHCP), 1035 (DNS), 1350 (TFTP), 9110 and 9112 (HTTP), 6582 (NewReno). Does not own time on the way (`path`,
//! `link`).

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

use crate::link::Peer;

mod body;
mod config;
mod connection;
mod dhcp;
mod dns;
mod headers;
mod http;
mod port;
mod recovery;
mod scoreboard;
mod tftp;

pub use body::{body_byte, fill_body};
pub use config::{Congestion, DhcpFlaw, DhcpMode, DnsMode, HostConfig, HttpFault, Object, Recovery, SecondDhcp};

use connection::Connection;
use headers::{Kind, TcpHead};
use port::Port;
use recovery::Sent;
use tftp::Tftp;

/// Longest frame without FCS.
pub(crate) const MAX_FRAME_BYTES: usize = 1514;

/// A host that is running and the handle to it.
pub type HostHandle = Rc<RefCell<Host>>;

/// What the host did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// Frames received.
    pub received_frames: u64,
    /// Frames sent.
    pub sent_frames: u64,
    /// TCP connections accepted.
    pub connections: u64,
    /// TCP connections refused, by fault or for lack of room.
    pub refused: u64,
    /// HTTP requests read completely.
    pub requests: u64,
    /// HTTP body bytes handed to TCP.
    pub body_bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// DHCP messages answered.
    pub dhcp_replies: u64,
    /// DNS queries answered.
    pub dns_replies: u64,
    /// TFTP blocks sent.
    pub tftp_blocks: u64,
}

/// A connection's addresses: their IP, their port, our port.
type Tuple = ([u8; 4], u16, u16);

/// The host.
pub struct Host {
    config: HostConfig,
    interface: Interface,
    port: Port,
    /// UDP sockets.
    services: SocketSet<'static>,
    dns: SocketHandle,
    tftp: Tftp,
    /// A DHCP lease was given.
    lease_given: bool,
    /// Where frames go that belong to no socket.
    nobody: SocketSet<'static>,
    connections: Vec<Option<Box<Connection>>>,
    by_tuple: BTreeMap<Tuple, usize>,
    /// Connections with something to send now.
    ready: VecDeque<usize>,
    services_due: Option<u64>,
    next_timer: Option<u64>,
    room_bytes: usize,
    pace_free_at: u64,
    stats: HostStats,
}

impl Host {
    /// A host with all services up.
    pub fn new(config: HostConfig) -> Self {
        let mut port = Port::default();
        let mut interface_config = Config::new(HardwareAddress::Ethernet(EthernetAddress(config.mac)));
        interface_config.random_seed = config.seed;
        let mut interface = Interface::new(interface_config, &mut port, Instant::ZERO);
        let [a, b, c, d] = config.ip;
        interface.update_ip_addrs(|addresses| {
            // The list is empty and holds at least one.
            let _ = addresses.push(IpCidr::new(IpAddress::v4(a, b, c, d), config.prefix_length));
        });
        let mut services = SocketSet::new(Vec::new());
        let dns = services.add(dns::socket());
        let tftp = Tftp::new(&mut services);
        Host {
            interface,
            port,
            services,
            dns,
            tftp,
            lease_given: false,
            nobody: SocketSet::new(Vec::new()),
            connections: Vec::new(),
            by_tuple: BTreeMap::new(),
            ready: VecDeque::new(),
            services_due: None,
            next_timer: None,
            room_bytes: usize::MAX,
            pace_free_at: 0,
            stats: HostStats::default(),
            config,
        }
    }

    /// A host as a peer, and the handle to look at it and change it.
    pub fn shared(config: HostConfig) -> (HostHandle, HostHandle) {
        let host = Rc::new(RefCell::new(Host::new(config)));
        (host.clone(), host)
    }

    /// What it did so far.
    pub fn stats(&self) -> HostStats {
        self.stats
    }

    /// Its configuration; faults, modes and latency may change at any time.
    pub fn config_mut(&mut self) -> &mut HostConfig {
        &mut self.config
    }

    /// The DHCP server forgets the leases that it gave.
    pub fn forget_leases(&mut self) {
        self.lease_given = false;
    }

    /// Connections that exist, closing ones included.
    pub fn open_connections(&self) -> usize {
        self.by_tuple.len()
    }

    // ---- frames in ----

    fn take_frame(&mut self, now: u64, frame: &[u8]) {
        match headers::classify(frame) {
            Kind::Tcp(head) if head.destination == self.config.ip => self.take_segment(now, frame, head),
            Kind::Dhcp => {
                for reply in dhcp::answers(&self.config, frame, &mut self.lease_given) {
                    self.stats.dhcp_replies += 1;
                    self.port.outbox.push_back(reply);
                }
            }
            _ => {
                self.port.incoming(frame);
                self.interface.poll_ingress_single(instant(now), &mut self.port, &mut self.services);
                self.serve_datagrams(now);
            }
        }
    }

    fn serve_datagrams(&mut self, now: u64) {
        let socket = self.services.get_mut::<udp::Socket>(self.dns);
        self.stats.dns_replies += dns::serve(&self.config, socket);
        self.stats.tftp_blocks += self.tftp.serve(now, &self.config, &mut self.services);
        self.interface.poll_egress(instant(now), &mut self.port, &mut self.services);
        let stack_due = self.interface.poll_at(instant(now), &self.services).map(|at| nanoseconds(at).max(now + 1));
        self.services_due = stack_due.into_iter().chain(self.tftp.due()).min();
        self.refresh_timer();
    }

    fn take_segment(&mut self, now: u64, frame: &[u8], head: TcpHead) {
        let tuple = (head.source, head.source_port, head.destination_port);
        let mut index = self.by_tuple.get(&tuple).copied();
        if head.is_first_syn() {
            // A port reused while the old connection lingers: the old one goes.
            if let Some(old) = index.filter(|old| self.connection(*old).is_some_and(Connection::lingers)) {
                self.forget(old);
                index = None;
            }
            if index.is_none() {
                index = self.accept(tuple);
            }
        }
        self.port.incoming(frame);
        let Some(index) = index else {
            self.interface.poll_ingress_single(instant(now), &mut self.port, &mut self.nobody);
            return;
        };
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_deref_mut) else { return };
        self.interface.poll_ingress_single(instant(now), &mut self.port, &mut connection.sockets);
        if connection.recovery.acknowledged(now, &head, frame, &self.config) {
            feed(&mut self.interface, &mut self.port, connection, now);
        }
        connection.work(now, &self.config, &mut self.stats);
        self.update(now, index);
    }

    fn connection(&self, index: usize) -> Option<&Connection> {
        self.connections.get(index).and_then(Option::as_deref)
    }

    /// A socket for a new connection; none when nobody listens.
    fn accept(&mut self, tuple: Tuple) -> Option<usize> {
        let ordinal = self.stats.connections + self.stats.refused;
        let refuse = self.config.fault == HttpFault::Refuse && self.config.fault_requests.contains(&ordinal);
        if tuple.2 != self.config.http_port || refuse || self.by_tuple.len() >= self.config.max_connections {
            self.stats.refused += 1;
            return None;
        }
        let connection = Box::new(Connection::listening(&self.config, tuple)?);
        self.stats.connections += 1;
        let index = match self.connections.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.connections.push(None);
                self.connections.len() - 1
            }
        };
        self.connections[index] = Some(connection);
        self.by_tuple.insert(tuple, index);
        Some(index)
    }

    fn forget(&mut self, index: usize) {
        if let Some(connection) = self.connections.get_mut(index).and_then(Option::take) {
            self.by_tuple.remove(&connection.tuple);
        }
        self.ready.retain(|ready| *ready != index);
    }

    // ---- scheduling ----

    /// Finds out what a connection wants next: to send now, to be woken later, or to go.
    fn update(&mut self, now: u64, index: usize) {
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_deref_mut) else { return };
        if connection.is_over() {
            self.forget(index);
            return self.refresh_timer();
        }
        connection.hold_small_segments();
        let tcp_due = self.interface.poll_at(instant(now), &connection.sockets).map(nanoseconds);
        let wants_to_send = connection.recovery.wants_to_send() || tcp_due.is_some_and(|due| due <= now);
        connection.due = connection.work_due().into_iter().chain(connection.recovery.due()).min();
        if wants_to_send {
            if !std::mem::replace(&mut connection.queued, true) {
                self.ready.push_back(index);
            }
        } else {
            connection.due = connection.due.into_iter().chain(tcp_due).min();
        }
        self.refresh_timer();
    }

    fn refresh_timer(&mut self) {
        let connections = self.connections.iter().flatten().filter_map(|connection| connection.due);
        self.next_timer = connections.chain(self.services_due).min();
    }

    fn run_timers(&mut self, now: u64) {
        if self.services_due.is_some_and(|due| due <= now) {
            self.serve_datagrams(now);
        }
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections[index].as_deref_mut() else { continue };
            if connection.due.is_none_or(|due| due > now) {
                continue;
            }
            if connection.recovery.timed_out(now, &self.config) {
                feed(&mut self.interface, &mut self.port, connection, now);
            }
            connection.work(now, &self.config, &mut self.stats);
            self.update(now, index);
            // A timer of the stack that is due is served by sending.
            if let Some(connection) = self.connections[index].as_deref_mut()
                && connection.due.is_some_and(|due| due <= now)
            {
                connection.due = Some(now + 1_000);
                self.refresh_timer();
            }
        }
    }

    /// One frame of the next connection in turn.
    fn send_one(&mut self, now: u64) {
        let Some(index) = self.ready.pop_front() else { return };
        let Some(connection) = self.connections.get_mut(index).and_then(Option::as_deref_mut) else { return };
        connection.queued = false;
        let before = self.port.outbox.len();
        let mut payload_bytes = 0;
        if let Some(frame) = connection.recovery.next_again(now) {
            payload_bytes = frame.len();
            self.stats.retransmissions += 1;
            self.port.outbox.push_back(frame);
        } else {
            self.interface.poll_egress(instant(now), &mut self.port, &mut connection.sockets);
            if let Some(frame) = self.port.outbox.back().filter(|_| self.port.outbox.len() > before)
                && let Kind::Tcp(head) = headers::classify(frame)
            {
                payload_bytes = head.payload_bytes;
                match connection.recovery.sent(now, &head, frame, &self.config) {
                    Sent::First => {}
                    Sent::Again => self.stats.retransmissions += 1,
                    Sent::Needless => drop(self.port.outbox.pop_back()),
                }
            }
        }
        if let (Some(bps), true) = (self.config.pace_bps, payload_bytes > 0) {
            let bits = (payload_bytes as u64 + 78) * 8; // headers, FCS, preamble and gap
            self.pace_free_at = self.pace_free_at.max(now) + bits * 1_000_000_000 / bps.max(1);
        }
        connection.work(now, &self.config, &mut self.stats);
        let stuck = self.port.outbox.len() == before && payload_bytes == 0;
        self.update(now, index);
        if stuck {
            self.step_aside(now, index);
        }
    }

    /// The stack wanted to send and did not (it may be waiting for ARP): ask again later instead of at once.
    fn step_aside(&mut self, now: u64, index: usize) {
        if let Some(connection) = self.connections.get_mut(index).and_then(Option::as_deref_mut)
            && std::mem::replace(&mut connection.queued, false)
        {
            self.ready.retain(|ready| *ready != index);
            connection.due = Some(now + 1_000);
            self.refresh_timer();
        }
    }

    fn flush(&mut self, send: &mut dyn FnMut(Vec<u8>)) {
        while let Some(frame) = self.port.outbox.pop_front() {
            self.room_bytes = self.room_bytes.saturating_sub(frame.len());
            self.stats.sent_frames += 1;
            send(frame);
        }
    }
}

/// Feeds the stack the acknowledgements that loss recovery wants it to see.
fn feed(interface: &mut Interface, port: &mut Port, connection: &mut Connection, now: u64) {
    for frame in connection.recovery.take_feed() {
        port.incoming(&frame);
        interface.poll_ingress_single(instant(now), port, &mut connection.sockets);
    }
}

impl Peer for Host {
    fn receive(&mut self, now: u64, frame: &[u8]) {
        self.stats.received_frames += 1;
        self.take_frame(now, frame);
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(Vec<u8>)) {
        if self.next_timer.is_some_and(|due| due <= now) {
            self.run_timers(now);
        }
        self.flush(send);
        while !self.ready.is_empty() && self.room_bytes >= MAX_FRAME_BYTES && self.pace_free_at <= now {
            self.send_one(now);
            self.flush(send);
        }
    }

    fn next_event(&self) -> Option<u64> {
        if !self.port.outbox.is_empty() {
            return Some(0);
        }
        let sending = (!self.ready.is_empty()).then_some(self.pace_free_at);
        sending.into_iter().chain(self.next_timer).min()
    }

    fn room(&mut self, free_bytes: usize) {
        self.room_bytes = free_bytes;
    }
}

fn instant(ns: u64) -> Instant {
    Instant::from_micros((ns / 1_000) as i64)
}

fn nanoseconds(at: Instant) -> u64 {
    at.total_micros().max(0) as u64 * 1_000
}

#[cfg(test)]
mod tests;
