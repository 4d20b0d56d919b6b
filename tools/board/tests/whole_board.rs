//! The whole board without a processor: registers poked as a driver would, a smoltcp client on the rings, the default
//! host behind the default path. What a perfect firmware would see.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use board::board::{Board, BoardConfig};
use board::env::FlatMemory;
use board::host::body_byte;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::{dhcpv4, tcp};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};

const GENET: u64 = 0xFD58_0000;
const GICD: u64 = 0xFF84_1000;
const GICC: u64 = 0xFF84_2000;
const MEMORY: u64 = 0x1000_0000;
const TX_BUFFERS: u64 = 256 * 2048;
const MAC: [u8; 6] = [0xDC, 0xA6, 0x32, 1, 2, 3];
const SECOND: u64 = 1_000_000_000;

/// The least that a driver does.
struct Driver {
    board: Board,
    memory: FlatMemory,
    now: u64,
    taken: u16,
    sent: u16,
    accesses: u64,
    interrupts: u64,
    /// Wall-clock time of the models' own events: wire, path, host, DMA.
    cost: std::time::Duration,
    pending: Vec<Vec<u8>>,
    waiting: std::collections::VecDeque<Vec<u8>>,
}

impl Driver {
    fn new(config: BoardConfig, threshold: u32, timeout_ticks: u32) -> Self {
        let mut driver = Driver {
            board: Board::with_default_host(config),
            memory: FlatMemory::new(MEMORY, 512 * 2048),
            now: 0,
            taken: 0,
            sent: 0,
            accesses: 0,
            interrupts: 0,
            cost: std::time::Duration::ZERO,
            pending: Vec::new(),
            waiting: Default::default(),
        };
        driver.bring_up(threshold, timeout_ticks);
        driver
    }

    fn read(&mut self, pa: u64) -> u32 {
        self.accesses += 1;
        self.board.read(self.now, pa, 4, &mut self.memory)
    }

    fn write(&mut self, pa: u64, value: u32) {
        self.accesses += 1;
        self.board.write(self.now, pa, 4, value, &mut self.memory);
    }

    fn genet(&mut self, writes: &[(u64, u32)]) {
        for (offset, value) in writes {
            self.write(GENET + offset, *value);
        }
    }

    /// The order of the public drivers: stop, reset, UniMAC, rings, interrupts, enable.
    fn bring_up(&mut self, threshold: u32, timeout_ticks: u32) {
        self.genet(&[(0x3044, 0), (0x5044, 0), (0x008, 2), (0x008, 0), (0x808, 0), (0x808, 0xA000), (0x808, 0)]);
        self.genet(&[(0x814, 1536), (0x300, 0xC042), (0x3B4, 1), (0x004, 3)]);
        self.genet(&[(0x80C, u32::from_be_bytes([MAC[0], MAC[1], MAC[2], MAC[3]]))]);
        self.genet(&[(0x810, u32::from_be_bytes([0, 0, MAC[4], MAC[5]])), (0x304C, 8), (0x504C, 8)]);
        for base in [0x3000, 0x5000] {
            self.genet(&[(base, 0), (base + 4, 0), (base + 8, 0), (base + 0xC, 0), (base + 0x10, 256 << 16 | 2048)]);
            self.genet(&[(base + 0x14, 0), (base + 0x18, 0), (base + 0x1C, 767), (base + 0x20, 0), (base + 0x24, 1)]);
            self.genet(&[(base + 0x2C, 0), (base + 0x30, 0)]);
        }
        self.genet(&[(0x3024, threshold), (0x30AC, timeout_ticks), (0x3028, 5 << 16 | 16), (0x5028, 0)]);
        for slot in 0..256 {
            self.genet(&[(0x2004 + slot * 12, (MEMORY + slot * 2048) as u32), (0x2008 + slot * 12, 0)]);
        }
        self.genet(&[(0x3040, 1 << 16), (0x5040, 1 << 16), (0x3044, 1 << 17 | 1), (0x5044, 1 << 17 | 1)]);
        self.genet(&[(0x08C, 0x00F0_0050), (0x808, 0x0B), (0x210, u32::MAX), (0x214, 1 << 13)]);
        for (pa, size, value) in [
            (GICD + 0x800 + 189, 1, 1),
            (GICD + 0x400 + 189, 1, 0xA0),
            (GICD + 0x114, 4, 1 << 29),
            (GICD, 4, 1),
            (GICC + 4, 4, 0xF0),
            (GICC, 4, 1),
        ] {
            self.board.write(0, pa, size, value, &mut self.memory);
        }
    }

