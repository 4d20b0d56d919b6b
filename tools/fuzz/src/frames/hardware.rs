//! GENET's registers and DMA as plain memory that a script can spoil.
//!
//! Of the hardware's behaviour there is only what the driver waits for or counts by: write-one registers, indices that
//! take writes only while the engine is off, buffers filled and emptied. Any word may be poked or frozen. Offsets are
//! written out here, not taken from the driver.

use genet::{DmaMemory, Registers};
use phy::Clock;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

const WINDOW_BYTES: u32 = 0x1_0000;
const RX_DESCRIPTORS: u32 = 0x2000;
const RX_PROD_INDEX: u32 = 0x3008;
const RX_CONS_INDEX: u32 = 0x300c;
const RX_CTRL: u32 = 0x3044;
const RX_STATUS: u32 = 0x3048;
const TX_DESCRIPTORS: u32 = 0x4000;
const TX_CONS_INDEX: u32 = 0x5008;
const TX_PROD_INDEX: u32 = 0x500c;
const TX_STATUS: u32 = 0x5048;
const RXDMA_MBDONE: u32 = 1 << 13;

/// Where the receive buffers lie.
pub(super) const RX_BUS: u64 = 0x10_0000;
/// Where the transmit buffers lie.
pub(super) const TX_BUS: u64 = 0x20_0000;
const BUFFER_BYTES: usize = 2048;
/// Transmit buffers.
pub(super) const TX_BUFFERS: usize = 8;

/// Everything behind the register window.
#[derive(Debug)]
pub(super) struct Hardware {
    words: RefCell<Vec<u32>>,
    /// A register that takes no more writes.
    frozen: Cell<Option<u32>>,
    /// Frames that the device wrote and the CPU has not invalidated its cache for, by slot.
    written: RefCell<BTreeMap<usize, Vec<u8>>>,
    /// What the device sees of the transmit buffers, by offset.
    cleaned: RefCell<BTreeMap<usize, Vec<u8>>>,
    /// Frames that were sent.
    pub sent: RefCell<VecDeque<Vec<u8>>>,
    /// Frames in the ring, oldest first: descriptor word and bytes.
    pub expected: RefCell<VecDeque<(u32, Vec<u8>)>>,
    /// The script did what no hardware does: nothing can be expected any more.
    pub spoilt: Cell<bool>,
    pub now_ns: Cell<u64>,
}

impl Hardware {
    /// A GENET v5 with stopped engines.
    pub fn new() -> Rc<Self> {
        let hardware = Hardware {
            words: RefCell::new(vec![0; WINDOW_BYTES as usize / 4]),
            frozen: Cell::new(None),
            written: RefCell::default(),
            cleaned: RefCell::default(),
            sent: RefCell::default(),
            expected: RefCell::default(),
            spoilt: Cell::new(false),
            now_ns: Cell::new(0),
        };
        hardware.put(0, 0x0600_0000);
        hardware.put(RX_STATUS, 1);
        hardware.put(TX_STATUS, 1);
        hardware.put(0x20c, u32::MAX);
        Rc::new(hardware)
    }

    fn get(&self, offset: u32) -> u32 {
        self.words.borrow()[offset as usize / 4]
    }

    fn put(&self, offset: u32, value: u32) {
        self.words.borrow_mut()[offset as usize / 4] = value;
    }

    /// Puts `value` anywhere.
    pub fn poke(&self, offset: u16, value: u32) {
        self.spoilt.set(true);
        self.put(u32::from(offset & !3), value);
    }

    /// The register at `offset` ignores writes from now on.
    pub fn freeze(&self, offset: u16) {
        self.spoilt.set(true);
        self.frozen.set(Some(u32::from(offset & !3)));
    }

    /// Moves PROD_INDEX without a frame.
    pub fn jump(&self, frames: u16) {
        self.spoilt.set(true);
        let prod = self.get(RX_PROD_INDEX);
        self.put(RX_PROD_INDEX, prod & 0xffff_0000 | u32::from((prod as u16).wrapping_add(frames)));
    }

    /// Counts frames that found no descriptor.
    pub fn discard(&self, frames: u16) {
        let prod = self.get(RX_PROD_INDEX);
        self.put(RX_PROD_INDEX, prod.wrapping_add(u32::from(frames) << 16));
    }

    /// Receives a frame: into the ring, or it is discarded when the ring is full or off.
    pub fn deliver(&self, frame: &[u8], word: u32) {
        let (prod, cons) = (self.get(RX_PROD_INDEX), self.get(RX_CONS_INDEX));
        if self.get(RX_CTRL) & 1 == 0 {
            return;
        }
        if (prod as u16).wrapping_sub(cons as u16) >= 256 {
            return self.discard(1);
        }
        let slot = prod & 0xff;
        self.put(RX_DESCRIPTORS + 12 * slot, word);
        self.put(RX_PROD_INDEX, prod & 0xffff_0000 | u32::from((prod as u16).wrapping_add(1)));
        self.put(0x200, self.get(0x200) | RXDMA_MBDONE);
        let frame = &frame[..frame.len().min(BUFFER_BYTES - 2)];
        self.written.borrow_mut().insert(slot as usize, frame.into());
        self.expected.borrow_mut().push_back((word, frame.into()));
    }

