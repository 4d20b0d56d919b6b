//! The distributor's registers.
//!
//! Facts: Arm GICv2 architecture specification, chapter 4.3.

use super::{Bank, CORES, DEVICE, Gic, PRIORITY_MASK, bits};
use crate::access::blame;
use crate::env::Finding;

/// PIDR4..7, PIDR0..3, CIDR0..3 of GIC-400.
const IDENTIFICATION: [u32; 12] = [0x04, 0, 0, 0, 0x90, 0xB4, 0x2B, 0, 0x0D, 0xF0, 0x05, 0xB1];

impl Gic {
    fn bank(&mut self, core: usize, index: usize) -> &mut Bank {
        match index {
            0 => &mut self.cores[core].private,
            _ => &mut self.shared[index - 1],
        }
    }

    /// A read in the 4 KiB of the distributor by `core`.
    pub fn read_distributor(
        &mut self,
        now: u64,
        core: usize,
        offset: u32,
        size: u8,
        findings: &mut Vec<Finding>,
    ) -> u32 {
        if core >= CORES {
            return 0;
        }
        check_width(now, "read", offset, size, findings);
        let index = (offset as usize & 0x7F) / 4;
        let word = offset & !3;
        match word {
            0x000 => self.control,
            0x004 => 0xFC67, // 31 lockable SPIs, security extensions, four cores, 256 interrupts
            0x008 => 0x0200_143B,
            0x080..=0x09C => 0, // groups: not shown to non-secure software
            0x100..=0x11C | 0x180..=0x19C => self.bank(core, index).enabled,
            0x200..=0x21C | 0x280..=0x29C => self.bank(core, index).pending(),
            0x300..=0x31C | 0x380..=0x39C => self.bank(core, index).active,
            0x400..=0x4FC => {
                let first = word as usize - 0x400;
                bytes(size, offset, |lane| self.bank(core, first / 32).priority[first % 32 + lane])
            }
            0x800..=0x81C => bytes(size, offset, |_| 1 << core),
            0x820..=0x8FC => {
                let first = word as usize - 0x800;
                bytes(size, offset, |lane| self.bank(core, first / 32).targets[first % 32 + lane])
            }
            0xC00..=0xC3C => {
                let first = (word as usize - 0xC00) * 4;
                let edge = self.bank(core, first / 32).edge >> (first % 32);
                (0..16).fold(0, |acc, bit| acc | (edge >> bit & 1) << (2 * bit + 1))
            }
            0xD00 => self.cores[core].private.level >> 16,
            0xD04..=0xD1C => self.shared[(word as usize - 0xD04) / 4].level,
            0xF10..=0xF2C => {
                let first = (word as usize & 0xC) as u8 as usize;
                bytes(size, offset, |lane| self.cores[core].sgi_sources[first + lane])
            }
            0xFD0..=0xFFC => IDENTIFICATION[(word as usize - 0xFD0) / 4],
            _ => {
                blame(DEVICE, now, findings, format!("GICD read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write in the 4 KiB of the distributor by `core`.
    pub fn write_distributor(
        &mut self,
        now: u64,
        core: usize,
        offset: u32,
        size: u8,
        value: u32,
        findings: &mut Vec<Finding>,
    ) {
        if core >= CORES {
            return;
        }
        check_width(now, "write", offset, size, findings);
        let index = (offset as usize & 0x7F) / 4;
        let word = offset & !3;
        // Only the bytes of this access; a byte store to a byte-wide field touches one interrupt.
        let lanes = if size == 1 { offset as usize % 4..offset as usize % 4 + 1 } else { 0..4 };
        let byte = |lane: usize| (if size == 1 { value } else { value >> (8 * lane) }) as u8;
        match word {
            0x000 => self.control = value & 1,
            0x080..=0x09C => {}
            0x100..=0x11C => self.bank(core, index).enabled |= value,
            0x180..=0x19C => {
                let keep = if index == 0 { 0xFFFF } else { 0 };
                self.bank(core, index).enabled &= !value | keep;
            }
            0x200..=0x21C => self.bank(core, index).latch |= if index == 0 { value & 0xFFFF_0000 } else { value },
            0x280..=0x29C => self.bank(core, index).latch &= if index == 0 { !value | 0xFFFF } else { !value },
            0x300..=0x31C => self.bank(core, index).active |= value,
            0x380..=0x39C => self.bank(core, index).active &= !value,
            0x400..=0x4FC => {
                let first = word as usize - 0x400;
                for lane in lanes {
                    self.bank(core, first / 32).priority[first % 32 + lane] = byte(lane) & PRIORITY_MASK;
                }
            }
            0x800..=0x81C => {} // read-only
            0x820..=0x8FC => {
                let first = word as usize - 0x800;
                for lane in lanes {
                    self.bank(core, first / 32).targets[first % 32 + lane] = byte(lane) & 0xF;
                }
            }
            0xC00..=0xC3C => self.configure(core, (word as usize - 0xC00) * 4, value),
            0xF00 => self.software_interrupt(now, core, value, findings),
            0xF10..=0xF2C => {
                let first = (word & 0xC) as usize;
                for lane in lanes {
                    self.set_sgi_sources(core, first + lane, byte(lane), word >= 0xF20);
                }
            }
            _ => blame(DEVICE, now, findings, format!("GICD write to unknown offset {offset:#x} = {value:#x}")),
        }
        self.update_all(now, findings);
    }

    fn configure(&mut self, core: usize, first: usize, value: u32) {
        if first < 16 {
            return; // SGIs are edge-triggered for good
        }
        let bank = self.bank(core, first / 32);
        for bit in 0..16 {
            let mask = 1 << (first % 32 + bit);
            let edge = value >> (2 * bit + 1) & 1 != 0;
            bank.edge = if edge { bank.edge | mask } else { bank.edge & !mask };
        }
    }

    fn software_interrupt(&mut self, now: u64, core: usize, value: u32, findings: &mut Vec<Finding>) {
        let listed = value >> 16 & 0xF;
        let targets = match value >> 24 & 3 {
            0 => listed,
            1 => 0xF & !(1 << core),
            2 => 1 << core,
            _ => return blame(DEVICE, now, findings, format!("GICD_SGIR {value:#x}: reserved target filter")),
        };
        for target in bits(targets) {
            self.set_sgi_sources(target as usize, value as usize & 0xF, 1 << core, true);
        }
    }

    fn set_sgi_sources(&mut self, core: usize, sgi: usize, sources: u8, set: bool) {
        let interface = &mut self.cores[core];
        let pending = &mut interface.sgi_sources[sgi];
        *pending = if set { *pending | sources & 0xF } else { *pending & !sources };
        let mask = 1 << sgi;
        interface.private.latch =
            if *pending != 0 { interface.private.latch | mask } else { interface.private.latch & !mask };
    }
}

/// Assembles a read of a register with one byte an interrupt.
fn bytes(size: u8, offset: u32, mut lane_value: impl FnMut(usize) -> u8) -> u32 {
    match size {
        1 => u32::from(lane_value(offset as usize % 4)),
        _ => (0..4).fold(0, |acc, lane| acc | u32::from(lane_value(lane)) << (8 * lane)),
    }
}

/// Byte access is allowed where a byte belongs to one interrupt (GICv2 specification 4.1.4).
fn check_width(now: u64, what: &str, offset: u32, size: u8, findings: &mut Vec<Finding>) {
    let byte_wide = matches!(offset, 0x400..=0x4FF | 0x800..=0x8FF | 0xF10..=0xF2F);
    let allowed = (size == 4 && offset.is_multiple_of(4)) || (size == 1 && byte_wide);
    if !allowed {
        blame(DEVICE, now, findings, format!("GICD {what} of {size} bytes at {offset:#x}"));
    }
}
