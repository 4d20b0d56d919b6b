//! The driver on the board model, in virtual time.
//!
//! Owns the world between the two: a clock that device accesses and delays move, interrupt delivery, and memory that
//! processor and device see separately, so that a missing clean or invalidate shows as stale bytes. Shares no constant
//! with the driver.

#![allow(dead_code)] // each test binary uses a part

use board::env::{Env, Finding, FlatMemory, GuestMemory};
use board::genet::{Arriving, Genet as Model, GenetConfig};
use board::link::{Direction, LinkConfig, Peer};
use board::source::PacedSource;
use genet::{
    BringUpError, Clock, DmaMemory, Genet, LinkState, Pending, Registers, RxSettings, acknowledge, acknowledge_second,
};
use phy::{Advertise, Bcm54210e};
use smoltcp::phy::{Device, RxToken, TxToken};
use smoltcp::time::Instant;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

pub const MAC: [u8; 6] = [0xDC, 0xA6, 0x32, 0x0A, 0x0B, 0x0C];
/// Cost of a device read and of a posted write.
pub const READ_NS: u64 = 200;
pub const WRITE_NS: u64 = 50;
pub const MS: u64 = 1_000_000;
/// When sources start: bring-up and negotiation are over.
pub const START_NS: u64 = 4_000 * MS;

const RX_PA: u64 = 0x0100_0000;
const TX_PA: u64 = 0x0110_0000;
const TX_BUFFERS: usize = 64;
const LINE_BYTES: u64 = 64;
/// Where an earlier boot stage had its receive buffers.
const STALE_PA: u64 = 0x1000_0000;
const BUFFERS_BYTES: usize = 256 * 2048;

/// What the device sees: our buffers and those of whoever ran before.
struct Ram {
    ours: FlatMemory,
    stale: FlatMemory,
    stale_writes: u64,
    /// Lines (address / 64) with stores that memory has not got yet.
    dirty: BTreeSet<u64>,
    /// What the driver did wrong with lines, once for each kind.
    faults: BTreeSet<&'static str>,
}

impl GuestMemory for Ram {
    fn read(&mut self, pa: u64, out: &mut [u8]) -> bool {
        self.ours.read(pa, out) || self.stale.read(pa, out)
    }
    fn write(&mut self, pa: u64, data: &[u8]) -> bool {
        if self.stale.write(pa, data) {
            self.stale_writes += 1;
            return true;
        }
        if self.dirty.range(pa / LINE_BYTES..(pa + data.len() as u64).div_ceil(LINE_BYTES)).next().is_some() {
            self.faults
                .insert("the device wrote a line that is dirty in the cache: its eviction will destroy the data");
        }
        self.ours.write(pa, data)
    }
}

pub struct Shared {
    model: Model,
    ram: Ram,
    pub findings: Vec<Finding>,
    pub now: u64,
    pub reads: u64,
    pub writes: u64,
}

impl Shared {
    fn with<T>(&mut self, f: impl FnOnce(&mut Model, u64, &mut Env<'_>) -> T) -> T {
        let mut env = Env { mem: &mut self.ram, findings: &mut self.findings };
        f(&mut self.model, self.now, &mut env)
    }
}

/// One handle on the world: registers and clock.
#[derive(Clone)]
pub struct Handle(pub Rc<RefCell<Shared>>);

impl Registers for Handle {
    fn read(&self, offset: u32) -> u32 {
        let mut shared = self.0.borrow_mut();
        shared.now += READ_NS;
        shared.reads += 1;
        shared.with(|model, now, env| model.read(now, offset, env))
    }
    fn write(&self, offset: u32, value: u32) {
        let mut shared = self.0.borrow_mut();
        shared.now += WRITE_NS;
        shared.writes += 1;
        shared.with(|model, now, env| model.write(now, offset, value, env));
    }
}

impl Clock for Handle {
    fn now_ns(&self) -> u64 {
        self.0.borrow().now
    }
    fn delay_us(&self, us: u32) {
        let mut shared = self.0.borrow_mut();
        shared.now += 1_000 * u64::from(us);
        shared.with(|model, now, env| model.run(now, env));
    }
}

/// A region as the processor's cache has it. A line that was fetched stays until it is invalidated, a store stays in
/// it until it is cleaned; both may happen by themselves on silicon, so what relies on the one or the other is noted
/// as a fault.
pub struct CachedMemory {
    shared: Rc<RefCell<Shared>>,
    pa: u64,
    cpu: Vec<u8>,
}

impl CachedMemory {
    /// All of it dirty, as whoever cleared the memory left it.
    fn new(shared: &Rc<RefCell<Shared>>, pa: u64, bytes: usize) -> Self {
        let memory = CachedMemory { shared: shared.clone(), pa, cpu: vec![0xA5; bytes] };
        shared.borrow_mut().ram.dirty.extend(memory.numbers(0..bytes));
        memory
    }