    /// Takes the interrupt, then everything the ring holds.
    fn serve_interrupt(&mut self) {
        self.interrupts += 1;
        assert_eq!(self.read(GICC + 0x0C), 189);
        assert_eq!(self.read(GENET + 0x200) & 1 << 13, 1 << 13);
        self.write(GENET + 0x208, 1 << 13);
        self.write(GICC + 0x10, 189);
        let produced = self.read(GENET + 0x3008) as u16;
        while self.taken != produced {
            let slot = u64::from(self.taken % 256);
            let length = (self.read(GENET + 0x2000 + slot * 12) >> 16) as usize;
            let at = slot as usize * 2048;
            self.waiting.push_back(self.memory.bytes()[at + 2..at + length].to_vec());
            self.taken = self.taken.wrapping_add(1);
        }
        self.write(GENET + 0x300C, u32::from(self.taken));
    }

    fn transmit(&mut self) {
        for frame in std::mem::take(&mut self.pending) {
            let slot = u64::from(self.sent % 256);
            let at = (TX_BUFFERS + slot * 2048) as usize;
            let length = frame.len().max(60);
            self.memory.bytes_mut()[at..at + length].fill(0);
            self.memory.bytes_mut()[at..at + frame.len()].copy_from_slice(&frame);
            self.genet(&[
                (0x4004 + slot * 12, (MEMORY + at as u64) as u32),
                (0x4008 + slot * 12, 0),
                (0x4000 + slot * 12, (length as u32) << 16 | 0x7FC0),
            ]);
            self.sent = self.sent.wrapping_add(1);
            self.genet(&[(0x500C, u32::from(self.sent))]);
        }
    }
}

struct In(Vec<u8>);
struct Out<'a>(&'a mut Vec<Vec<u8>>);

impl RxToken for In {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}
impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push(frame);
        result
    }
}
impl Device for Driver {
    type RxToken<'a> = In;
    type TxToken<'a> = Out<'a>;
    fn receive(&mut self, _: Instant) -> Option<(In, Out<'_>)> {
        self.waiting.pop_front().map(|frame| (In(frame), Out(&mut self.pending)))
    }
    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        Some(Out(&mut self.pending))
    }
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

struct Client {
    driver: Driver,
    interface: Interface,
    sockets: SocketSet<'static>,
}

impl Client {
    fn new(mut driver: Driver) -> Self {
        let config = Config::new(HardwareAddress::Ethernet(EthernetAddress(MAC)));
        let interface = Interface::new(config, &mut driver, Instant::ZERO);
        Client { driver, interface, sockets: SocketSet::new(Vec::new()) }
    }

    /// One event further; false at `limit`.
    fn step(&mut self, limit: u64) -> bool {
        let instant = Instant::from_micros((self.driver.now / 1_000) as i64);
        let news = self.driver.board.irq(0);
        while self.driver.board.irq(0) {
            self.driver.serve_interrupt();
        }
        self.interface.poll(instant, &mut self.driver, &mut self.sockets);
        self.driver.transmit();
        if news {
            return true; // the caller looks at its sockets before time goes on
        }
        let stack = self.interface.poll_at(instant, &self.sockets).map(|at| at.total_micros() as u64 * 1_000);
        let next = self.driver.board.next_event().into_iter().chain(stack).min().unwrap_or(limit).max(self.driver.now);
        if next >= limit {
            return false;
        }
        self.driver.now = next;
        let driver = &mut self.driver;
        let started = std::time::Instant::now();
        driver.board.run(next, &mut driver.memory);
        driver.cost += started.elapsed();
        true
    }

    fn lease(&mut self) {
        let handle = self.sockets.add(dhcpv4::Socket::new());
        loop {
            let on = self.step(25 * SECOND);
            assert!(on, "no lease: {:?} {:?}", self.driver.board.findings(), self.driver.board.genet().link().stats());
            if let Some(dhcpv4::Event::Configured(lease)) = self.sockets.get_mut::<dhcpv4::Socket>(handle).poll() {
                self.interface.update_ip_addrs(|list| list.push(IpCidr::Ipv4(lease.address)).expect("room"));
                self.sockets.remove(handle);
                return;
            }
        }
    }

