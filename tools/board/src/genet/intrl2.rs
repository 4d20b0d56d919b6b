//! The two interrupt controllers: a status latch and a mask that know nothing of each other.
//!
//! A bit latches masked or not; the line is the OR of latched, unmasked bits (Linux, NetBSD, FreeBSD, Circle). The
//! PCI copy of the registers latches the same events and drives nothing here.

use super::mac::Mac;
use super::map::{INTRL2_0, INTRL2_1};

/// INTRL2_0 bits.
pub(crate) mod bit {
    pub(crate) const SCB: u32 = 1 << 0;
    pub(crate) const LINK_UP: u32 = 1 << 4;
    pub(crate) const LINK_DOWN: u32 = 1 << 5;
    pub(crate) const RBUF_OVERFLOW: u32 = 1 << 9;
    pub(crate) const HFB_SM: u32 = 1 << 10;
    pub(crate) const RXDMA_MBDONE: u32 = 1 << 13;
    pub(crate) const RXDMA_PDONE: u32 = 1 << 14;
    pub(crate) const RXDMA_BDONE: u32 = 1 << 15;
    pub(crate) const TXDMA_MBDONE: u32 = 1 << 16;
    pub(crate) const TXDMA_PDONE: u32 = 1 << 17;
    pub(crate) const TXDMA_BDONE: u32 = 1 << 18;
    pub(crate) const MDIO_DONE: u32 = 1 << 23;
    pub(crate) const MDIO_ERROR: u32 = 1 << 24;
}

const STAT: u32 = 0x00;
const SET: u32 = 0x04;
const CLEAR: u32 = 0x08;
const MASK_STATUS: u32 = 0x0C;
const MASK_SET: u32 = 0x10;
const MASK_CLEAR: u32 = 0x14;
const PCI: u32 = 0x18;

impl Mac {
    /// Latches bits in INTRL2_0.
    pub(crate) fn raise_0(&mut self, bits: u32) {
        self.raise(INTRL2_0, bits);
    }

    /// Latches bits in INTRL2_1.
    pub(crate) fn raise_1(&mut self, bits: u32) {
        self.raise(INTRL2_1, bits);
    }

    fn raise(&mut self, block: u32, bits: u32) {
        for copy in [block, block + PCI] {
            self.set(copy + STAT, self.reg(copy + STAT) | bits);
        }
    }

    /// All masked, nothing latched.
    pub(crate) fn reset_intrl2(&mut self) {
        for block in [INTRL2_0, INTRL2_0 + PCI, INTRL2_1, INTRL2_1 + PCI] {
            self.set(block + STAT, 0);
            self.set(block + MASK_STATUS, !0);
        }
    }

    /// Level of the line of `block` (0 or 1).
    pub(crate) fn line(&self, block: usize) -> bool {
        let base = if block == 0 { INTRL2_0 } else { INTRL2_1 };
        self.reg(base + STAT) & !self.reg(base + MASK_STATUS) != 0
    }

    /// A write to SET, CLEAR, MASK_SET or MASK_CLEAR.
    pub(crate) fn write_intrl2(&mut self, offset: u32, value: u32) {
        let block = offset & !0x3F;
        let within = offset & 0x3F;
        let copy = if within >= PCI { block + PCI } else { block };
        let (target, result) = match within % PCI {
            SET => (STAT, self.reg(copy + STAT) | value),
            CLEAR => (STAT, self.reg(copy + STAT) & !value),
            MASK_SET => (MASK_STATUS, self.reg(copy + MASK_STATUS) | value),
            MASK_CLEAR => (MASK_STATUS, self.reg(copy + MASK_STATUS) & !value),
            _ => return,
        };
        self.set(copy + target, result);
        if within == CLEAR {
            self.rings_cleared(block, value);
        }
    }

    fn rings_cleared(&mut self, block: u32, value: u32) {
        if block == INTRL2_0 && value & bit::RXDMA_MBDONE != 0 {
            self.coalesce_cleared(16);
        }
        if block == INTRL2_1 {
            for ring in 0..16 {
                if value & (1 << (16 + ring)) != 0 {
                    self.coalesce_cleared(ring);
                }
            }
        }
    }
}
