//! Reset values, and what earlier boot stages leave behind.
//!
//! Values marked measured were read on a Pi 4B 1.5 by rusty-pi/pimu. A register whose reset value nobody has published
//! holds a value from the seed, unless that could decide how firmware behaves: then [`super::Found`] says.

use super::Inherited;
use super::mac::{Mac, PROD_INDEX, RING_SIZE, SLOTS, WORDS_A_SLOT, WRITE_PTR, ring_base};
use super::map::*;
use crate::rng::poison;

const RING_16: u32 = 1 << 16;
const CTRL_RING_16: u32 = 1 << 17;

impl Mac {
    /// The state at power-up, then the marks of the boot path.
    pub(crate) fn power_up(&mut self) {
        self.poison_all();
        for (offset, value) in [
            (SYS_REV_CTRL, self.cfg.revision),
            (SYS_PORT_CTRL, 0),
            // UniMAC held in reset until somebody uses the port (NetBSD and FreeBSD test for it).
            (SYS_RBUF_FLUSH_CTRL, 2),
            (SYS_TBUF_FLUSH_CTRL, 0),
            (EXT_PWR_MGMT, 0x051F_02C3),       // measured
            (EXT_RGMII_OOB_CTRL, 0x00F0_0000), // measured
            (EXT_GPHY_CTRL, 0),                // measured
            (RBUF_CTRL, self.cfg.found.rbuf_ctrl),
            (RBUF_PKT_RDY_THLD, 0x80), // register manual as quoted in raspberrypi/linux PR 5419
            (RBUF_CHK_CTRL, 0),
            (RBUF_OVFL_CNT, 0),
            (RBUF_ERR_CNT, 0),
            (RBUF_ENERGY_CTRL, 0),
            (TBUF_CTRL, 0),
            (TBUF_BP_MC, 0xFFFF), // measured
            (TBUF_ENERGY_CTRL, 0),
            (HFB_CTRL, 0),
            (HFB_ENABLE, 0),
            (HFB_ENABLE + 4, 0),
        ] {
            self.set(offset, value);
        }
        self.reset_intrl2();
        self.reset_umac();
        self.reset_dma();
        match self.cfg.inherited {
            Inherited::SdCard => self.leave_indices(false),
            Inherited::UBoot => self.leave_used(false),
            Inherited::NetworkBoot => self.leave_used(true),
        }
    }

    fn poison_all(&mut self) {
        let seed = self.cfg.seed;
        for offset in (0..0x1_0000).step_by(4) {
            let value = match register(offset) {
                Some(register) if register.access == Access::ReadWrite => {
                    // Undocumented bits stay 0: nobody could tell a wrong value from a right one.
                    poison(seed, u64::from(offset)) & register.fields
                }
                _ => 0,
            };
            self.set(offset, value);
        }
    }

    /// What the UniMAC reset does (SYS_RBUF_FLUSH_CTRL bit 1). MDIO keeps its state.
    pub(crate) fn reset_umac(&mut self) {
        for offset in (0x800..UMAC_END).step_by(4) {
            if matches!(offset, UMAC_MDIO_CMD | UMAC_MDIO_CFG) {
                continue;
            }
            let value = match offset {
                UMAC_HD_BKP_CTRL => 0x14,  // measured
                UMAC_TX_IPG_LEN => 0x3C00, // measured
                UMAC_EEE_CTRL => 0x40,     // measured
                UMAC_PAUSE_QUANTA => self.cfg.found.pause_quanta,
                UMAC_PAUSE_CTRL => self.cfg.found.pause_ctrl,
                UMAC_MAX_FRAME_LEN => 1518,
                0x868..0x880 | 0x840 | 0x848 | 0x84C => self.reg(offset),
                _ => 0,
            };
            self.set(offset, value);
        }
    }