    /// Fetches `bytes` of /data; payload rate in Mbit/s from the first to the last byte.
    fn fetch(&mut self, bytes: usize) -> f64 {
        let buffer = |bytes| tcp::SocketBuffer::new(vec![0; bytes]);
        let mut socket = tcp::Socket::new(buffer(256 * 1024), buffer(4096));
        socket.set_ack_delay(None);
        socket.connect(self.interface.context(), (IpAddress::v4(10, 77, 0, 1), 80), 50_000).expect("fresh socket");
        let handle = self.sockets.add(socket);
        let (mut asked, mut data, mut first) = (false, Vec::new(), None);
        let request = format!("GET /data HTTP/1.1\r\nHost: x\r\nRange: bytes=0-{}\r\n\r\n", bytes - 1);
        let head = |data: &[u8]| data.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        let limit = self.driver.now + 20 * SECOND;
        loop {
            let socket = self.sockets.get_mut::<tcp::Socket>(handle);
            if !asked && socket.can_send() {
                asked = socket.send_slice(request.as_bytes()).is_ok();
            }
            while socket.can_recv() {
                first = first.or(Some((self.driver.now, 0)));
                socket.recv(|part| (part.len(), data.extend_from_slice(part))).expect("can_recv");
            }
            if data.len() >= bytes && head(&data).is_some_and(|head| data.len() >= head + bytes) {
                break;
            }
            assert!(self.step(limit), "only {} bytes", data.len());
        }
        let body = &data[head(&data).expect("found above")..];
        assert!(body.iter().enumerate().all(|(at, byte)| *byte == body_byte(at as u64)));
        let elapsed = self.driver.now - first.expect("data came").0;
        bytes as f64 * 8e3 / elapsed as f64
    }
}

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(data);
        Ok(data.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn session(threshold: u32, timeout_ticks: u32, bytes: usize) -> (Client, f64, Vec<u8>) {
    let mut driver = Driver::new(BoardConfig::default(), threshold, timeout_ticks);
    let capture = Shared::default();
    driver.board.start_capture(Box::new(capture.clone())).expect("a vector takes everything");
    let mut client = Client::new(driver);
    client.lease();
    let mbps = client.fetch(bytes);
    client.driver.board.finish_capture().expect("a vector takes everything");
    let bytes = capture.0.borrow().clone();
    (client, mbps, bytes)
}

#[test]
fn sixteen_mebibytes_at_line_rate_through_the_registers() {
    let (client, mbps, capture) = session(32, 62, 16 << 20);
    let frames = client.driver.board.genet().link().stats().to_board;
    println!(
        "{mbps:.2} Mbit/s, {:.2} frames an interrupt, the models' events cost {} ns a frame",
        frames as f64 / client.driver.interrupts as f64,
        client.driver.cost.as_nanos() as u64 / frames
    );
    assert!(mbps > 945.0, "{mbps}");
    assert_eq!(client.driver.board.findings(), []);
    let stats = client.driver.board.genet().link().stats();
    assert_eq!((stats.queue_drops, stats.lost_to_board), (0, 0));
    let path = client.driver.board.path().expect("the default one").borrow().stats();
    assert_eq!((path.lost, path.bottleneck_drops), (0, 0));
    assert_eq!(client.driver.board.host().expect("the default one").borrow().stats().body_bytes, 16 << 20);
    // Every frame of both directions is in the capture, also the first DISCOVER, sent before there was a link.
    assert_eq!(stats.no_link_drops, 1);
    let (mut at, mut records) = (24, 0);
    while at < capture.len() {
        at += 16 + u32::from_le_bytes(capture[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        records += 1;
    }
    assert_eq!(records, stats.to_board + stats.from_board + stats.no_link_drops);
}

#[test]
fn a_long_timeout_shows_in_the_rate() {
    // 4096 ticks of 8.192 us, a threshold that the window never reaches: one window every timeout and a round trip.
    let (client, mbps, _) = session(511, 4096, 2 << 20);
    let bound = 256.0 * 1024.0 * 8e3 / (33_554_432.0 + 200_000.0);
    assert!((0.85..1.05).contains(&(mbps / bound)), "{mbps} of {bound}");
    assert_eq!(client.driver.board.findings(), []);
}

#[test]
fn two_sessions_are_byte_for_byte_the_same() {
    let one = session(10, 7, 1 << 20);
    let two = session(10, 7, 1 << 20);
    assert_eq!(one.2, two.2);
    assert_eq!((one.0.driver.accesses, one.0.driver.now), (two.0.driver.accesses, two.0.driver.now));
}
