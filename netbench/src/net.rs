//! The IP stack: one interface, a DHCP client, a resolver, and one TCP socket a flow.
//!
//! Owns the sockets and their buffers, allocated once and used again for every point. Facts about
//! the stack are smoltcp's (0.14). What is said on the sockets is in `transfer`.

use crate::Port;
use crate::failure::Failure;
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::iface::{Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::{dhcpv4, dns, tcp};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{DnsQueryType, EthernetAddress, HardwareAddress, IpAddress, IpCidr, Ipv4Address, Ipv4Cidr};

/// Time between two DHCP discoveries. smoltcp's 10 s would make a lost first one expensive.
const DISCOVER_AGAIN: Duration = Duration::from_secs(2);
/// Time between two requests for an offered address, and how often it is asked for.
const REQUEST_AGAIN: Duration = Duration::from_secs(2);
const REQUESTS: u16 = 2;
/// A lease that ends sooner cannot be used, ns.
const SHORTEST_LEASE_NS: u64 = 1_000_000_000;
/// How long a name server is given, ms. Below smoltcp's own limit of 10 s, so that silence is told from a refusal.
const DNS_WAIT_MS: u64 = 8_000;
/// Longest sleep while something is waited for, ns.
const NAP_NS: u64 = 50_000_000;
/// Time after which what could not be sent is tried again, ns.
const TRY_AGAIN_NS: u64 = 1_000_000;
/// Room for one request.
const TX_BUFFER_BYTES: usize = 2048;
const FIRST_LOCAL_PORT: u16 = 49_152;

/// What DHCP told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub address: Ipv4Cidr,
    pub router: Option<Ipv4Address>,
    pub dns: Option<Ipv4Address>,
    pub server: Ipv4Address,
}

/// The stack and its sockets.
pub(crate) struct Net {
    pub iface: Interface,
    pub sockets: SocketSet<'static>,
    pub flows: Vec<SocketHandle>,
    dhcp: SocketHandle,
    dns: SocketHandle,
    lease: Option<Lease>,
    /// When the lease began, ns.
    lease_ns: u64,
    /// What DHCP gave and cannot be used.
    unusable: Option<Failure>,
    next_port: u16,
    window_b: u64,
}

/// smoltcp's clock. It counts microseconds.
#[inline]
pub(crate) fn instant(now_ns: u64) -> Instant {
    Instant::from_micros((now_ns / 1000) as i64)
}

