//! PL011 UART (r1p5: 32-byte FIFOs) and the terminal at the other end of its two wires.
//!
//! Owns the registers, byte times on the wire (exact: kept in quarter clock ticks, reported in whole nanoseconds), FIFO
//! interrupts and receive timeout. A byte that cannot arrive is the firmware's fault and reported: pins not on ALT0,
//! UART off, a rate the terminal does not listen at, a write into a full FIFO.
//! Facts: PL011 TRM r1p5, Raspberry Pi OS tutorials, Linux device tree (INTID 153). Does not model modem lines, IrDA,
//! DMA and break.

use std::collections::VecDeque;

use crate::access::{blame, check_word};
use crate::env::Finding;

/// INTID of all PL011s (SPI 121).
pub const INTID: u32 = 153;
/// Bytes in each FIFO.
pub const FIFO_BYTES: usize = 32;

const DEVICE: &str = "pl011";

/// Raw interrupt bits.
const RX: u32 = 1 << 4;
const TX: u32 = 1 << 5;
const RX_TIMEOUT: u32 = 1 << 6;
const OVERRUN: u32 = 1 << 10;

/// Control bits.
const ENABLE: u32 = 1;
const TX_ENABLE: u32 = 1 << 8;
const RX_ENABLE: u32 = 1 << 9;

/// A byte on the wire and when its stop bit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentByte {
    /// End of the stop bit, ns.
    pub at_ns: u64,
    /// The byte as the terminal saw it.
    pub byte: u8,
}

/// The UART and its terminal.
#[derive(Clone, Debug)]
pub struct Pl011 {
    clock_hz: u64,
    terminal_baud: u64,
    pins_ready: bool,
    control: u32,
    line: u32,
    /// Divisors as written, and as taken over by the last LCRH write.
    written: (u32, u32),
    divisor: u64,
    fifo_levels: u32,
    mask: u32,
    raw: u32,
    tx: VecDeque<u8>,
    /// Byte being shifted out and its end in quarter ticks.
    shifting: Option<(u8, u64)>,
    rx: VecDeque<u8>,
    /// Bytes the terminal has still to send; the first one's stop bit ends at `rx_next`.
    incoming: VecDeque<u8>,
    rx_next: Option<u64>,
    rx_timeout_at: Option<u64>,
    output: Vec<SentByte>,
    reported: Reported,
}

/// Complaints made once until the cause goes away.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    pins: bool,
    disabled: bool,
    rate: bool,
}

impl Pl011 {
    /// A UART in reset, clocked with `clock_hz`, wired to a terminal at `terminal_baud` 8N1.
    pub fn new(clock_hz: u64, terminal_baud: u64) -> Self {
        Pl011 {
            clock_hz: clock_hz.max(1),
            terminal_baud: terminal_baud.max(1),
            pins_ready: false,
            control: RX_ENABLE | TX_ENABLE,
            line: 0,
            written: (0, 0),
            divisor: 0,
            fifo_levels: 0x12,
            mask: 0,
            raw: 0,
            tx: VecDeque::new(),
            shifting: None,
            rx: VecDeque::new(),
            incoming: VecDeque::new(),
            rx_next: None,
            rx_timeout_at: None,
            output: Vec::new(),
            reported: Reported::default(),
        }
    }

    /// The board's firmware has set it to 115200 8N1 with FIFOs from a clock of 48 MHz, as it does for a UART that it gave
    /// the header to. Loaders such as U-Boot rely on it.
    pub fn set_up_by_firmware(&mut self) {
        self.written = (26, 3);
        self.divisor = 26 * 64 + 3;
        self.line = 0x70;
        self.control = ENABLE | TX_ENABLE | RX_ENABLE;
    }

    /// Tells whether GPIO 14 and 15 carry this UART (ALT0).
    pub fn set_pins(&mut self, ready: bool) {
        self.pins_ready = ready;
        self.reported.pins &= !ready;
    }

    /// The interrupt output.
    pub fn irq(&self) -> bool {
        self.raw & self.mask != 0
    }

    /// Takes the bytes the terminal has received.
    pub fn take_output(&mut self) -> Vec<SentByte> {
        std::mem::take(&mut self.output)
    }

    /// The terminal types `bytes`, the first start bit at `now` at the earliest.
    pub fn type_bytes(&mut self, now: u64, bytes: &[u8]) {
        self.incoming.extend(bytes);
        if self.rx_next.is_none() && !self.incoming.is_empty() {
            self.rx_next = Some(now + self.terminal_byte_ns());
        }
    }

