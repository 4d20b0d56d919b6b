//! Broadcom's registers 0x10 to 0x1F: shadows behind 0x18 and 0x1C, expansion behind 0x17/0x15, RDB behind 0x1E/0x1F.
//!
//! Layout from Linux brcmphy.h and the BSDs' brgphyreg.h. Values nobody has published start as 0.

/// Shadow 7 of 0x18 after reset: under Linux with rgmii-rxid it reads 0x71E7, and drivers that never touch it link.
const MISC_RESET: u16 = 0x01E0;
/// RXC skew enable in shadow 7 of 0x18 (Linux, U-Boot; the measured 0x71E7 agrees).
const MISC_RXC_SKEW: u16 = 1 << 8;
/// Shadow 3 of 0x1C, GTXCLK delay enable. On after reset by inference: U-Boot and Circle turn the MAC's delay off,
/// leave this alone, and work (certainty C).
const CLOCK_GTXCLK_DELAY: u16 = 1 << 9;
/// Interface mode in shadow 0x1F of 0x1C: 2:1 = 1 is RGMII.
const MODE_RGMII: u16 = 0x0002;

const INTERRUPT_LINK: u16 = 1 << 1;

#[derive(Clone, Debug)]
pub(super) struct Vendor {
    ecr: u16,
    interrupt_status: u16,
    interrupt_mask: u16,
    pub(super) receive_errors: u16,
    expansion_select: u16,
    aux_select: u16,
    aux: [u16; 8],
    shadow_select: u16,
    shadow: [u16; 32],
    rdb_select: u16,
    /// Expansion and RDB registers written so far: few, so a list.
    extended: Vec<(u32, u16)>,
}

impl Default for Vendor {
    fn default() -> Self {
        let mut vendor = Vendor {
            ecr: 0,
            interrupt_status: 0,
            interrupt_mask: 0xFFFF,
            receive_errors: 0,
            expansion_select: 0,
            aux_select: 0,
            aux: [0; 8],
            shadow_select: 0,
            shadow: [0; 32],
            rdb_select: 0,
            extended: Vec::new(),
        };
        vendor.aux[7] = MISC_RESET;
        vendor.shadow[0x03] = CLOCK_GTXCLK_DELAY;
        vendor.shadow[0x1F] = MODE_RGMII;
        vendor
    }
}

impl Vendor {
    pub(super) fn delays(&self) -> (bool, bool) {
        (self.aux[7] & MISC_RXC_SKEW != 0, self.shadow[3] & CLOCK_GTXCLK_DELAY != 0)
    }

    pub(super) fn note_link_change(&mut self) {
        self.interrupt_status |= INTERRUPT_LINK;
    }

    pub(super) fn read(&mut self, register: u8) -> u16 {
        match register {
            0x10 => self.ecr,
            0x11 => u16::from(self.interrupt_status & !self.interrupt_mask != 0) << 12,
            0x12 => std::mem::take(&mut self.receive_errors),
            0x15 => self.extended(u32::from(self.expansion_select)),
            0x17 => self.expansion_select,
            0x18 => match self.aux_select {
                7 => 0x7000 | self.aux[7] & 0x0FF8 | 7,
                other => self.aux[usize::from(other)] & 0xFFF8 | other,
            },
            0x1A => std::mem::take(&mut self.interrupt_status),
            0x1B => self.interrupt_mask,
            0x1C => self.shadow_select << 10 | self.shadow[usize::from(self.shadow_select)],
            0x1E => self.rdb_select,
            0x1F => self.extended(0x1_0000 | u32::from(self.rdb_select)),
            _ => 0,
        }
    }

    pub(super) fn write(&mut self, register: u8, value: u16) -> bool {
        match register {
            0x10 => self.ecr = value,
            0x15 => self.set_extended(u32::from(self.expansion_select), value),
            0x17 => self.expansion_select = value,
            0x18 => self.write_aux(value),
            0x1B => self.interrupt_mask = value,
            0x1C => {
                self.shadow_select = value >> 10 & 0x1F;
                if value & 0x8000 != 0 {
                    self.shadow[usize::from(self.shadow_select)] = value & 0x3FF;
                }
            }
            0x1E => self.rdb_select = value,
            0x1F => self.set_extended(0x1_0000 | u32::from(self.rdb_select), value),
            _ => return false,
        }
        true
    }

    /// Bits 2:0 select the shadow. Shadow 7 doubles as the read selector (14:12) unless bit 15 says write.
    fn write_aux(&mut self, value: u16) {
        match value & 7 {
            7 if value & 0x8000 == 0 => self.aux_select = value >> 12 & 7,
            7 => {
                self.aux[7] = value & 0x0FF8;
                self.aux_select = 7;
            }
            other => {
                self.aux[usize::from(other)] = value & 0xFFF8;
                self.aux_select = other;
            }
        }
    }

    fn extended(&self, place: u32) -> u16 {
        self.extended.iter().find(|(at, _)| *at == place).map_or(0, |(_, value)| *value)
    }

    fn set_extended(&mut self, place: u32, value: u16) {
        match self.extended.iter_mut().find(|(at, _)| *at == place) {
            Some(entry) => entry.1 = value,
            None => self.extended.push((place, value)),
        }
    }
}
