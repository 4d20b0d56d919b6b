//! The model of GENET with its clock and its memory, as driver and processor see them.
//!
//! Owns virtual time (device accesses and delays move it), the interrupt line's way to the handler, and DMA memory that
//! processor and device see separately, so that a missing clean or invalidate shows as stale bytes. Every frame that
//! the device writes is fingerprinted; [`Trail`] compares with what the driver hands out.

use crate::attendant::Processor;
use crate::heap;
use board::env::{Env, Finding, FlatMemory, GuestMemory};
use board::genet::Genet as Model;
use genet::{Clock, DmaMemory, Registers, acknowledge, acknowledge_second};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use twox_hash::XxHash3_64;

/// Where the device finds the receive buffers.
pub(crate) const RX_PA: u64 = 0x0100_0000;
/// Where the device finds the transmit buffers.
pub(crate) const TX_PA: u64 = 0x0110_0000;
/// RBUF puts two bytes in front of each frame.
const PAD_BYTES: usize = 2;
const LINE_BYTES: usize = 64;
/// Interrupts in a row, with no time for anything else, that are taken for an endless storm.
const STORM: u32 = 1_000;

/// What things cost in virtual time.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// A device read.
    pub read_ns: u64,
    /// A posted device write.
    pub write_ns: u64,
    /// From the interrupt line to the handler's first instruction.
    pub irq_ns: u64,
    /// A frame's way through the software.
    pub frame_ns: u64,
    /// A call of `wait`.
    pub wait_ns: u64,
}

impl Default for Cost {
    fn default() -> Self {
        Cost { read_ns: 200, write_ns: 50, irq_ns: 300, frame_ns: 300, wait_ns: 200 }
    }
}

/// Frames that the device wrote to memory and that the driver has not handed out, by their hash, in order.
#[derive(Debug, Default)]
pub struct Trail {
    written: VecDeque<u64>,
    /// Frames that the device wrote and the driver passed over: with errors, or flushed.
    pub skipped: u64,
    /// Frames that the driver handed out.
    pub handed_out: u64,
    /// Their bytes.
    pub handed_out_bytes: u64,
    /// Hash over the hashes of all frames as the driver handed them out.
    pub hash: u64,
    /// The first frame handed out that the device had not written: its number in the order, from 0.
    pub strange: Option<u64>,
}

impl Trail {
    fn write(&mut self, frame: &[u8]) {
        self.written.push_back(XxHash3_64::oneshot(frame));
    }

    /// The driver hands `frame` out.
    pub(crate) fn hand_out(&mut self, frame: &[u8]) {
        let hash = XxHash3_64::oneshot(frame);
        match self.written.iter().position(|written| *written == hash) {
            Some(before) => {
                self.skipped += before as u64;
                self.written.drain(..=before);
            }
            None => self.strange = self.strange.or(Some(self.handed_out)),
        }
        self.handed_out += 1;
        self.handed_out_bytes += frame.len() as u64;
        self.hash = self.hash.rotate_left(1) ^ hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// Frames written and not handed out.
    pub fn left(&self) -> usize {
        self.written.len()
    }

    /// What is left will not be handed out any more.
    pub fn skip_rest(&mut self) {
        self.skipped += self.written.len() as u64;
        self.written.clear();
    }
}

/// What the device reaches.
struct Ram {
    memory: FlatMemory,
    trail: Trail,
}

impl GuestMemory for Ram {
    fn read(&mut self, pa: u64, out: &mut [u8]) -> bool {
        self.memory.read(pa, out)
    }

    fn write(&mut self, pa: u64, data: &[u8]) -> bool {
        let done = self.memory.write(pa, data);
        if done {
            self.trail.write(&data[PAD_BYTES..]);
        }
        done
    }
}

/// The device, its clock and its interrupt.
pub struct World {
    model: Model,
    ram: Ram,
    /// Complaints of the model about its user.
    pub findings: Vec<Finding>,
    pub(crate) cost: Cost,
    now_ns: u64,
    /// Entry time of the handler that announced frames last, until it is taken.
    rx_event_ns: Option<u64>,
    masked: bool,
    pub(crate) rx_irqs: u64,
    /// Interrupts that were not for received frames.
    pub other_irqs: u64,
    pub(crate) idle_ns: u64,
}

impl World {
    /// The device at time 0 with `memory_bytes` from the receive buffers on.
    pub(crate) fn start(model: Model, cost: Cost, memory_bytes: usize) -> Handle {
        Handle(Rc::new(RefCell::new(World {
            model,
            ram: Ram { memory: FlatMemory::new(RX_PA, memory_bytes), trail: Trail::default() },
            findings: Vec::new(),
            cost,
            now_ns: 0,
            rx_event_ns: None,
            masked: false,
            rx_irqs: 0,
            other_irqs: 0,
            idle_ns: 0,
        })))
    }

