//! PL011 UART0, 115200 8N1 (Arm PL011 TRM r1p5), with a transmit queue.
//!
//! Printing puts bytes in a queue of 64 KiB and returns; the transmit interrupt empties it. Only a
//! full queue makes a writer wait, and then nothing is lost. Before interrupts are on, and in a
//! fault report, bytes leave by polling.

use super::map;
use super::mmio::Mmio;
use super::watchdog;
use crate::arch::counter;
use crate::arch::interrupts::{self, IrqLock};
use crate::ctrl_c::{CtrlC, ETX};
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const DR: usize = 0x00;
const FR: usize = 0x18;
const IBRD: usize = 0x24;
const FBRD: usize = 0x28;
const LCRH: usize = 0x2c;
const CR: usize = 0x30;
const IFLS: usize = 0x34;
const IMSC: usize = 0x38;
const MIS: usize = 0x40;
const ICR: usize = 0x44;

const FR_BUSY: u32 = 1 << 3;
const FR_RXFE: u32 = 1 << 4;
const FR_TXFF: u32 = 1 << 5;
const DR_ERRORS: u32 = 0xf00;
const LCRH_8N1_FIFO: u32 = 3 << 5 | 1 << 4;
const CR_ON: u32 = 1 | 1 << 8 | 1 << 9;
/// Transmit interrupt at 1/8 full: 14 byte times (1.2 ms) to refill. Receive at 1/8.
const IFLS_EIGHTH: u32 = 0;
const INT_RX: u32 = 1 << 4;
const INT_TX: u32 = 1 << 5;
const INT_RX_TIMEOUT: u32 = 1 << 6;

/// Line rate of the console.
pub const BAUD: u32 = 115_200;
const TX_QUEUE_BYTES: usize = 64 << 10;
const RX_QUEUE_BYTES: usize = 1024;

// SAFETY: device window of the Pi 4, mapped by boot's page tables; no DMA.
const UART: Mmio = unsafe { Mmio::new(map::UART0, 0x200) };

/// A byte ring of fixed size.
struct Ring<const N: usize> {
    bytes: [u8; N],
    head: usize,
    len: usize,
}

impl<const N: usize> Ring<N> {
    const fn new() -> Self {
        Ring { bytes: [0; N], head: 0, len: 0 }
    }

    fn push(&mut self, byte: u8) -> bool {
        if self.len == N {
            return false;
        }
        self.bytes[(self.head + self.len) % N] = byte;
        self.len += 1;
        true
    }

    /// Where `byte` stands last, from the reader's end.
    fn last(&self, byte: u8) -> Option<usize> {
        (0..self.len).rev().find(|at| self.bytes[(self.head + at) % N] == byte)
    }

    fn pop(&mut self) -> Option<u8> {
        if self.len == 0 {
            return None;
        }
        let byte = self.bytes[self.head];
        self.head = (self.head + 1) % N;
        self.len -= 1;
        Some(byte)
    }
}

struct Queues {
    tx: Ring<TX_QUEUE_BYTES>,
    rx: Ring<RX_QUEUE_BYTES>,
    /// Input was lost, by a line error or a full queue, and the reader cannot see it yet.
    rx_hole: bool,
    ctrl_c: CtrlC,
}

static QUEUES: IrqLock<Queues> =
    IrqLock::new(Queues { tx: Ring::new(), rx: Ring::new(), rx_hole: false, ctrl_c: CtrlC::new() });

/// From when on a Ctrl-C counts, ns; `u64::MAX` without one.
static STOP_NS: AtomicU64 = AtomicU64::new(u64::MAX);

impl Queues {
    /// Takes an input byte. Where some were lost a NUL stands for them: a line with a hole must not pass for a
    /// command.
    fn take_input(&mut self, byte: Option<u8>) {
        self.rx_hole = self.rx_hole && !self.rx.push(0);
        self.rx_hole = match byte {
            Some(byte) if !self.rx_hole => !self.rx.push(byte),
            _ => true,
        };
    }
}

