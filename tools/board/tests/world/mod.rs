//! A small client machine on a plain switch port, without GENET: what the host and the path do, in virtual time.
#![allow(dead_code)] // not every test file uses everything

use std::collections::VecDeque;

use board::host::{Host, HostConfig, HostHandle};
use board::link::Peer;
use board::path::{Path, PathConfig};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

pub const CLIENT_MAC: [u8; 6] = [0xDC, 0xA6, 0x32, 1, 2, 3];
pub const CLIENT_IP: [u8; 4] = [10, 77, 0, 50];
pub const HOST_IP: [u8; 4] = [10, 77, 0, 1];
/// The switch port's queue, as the link model has it.
const QUEUE_BYTES: usize = 512 * 1024;

#[derive(Default)]
pub struct Card {
    inbox: VecDeque<Vec<u8>>,
    outbox: VecDeque<Vec<u8>>,
}

pub struct In(Vec<u8>);
pub struct Out<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for In {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}
impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}
impl Device for Card {
    type RxToken<'a> = In;
    type TxToken<'a> = Out<'a>;
    fn receive(&mut self, _: Instant) -> Option<(In, Out<'_>)> {
        self.inbox.pop_front().map(|frame| (In(frame), Out(&mut self.outbox)))
    }
    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        Some(Out(&mut self.outbox))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities.checksum = ChecksumCapabilities::default(); // the host's checksums must be right
        capabilities
    }
}

/// Client, switch port, path and host.
pub struct World {
    pub now: u64,
    pub host: HostHandle,
    pub path: Path<HostHandle>,
    pub client: Interface,
    card: Card,
    pub sockets: SocketSet<'static>,
    /// The port's queue towards the client and when its wire is free.
    queue: VecDeque<Vec<u8>>,
    queued_bytes: usize,
    wire_free_at: u64,
    arriving: VecDeque<(u64, Vec<u8>)>,
    leaving: VecDeque<(u64, Vec<u8>)>,
    leaving_free_at: u64,
    pub queue_drops: u64,
    /// Wall-clock time spent in path and host.
    pub cost: std::time::Duration,
    pub frames_to_client: u64,
    /// Retransmissions towards the client, not counted above.
    pub frames_again: u64,
    highest: Option<u32>,
    /// Frames that the client never gets, by ordinal among those that are no retransmissions.
    pub lose: Vec<u64>,
}

fn wire_ns(bytes: usize) -> u64 {
    (bytes.max(60) as u64 + 24) * 8
}

impl World {
    pub fn new(host: HostConfig, path: PathConfig) -> Self {
        let (peer, handle) = Host::shared(host);
        let mut card = Card::default();
        let config = Config::new(HardwareAddress::Ethernet(EthernetAddress(CLIENT_MAC)));
        let client = Interface::new(config, &mut card, Instant::ZERO);
        World {
            now: 0,
            host: handle,
            path: Path::new(path, peer),
            client,
            card,
            sockets: SocketSet::new(Vec::new()),
            queue: VecDeque::new(),
            queued_bytes: 0,
            wire_free_at: 0,
            arriving: VecDeque::new(),
            leaving: VecDeque::new(),
            leaving_free_at: 0,
            queue_drops: 0,
            cost: std::time::Duration::ZERO,
            frames_to_client: 0,
            frames_again: 0,
            highest: None,
            lose: Vec::new(),
        }
    }

    /// The same with a fixed client address.
    pub fn with_address(host: HostConfig, path: PathConfig) -> Self {
        let mut world = World::new(host, path);
        let [a, b, c, d] = CLIENT_IP;
        world.client.update_ip_addrs(|list| list.push(IpCidr::new(IpAddress::v4(a, b, c, d), 24)).expect("room"));
        world
    }

