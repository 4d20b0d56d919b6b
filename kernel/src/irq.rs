//! Interrupts: who is asked when one arrives, and what a handler leaves for the main loop.

use crate::arch::{counter, interrupts};
use crate::board::{gic, map, mmio::Mmio, uart};
use aarch64_cpu::asm::barrier::{SY, dsb};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use genet::RxRing;

/// GENET's registers, for the driver and for the handler alike.
#[derive(Clone, Copy, Debug)]
pub struct GenetRegisters(Mmio);

impl GenetRegisters {
    /// The one block of the board.
    pub const fn new() -> Self {
        // SAFETY: device window of the Pi 4, mapped by boot's page tables. Its DMA engines reach
        // only memory whose address the driver gives them: the buffers of `mem::dma`.
        GenetRegisters(unsafe { Mmio::new(map::GENET, 0x1_0000) })
    }

    /// Reads a register that may not be there.
    pub fn probe(&self, offset: u32) -> Option<u32> {
        self.0.probe(offset as usize)
    }
}

impl Default for GenetRegisters {
    fn default() -> Self {
        Self::new()
    }
}

impl genet::Registers for GenetRegisters {
    #[inline(always)]
    fn read(&self, offset: u32) -> u32 {
        self.0.read(offset as usize)
    }

    #[inline(always)]
    fn write(&self, offset: u32, value: u32) {
        self.0.write(offset as usize, value)
    }
}

const GENET: GenetRegisters = GenetRegisters::new();

static RX_EVENT: AtomicBool = AtomicBool::new(false);
static RX_IRQ_NS: AtomicU64 = AtomicU64::new(0);
static RX_IRQS: AtomicU64 = AtomicU64::new(0);
static OTHER_IRQS: AtomicU64 = AtomicU64::new(0);
static SPURIOUS: AtomicU64 = AtomicU64::new(0);

/// Interrupts of GENET in a row, without the main loop in between, that one line may raise. Between two turns of the
/// loop the receive interrupt is masked and all others always are, so even a few are a fault; a pulse on the line may
/// cost some.
const STORM: u32 = 1_000;
/// Interrupts of lines 0 and 1 since the main loop's last turn.
static IN_A_ROW: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// Bit n: line n could not be silenced and is blocked at the GIC.
static BLOCKED: AtomicU32 = AtomicU32::new(0);
/// Bit n: received frames are announced on line n. Ring 16 has line 0, rings 0 to 15 have line 1.
static RX_LINE: AtomicU32 = AtomicU32::new(1);

/// Interrupt totals since reset.
#[derive(Clone, Copy, Debug, Default)]
pub struct IrqTotals {
    /// Receive interrupts of GENET.
    pub rx: u64,
    /// Other bits of GENET.
    pub genet_other: u64,
    /// Acknowledged with nothing pending, or from a source that nobody asked for.
    pub spurious: u64,
}

/// Totals so far.
pub fn totals() -> IrqTotals {
    IrqTotals {
        rx: RX_IRQS.load(Ordering::Relaxed),
        genet_other: OTHER_IRQS.load(Ordering::Relaxed),
        spurious: SPURIOUS.load(Ordering::Relaxed),
    }
}

/// True once after a receive interrupt, with the time of its handler's entry.
#[inline]
pub fn take_rx_event() -> Option<u64> {
    RX_EVENT.swap(false, Ordering::Acquire).then(|| RX_IRQ_NS.load(Ordering::Relaxed))
}

/// A receive interrupt came that the loop has not taken yet; its handler has masked it.
pub fn rx_event_waits() -> bool {
    RX_EVENT.load(Ordering::Acquire)
}

/// The main loop has made a turn.
#[inline]
pub fn turn() {
    IN_A_ROW[0].store(0, Ordering::Relaxed);
    IN_A_ROW[1].store(0, Ordering::Relaxed);
}

/// The lines of GENET that never fell and were blocked for it, bit n for line n.
#[inline]
pub fn blocked_lines() -> u32 {
    BLOCKED.load(Ordering::Relaxed)
}

/// Received frames cannot be announced any more: they must be looked for.
#[inline]
pub fn receive_is_blocked() -> bool {
    blocked_lines() & RX_LINE.load(Ordering::Relaxed) != 0
}

/// Frames are received through `ring` from now on.
pub fn receive_through(ring: RxRing) {
    let line = if ring == RxRing::Ring16 { 0 } else { 1 };
    RX_LINE.store(1 << line, Ordering::Relaxed);
}

/// Counts an interrupt of GENET; blocks a line that does not fall, or nothing but this handler would ever run.
fn note_line(intid: u32) {
    let line = (intid - map::INTID_GENET_0) as usize;
    if IN_A_ROW[line].fetch_add(1, Ordering::Relaxed) >= STORM {
        gic::disable(intid);
        BLOCKED.fetch_or(1 << line, Ordering::Relaxed);
        RX_EVENT.store(true, Ordering::Release); // the main loop may sleep and shall know
    }
}

/// Lets the board's interrupts through, GENET's only if `with_genet`.
pub fn enable(with_genet: bool) {
    gic::enable(map::INTID_TIMER);
    gic::enable(map::INTID_UART);
    if with_genet {
        gic::enable(map::INTID_GENET_0);
        gic::enable(map::INTID_GENET_1);
    }
    uart::enable_interrupts();
    interrupts::unmask();
}

/// Called by boot's vectors. One interrupt a call: if another is pending the core comes back, and
/// asking the GIC again would cost every receive interrupt a device read.
#[unsafe(no_mangle)]
extern "C" fn kernel_irq() {
    let entry_ns = counter::now_ns();
    let Some(iar) = gic::acknowledge() else {
        SPURIOUS.fetch_add(1, Ordering::Relaxed);
        return;
    };
    match iar & 0x3ff {
        map::INTID_GENET_0 | map::INTID_GENET_1 => {
            note_line(iar & 0x3ff);
            let pending = match iar & 0x3ff {
                map::INTID_GENET_0 => genet::acknowledge(&GENET),
                _ => genet::acknowledge_second(&GENET),
            };
            if pending.rx {
                RX_IRQ_NS.store(entry_ns, Ordering::Relaxed);
                RX_IRQS.fetch_add(1, Ordering::Relaxed);
                RX_EVENT.store(true, Ordering::Release);
            } else {
                OTHER_IRQS.fetch_add(1, Ordering::Relaxed);
            }
        }
        map::INTID_UART => uart::on_interrupt(),
        map::INTID_TIMER => counter::disarm_timer(),
        intid => {
            gic::disable(intid);
            SPURIOUS.fetch_add(1, Ordering::Relaxed);
        }
    }
    // The device must have seen its acknowledgement, or the level is still high at the GIC.
    dsb(SY);
    gic::complete(iar);
}