    /// Numbers of the lines that hold `range`.
    fn numbers(&self, range: Range<usize>) -> Range<u64> {
        let lines = self.lines(range);
        (self.pa + lines.start as u64) / LINE_BYTES..(self.pa + lines.end as u64) / LINE_BYTES
    }

    fn lines(&self, range: Range<usize>) -> Range<usize> {
        range.start / 64 * 64..range.end.next_multiple_of(64).min(self.cpu.len())
    }
}

impl DmaMemory for CachedMemory {
    fn bus_address(&self) -> u64 {
        self.pa
    }
    fn len(&self) -> usize {
        self.cpu.len()
    }
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.cpu[range]
    }
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        self.shared.borrow_mut().ram.dirty.extend(self.numbers(range.clone()));
        &mut self.cpu[range]
    }
    fn clean(&mut self, range: Range<usize>) {
        let ram = &mut self.shared.borrow_mut().ram;
        for line in self.numbers(range).filter(|line| ram.dirty.remove(line)) {
            let at = (line * LINE_BYTES - self.pa) as usize;
            let ok = ram.ours.write(line * LINE_BYTES, &self.cpu[at..at + LINE_BYTES as usize]);
            assert!(ok, "clean outside of memory");
        }
    }
    fn invalidate(&mut self, range: Range<usize>) {
        let lines = self.lines(range.clone());
        let ram = &mut self.shared.borrow_mut().ram;
        if self.numbers(range).filter(|line| ram.dirty.remove(line)).count() > 0 {
            ram.faults.insert("a line was invalidated with a store in it that nobody cleaned");
        }
        let ok = ram.ours.read(self.pa + lines.start as u64, &mut self.cpu[lines]);
        assert!(ok, "invalidate outside of memory");
    }
}

pub type Driver = Genet<Handle, CachedMemory, Handle>;

/// What one interrupt brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// When the handler was entered.
    pub irq_ns: u64,
    /// Numbers of its frames.
    pub frames: Vec<u64>,
}

/// A world without a driver yet.
pub struct World {
    pub handle: Handle,
    pub source: Rc<RefCell<PacedSource>>,
    /// When each frame reached the MAC.
    pub arrivals: Rc<RefCell<Vec<u64>>>,
}

impl World {
    /// `source` at the far end of the default cable.
    pub fn new(genet: GenetConfig, link: LinkConfig, source: PacedSource) -> Self {
        let source = Rc::new(RefCell::new(source));
        let peer: Box<dyn Peer> = Box::new(source.clone());
        let mut model = Model::new(&genet, &link, peer);
        let arrivals = Rc::new(RefCell::new(Vec::new()));
        let log = arrivals.clone();
        model.link_mut().set_tap(Some(Box::new(move |at, direction, _| {
            if direction == Direction::ToBoard {
                log.borrow_mut().push(at);
            }
        })));
        let ram = Ram {
            ours: FlatMemory::new(RX_PA, 2 << 20),
            stale: FlatMemory::new(STALE_PA, BUFFERS_BYTES),
            stale_writes: 0,
            dirty: BTreeSet::new(),
            faults: BTreeSet::new(),
        };
        let shared = Shared { model, ram, findings: Vec::new(), now: 0, reads: 0, writes: 0 };
        World { handle: Handle(Rc::new(RefCell::new(shared))), source, arrivals }
    }

    /// Some of the receive memory, without a driver.
    pub fn memory(&self, bytes: usize) -> CachedMemory {
        CachedMemory::new(&self.handle.0, RX_PA, bytes)
    }

