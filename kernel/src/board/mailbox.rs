//! VideoCore mailbox, channel 8 (property tags). Register use as in U-Boot and Circle.

use super::map;
use super::mmio::Mmio;
use super::property::{self, Clock, MESSAGE_WORDS, PropertyError, Tag};
use crate::arch::counter;
use crate::mem::dma::DmaRegion;
use aarch64_cpu::asm::barrier::{SY, dmb};
use genet::DmaMemory;

const READ: usize = 0x00;
const READ_STATUS: usize = 0x18;
const WRITE: usize = 0x20;
/// The write FIFO has a status of its own (U-Boot and Circle; Linux looks at the other one).
const WRITE_STATUS: usize = 0x38;
const EMPTY: u32 = 1 << 30;
const FULL: u32 = 1 << 31;
const CHANNEL: u32 = 8;
/// The VideoCore's uncached view of the first GiB, which U-Boot and Circle pass.
const BUS_ALIAS: u32 = 0xc000_0000;
const TIMEOUT_NS: u64 = 100_000_000;

// SAFETY: device window of the Pi 4, mapped by boot's page tables. The firmware writes to the one
// message buffer whose address we pass, which `Mailbox` owns.
const MBOX: Mmio = unsafe { Mmio::new(map::MAILBOX, 0x40) };

/// The channel to the firmware.
pub struct Mailbox {
    buffer: DmaRegion,
}

impl Mailbox {
    /// Takes the message buffer; drops replies that an earlier stage left in the FIFO.
    pub fn new(buffer: DmaRegion) -> Self {
        for _ in 0..16 {
            if MBOX.read(READ_STATUS) & EMPTY != 0 {
                break;
            }
            MBOX.read(READ);
        }
        Mailbox { buffer }
    }

    /// Asks one tag with up to two words and returns up to two.
    pub fn ask(&mut self, tag: Tag, value: [u32; 2]) -> Result<[u32; 2], PropertyError> {
        self.exchange(property::request(tag, value, None))
    }

    /// Rate of a clock as set, Hz.
    pub fn clock_hz(&mut self, clock: Clock) -> Result<u32, PropertyError> {
        Ok(self.ask(Tag::ClockRate, [clock as u32, 0])?[1])
    }

    /// Rate of a clock as measured by the firmware, Hz.
    pub fn measured_clock_hz(&mut self, clock: Clock) -> Result<u32, PropertyError> {
        Ok(self.ask(Tag::MeasuredClockRate, [clock as u32, 0])?[1])
    }

    /// Sets a clock to its maximum; returns the rate it got, Hz.
    pub fn set_to_maximum(&mut self, clock: Clock) -> Result<u32, PropertyError> {
        let maximum = self.ask(Tag::MaxClockRate, [clock as u32, 0])?[1];
        Ok(self.exchange(property::request(Tag::SetClockRate, [clock as u32, maximum], Some(0)))?[1])
    }

    fn exchange(&mut self, message: [u32; MESSAGE_WORDS + 1]) -> Result<[u32; 2], PropertyError> {
        let length = message.len() * 4;
        for (bytes, word) in self.buffer.bytes_mut(0..length).chunks_exact_mut(4).zip(message) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        self.buffer.clean(0..length);
        let address = self.buffer.bus_address() as u32 | BUS_ALIAS;
        self.wait_until(WRITE_STATUS, FULL)?;
        MBOX.write(WRITE, address | CHANNEL);
        let reply = loop {
            self.wait_until(READ_STATUS, EMPTY)?;
            let word = MBOX.read(READ);
            if word & 15 == CHANNEL {
                break word & !15;
            }
        };
        dmb(SY); // between the mailbox and whatever block is used next
        if reply != address {
            return Err(PropertyError::WrongReply(reply));
        }
        self.buffer.invalidate(0..length);
        let mut words = [0; MESSAGE_WORDS + 1];
        for (word, bytes) in words.iter_mut().zip(self.buffer.bytes(0..length).chunks_exact(4)) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        property::answer(&words)
    }

    fn wait_until(&self, status: usize, busy: u32) -> Result<(), PropertyError> {
        let deadline = counter::now_ns() + TIMEOUT_NS;
        while MBOX.read(status) & busy != 0 {
            if counter::now_ns() > deadline {
                return Err(PropertyError::Timeout);
            }
        }
        Ok(())
    }
}