/// The transmit interrupt is in use. Before that the queue is emptied by polling.
static INTERRUPTS: AtomicBool = AtomicBool::new(false);

/// Set when input arrived or the last byte left: the main loop has a look.
static EVENT: AtomicBool = AtomicBool::new(false);

/// Divisors for `clock_hz`: whole part and 64ths, rounded to nearest.
pub const fn divisors(clock_hz: u32) -> (u32, u32) {
    let scaled = (clock_hz as u64 * 4 + BAUD as u64 / 2) / BAUD as u64;
    ((scaled >> 6) as u32, (scaled & 63) as u32)
}

/// Sets the line up; `clock_hz` is the UART's input clock. Waits for what an earlier stage is sending.
pub fn init(clock_hz: u32) {
    // Bounded: 32 bytes take 2.8 ms at most, and a UART without a clock is busy for ever.
    for _ in 0..20_000 {
        if UART.read(FR) & FR_BUSY == 0 {
            break;
        }
    }
    UART.write(CR, 0);
    UART.write(IMSC, 0);
    UART.write(ICR, 0x7ff);
    let (whole, fraction) = divisors(clock_hz);
    UART.write(IBRD, whole);
    UART.write(FBRD, fraction);
    UART.write(LCRH, LCRH_8N1_FIFO); // latches the divisors
    UART.write(IFLS, IFLS_EIGHTH);
    UART.write(CR, CR_ON);
}

/// From here on the transmit queue is emptied by interrupts and input is taken.
pub fn enable_interrupts() {
    INTERRUPTS.store(true, Ordering::Relaxed);
    QUEUES.with(|queues| {
        UART.write(IMSC, INT_RX | INT_RX_TIMEOUT);
        feed(queues);
    });
}

/// Fills the FIFO from the queue and keeps the transmit interrupt on while bytes remain. The PL011
/// raises it when the level falls through the mark, so the FIFO must have been filled first.
fn feed(queues: &mut Queues) {
    while queues.tx.len > 0 && UART.read(FR) & FR_TXFF == 0 {
        if let Some(byte) = queues.tx.pop() {
            UART.write(DR, byte as u32);
        }
    }
    if INTERRUPTS.load(Ordering::Relaxed) {
        let more = if queues.tx.len > 0 { INT_TX } else { 0 };
        UART.write(IMSC, INT_RX | INT_RX_TIMEOUT | more);
    }
}

/// Serves the UART's interrupt.
pub fn on_interrupt() {
    QUEUES.with(|queues| {
        let pending = UART.read(MIS);
        UART.write(ICR, pending);
        if pending & (INT_RX | INT_RX_TIMEOUT) != 0 {
            let now_ns = counter::now_ns();
            while UART.read(FR) & FR_RXFE == 0 {
                let word = UART.read(DR);
                let byte = (word & DR_ERRORS == 0).then_some(word as u8);
                queues.take_input(byte);
                STOP_NS.store(queues.ctrl_c.take(byte, now_ns), Ordering::Relaxed);
            }
            EVENT.store(true, Ordering::Release);
        }
        feed(queues);
        if queues.tx.len == 0 {
            EVENT.store(true, Ordering::Release);
        }
    });
}

/// True once after input arrived or the queue ran empty.
pub fn take_event() -> bool {
    EVENT.swap(false, Ordering::Acquire)
}

/// A command that can be ended begins: a Ctrl-C of before is none for it.
pub fn watch_for_stop() {
    QUEUES.with(|queues| {
        queues.ctrl_c.forget();
        STOP_NS.store(u64::MAX, Ordering::Relaxed);
    });
}

/// A Ctrl-C has come since [`watch_for_stop`]. A load and a comparison.
#[inline(always)]
pub fn stop_wanted(now_ns: u64) -> bool {
    now_ns >= STOP_NS.load(Ordering::Relaxed)
}