    /// When something happens by itself next.
    pub fn next_event(&self) -> Option<u64> {
        let shifted = self.shifting.map(|(_, end)| self.ns(end));
        [shifted, self.rx_next, self.rx_timeout_at].into_iter().flatten().min()
    }

    // ---- time ----

    /// Quarter clock ticks of `ns`, rounded down.
    fn quarters(&self, ns: u64) -> u64 {
        (u128::from(ns) * u128::from(self.clock_hz) * 4 / 1_000_000_000) as u64
    }

    fn ns(&self, quarters: u64) -> u64 {
        (u128::from(quarters) * 1_000_000_000).div_ceil(u128::from(self.clock_hz) * 4) as u64
    }

    /// Bits of one character with start, parity and stop.
    fn bits(&self) -> u64 {
        let data = 5 + u64::from(self.line >> 5 & 3);
        let parity = u64::from(self.line >> 1 & 1);
        let stop = 1 + u64::from(self.line >> 3 & 1);
        1 + data + parity + stop
    }

    /// Length of one character in quarter ticks: a bit is 16 x divisor / 64 clock ticks.
    fn byte_quarters(&self) -> u64 {
        self.bits() * self.divisor.max(64)
    }

    fn terminal_byte_ns(&self) -> u64 {
        10_000_000_000_u64.div_ceil(self.terminal_baud)
    }

    /// True when the terminal can read what we send: 8N1 and less than 2.5 % off.
    fn rate_matches(&self) -> bool {
        let ours = self.divisor * self.terminal_baud; // quarter ticks x baud, exact rate: 4 x clock
        let exact = self.clock_hz * 4;
        self.divisor >= 64 && self.line & 0x6A == 0x60 && ours.abs_diff(exact) * 40 < exact
    }

    /// Brings the model up to `now`.
    pub fn run(&mut self, now: u64, findings: &mut Vec<Finding>) {
        while let Some((byte, end)) = self.shifting
            && self.ns(end) <= now
        {
            let at_ns = self.ns(end);
            self.deliver(at_ns, byte, findings);
            self.shifting = None;
            self.start_next(end);
        }
        while let Some(due) = self.rx_next
            && due <= now
        {
            self.take_incoming(due);
        }
        if self.rx_timeout_at.is_some_and(|due| due <= now) {
            self.rx_timeout_at = None;
            self.raw |= RX_TIMEOUT;
        }
    }

    fn deliver(&mut self, at_ns: u64, byte: u8, findings: &mut Vec<Finding>) {
        if !self.pins_ready {
            once(&mut self.reported.pins, at_ns, findings, "bytes sent while GPIO 14 is not UART0 (ALT0): lost");
            return;
        }
        let byte = if self.rate_matches() {
            self.reported.rate = false;
            byte
        } else {
            once(&mut self.reported.rate, at_ns, findings, "bytes sent at a rate or format the terminal does not use");
            byte.reverse_bits() ^ 0x5A
        };
        self.output.push(SentByte { at_ns, byte });
    }

    /// Moves the next byte from the FIFO to the shift register, starting at `start` quarter ticks.
    fn start_next(&mut self, start: u64) {
        if self.shifting.is_some() || self.control & ENABLE == 0 || self.control & TX_ENABLE == 0 {
            return;
        }
        let Some(byte) = self.tx.pop_front() else { return };
        self.shifting = Some((byte, start + self.byte_quarters()));
        if self.tx.len() == self.tx_level() {
            self.raw |= TX;
        }
    }

    fn take_incoming(&mut self, due: u64) {
        let Some(byte) = self.incoming.pop_front() else {
            self.rx_next = None;
            return;
        };
        self.rx_next = (!self.incoming.is_empty()).then(|| due + self.terminal_byte_ns());
        if self.control & (ENABLE | RX_ENABLE) != ENABLE | RX_ENABLE || !self.pins_ready {
            return; // nobody listens
        }
        if self.rx.len() >= self.depth() {
            self.raw |= OVERRUN;
            return;
        }
        self.rx.push_back(if self.rate_matches() { byte } else { byte.reverse_bits() ^ 0x5A });
        if self.rx.len() >= self.rx_level() {
            self.raw |= RX;
        }
        // 32 bit times without another byte.
        self.rx_timeout_at = Some(due + self.ns(32 * self.divisor.max(64)));
    }

    // ---- FIFO ----

    fn depth(&self) -> usize {
        if self.line & 0x10 != 0 { FIFO_BYTES } else { 1 }
    }

    fn fraction(select: u32) -> usize {
        match select & 7 {
            0 => FIFO_BYTES / 8,
            1 => FIFO_BYTES / 4,
            2 => FIFO_BYTES / 2,
            3 => FIFO_BYTES * 3 / 4,
            _ => FIFO_BYTES * 7 / 8,
        }
    }

