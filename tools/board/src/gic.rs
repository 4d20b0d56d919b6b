//! GIC-400 (GICv2): distributor and four CPU interfaces, as software in the non-secure world sees them.
//!
//! Owns interrupt state from the input lines to the IRQ output of each core. The firmware's stub has put every
//! interrupt in Group 1, opened the priority masks and left both groups enabled (raspberrypi/tools armstub8.S), so this
//! model is the non-secure view from the start: 16 priority levels, group registers read as zero.
//! Facts: Arm GICv2 architecture specification, GIC-400 TRM, Linux bcm2711 device tree. Does not model the secure view,
//! virtualisation (GICH, GICV) and FIQ, which no kernel can reach on the stock stub.

use crate::access::blame;
use crate::env::Finding;

/// Cores with a CPU interface.
pub const CORES: usize = 4;
/// INTIDs: 32 private and 224 shared (GICD_TYPER.ITLinesNumber = 7).
pub const INTERRUPTS: u32 = 256;
/// What IAR returns when nothing is pending.
pub const SPURIOUS: u32 = 1023;

mod distributor;

const DEVICE: &str = "gic";
const BANKS: usize = 7;
/// Non-secure software sees four priority bits.
const PRIORITY_MASK: u8 = 0xF0;
/// Smallest binary point of the non-secure copy on GIC-400.
const BPR_MIN: u32 = 3;

/// State of 32 interrupts, a bit each.
#[derive(Clone, Debug)]
struct Bank {
    enabled: u32,
    level: u32,
    /// Edge seen, or set pending by software.
    latch: u32,
    active: u32,
    /// Edge-triggered.
    edge: u32,
    priority: [u8; 32],
    targets: [u8; 32],
}

impl Bank {
    const NEW: Bank = Bank { enabled: 0, level: 0, latch: 0, active: 0, edge: 0, priority: [0; 32], targets: [0; 32] };

    fn pending(&self) -> u32 {
        (self.level & !self.edge) | self.latch
    }

    fn set_line(&mut self, bit: u32, level: bool) -> bool {
        let mask = 1 << bit;
        let before = self.level & mask != 0;
        if before == level {
            return false;
        }
        self.level ^= mask;
        if level && self.edge & mask != 0 {
            self.latch |= mask;
        }
        true
    }
}

/// One core's interface and its private interrupts.
#[derive(Clone, Debug)]
struct Interface {
    private: Bank,
    /// For each SGI the cores that raised it.
    sgi_sources: [u8; 16],
    control: u32,
    mask: u8,
    binary_point: u32,
    /// Acknowledged, priority not dropped yet: IAR value and priority.
    running: Vec<(u32, u8)>,
    /// Best candidate, cached: INTID and priority.
    best: Option<(u32, u8)>,
    irq: bool,
}

impl Interface {
    fn new() -> Self {
        let mut private = Bank::NEW;
        private.enabled = 0xFFFF; // SGIs are always enabled on GIC-400
        private.edge = 0xFFFF;
        Interface {
            private,
            sgi_sources: [0; 16],
            control: 0x1E7 & 0x261, // the stub's value through the non-secure view
            mask: PRIORITY_MASK,
            binary_point: BPR_MIN,
            running: Vec::new(),
            best: None,
            irq: false,
        }
    }

    fn running_priority(&self) -> u8 {
        self.running.iter().map(|entry| entry.1).min().unwrap_or(0xFF)
    }

    fn group(&self, priority: u8) -> u8 {
        priority & ((0xFF_u32 << self.binary_point) as u8)
    }
}

/// The whole interrupt controller.
#[derive(Clone, Debug)]
pub struct Gic {
    control: u32,
    shared: [Bank; BANKS],
    cores: [Interface; CORES],
    /// Interrupts already reported for having no target.
    untargeted: [u32; BANKS],
}

impl Default for Gic {
    fn default() -> Self {
        Gic::new()
    }
}

impl Gic {
    /// State after the firmware's stub.
    pub fn new() -> Self {
        Gic {
            control: 0, // core 0 skips the stub's GICD_CTLR write; cores 1..3 do it, see `stub_secondaries_ran`
            shared: [Bank::NEW; BANKS],
            cores: std::array::from_fn(|_| Interface::new()),
            untargeted: [0; BANKS],
        }
    }