    /// The device writes to the memory, and what the driver did wrong with lines so far.
    pub fn device_writes(&self, at: usize, data: &[u8]) -> Vec<&'static str> {
        let ram = &mut self.handle.0.borrow_mut().ram;
        assert!(GuestMemory::write(ram, RX_PA + at as u64, data));
        ram.faults.iter().copied().collect()
    }

    pub fn try_bring_up(&self) -> Result<Driver, BringUpError> {
        let shared = &self.handle.0;
        let rx = CachedMemory::new(shared, RX_PA, BUFFERS_BYTES);
        let tx = CachedMemory::new(shared, TX_PA, TX_BUFFERS * 2048);
        Genet::bring_up(self.handle.clone(), rx, tx, self.handle.clone(), MAC)
    }

    /// MAC and PHY up, link settled or given up after 5 s.
    pub fn start(self) -> Bench {
        let driver = self.try_bring_up().unwrap();
        let mut bench = Bench {
            world: self,
            driver,
            phy: None,
            link: LinkState::default(),
            irqs: 0,
            stray: Vec::new(),
            injected: Vec::new(),
        };
        bench.start_phy();
        bench
    }
}

/// The driver in its world, and what a kernel does around it.
pub struct Bench {
    pub world: World,
    pub driver: Driver,
    pub phy: Option<Bcm54210e>,
    pub link: LinkState,
    /// Receive interrupts taken.
    pub irqs: u64,
    /// Interrupts that were none of receive.
    pub stray: Vec<Pending>,
    /// Lengths of frames that did not come from the source.
    injected: Vec<usize>,
}

impl Bench {
    pub fn now(&self) -> u64 {
        self.world.handle.0.borrow().now
    }

    pub fn accesses(&self) -> (u64, u64) {
        let shared = self.world.handle.0.borrow();
        (shared.reads, shared.writes)
    }

    /// Frames that the device wrote to an earlier program's buffers.
    pub fn stale_writes(&self) -> u64 {
        self.world.handle.0.borrow().ram.stale_writes
    }

    pub fn findings(&self) -> Vec<Finding> {
        let shared = self.world.handle.0.borrow();
        let cache = |text: &&str| Finding { at_ns: shared.now, device: "cache", text: (*text).to_owned() };
        shared.findings.iter().cloned().chain(shared.ram.faults.iter().map(cache)).collect()
    }

