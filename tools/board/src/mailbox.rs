//! VideoCore mailbox and the property channel behind it.
//!
//! Owns the two FIFOs and the firmware's answers to property tags: it reads the request from RAM and writes the answer
//! there as a DMA master, some time after the doorbell. Facts: U-Boot, Circle and Linux mailbox drivers, Linux
//! raspberrypi-firmware.h. A message without the 0xC000_0000 alias, on another channel or with a broken buffer is the
//! firmware's fault and reported. Does not model VCHIQ, the framebuffer and GPIO expander tags.

use std::collections::VecDeque;

use crate::access::{blame, check_word, unknown};
use crate::env::{Env, Finding};

/// INTID of the mailbox (SPI 33).
pub const INTID: u32 = 65;

const DEVICE: &str = "mailbox";
const PROPERTY_CHANNEL: u32 = 8;
const ALIAS: u32 = 0xC000_0000;
const FIFO_WORDS: usize = 8;
/// Longest buffer the model reads.
const MAX_BUFFER: u32 = 1 << 20;

const RESPONSE_OK: u32 = 0x8000_0000;
const RESPONSE_ERROR: u32 = 0x8000_0001;

/// What the firmware knows about the board.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Firmware revision (tag 0x1), a date.
    pub firmware_revision: u32,
    /// Board revision code (tag 0x10002).
    pub board_revision: u32,
    /// Board serial number.
    pub serial: u64,
    /// The Ethernet address.
    pub mac: [u8; 6],
    /// Bytes of the first memory bank.
    pub arm_memory_bytes: u32,
    /// Kernel command line.
    pub command_line: String,
    /// UART clock.
    pub uart_clock_hz: u32,
    /// ARM clock now.
    pub arm_clock_hz: u32,
    /// Slowest and fastest ARM clock.
    pub arm_clock_range_hz: (u32, u32),
    /// VPU core clock.
    pub core_clock_hz: u32,
    /// Temperature in milli-degrees.
    pub temperature_milli_c: u32,
    /// Throttling flags.
    pub throttled: u32,
}

/// How the mailbox behaves.
#[derive(Clone, Debug)]
pub struct MailboxConfig {
    /// From the doorbell to the answer.
    pub delay_ns: u64,
    /// Whether messages must carry the VPU's uncached alias.
    pub wants_alias: bool,
}

impl Default for MailboxConfig {
    fn default() -> Self {
        MailboxConfig { delay_ns: 20_000, wants_alias: true }
    }
}

/// Mailboxes 0 (to the ARM) and 1 (to the VPU).
#[derive(Clone, Debug)]
pub struct Mailbox {
    config: MailboxConfig,
    facts: Facts,
    /// Messages on their way: when answered, and the message.
    requests: VecDeque<(u64, u32)>,
    answers: VecDeque<u32>,
    /// Bit 0 enables the interrupt on data.
    control: u32,
}

impl Mailbox {
    /// An idle mailbox.
    pub fn new(config: MailboxConfig, facts: Facts) -> Self {
        Mailbox { config, facts, requests: VecDeque::new(), answers: VecDeque::new(), control: 0 }
    }

    /// What the firmware answers from.
    pub fn facts_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// Interrupt line: data waiting and wanted.
    pub fn irq(&self) -> bool {
        self.control & 1 != 0 && !self.answers.is_empty()
    }

    /// When the next answer is due.
    pub fn next_event(&self) -> Option<u64> {
        self.requests.front().map(|request| request.0)
    }

    /// Answers what is due.
    pub fn run(&mut self, now: u64, env: &mut Env) {
        while let Some((due, message)) = self.requests.front().copied()
            && due <= now
        {
            self.requests.pop_front();
            self.answer(due, message, env);
            self.answers.push_back(message);
        }
    }

    /// A read at `offset` from 0xFE00_B880.
    pub fn read(&mut self, now: u64, offset: u32, size: u8, env: &mut Env) -> u32 {
        self.run(now, env);
        check_word(DEVICE, now, "read", offset, size, env.findings);
        match offset & !3 {
            0x00 => self.answers.pop_front().unwrap_or(0),
            0x10 => self.answers.front().copied().unwrap_or(0),
            0x14 => 0,
            0x18 => u32::from(self.answers.is_empty()) << 30 | u32::from(self.answers.len() >= FIFO_WORDS) << 31,
            0x1C => self.control,
            0x38 => u32::from(self.requests.is_empty()) << 30 | u32::from(self.requests.len() >= FIFO_WORDS) << 31,
            _ => {
                unknown(DEVICE, now, "read", offset, env.findings);
                0
            }
        }
    }

    /// A write at `offset` from 0xFE00_B880.
    pub fn write(&mut self, now: u64, offset: u32, size: u8, value: u32, env: &mut Env) {
        self.run(now, env);
        check_word(DEVICE, now, "write", offset, size, env.findings);
        match offset & !3 {
            0x1C => self.control = value & 0x3FF,
            0x20 if self.requests.len() >= FIFO_WORDS => {
                blame(DEVICE, now, env.findings, format!("message {value:#x} written while full: lost"));
            }
            0x20 if value & 0xF != PROPERTY_CHANNEL => {
                let text =
                    format!("message {value:#x}: channel {} is not modelled (or the buffer unaligned)", value & 0xF);
                blame(DEVICE, now, env.findings, text);
            }
            0x20 => self.requests.push_back((now + self.config.delay_ns, value)),
            _ => unknown(DEVICE, now, "write", offset, env.findings),
        }
    }