    /// Cores 1 to 3 enabled the distributor on their way through the stub.
    pub fn stub_secondaries_ran(&mut self) {
        self.control = 1;
    }

    /// The IRQ output of `core`.
    pub fn irq(&self, core: usize) -> bool {
        self.cores.get(core).is_some_and(|interface| interface.irq)
    }

    /// Drives the input line of a shared interrupt (INTID 32 and up).
    pub fn set_spi(&mut self, now: u64, intid: u32, level: bool, findings: &mut Vec<Finding>) {
        let Some(bank) = (intid as usize / 32).checked_sub(1).filter(|bank| *bank < BANKS) else { return };
        if self.shared[bank].set_line(intid % 32, level) {
            self.update_all(now, findings);
        }
    }

    /// Drives a private peripheral interrupt (INTID 16..31) of `core`.
    pub fn set_ppi(&mut self, core: usize, intid: u32, level: bool) {
        if core < CORES && (16..32).contains(&intid) && self.cores[core].private.set_line(intid, level) {
            self.update(core);
        }
    }

    /// True when the input line of a shared interrupt is high.
    pub fn spi_level(&self, intid: u32) -> bool {
        (intid as usize / 32)
            .checked_sub(1)
            .and_then(|bank| self.shared.get(bank))
            .is_some_and(|bank| bank.level & (1 << (intid % 32)) != 0)
    }

    // ---- choosing ----

    fn update_all(&mut self, now: u64, findings: &mut Vec<Finding>) {
        self.report_untargeted(now, findings);
        for core in 0..CORES {
            self.update(core);
        }
    }

    /// Recomputes a core's best candidate and output.
    fn update(&mut self, core: usize) {
        let interface = &self.cores[core];
        let mut best: Option<(u32, u8)> = None;
        let mut consider = |intid: u32, priority: u8| {
            if best.is_none_or(|(_, known)| priority < known) {
                best = Some((intid, priority));
            }
        };
        let private = &interface.private;
        for bit in bits(private.pending() & private.enabled & !private.active) {
            consider(bit, private.priority[bit as usize]);
        }
        for (index, bank) in self.shared.iter().enumerate() {
            for bit in bits(bank.pending() & bank.enabled & !bank.active) {
                if bank.targets[bit as usize] & (1 << core) != 0 {
                    consider(index as u32 * 32 + 32 + bit, bank.priority[bit as usize]);
                }
            }
        }
        let passes = best.is_some_and(|(_, priority)| {
            priority < interface.mask && interface.group(priority) < interface.group(interface.running_priority())
        });
        let interface = &mut self.cores[core];
        interface.best = best;
        interface.irq = passes && interface.control & 1 != 0 && self.control & 1 != 0;
    }

    fn report_untargeted(&mut self, now: u64, findings: &mut Vec<Finding>) {
        for (index, bank) in self.shared.iter().enumerate() {
            for bit in bits(bank.pending() & bank.enabled & !self.untargeted[index]) {
                if bank.targets[bit as usize] == 0 {
                    self.untargeted[index] |= 1 << bit;
                    let intid = index as u32 * 32 + 32 + bit;
                    blame(
                        DEVICE,
                        now,
                        findings,
                        format!("INTID {intid} is enabled and pending but has no target core"),
                    );
                }
            }
        }
    }

    // ---- CPU interface ----

    /// A read in the 8 KiB of the CPU interface by `core`.
    pub fn read_interface(&mut self, now: u64, core: usize, offset: u32, size: u8, findings: &mut Vec<Finding>) -> u32 {
        if core >= CORES {
            return 0;
        }
        if size != 4 || !offset.is_multiple_of(4) {
            blame(DEVICE, now, findings, format!("GICC read of {size} bytes at {offset:#x}"));
        }
        match offset & !3 {
            0x00 => self.cores[core].control,
            0x04 => u32::from(self.cores[core].mask),
            0x08 => self.cores[core].binary_point,
            0x0C => self.acknowledge(now, core, findings),
            0x14 => u32::from(self.cores[core].running_priority()),
            0x18 => self.highest_pending(core),
            0x1C | 0x20 | 0x28 | 0xD0..=0xDC | 0xE0..=0xEC => 0, // secure copies and aliases: read as zero
            0xFC => 0x0202_143B,
            _ => {
                blame(DEVICE, now, findings, format!("GICC read of unknown offset {offset:#x}"));
                0
            }
        }
    }