    /// What was written and handed out.
    pub fn trail(&mut self) -> &mut Trail {
        &mut self.ram.trail
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    fn with<T>(&mut self, f: impl FnOnce(&mut Model, u64, &mut Env<'_>) -> T) -> T {
        let mut env = Env { mem: &mut self.ram, findings: &mut self.findings };
        f(&mut self.model, self.now_ns, &mut env)
    }

    fn line(&self) -> bool {
        self.model.irq0() || self.model.irq1()
    }

    /// Lets time pass until the interrupt line is high or `until_ns`.
    fn sleep(&mut self, until_ns: u64) {
        let before = self.now_ns;
        while !self.line() && self.now_ns < until_ns {
            let next = self.model.next_event().unwrap_or(u64::MAX);
            self.now_ns = next.max(self.now_ns).min(until_ns);
            self.with(|model, now, env| model.run(now, env));
        }
        self.idle_ns += self.now_ns - before;
    }
}

/// One handle on the world: registers, clock and processor.
#[derive(Clone)]
pub struct Handle(pub(crate) Rc<RefCell<World>>);

impl Handle {
    /// Uses the model at the present time, for faults and statistics.
    pub fn model<T>(&self, f: impl FnOnce(&mut Model, u64, &mut Env<'_>) -> T) -> T {
        heap::rest(|| self.0.borrow_mut().with(f))
    }

    /// The world.
    pub fn world<T>(&self, f: impl FnOnce(&mut World) -> T) -> T {
        heap::rest(|| f(&mut self.0.borrow_mut()))
    }

    /// The processor is busy for so long. Interrupts are taken meanwhile unless they are masked.
    pub(crate) fn spend(&self, ns: u64) {
        let until_ns = heap::rest(|| {
            let mut world = self.0.borrow_mut();
            world.now_ns += ns;
            world.with(|model, now, env| model.run(now, env));
            world.now_ns
        });
        debug_assert_eq!(until_ns, self.now_ns());
        self.take_interrupts();
    }

    /// A poller that found nothing goes on looking; until the model moves it finds nothing again. Its turns up to then,
    /// or to `deadline_ns`, are made at once: as busy as they would be, and whole.
    pub(crate) fn skip_empty_turns(&self, deadline_ns: u64) {
        let mut world = self.0.borrow_mut();
        let turn_ns = (world.cost.wait_ns + world.cost.read_ns).max(1);
        let until_ns = world.model.next_event().unwrap_or(u64::MAX).min(deadline_ns);
        world.now_ns += until_ns.saturating_sub(world.now_ns) / turn_ns * turn_ns;
    }

    /// The handler, as often as the line asks for it.
    fn take_interrupts(&self) {
        for _ in 0..STORM {
            let entry_ns = {
                let mut world = self.0.borrow_mut();
                if world.masked || !world.line() {
                    return;
                }
                world.now_ns += world.cost.irq_ns;
                world.now_ns
            };
            let first = self.0.borrow().model.irq0();
            let pending = if first { acknowledge(self) } else { acknowledge_second(self) };
            let mut world = self.0.borrow_mut();
            if pending.rx {
                world.rx_irqs += 1;
                world.rx_event_ns = Some(entry_ns);
            } else {
                world.other_irqs += 1;
            }
        }
        panic!("the interrupt line does not fall: {STORM} interrupts were taken in a row");
    }
}

impl Registers for Handle {
    fn read(&self, offset: u32) -> u32 {
        heap::rest(|| {
            let mut world = self.0.borrow_mut();
            world.now_ns += world.cost.read_ns;
            world.with(|model, now, env| model.read(now, offset, env))
        })
    }

    fn write(&self, offset: u32, value: u32) {
        heap::rest(|| {
            let mut world = self.0.borrow_mut();
            world.now_ns += world.cost.write_ns;
            world.with(|model, now, env| model.write(now, offset, value, env));
        });
    }
}

impl Clock for Handle {
    fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    fn delay_us(&self, us: u32) {
        self.spend(1_000 * u64::from(us));
    }
}

impl Processor for Handle {
    fn mask(&mut self) {
        self.0.borrow_mut().masked = true;
    }

    fn unmask(&mut self) {
        self.0.borrow_mut().masked = false;
        self.take_interrupts();
    }

    fn take_rx_event(&mut self) -> Option<u64> {
        self.0.borrow_mut().rx_event_ns.take()
    }

    fn take_other_event(&mut self) -> bool {
        false
    }

    fn sleep(&mut self, deadline_ns: u64) {
        heap::rest(|| self.0.borrow_mut().sleep(deadline_ns));
    }
}

/// A region as the processor's cache has it.
pub struct CachedMemory {
    handle: Handle,
    pa: u64,
    cpu: Vec<u8>,
}

impl CachedMemory {
    pub(crate) fn new(handle: &Handle, pa: u64, bytes: usize) -> Self {
        CachedMemory { handle: handle.clone(), pa, cpu: vec![0xA5; bytes] }
    }

    fn lines(&self, range: Range<usize>) -> Range<usize> {
        range.start / LINE_BYTES * LINE_BYTES..range.end.next_multiple_of(LINE_BYTES).min(self.cpu.len())
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
        &mut self.cpu[range]
    }

    fn clean(&mut self, range: Range<usize>) {
        let lines = self.lines(range);
        let mut world = self.handle.0.borrow_mut();
        assert!(world.ram.memory.write(self.pa + lines.start as u64, &self.cpu[lines]), "clean outside of memory");
    }

    fn invalidate(&mut self, range: Range<usize>) {
        let lines = self.lines(range);
        let mut world = self.handle.0.borrow_mut();
        let pa = self.pa + lines.start as u64;
        assert!(world.ram.memory.read(pa, &mut self.cpu[lines]), "invalidate outside of memory");
    }
}