    fn tx_level(&self) -> usize {
        if self.depth() == 1 { 0 } else { Self::fraction(self.fifo_levels) }
    }

    fn rx_level(&self) -> usize {
        if self.depth() == 1 { 1 } else { Self::fraction(self.fifo_levels >> 3) }
    }

    fn flags(&self) -> u32 {
        let bit = |on: bool, at: u32| u32::from(on) << at;
        let busy = self.shifting.is_some() || !self.tx.is_empty();
        bit(busy, 3)
            | bit(self.rx.is_empty(), 4)
            | bit(self.tx.len() >= self.depth(), 5)
            | bit(self.rx.len() >= self.depth(), 6)
            | bit(self.tx.is_empty(), 7)
    }

    // ---- registers ----

    /// A read at `offset` of the register page.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        self.run(now, findings);
        check_word(DEVICE, now, "read", offset, size, findings);
        match offset & !3 {
            0x00 => self.pop_rx(),
            0x04 => 0,
            0x18 => self.flags(),
            0x24 => self.written.0,
            0x28 => self.written.1,
            0x2C => self.line,
            0x30 => self.control,
            0x34 => self.fifo_levels,
            0x38 => self.mask,
            0x3C => self.raw,
            0x40 => self.raw & self.mask,
            0x48 => 0,
            0xFE0..=0xFFC => IDENTIFICATION[(offset as usize - 0xFE0) / 4],
            _ => {
                blame(DEVICE, now, findings, format!("read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write at `offset` of the register page.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        self.run(now, findings);
        check_word(DEVICE, now, "write", offset, size, findings);
        match offset & !3 {
            0x00 => self.push_tx(now, value as u8, findings),
            0x04 => {} // clears receive errors
            0x24 => self.set_divisor(now, (value & 0xFFFF, self.written.1), findings),
            0x28 => self.set_divisor(now, (self.written.0, value & 0x3F), findings),
            0x2C => {
                self.complain_if_enabled(now, "LCRH", findings);
                self.line = value & 0xFF;
                self.divisor = u64::from(self.written.0) * 64 + u64::from(self.written.1);
            }
            0x30 => {
                self.control = value & 0xFF87;
                self.reported.disabled = false;
                self.start_next(self.quarters(now));
            }
            0x34 => self.fifo_levels = value & 0x3F,
            0x38 => self.mask = value & 0x7FF,
            0x44 => self.raw &= !value,
            0x48 if value == 0 => {}
            _ => blame(DEVICE, now, findings, format!("write to unknown or read-only offset {offset:#x} = {value:#x}")),
        }
    }

    fn push_tx(&mut self, now: u64, byte: u8, findings: &mut Vec<Finding>) {
        if self.control & (ENABLE | TX_ENABLE) != ENABLE | TX_ENABLE {
            once(&mut self.reported.disabled, now, findings, "DR written while the transmitter is disabled: lost");
            return;
        }
        if self.tx.len() >= self.depth() {
            return blame(DEVICE, now, findings, format!("DR written while the FIFO is full: {byte:#04x} lost"));
        }
        self.tx.push_back(byte);
        if self.tx.len() > self.tx_level() {
            self.raw &= !TX;
        }
        if self.shifting.is_none() {
            self.start_next(self.quarters(now));
        }
    }

    fn pop_rx(&mut self) -> u32 {
        let byte = self.rx.pop_front().unwrap_or(0);
        if self.rx.len() < self.rx_level() {
            self.raw &= !RX;
        }
        if self.rx.is_empty() {
            self.raw &= !RX_TIMEOUT;
            self.rx_timeout_at = None;
        }
        u32::from(byte)
    }

    fn set_divisor(&mut self, now: u64, written: (u32, u32), findings: &mut Vec<Finding>) {
        self.complain_if_enabled(now, "a divisor", findings);
        self.written = written;
    }

    fn complain_if_enabled(&self, now: u64, what: &str, findings: &mut Vec<Finding>) {
        if self.control & ENABLE != 0 {
            blame(DEVICE, now, findings, format!("{what} written while the UART is enabled"));
        }
    }
}

/// PeriphID and CellID of a PL011 r1p5.
const IDENTIFICATION: [u32; 8] = [0x11, 0x10, 0x34, 0x00, 0x0D, 0xF0, 0x05, 0xB1];

fn once(said: &mut bool, at_ns: u64, findings: &mut Vec<Finding>, text: &str) {
    if !std::mem::replace(said, true) {
        blame(DEVICE, at_ns, findings, text.to_owned());
    }
}

#[cfg(test)]
mod tests;
