//! The mini UART (UART1) of the auxiliary block, with the terminal at its other end.
//!
//! A cut-down 16550 at four-byte steps: FIFOs of 8 bytes, 8N1 only, a clock that follows the core's. It has the header's
//! pins with `enable_uart=1` as long as no overlay gives them to UART0; loaders that follow the mainline device tree
//! talk here. Registers: BCM2711 ARM Peripherals, chapter 2; AUX_MU_IER's bits as in its errata (0 receive, 1 transmit).
//! Does not own break detection and the modem lines, which nobody wires.

use std::collections::VecDeque;

use crate::access::{blame, check_word};
use crate::env::Finding;
use crate::pl011::SentByte;

const DEVICE: &str = "mini UART";
const FIFO_BYTES: usize = 8;
/// INTID of the auxiliary block (SPI 93).
pub const INTID: u32 = 125;

const RX_ENABLE: u32 = 1;
const TX_ENABLE: u32 = 2;
const DLAB: u32 = 0x80;

/// The UART and its terminal.
#[derive(Clone, Debug)]
pub struct MiniUart {
    core_hz: u64,
    terminal_baud: u64,
    pins_ready: bool,
    /// AUX_ENABLES: bit 0 is this UART's.
    enables: u32,
    interrupts: u32,
    line: u32,
    modem: u32,
    scratch: u32,
    control: u32,
    baud: u32,
    tx: VecDeque<u8>,
    /// Byte being shifted out and the end of its stop bit, ns.
    shifting: Option<(u8, u64)>,
    rx: VecDeque<u8>,
    overrun: bool,
    incoming: VecDeque<u8>,
    rx_next: Option<u64>,
    output: Vec<SentByte>,
}

impl MiniUart {
    /// As the board's firmware leaves it: with `on_header` (`enable_uart=1`) running at 115200 8N1, in reset otherwise.
    pub fn new(core_hz: u64, terminal_baud: u64, on_header: bool) -> Self {
        MiniUart {
            core_hz,
            terminal_baud: terminal_baud.max(1),
            pins_ready: false,
            enables: u32::from(on_header),
            interrupts: 0,
            line: if on_header { 3 } else { 0 },
            modem: 0,
            scratch: 0,
            control: if on_header { RX_ENABLE | TX_ENABLE } else { 0 },
            baud: if on_header { (core_hz / (8 * 115_200)) as u32 - 1 } else { 0 },
            tx: VecDeque::new(),
            shifting: None,
            rx: VecDeque::new(),
            overrun: false,
            incoming: VecDeque::new(),
            rx_next: None,
            output: Vec::new(),
        }
    }

    /// Tells whether GPIO 14 and 15 carry this UART (ALT5).
    pub fn set_pins(&mut self, ready: bool) {
        self.pins_ready = ready;
    }

    /// The interrupt output.
    pub fn irq(&self) -> bool {
        self.pending() != 0
    }

    /// 1 = receive, 2 = transmit, as enabled.
    fn pending(&self) -> u32 {
        self.interrupts & (u32::from(!self.rx.is_empty()) | u32::from(self.tx.is_empty()) << 1)
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
        self.shifting.map(|(_, end)| end).into_iter().chain(self.rx_next).min()
    }

    fn terminal_byte_ns(&self) -> u64 {
        10_000_000_000_u64.div_ceil(self.terminal_baud)
    }

    fn bit_clocks(&self) -> u64 {
        8 * (u64::from(self.baud) + 1)
    }

    /// Ten bits: the format is fixed.
    fn byte_ns(&self) -> u64 {
        (self.bit_clocks() * 10_000_000_000).div_ceil(self.core_hz.max(1))
    }

    fn rate_matches(&self) -> bool {
        let ours = self.bit_clocks() * self.terminal_baud;
        self.line & 3 == 3 && ours.abs_diff(self.core_hz) * 40 < self.core_hz
    }

    fn as_seen(&self, byte: u8) -> u8 {
        if self.rate_matches() { byte } else { byte.reverse_bits() ^ 0x5A }
    }

    /// Brings the model up to `now`.
    pub fn run(&mut self, now: u64, findings: &mut Vec<Finding>) {
        while let Some((byte, end)) = self.shifting
            && end <= now
        {
            self.shifting = None;
            match self.pins_ready {
                true => self.output.push(SentByte { at_ns: end, byte: self.as_seen(byte) }),
                false => blame(DEVICE, end, findings, "byte sent while GPIO 14 is not UART1 (ALT5): lost".to_owned()),
            }
            self.start_next(end);
        }
        while let Some(due) = self.rx_next
            && due <= now
        {
            let Some(byte) = self.incoming.pop_front() else { break };
            self.rx_next = (!self.incoming.is_empty()).then(|| due + self.terminal_byte_ns());
            if self.control & RX_ENABLE == 0 || self.enables & 1 == 0 || !self.pins_ready {
                continue; // nobody listens
            }
            if self.rx.len() >= FIFO_BYTES {
                self.overrun = true;
                continue;
            }
            self.rx.push_back(self.as_seen(byte));
        }
    }

    fn start_next(&mut self, start: u64) {
        if self.shifting.is_none()
            && self.control & TX_ENABLE != 0
            && let Some(byte) = self.tx.pop_front()
        {
            self.shifting = Some((byte, start + self.byte_ns()));
        }
    }