/// The earlier of `deadline_ns` and the time from when on a Ctrl-C will count; what counts already was seen.
#[inline]
pub fn before_stop(now_ns: u64, deadline_ns: u64) -> u64 {
    let stop_ns = STOP_NS.load(Ordering::Relaxed);
    if stop_ns > now_ns { deadline_ns.min(stop_ns) } else { deadline_ns }
}

/// The command has ended. True if a Ctrl-C came; then all input up to it is dropped, and what came after it waits for
/// the reader.
pub fn take_stop() -> bool {
    QUEUES.with(|queues| {
        let stopped = stop_wanted(counter::now_ns());
        queues.ctrl_c.forget();
        STOP_NS.store(u64::MAX, Ordering::Relaxed);
        if stopped {
            // Without one in it, the queue was full when it came.
            let drop = queues.rx.last(ETX).map_or(queues.rx.len, |at| at + 1);
            (0..drop).for_each(|_| _ = queues.rx.pop());
            queues.rx_hole &= queues.rx.len > 0;
        }
        stopped
    })
}

fn put(byte: u8) {
    let mut waited = false;
    loop {
        if QUEUES.with(|queues| queues.tx.push(byte)) {
            if waited {
                watchdog::feed(counter::now_ns()); // the line took a byte: long output is no standstill
            }
            return;
        }
        waited = true;
        // Full. With interrupts masked (or not yet in use) nobody else empties it.
        if interrupts::masked() || !INTERRUPTS.load(Ordering::Relaxed) {
            QUEUES.with(feed);
        } else {
            interrupts::wait();
        }
    }
}

/// Queues text. `\n` alone becomes `\r\n`.
pub fn write(text: &str) {
    let mut last = 0;
    for byte in text.bytes() {
        if byte == b'\n' && last != b'\r' {
            put(b'\r');
        }
        put(byte);
        last = byte;
    }
    QUEUES.with(feed);
}

/// Bytes that have not left yet: queued, or at least one while the UART is still sending.
pub fn pending() -> usize {
    QUEUES.with(|queues| {
        if !INTERRUPTS.load(Ordering::Relaxed) {
            feed(queues);
        }
        queues.tx.len + (UART.read(FR) & FR_BUSY != 0) as usize
    })
}

/// Waits until everything queued has left. For times when nothing else has to go on.
pub fn flush() {
    let mut left = usize::MAX;
    loop {
        let now_left = pending();
        if now_left == 0 {
            return;
        }
        if now_left < left {
            watchdog::feed(counter::now_ns());
        }
        left = now_left;
        if interrupts::masked() || !INTERRUPTS.load(Ordering::Relaxed) {
            QUEUES.with(feed);
            continue;
        }
        // Masked, or the transmit interrupt could empty the queue just before the core falls asleep.
        interrupts::mask();
        if QUEUES.with(|queues| queues.tx.len) > 0 {
            interrupts::wait();
        }
        interrupts::unmask();
    }
}

/// Next input byte.
pub fn read_byte() -> Option<u8> {
    QUEUES.with(|queues| queues.rx.pop())
}

/// The console as a text sink.
#[derive(Clone, Copy, Debug, Default)]
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write(text);
        Ok(())
    }
}

/// The console for a fault report: what is queued goes out first, then each byte by polling, no
/// matter who holds the queue.
pub struct FaultConsole;

impl FaultConsole {
    /// Takes the UART over and sends what is queued.
    ///
    /// # Safety
    /// The interrupted program must never go on and no other core may use the console.
    pub unsafe fn seize() -> Self {
        UART.write(IMSC, 0);
        // SAFETY: handed on from the caller.
        unsafe {
            QUEUES.seize(|queues| {
                while let Some(byte) = queues.tx.pop() {
                    Self::send(byte);
                }
            });
        }
        FaultConsole
    }

    fn send(byte: u8) {
        while UART.read(FR) & FR_TXFF != 0 {}
        UART.write(DR, byte as u32);
    }
}

impl fmt::Write for FaultConsole {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                Self::send(b'\r');
            }
            Self::send(byte);
        }
        Ok(())
    }
}