    /// Advances to the next event, at most to `until`; false when that is reached.
    pub fn step(&mut self, until: u64) -> bool {
        let news = self.client_work();
        self.network_work();
        if news {
            return true; // the caller looks at its sockets before time goes on
        }
        let instant = Instant::from_micros((self.now / 1_000) as i64);
        let client = self.client.poll_at(instant, &self.sockets).map(|at| at.total_micros().max(0) as u64 * 1_000);
        let next = [
            self.path.next_event(),
            (!self.queue.is_empty()).then_some(self.wire_free_at),
            self.arriving.front().map(|frame| frame.0),
            self.leaving.front().map(|frame| frame.0),
            client,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(u64::MAX);
        if next > until {
            self.now = until;
            return false;
        }
        self.now = next.max(self.now);
        true
    }

    pub fn run_until(&mut self, until: u64) {
        while self.step(until) {}
    }

    /// True when something arrived.
    fn client_work(&mut self) -> bool {
        let mut news = false;
        while let Some((_, frame)) = pop_due(&mut self.arriving, self.now) {
            self.card.inbox.push_back(frame);
            news = true;
        }
        let instant = Instant::from_micros((self.now / 1_000) as i64);
        self.client.poll(instant, &mut self.card, &mut self.sockets);
        while let Some(frame) = self.card.outbox.pop_front() {
            self.leaving_free_at = self.leaving_free_at.max(self.now) + wire_ns(frame.len());
            self.leaving.push_back((self.leaving_free_at + 50, frame));
        }
        news
    }

    fn network_work(&mut self) {
        while let Some((at, frame)) = pop_due(&mut self.leaving, self.now) {
            let started = std::time::Instant::now();
            self.path.receive(at, &frame);
            self.cost += started.elapsed();
        }
        loop {
            self.path.room(QUEUE_BYTES.saturating_sub(self.queued_bytes));
            let (queue, queued, drops) = (&mut self.queue, &mut self.queued_bytes, &mut self.queue_drops);
            let started = std::time::Instant::now();
            if self.path.next_event().is_some_and(|due| due <= self.now) {
                self.path.poll(self.now, &mut |frame| {
                    if *queued + frame.len() > QUEUE_BYTES {
                        *drops += 1;
                        return;
                    }
                    *queued += frame.len();
                    queue.push_back(frame);
                });
            }
            self.cost += started.elapsed();
            if self.queue.is_empty() || self.wire_free_at > self.now {
                return;
            }
            let Some(frame) = self.queue.pop_front() else { return };
            self.queued_bytes -= frame.len();
            self.wire_free_at = self.now + wire_ns(frame.len());
            let fresh = self.is_fresh(&frame);
            let lost = fresh && self.lose.contains(&self.frames_to_client);
            self.frames_to_client += u64::from(fresh);
            self.frames_again += u64::from(!fresh);
            if !lost {
                self.arriving.push_back((self.wire_free_at + 50, frame));
            }
        }
    }

    /// False for a TCP segment with payload that was sent before. For one connection at a time.
    fn is_fresh(&mut self, frame: &[u8]) -> bool {
        if frame.len() <= 66 || frame[23] != 6 {
            return true;
        }
        let end = u32::from_be_bytes([frame[38], frame[39], frame[40], frame[41]]).wrapping_add(frame.len() as u32);
        let fresh = self.highest.is_none_or(|highest| (end.wrapping_sub(highest) as i32) > 0);
        if fresh {
            self.highest = Some(end);
        }
        fresh
    }

    /// Opens a connection to the host's HTTP port with a receive window of `window` bytes.
    pub fn connect(&mut self, window: usize, local_port: u16) -> SocketHandle {
        let mut socket =
            tcp::Socket::new(tcp::SocketBuffer::new(vec![0; window]), tcp::SocketBuffer::new(vec![0; 4096]));
        socket.set_ack_delay(None);
        let [a, b, c, d] = HOST_IP;
        socket.connect(self.client.context(), (IpAddress::v4(a, b, c, d), 80), local_port).expect("fresh socket");
        self.sockets.add(socket)
    }

    pub fn socket(&mut self, handle: SocketHandle) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(handle)
    }

    /// Takes everything that has arrived.
    pub fn take(&mut self, handle: SocketHandle, into: &mut Vec<u8>) {
        let socket = self.socket(handle);
        while socket.can_recv() {
            socket
                .recv(|data| {
                    into.extend_from_slice(data);
                    (data.len(), ())
                })
                .expect("can_recv");
        }
    }
}

fn pop_due(queue: &mut VecDeque<(u64, Vec<u8>)>, now: u64) -> Option<(u64, Vec<u8>)> {
    if queue.front()?.0 <= now { queue.pop_front() } else { None }
}

/// A parsed response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub head_bytes: usize,
}

impl Reply {
    pub fn parse(bytes: &[u8]) -> Option<Reply> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(head_bytes) = response.parse(bytes).ok()? else { return None };
        Some(Reply {
            status: response.code?,
            headers: response
                .headers
                .iter()
                .map(|header| (header.name.to_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
                .collect(),
            head_bytes,
        })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    pub fn length(&self) -> usize {
        self.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

/// A GET of `/data` with an optional Range header.
pub fn get(range: Option<&str>) -> String {
    let range = range.map(|range| format!("Range: {range}\r\n")).unwrap_or_default();
    format!("GET /data HTTP/1.1\r\nHost: peer.genetbench.test\r\n{range}\r\n")
}
