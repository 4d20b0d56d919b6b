//! Registers that are plain memory with a log, for tests of single steps. What hardware does is done by the test.

use crate::regs::intrl2;
use crate::{Clock, DmaMemory, Registers};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Read(u32),
    Write(u32, u32),
    Clean(usize, usize),
    Invalidate(usize, usize),
    DelayUs(u32),
}

/// The register file and the log, shared by all handles.
#[derive(Debug)]
pub struct Fake {
    words: RefCell<Vec<u32>>,
    /// Offsets that ignore writes.
    pub frozen: RefCell<BTreeSet<u32>>,
    pub log: RefCell<Vec<Event>>,
    pub now_ns: Cell<u64>,
}

pub const MAC: [u8; 6] = [0xdc, 0xa6, 0x32, 0x11, 0x22, 0x33];

impl Fake {
    /// A GENET v5 with stopped engines.
    pub fn new() -> Rc<Self> {
        let fake = Fake {
            words: RefCell::new(vec![0; 0x4000]),
            frozen: RefCell::default(),
            log: RefCell::default(),
            now_ns: Cell::new(0),
        };
        fake.put(0x000, 0x0600_0000);
        fake.put(0x300, 0xc040);
        fake.put(0x3048, 1);
        fake.put(0x5048, 1);
        fake.put(intrl2::MASK_STATUS_0.offset(), u32::MAX);
        fake.put(0x24c, u32::MAX);
        Rc::new(fake)
    }

    pub fn get(&self, offset: u32) -> u32 {
        self.words.borrow()[offset as usize / 4]
    }

    /// Sets a word behind the driver's back.
    pub fn put(&self, offset: u32, value: u32) {
        self.words.borrow_mut()[offset as usize / 4] = value;
    }

    pub fn clear_log(&self) {
        self.log.borrow_mut().clear();
    }

    pub fn reads(&self) -> usize {
        self.log.borrow().iter().filter(|e| matches!(e, Event::Read(_))).count()
    }

    pub fn writes(&self) -> usize {
        self.log.borrow().iter().filter(|e| matches!(e, Event::Write(..))).count()
    }

    /// Values written to `offset`, in order.
    pub fn written(&self, offset: u32) -> Vec<u32> {
        let log = self.log.borrow();
        let values = log.iter().filter_map(|event| match *event {
            Event::Write(at, value) if at == offset => Some(value),
            _ => None,
        });
        values.collect()
    }

    fn note(&self, event: Event) {
        self.log.borrow_mut().push(event);
    }

    /// Puts `count` frames of `bytes` bytes (pad included) into the ring, slot = index, and announces them.
    pub fn deliver(&self, count: u16, bytes: u32) {
        self.deliver_words((0..count).map(|_| bytes << 16 | 0x6000));
    }

    /// The same with the descriptor words given.
    pub fn deliver_words(&self, words: impl IntoIterator<Item = u32>) {
        for word in words {
            let prod = self.get(0x3008);
            self.put(0x2000 + 12 * (prod & 0xff), word);
            self.put(0x3008, prod & 0xffff_0000 | (prod.wrapping_add(1) & 0xffff));
        }
        self.put(0x200, self.get(0x200) | 1 << 13);
    }

    /// Adds to the discard counter.
    pub fn discard(&self, count: u16) {
        let prod = self.get(0x3008);
        let discards = (prod >> 16) as u16;
        self.put(0x3008, prod & 0xffff | u32::from(discards.wrapping_add(count)) << 16);
    }
}

impl Registers for Rc<Fake> {
    fn read(&self, offset: u32) -> u32 {
        self.note(Event::Read(offset));
        self.get(offset)
    }

    fn write(&self, offset: u32, value: u32) {
        self.note(Event::Write(offset, value));
        if self.frozen.borrow().contains(&offset) {
            return;
        }
        match offset {
            0x204 | 0x244 => self.put(offset - 4, self.get(offset - 4) | value),
            0x208 | 0x248 => self.put(offset - 8, self.get(offset - 8) & !value),
            0x210 | 0x250 => self.put(offset - 4, self.get(offset - 4) | value),
            0x214 | 0x254 => self.put(offset - 8, self.get(offset - 8) & !value),
            _ => self.put(offset, value),
        }
    }
}

/// Time that only waiting moves.
pub struct FakeClock(pub Rc<Fake>);

impl Clock for FakeClock {
    fn now_ns(&self) -> u64 {
        self.0.now_ns.get()
    }

    fn delay_us(&self, us: u32) {
        self.0.note(Event::DelayUs(us));
        self.0.now_ns.set(self.0.now_ns.get() + 1000 * u64::from(us));
    }
}

/// Memory that logs its maintenance.
pub struct FakeMemory {
    pub fake: Rc<Fake>,
    pub bus: u64,
    pub bytes: Vec<u8>,
}

impl FakeMemory {
    pub fn new(fake: &Rc<Fake>, bus: u64, buffers: usize) -> Self {
        FakeMemory { fake: fake.clone(), bus, bytes: vec![0; buffers * 2048] }
    }
}

impl DmaMemory for FakeMemory {
    fn bus_address(&self) -> u64 {
        self.bus
    }
    fn len(&self) -> usize {
        self.bytes.len()
    }
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.bytes[range]
    }
    fn clean(&mut self, range: Range<usize>) {
        self.fake.note(Event::Clean(range.start, range.end));
    }
    fn invalidate(&mut self, range: Range<usize>) {
        self.fake.note(Event::Invalidate(range.start, range.end));
    }
}