    /// The model, for faults and statistics.
    pub fn model<T>(&mut self, f: impl FnOnce(&mut Model, u64, &mut Env<'_>) -> T) -> T {
        self.world.handle.0.borrow_mut().with(f)
    }

    pub fn inject(&mut self, frame: &Arriving) {
        self.model(|model, now, env| model.inject(now, frame, env));
    }

    /// A frame to us that never was on the cable.
    pub fn inject_good(&mut self, bytes: usize) {
        let frame = PacedSource::new(0, 1, 1, bytes, MAC).frame(0);
        self.injected.push(bytes);
        self.inject(&Arriving { bytes: frame, ..Arriving::default() });
    }

    fn start_phy(&mut self) {
        let clock = self.world.handle.clone();
        let mut phy = Bcm54210e::find(&mut self.driver.mdio()).unwrap();
        phy.start(&mut self.driver.mdio(), &clock, Advertise::default()).unwrap();
        self.phy = Some(phy);
        let give_up = self.now() + 5_000 * MS;
        while !self.link.up && self.now() < give_up {
            clock.delay_us(100_000);
            self.poll_link();
        }
    }

    /// What the kernel does every 100 ms.
    pub fn poll_link(&mut self) {
        let Some(phy) = &mut self.phy else { return };
        let link = phy.poll_link(&mut self.driver.mdio()).unwrap();
        if link != self.link {
            self.link = link;
            self.driver.link_changed(&link);
        }
    }

    pub fn apply(&mut self, settings: RxSettings) {
        let got = self.driver.apply(&settings).unwrap();
        assert_eq!(got.ignored(&settings), None, "{got:?}");
    }

    /// Lets time pass until the interrupt line rises or `until`.
    fn sleep(&mut self, until: u64) -> bool {
        let mut shared = self.world.handle.0.borrow_mut();
        loop {
            if shared.model.irq0() || shared.model.irq1() {
                return true;
            }
            let next = shared.model.next_event().unwrap_or(u64::MAX).max(shared.now);
            if next > until {
                shared.now = shared.now.max(until);
                shared.with(|model, now, env| model.run(now, env));
                return shared.model.irq0() || shared.model.irq1();
            }
            shared.now = next;
            shared.with(|model, now, env| model.run(now, env));
        }
    }

    /// The next receive interrupt, its handler run; `None` at `until`.
    pub fn next_irq(&mut self, until: u64) -> Option<u64> {
        while self.sleep(until) {
            let entry = self.now();
            let first = self.model(|model, _, _| model.irq0());
            let handle = &self.world.handle;
            let pending = if first { acknowledge(handle) } else { acknowledge_second(handle) };
            if pending.rx {
                self.irqs += 1;
                return Some(entry);
            }
            self.stray.push(pending);
            assert!(self.stray.len() < 1_000, "an interrupt that cannot be silenced: {pending:?}");
        }
        None
    }

    /// Numbers of the batch's frames, each checked byte by byte.
    pub fn drain(&mut self) -> Vec<u64> {
        let mut frames = Vec::new();
        while let Some((frame, _)) = self.driver.receive(Instant::ZERO) {
            frames.push(frame.consume(|bytes| {
                let expected = self.world.source.borrow().len_bytes;
                assert!(bytes.len() == expected || self.injected.contains(&bytes.len()), "{} bytes", bytes.len());
                check(bytes)
            }));
        }
        frames
    }

    /// Gives the batch back unseen.
    pub fn drain_any(&mut self) {
        while self.driver.receive(Instant::ZERO).is_some() {}
        self.driver.end_batch();
    }

    /// Main loop of an interrupt-driven receiver until `until`, without a look for overdue frames.
    pub fn receive_until(&mut self, until: u64) -> Vec<Batch> {
        let mut batches = Vec::new();
        let mut idle = 0;
        loop {
            self.driver.end_batch();
            if self.driver.rearm() {
                batches.push(self.batch());
                continue;
            }
            let Some(irq_ns) = self.next_irq(until) else { return batches };
            if self.driver.poll_receive(irq_ns) > 0 {
                batches.push(self.batch());
                idle = 0;
            }
            idle += 1;
            assert!(idle < 1_000, "interrupts without frames do not end");
        }
    }

    /// The same with a look every 100 ms, as the kernel does it.
    pub fn receive_with_rescue(&mut self, until: u64) -> Vec<Batch> {
        let mut batches = Vec::new();
        while self.now() < until {
            let tick = (self.now() + 100 * MS).min(until);
            batches.extend(self.receive_until(tick));
            let now = self.now();
            if self.driver.rescue_overdue(now) > 0 {
                batches.push(self.batch());
            }
        }
        self.driver.end_batch();
        batches
    }

    fn batch(&mut self) -> Batch {
        let frames = self.drain();
        Batch { irq_ns: self.driver.last_stamp().irq_ns, frames }
    }

    /// Sends a frame that starts with `head`; false if there is no room.
    pub fn send(&mut self, bytes: usize, head: &[u8]) -> bool {
        let Some(token) = self.driver.transmit(Instant::ZERO) else { return false };
        token.consume(bytes, |room| {
            room.fill(0xEE);
            room[..head.len()].copy_from_slice(head);
        });
        true
    }

    /// Lets time pass.
    pub fn pass(&mut self, ns: u64) {
        let until = self.now() + ns;
        let mut shared = self.world.handle.0.borrow_mut();
        shared.now = until;
        shared.with(|model, now, env| model.run(now, env));
    }
}

/// The number in a frame of the source, after comparing all of it.
fn check(bytes: &[u8]) -> u64 {
    let number = u64::from_be_bytes(bytes[14..22].try_into().unwrap());
    let expected = PacedSource::new(0, 1, 1, bytes.len(), MAC).frame(number);
    assert!(bytes == expected, "frame {number} is damaged or stale: {:x?}", &bytes[..22]);
    number
}

/// `count` full-size frames `interval_ns` apart, from [`START_NS`] on.
pub fn paced(interval_ns: u64, count: u64) -> PacedSource {
    PacedSource::new(START_NS, interval_ns, count, 1514, MAC)
}

/// All frames of `batches`, in order.
pub fn frames(batches: &[Batch]) -> Vec<u64> {
    batches.iter().flat_map(|batch| batch.frames.iter().copied()).collect()
}

/// A bench on default hardware.
pub fn bench(source: PacedSource) -> Bench {
    World::new(GenetConfig::default(), LinkConfig::default(), source).start()
}