    fn reset_dma(&mut self) {
        self.set(UMAC_MDIO_CMD, 0);
        self.set(UMAC_MDIO_CFG, 0x91); // measured
        for block in [RDMA, TDMA] {
            let global = block + DMA_GLOBAL;
            // RING_CFG, CTRL, MASK: nothing may run by chance.
            for offset in [0x00, 0x04, 0x14] {
                self.set(global + offset, 0);
            }
            for ring in 0..=16 {
                for register in [0x00, 0x04, 0x08, 0x0C, 0x2C, 0x30] {
                    self.set(ring_base(block, ring) + register, 0);
                }
            }
        }
        self.set(TDMA + DMA_GLOBAL + 0x2C, 0);
        self.set(RDMA + DMA_GLOBAL + 0x14, self.cfg.found.rdma_mask);
        for ring in 0..=16u32 {
            self.set(ring_base(RDMA, ring) + 0x24, self.cfg.found.threshold & 0x1FF);
            self.set(RDMA + DMA_GLOBAL + 0x2C + 4 * ring, self.cfg.found.timeout);
        }
        for index in 0..8 {
            self.set(RDMA + DMA_GLOBAL + 0x70 + 4 * index, 0);
        }
    }

    /// Sets ring 16's indices and pointers; with `used`, to values from the seed where none is configured.
    fn leave_indices(&mut self, used: bool) {
        let seed = self.cfg.seed;
        let seeded = |place| if used { (poison(seed, place) as u16) | 1 } else { 0 };
        let rx = self.cfg.found.rx_index.unwrap_or_else(|| seeded(0x1_0001));
        let tx = self.cfg.found.tx_index.unwrap_or_else(|| seeded(0x1_0002));
        let slot = self.cfg.found.rx_slot.unwrap_or(rx) % SLOTS as u16;
        for (block, index, slot) in [(RDMA, rx, slot), (TDMA, tx, tx % SLOTS as u16)] {
            let base = ring_base(block, 16);
            for register in [PROD_INDEX, PROD_INDEX + 4] {
                self.set(base + register, u32::from(index));
            }
            for register in [WRITE_PTR, 0x2C] {
                self.set(base + register, u32::from(slot) * WORDS_A_SLOT);
            }
        }
    }

    /// As U-Boot's driver programs the block; `running` as the network bootloader leaves it.
    fn leave_used(&mut self, running: bool) {
        self.leave_indices(true);
        let [a, b, c, d, e, f] = self.cfg.mac;
        for (offset, value) in [
            (SYS_PORT_CTRL, 3),
            (SYS_RBUF_FLUSH_CTRL, 0),
            (EXT_RGMII_OOB_CTRL, 0x00F1_0050),
            (RBUF_CTRL, self.cfg.found.rbuf_ctrl | 2),
            (UMAC_MAX_FRAME_LEN, 1536),
            (UMAC_MAC0, u32::from_be_bytes([a, b, c, d])),
            (UMAC_MAC1, u32::from_be_bytes([0, 0, e, f])),
            (UMAC_CMD, if running { 0xB } else { 0x8 }),
        ] {
            self.set(offset, value);
        }
        let enabled = CTRL_RING_16 | u32::from(running);
        for block in [RDMA, TDMA] {
            self.set(block + DMA_GLOBAL, RING_16);
            self.set(block + DMA_GLOBAL + 0x04, enabled);
            self.set(block + DMA_GLOBAL + 0x0C, 8);
            let base = ring_base(block, 16);
            for (register, value) in [(RING_SIZE, 0x0100_0800), (0x14, 0), (0x18, 0), (0x1C, 767), (0x20, 0)] {
                self.set(base + register, value);
            }
            self.set(base + 0x28, if block == RDMA { 0x0005_0010 } else { 0 });
        }
        for slot in 0..SLOTS {
            let address = self.cfg.found.stale_buffers_pa + u64::from(slot) * 2048;
            self.set(RDMA + slot * 12 + 4, address as u32);
            self.set(RDMA + slot * 12 + 8, (address >> 32) as u32);
        }
    }
}