    fn answer(&mut self, at: u64, message: u32, env: &mut Env) {
        let bus = message & !0xF;
        if self.config.wants_alias && bus & ALIAS != ALIAS {
            let text = format!("buffer {bus:#x} passed without the 0xC0000000 alias: not answered");
            return blame(DEVICE, at, env.findings, text);
        }
        let pa = u64::from(bus & !ALIAS);
        let mut header = [0; 8];
        if !env.mem.read(pa, &mut header) {
            return blame(DEVICE, at, env.findings, format!("buffer {pa:#x} is not memory"));
        }
        let size = word(&header, 0);
        if word(&header, 4) != 0 || size < 12 || !size.is_multiple_of(4) || size > MAX_BUFFER {
            let text = format!("buffer {pa:#x}: size {size:#x}, code {:#x} is no request", word(&header, 4));
            blame(DEVICE, at, env.findings, text);
            env.mem.write(pa + 4, &RESPONSE_ERROR.to_le_bytes());
            return;
        }
        let mut buffer = vec![0; size as usize];
        if !env.mem.read(pa, &mut buffer) {
            return blame(DEVICE, at, env.findings, format!("buffer {pa:#x} of {size} bytes leaves memory"));
        }
        let ok = self.answer_tags(at, &mut buffer, env.findings);
        let code = if ok { RESPONSE_OK } else { RESPONSE_ERROR };
        buffer[4..8].copy_from_slice(&code.to_le_bytes());
        if !env.mem.write(pa, &buffer) {
            blame(DEVICE, at, env.findings, format!("buffer {pa:#x} cannot be written"));
        }
    }

    /// Walks the tags; false when the list is broken.
    fn answer_tags(&mut self, at: u64, buffer: &mut [u8], findings: &mut Vec<Finding>) -> bool {
        let mut place = 8;
        loop {
            if place + 4 > buffer.len() {
                blame(DEVICE, at, findings, "tag list has no end tag".into());
                return false;
            }
            let tag = word(buffer, place);
            if tag == 0 {
                return true;
            }
            let end = (place + 12 <= buffer.len())
                .then(|| word(buffer, place + 4) as usize)
                .and_then(|room| (place + 12).checked_add(room))
                .filter(|end| end.next_multiple_of(4) + 4 <= buffer.len());
            let Some(end) = end else {
                blame(DEVICE, at, findings, format!("tag {tag:#x} runs past the end of the buffer"));
                return false;
            };
            let value = &mut buffer[place + 12..end];
            if let Some(answer) = self.tag(tag, value) {
                let fits = answer.len().min(value.len());
                value[..fits].copy_from_slice(&answer[..fits]);
                let length = 0x8000_0000 | answer.len() as u32;
                buffer[place + 8..place + 12].copy_from_slice(&length.to_le_bytes());
            }
            place = end.next_multiple_of(4);
        }
    }

    /// The answer to one tag, none when the firmware does not know it (it leaves such tags alone).
    fn tag(&mut self, tag: u32, request: &[u8]) -> Option<Vec<u8>> {
        let argument = |at: usize| if request.len() >= at + 4 { word(request, at) } else { 0 };
        let facts = &self.facts;
        Some(match tag {
            0x0000_0001 => words(&[facts.firmware_revision]),
            0x0001_0001 => words(&[0]),
            0x0001_0002 => words(&[facts.board_revision]),
            0x0001_0003 => facts.mac.to_vec(),
            0x0001_0004 => facts.serial.to_le_bytes().to_vec(),
            0x0001_0005 => words(&[0, facts.arm_memory_bytes]),
            0x0001_0006 => words(&[facts.arm_memory_bytes, 0x4000_0000 - facts.arm_memory_bytes.min(0x4000_0000)]),
            0x0002_0001 => words(&[argument(0), 1]),
            0x0002_8001 => words(&[argument(0), argument(4) & 1]),
            0x0003_0001 | 0x0003_8001 => words(&[argument(0), 1]),
            0x0003_0002 | 0x0003_0047 => words(&[argument(0), self.clock(argument(0))]),
            0x0003_8002 => {
                let rate = self.set_clock(argument(0), argument(4));
                words(&[argument(0), rate])
            }
            0x0003_0004 => words(&[argument(0), self.clock_limit(argument(0), true)]),
            0x0003_0007 => words(&[argument(0), self.clock_limit(argument(0), false)]),
            0x0003_0006 => words(&[argument(0), facts.temperature_milli_c]),
            0x0003_000A => words(&[argument(0), 85_000]),
            0x0003_0046 => words(&[facts.throttled]),
            0x0005_0001 => facts.command_line.clone().into_bytes(),
            _ => return None,
        })
    }

    /// Rate of a clock by the firmware's number.
    fn clock(&self, id: u32) -> u32 {
        match id {
            1 => 200_000_000,
            2 => self.facts.uart_clock_hz,
            3 => self.facts.arm_clock_hz,
            4 => self.facts.core_clock_hz,
            12 => 100_000_000,
            _ => 0,
        }
    }

    fn clock_limit(&self, id: u32, maximum: bool) -> u32 {
        match (id, maximum) {
            (3, true) => self.facts.arm_clock_range_hz.1,
            (3, false) => self.facts.arm_clock_range_hz.0,
            (4, false) => 200_000_000,
            _ => self.clock(id),
        }
    }

    /// Only the ARM clock moves here. What the cost model charges is the caller's affair.
    fn set_clock(&mut self, id: u32, rate: u32) -> u32 {
        let (low, high) = self.facts.arm_clock_range_hz;
        if id == 3 && low <= high {
            self.facts.arm_clock_hz = rate.clamp(low, high);
        }
        self.clock(id)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests;