    /// A write in the 8 KiB of the CPU interface by `core`.
    pub fn write_interface(
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
        if size != 4 || !offset.is_multiple_of(4) {
            blame(DEVICE, now, findings, format!("GICC write of {size} bytes at {offset:#x}"));
        }
        let interface = &mut self.cores[core];
        match offset & !3 {
            0x00 => interface.control = value & 0x261,
            0x04 => interface.mask = value as u8 & PRIORITY_MASK,
            0x08 => interface.binary_point = (value & 7).max(BPR_MIN),
            0x10 => return self.end_of_interrupt(now, core, value, findings),
            0x1C | 0x24 => blame(DEVICE, now, findings, format!("GICC write to secure-only offset {offset:#x}")),
            0xD0..=0xDC | 0xE0..=0xEC => {} // active priorities: nobody restores them here
            0x1000 => {
                if interface.control & 0x200 == 0 {
                    blame(DEVICE, now, findings, "GICC_DIR written with EOImode 0".into());
                }
                self.deactivate(core, value & 0x3FF);
            }
            _ => blame(DEVICE, now, findings, format!("GICC write to unknown offset {offset:#x} = {value:#x}")),
        }
        self.update(core);
    }

    fn highest_pending(&self, core: usize) -> u32 {
        match self.cores[core].best {
            Some((intid, _)) if self.control & 1 != 0 => self.with_source(core, intid),
            _ => SPURIOUS,
        }
    }

    /// IAR layout: INTID, and for an SGI the lowest core that raised it.
    fn with_source(&self, core: usize, intid: u32) -> u32 {
        match self.cores[core].sgi_sources.get(intid as usize) {
            Some(sources) => intid | (sources.trailing_zeros() & 7) << 10,
            None => intid,
        }
    }

    fn acknowledge(&mut self, now: u64, core: usize, findings: &mut Vec<Finding>) -> u32 {
        let Some((intid, priority)) = self.cores[core].best.filter(|_| self.cores[core].irq) else { return SPURIOUS };
        let value = self.with_source(core, intid);
        if intid < 32 {
            let interface = &mut self.cores[core];
            interface.private.active |= 1 << intid;
            match interface.sgi_sources.get_mut(intid as usize) {
                Some(sources) => {
                    *sources &= sources.wrapping_sub(1);
                    if *sources == 0 {
                        interface.private.latch &= !(1 << intid);
                    }
                }
                None => interface.private.latch &= !(1 << intid),
            }
        } else {
            let bank = &mut self.shared[intid as usize / 32 - 1];
            bank.active |= 1 << (intid % 32);
            bank.latch &= !(1 << (intid % 32));
        }
        self.cores[core].running.push((value, priority));
        self.update_all(now, findings);
        value
    }

    fn end_of_interrupt(&mut self, now: u64, core: usize, value: u32, findings: &mut Vec<Finding>) {
        let value = value & 0x1FFF;
        if value & 0x3FF >= 1020 {
            return; // the architecture ignores it
        }
        let interface = &mut self.cores[core];
        let Some(index) = interface.running.iter().rposition(|entry| entry.0 == value) else {
            return blame(
                DEVICE,
                now,
                findings,
                format!("EOIR {value:#x}: that interrupt was not acknowledged by core {core}"),
            );
        };
        if index + 1 != interface.running.len() {
            blame(DEVICE, now, findings, format!("EOIR {value:#x} out of order"));
        }
        interface.running.remove(index);
        if interface.control & 0x200 == 0 {
            self.deactivate(core, value & 0x3FF);
        }
        self.update_all(now, findings);
    }

    fn deactivate(&mut self, core: usize, intid: u32) {
        match intid {
            0..32 => self.cores[core].private.active &= !(1 << intid),
            _ => {
                if let Some(bank) = self.shared.get_mut(intid as usize / 32 - 1) {
                    bank.active &= !(1 << (intid % 32));
                }
            }
        }
    }
}

fn bits(mut word: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros();
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests;