    /// Sends what the doorbell announced.
    fn transmit(&self, producer: u16) {
        let mut consumer = self.get(TX_CONS_INDEX) as u16;
        if producer.wrapping_sub(consumer) > 256 {
            assert!(self.spoilt.get(), "the doorbell rang for {} frames", producer.wrapping_sub(consumer));
            return;
        }
        while consumer != producer {
            let descriptor = TX_DESCRIPTORS + 12 * u32::from(consumer & 0xff);
            consumer = consumer.wrapping_add(1);
            let bytes = (self.get(descriptor) >> 16 & 0xfff) as usize;
            let address = u64::from(self.get(descriptor + 8)) << 32 | u64::from(self.get(descriptor + 4));
            let cleaned = self.cleaned.borrow();
            let frame = address.checked_sub(TX_BUS).and_then(|at| cleaned.get(&(at as usize)));
            match frame.and_then(|frame| frame.get(..bytes)) {
                Some(frame) if (60..=1536).contains(&bytes) => self.sent.borrow_mut().push_back(frame.into()),
                _ => assert!(self.spoilt.get(), "sends {bytes} bytes at {address:#x}, which were not cleaned"),
            }
        }
        self.put(TX_CONS_INDEX, self.get(TX_CONS_INDEX) & 0xffff_0000 | u32::from(producer));
    }
}

/// The driver's way to the registers.
#[derive(Clone, Debug)]
pub(super) struct Window(pub Rc<Hardware>);

impl Registers for Window {
    fn read(&self, offset: u32) -> u32 {
        assert!(offset < WINDOW_BYTES && offset.is_multiple_of(4), "read of {offset:#x}");
        self.0.get(offset)
    }

    fn write(&self, offset: u32, value: u32) {
        assert!(offset < WINDOW_BYTES && offset.is_multiple_of(4), "write to {offset:#x}");
        let hardware = &*self.0;
        if hardware.frozen.get() == Some(offset) {
            return;
        }
        match offset {
            0x204 => hardware.put(0x200, hardware.get(0x200) | value),
            0x208 => hardware.put(0x200, hardware.get(0x200) & !value),
            0x210 => hardware.put(0x20c, hardware.get(0x20c) | value),
            0x214 => hardware.put(0x20c, hardware.get(0x20c) & !value),
            RX_PROD_INDEX if hardware.get(RX_CTRL) & 1 == 1 => {
                hardware.put(offset, value & 0xffff_0000 | hardware.get(offset) & 0xffff);
            }
            RX_PROD_INDEX => {
                hardware.put(offset, value);
                hardware.expected.borrow_mut().clear(); // flushed
            }
            _ => hardware.put(offset, value),
        }
        // 0x5044 is TDMA's CTRL: while it is off the index is only set up.
        if offset == TX_PROD_INDEX && hardware.get(0x5044) & 1 == 1 {
            hardware.transmit(value as u16);
        }
    }
}

impl Clock for Window {
    fn now_ns(&self) -> u64 {
        self.0.now_ns.get()
    }

    fn delay_us(&self, us: u32) {
        self.0.now_ns.set(self.0.now_ns.get() + 1000 * u64::from(us));
    }
}

/// A region of buffers. What the device wrote shows after invalidating, what the CPU wrote is sent after cleaning.
#[derive(Debug)]
pub(super) struct Buffers {
    hardware: Rc<Hardware>,
    bus: u64,
    bytes: Vec<u8>,
}

impl Buffers {
    /// `buffers` buffers at `bus`.
    pub fn new(hardware: &Rc<Hardware>, bus: u64, buffers: usize) -> Self {
        Buffers { hardware: hardware.clone(), bus, bytes: vec![0; buffers * BUFFER_BYTES] }
    }
}

impl DmaMemory for Buffers {
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
        if self.bus == TX_BUS {
            self.hardware.cleaned.borrow_mut().insert(range.start, self.bytes[range].into());
        }
    }

    fn invalidate(&mut self, range: Range<usize>) {
        assert!(range.end <= self.bytes.len() && range.start.is_multiple_of(64) && range.end.is_multiple_of(64));
        if self.bus == RX_BUS
            && range.len() <= BUFFER_BYTES
            && let Some(frame) = self.hardware.written.borrow_mut().remove(&(range.start / BUFFER_BYTES))
        {
            let start = range.start + 2;
            self.bytes[start..start + frame.len()].copy_from_slice(&frame);
        }
    }
}