impl Net {
    /// Allocates sockets for `flows` connections with `window_b` bytes of receive buffer each.
    pub fn new<P: Port>(port: &mut P, flows: u16, window_b: u64, seed: u64) -> Net {
        let now_ns = port.now_ns();
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(port.mac())));
        // The time keeps ports and sequence numbers of a second session apart from the first one's.
        config.random_seed = seed ^ now_ns;
        let iface = Interface::new(config, port, instant(now_ns));
        let mut sockets = SocketSet::new(Vec::with_capacity(flows as usize + 2));
        // TCP first: smoltcp looks for a segment's socket in this order.
        let flows = (0..flows).map(|_| sockets.add(flow_socket(window_b as usize))).collect();
        let mut dhcp_socket = dhcpv4::Socket::new();
        let mut retry = dhcp_socket.get_retry_config();
        retry.discover_timeout = DISCOVER_AGAIN;
        retry.initial_request_timeout = REQUEST_AGAIN;
        retry.request_retries = REQUESTS;
        dhcp_socket.set_retry_config(retry);
        // Only for an address in use. An offer that is refused would be asked for again at once, for ever.
        dhcp_socket.set_ignore_naks(true);
        let dhcp = sockets.add(dhcp_socket);
        let dns = sockets.add(dns::Socket::new(&[], vec![None]));
        let next_port = FIRST_LOCAL_PORT + (now_ns / 1_000_000 % 8192) as u16;
        Net { iface, sockets, flows, dhcp, dns, lease: None, lease_ns: 0, unusable: None, next_port, window_b }
    }

    /// Gives every flow a receive window of `window_b` bytes and acknowledgements that wait `ack_delay_ms` for another
    /// segment. Allocates if the window is not what it was. Only while no connection is open.
    pub fn fit(&mut self, window_b: u64, ack_delay_ms: u16) {
        if window_b != self.window_b {
            self.window_b = window_b;
            // All old buffers go before the first new one comes. The places in the set stay: they are free when asked for.
            self.flows.iter().for_each(|handle| drop(self.sockets.remove(*handle)));
            for handle in &mut self.flows {
                *handle = self.sockets.add(flow_socket(window_b as usize));
            }
        }
        let delay = (ack_delay_ms > 0).then(|| Duration::from_millis(ack_delay_ms.into()));
        for handle in &self.flows {
            self.sockets.get_mut::<tcp::Socket>(*handle).set_ack_delay(delay);
        }
    }

    /// The address in use.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// The failure to report while there is no address.
    #[inline]
    pub fn no_lease(&self) -> Option<Failure> {
        if self.lease.is_some() { None } else { Some(self.why_no_lease()) }
    }

    #[inline(never)]
    fn why_no_lease(&self) -> Failure {
        self.unusable.clone().unwrap_or(Failure::DhcpLost)
    }

    /// The socket of a flow.
    #[inline]
    pub fn socket(&mut self, flow: usize) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.flows[flow])
    }

    /// Takes in all frames of the batch, sends what is to be sent, follows the lease.
    pub fn poll<P: Port>(&mut self, port: &mut P) {
        let now = instant(port.now_ns());
        while self.iface.poll_ingress_single(now, port, &mut self.sockets) != PollIngressSingleResult::None {}
        self.follow_lease(port);
        // Bounded: a transmit ring that is stuck must not hold everything up.
        for _ in 0..64 {
            if self.iface.poll_egress(now, port, &mut self.sockets) == PollResult::None {
                break;
            }
        }
        self.follow_lease(port);
    }

    /// When the stack wants to be polled again without having received anything, ns.
    pub fn poll_at_ns(&mut self, now_ns: u64) -> u64 {
        let at = self.iface.poll_at(instant(now_ns), &self.sockets);
        at.map_or(u64::MAX, |at| (at.total_micros().max(0) as u64).saturating_mul(1000))
    }

    /// Sleeps until something may have changed: at most until `deadline_ns`, and never for long.
    pub fn wait<P: Port>(&mut self, port: &mut P, deadline_ns: u64) {
        let now_ns = port.now_ns();
        // What is due was just tried: no link, or a sender that a PAUSE holds. Trying without end would be a busy loop.
        let due_ns = self.poll_at_ns(now_ns);
        let due_ns = if due_ns <= now_ns { now_ns + TRY_AGAIN_NS } else { due_ns };
        let at_ns = due_ns.min(deadline_ns).min(now_ns + NAP_NS);
        port.wait(at_ns);
        // Nothing came: a good time to follow the link, which costs some 50 us.
        if port.now_ns() >= at_ns {
            port.link();
        }
    }

    /// Starts to connect a flow.
    pub fn connect(&mut self, flow: usize, remote: (Ipv4Address, u16)) -> Result<(), Failure> {
        let local = self.next_port;
        self.next_port = if local == u16::MAX { FIRST_LOCAL_PORT } else { local + 1 };
        let socket = self.sockets.get_mut::<tcp::Socket>(self.flows[flow]);
        // Fails for an open socket or an address of zeros only; either way there is no connection.
        let remote = (IpAddress::Ipv4(remote.0), remote.1);
        socket.connect(self.iface.context(), remote, local).map_err(|_| Failure::TcpRefused)
    }

    /// The IPv4 address of `host`: itself if it is one, else asked of the name server.
    pub fn resolve<P: Port>(&mut self, port: &mut P, host: &str) -> Result<Ipv4Address, Failure> {
        if let Ok(address) = host.parse() {
            return Ok(address);
        }
        let server = self.lease.as_ref().and_then(|l| l.dns).ok_or(Failure::DnsNoServer)?;
        let socket = self.sockets.get_mut::<dns::Socket>(self.dns);
        socket.update_servers(&[IpAddress::Ipv4(server)]);
        let query = socket.start_query(self.iface.context(), host, DnsQueryType::A);
        let query = query.map_err(|_| Failure::DnsNotFound)?;
        let deadline_ns = port.now_ns() + DNS_WAIT_MS * 1_000_000;
        loop {
            self.poll(port);
            let socket = self.sockets.get_mut::<dns::Socket>(self.dns);
            match socket.get_query_result(query) {
                Ok(addresses) => {
                    let first = addresses.iter().map(|IpAddress::Ipv4(v4)| *v4).next();
                    return first.ok_or(Failure::DnsNotFound);
                }
                Err(dns::GetQueryResultError::Failed) => return Err(Failure::DnsNotFound),
                Err(dns::GetQueryResultError::Pending) if port.stop_wanted(port.now_ns()) => {
                    socket.cancel_query(query);
                    return Err(Failure::Stopped);
                }
                Err(dns::GetQueryResultError::Pending) if port.now_ns() >= deadline_ns => {
                    socket.cancel_query(query);
                    return Err(Failure::DnsTimeout { waited_ms: DNS_WAIT_MS });
                }
                Err(dns::GetQueryResultError::Pending) => self.wait(port, deadline_ns),
            }
        }
    }

    /// Takes over what DHCP has learnt. Cheap while there is nothing new.
    #[inline]
    pub fn follow_lease<P: Port>(&mut self, port: &P) {
        if let Some(event) = self.sockets.get_mut::<dhcpv4::Socket>(self.dhcp).poll() {
            let lease = match event {
                dhcpv4::Event::Configured(config) => Some(Lease {
                    address: config.address,
                    router: config.router,
                    dns: config.dns_servers.first().copied(),
                    server: config.server.address,
                }),
                dhcpv4::Event::Deconfigured => None,
            };
            self.take_lease(lease, port.now_ns());
        }
    }

    #[inline(never)]
    fn take_lease(&mut self, lease: Option<Lease>, now_ns: u64) {
        self.sockets.get_mut::<dhcpv4::Socket>(self.dhcp).set_ignore_naks(lease.is_none());
        let no_host = |lease: &Lease| {
            let address = lease.address.address();
            address.is_loopback() || lease.address.broadcast() == Some(address)
        };
        self.unusable = match (lease, self.lease) {
            (Some(new), _) => no_host(&new).then(|| Failure::DhcpUnusable { address: new.address.address() }),
            (None, Some(_)) if now_ns < self.lease_ns + SHORTEST_LEASE_NS => Some(Failure::DhcpTooShort),
            (None, _) => None,
        };
        self.lease = lease.filter(|_| self.unusable.is_none());
        self.lease_ns = now_ns;
        let lease = self.lease;
        self.iface.update_ip_addrs(|addresses| {
            addresses.clear();
            // There is room for at least one.
            let _ = lease.map(|l| addresses.push(IpCidr::Ipv4(l.address)));
        });
        self.iface.routes_mut().remove_default_ipv4_route();
        if let Some(router) = lease.and_then(|l| l.router) {
            let _ = self.iface.routes_mut().add_default_ipv4_route(router);
        }
    }
}

fn flow_socket(window_b: usize) -> tcp::Socket<'static> {
    let rx = tcp::SocketBuffer::new(vec![0; window_b]);
    let tx = tcp::SocketBuffer::new(vec![0; TX_BUFFER_BYTES]);
    let mut socket = tcp::Socket::new(rx, tx);
    // Acknowledge whenever we are asked: the hot loop asks every few frames and at the end of a batch.
    socket.set_ack_delay(None);
    socket.set_nagle_enabled(false);
    socket
}