    /// A read at `offset` of the auxiliary block.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        self.run(now, findings);
        check_word(DEVICE, now, "read", offset, size, findings);
        let idle = self.tx.is_empty() && self.shifting.is_none();
        let room = self.tx.len() < FIFO_BYTES;
        let (has, latched) = (u32::from(!self.rx.is_empty()), self.line & DLAB != 0);
        match offset & !3 {
            0x00 => u32::from(self.pending() != 0),
            0x04 => self.enables,
            0x40 if latched => self.baud & 0xFF,
            0x40 => self.rx.pop_front().map_or(0, u32::from),
            0x44 if latched => self.baud >> 8,
            0x44 => self.interrupts,
            // FIFOs enabled; receive before transmit; bit 0 clear while something is pending.
            0x48 => match self.pending() {
                0 => 0xC1,
                2 => 0xC2,
                _ => 0xC4,
            },
            0x4C => self.line,
            0x50 => self.modem,
            0x54 => {
                has | u32::from(std::mem::take(&mut self.overrun)) << 1 | u32::from(room) << 5 | u32::from(idle) << 6
            }
            0x58 => 0x20, // CTS low
            0x5C => self.scratch,
            0x60 => self.control,
            0x64 => {
                has | u32::from(room) << 1
                    | u32::from(self.shifting.is_none()) << 3
                    | u32::from(!room) << 5
                    | u32::from(self.tx.is_empty()) << 8
                    | u32::from(idle) << 9
                    | (self.rx.len() as u32) << 16
                    | (self.tx.len() as u32) << 24
            }
            0x68 => self.baud,
            _ => {
                blame(DEVICE, now, findings, format!("read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write at `offset` of the auxiliary block.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, findings: &mut Vec<Finding>) {
        self.run(now, findings);
        check_word(DEVICE, now, "write", offset, size, findings);
        let latched = self.line & DLAB != 0;
        match offset & !3 {
            0x04 => self.enables = value & 7,
            0x40 if latched => self.baud = self.baud & 0xFF00 | value & 0xFF,
            0x40 if self.tx.len() < FIFO_BYTES => self.tx.push_back(value as u8),
            0x40 => blame(DEVICE, now, findings, format!("written while the FIFO is full: {value:#04x} lost")),
            0x44 if latched => self.baud = self.baud & 0xFF | (value & 0xFF) << 8,
            0x44 => self.interrupts = value & 3,
            0x48 => {
                if value & 2 != 0 {
                    self.rx.clear();
                }
                if value & 4 != 0 {
                    self.tx.clear();
                }
            }
            0x4C => self.line = value & 0xC3,
            0x50 => self.modem = value & 2,
            0x5C => self.scratch = value & 0xFF,
            0x60 => self.control = value & 0xFF,
            0x68 => self.baud = value & 0xFFFF,
            _ => blame(DEVICE, now, findings, format!("write to unknown or read-only offset {offset:#x} = {value:#x}")),
        }
        self.start_next(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_out_at_the_rate_and_come_in() {
        let mut findings = Vec::new();
        let mut uart = MiniUart::new(500_000_000, 115_200, true);
        uart.set_pins(true);
        for byte in *b"abcdefghi" {
            uart.write(0, 0x40, 4, u32::from(byte), &mut findings); // one shifts, eight wait
        }
        assert_eq!(uart.read(0, 0x54, 4, &mut findings), 0, "no room, not idle");
        uart.write(0, 0x40, 4, 0x7A, &mut findings);
        assert_eq!(findings.len(), 1, "the tenth is lost");
        uart.run(1_000_000, &mut findings);
        let sent = uart.take_output();
        assert_eq!(sent.iter().map(|sent| sent.byte).collect::<Vec<_>>(), b"abcdefghi");
        assert!((86_000..88_000).contains(&sent[0].at_ns), "{}", sent[0].at_ns);
        assert_eq!(uart.read(1_000_000, 0x54, 4, &mut findings), 0x60);

        uart.type_bytes(1_000_000, b"0123456789");
        assert!(!uart.irq());
        uart.write(1_000_000, 0x44, 4, 1, &mut findings);
        uart.run(3_000_000, &mut findings);
        assert!(uart.irq());
        assert_eq!(uart.read(3_000_000, 0x54, 4, &mut findings) & 3, 3, "data and an overrun");
        assert_eq!(uart.read(3_000_000, 0x40, 4, &mut findings), u32::from(b'0'));
    }

    #[test]
    fn a_wrong_rate_is_garbage_and_wrong_pins_lose_everything() {
        let mut findings = Vec::new();
        let mut uart = MiniUart::new(500_000_000, 115_200, true);
        uart.write(0, 0x40, 4, 0x61, &mut findings);
        uart.run(1_000_000, &mut findings);
        assert_eq!((uart.take_output(), findings.len()), (vec![], 1));
        uart.set_pins(true);
        uart.write(0, 0x68, 4, 270, &mut findings); // for 250 MHz
        uart.write(0, 0x40, 4, 0x61, &mut findings);
        uart.run(1_000_000, &mut findings);
        assert!(uart.take_output()[0].byte != 0x61);
    }
}
