//! GIC-400 as a non-secure EL1 kernel sees it after the firmware's stub: all interrupts in
//! Group 1, priority mask open (armstub8.S; register names of the GICv2 architecture).

use super::map;
use super::mmio::Mmio;

const GICD_CTLR: usize = 0x000;
const GICD_TYPER: usize = 0x004;
const GICD_ISENABLER: usize = 0x100;
const GICD_ICENABLER: usize = 0x180;
const GICD_ICPENDR: usize = 0x280;
const GICD_ICACTIVER: usize = 0x380;
const GICD_IPRIORITYR: usize = 0x400;
const GICD_ITARGETSR: usize = 0x800;
const GICD_ICFGR: usize = 0xc00;
const GICC_CTLR: usize = 0x00;
const GICC_PMR: usize = 0x04;
const GICC_IAR: usize = 0x0c;
const GICC_EOIR: usize = 0x10;

/// Priority of every interrupt: they do not nest.
const PRIORITY: u32 = 0xa0a0_a0a0;
/// Interrupt IDs from here on are special; 1023 means "nothing pending".
const FIRST_SPECIAL: u32 = 1020;

// SAFETY: both are device windows of the Pi 4, mapped by boot's page tables; interrupt state only.
const GICD: Mmio = unsafe { Mmio::new(map::GICD, 0x1000) };
// SAFETY: as above.
const GICC: Mmio = unsafe { Mmio::new(map::GICC, 0x2000) };

/// Brings distributor and CPU interface to a known state whatever an earlier stage left: every
/// interrupt off, not pending, not active, one priority, level-sensitive, shared ones to core 0.
/// Returns the number of interrupt IDs, or `None` if no GIC answers (all zero).
pub fn init() -> Option<u32> {
    let typer = GICD.probe(GICD_TYPER)?;
    let lines = ((typer & 31) + 1) * 32;
    GICD.write(GICD_CTLR, 0);
    for word in 0..lines as usize / 32 {
        GICD.write(GICD_ICENABLER + word * 4, !0);
        GICD.write(GICD_ICPENDR + word * 4, !0);
        GICD.write(GICD_ICACTIVER + word * 4, !0);
    }
    for word in 0..lines as usize / 4 {
        GICD.write(GICD_IPRIORITYR + word * 4, PRIORITY);
        if word >= 8 {
            GICD.write(GICD_ITARGETSR + word * 4, 0x0101_0101);
        }
    }
    for word in 2..lines as usize / 16 {
        GICD.write(GICD_ICFGR + word * 4, 0);
    }
    GICD.write(GICD_CTLR, 1);
    GICC.write(GICC_PMR, 0xf0);
    GICC.write(GICC_CTLR, GICC.read(GICC_CTLR) | 1); // the bypass-disable bits stay as the stub set them
    (typer != 0).then_some(lines)
}

/// Lets interrupt `intid` through.
pub fn enable(intid: u32) {
    GICD.write(GICD_ISENABLER + intid as usize / 32 * 4, 1 << (intid % 32));
}

/// Blocks interrupt `intid`.
pub fn disable(intid: u32) {
    GICD.write(GICD_ICENABLER + intid as usize / 32 * 4, 1 << (intid % 32));
}

/// Takes the highest pending interrupt: the word to give back to [`complete`], or `None` for a
/// spurious one. The interrupt ID is in bits 9:0.
#[inline]
pub fn acknowledge() -> Option<u32> {
    let iar = GICC.read(GICC_IAR);
    (iar & 0x3ff < FIRST_SPECIAL).then_some(iar)
}

/// Ends the interrupt. The device must have seen its own acknowledgement before (DSB): a level
/// that is still high comes again.
#[inline]
pub fn complete(iar: u32) {
    GICC.write(GICC_EOIR, iar);
}
