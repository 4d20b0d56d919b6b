//! The register map: which offsets exist, what they are called, who may write which bits.
//!
//! Written from the public description of GENET v5; offsets from Linux bcmgenet.h, NetBSD bcmgenetreg.h and, for
//! registers that no current driver touches, Broadcom's older set-top header. An offset that is not here is unknown
//! to everybody who published anything, and an access to it is a finding.

/// What an access may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Writes are a finding and have no effect.
    ReadOnly,
    /// Reads as 0; reading is a finding.
    WriteOnly,
    /// Plain.
    ReadWrite,
    /// Read-only but for a write of 0, which clears.
    ClearByZero,
}

/// One register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// The manual's name, with the block in front.
    pub name: &'static str,
    /// Who may do what.
    pub access: Access,
    /// Bits that some source names. Others are kept and readable, but changing one is a finding.
    pub fields: u32,
}

use Access::{ClearByZero, ReadOnly, ReadWrite, WriteOnly};

const fn rw(name: &'static str, fields: u32) -> Option<Register> {
    Some(Register { name, access: ReadWrite, fields })
}

const fn ro(name: &'static str) -> Option<Register> {
    Some(Register { name, access: ReadOnly, fields: !0 })
}

const fn wo(name: &'static str) -> Option<Register> {
    Some(Register { name, access: WriteOnly, fields: !0 })
}

const ALL: u32 = !0;

pub(crate) const SYS_REV_CTRL: u32 = 0x000;
pub(crate) const SYS_PORT_CTRL: u32 = 0x004;
pub(crate) const SYS_RBUF_FLUSH_CTRL: u32 = 0x008;
pub(crate) const SYS_TBUF_FLUSH_CTRL: u32 = 0x00C;
pub(crate) const EXT_PWR_MGMT: u32 = 0x080;
pub(crate) const EXT_RGMII_OOB_CTRL: u32 = 0x08C;
pub(crate) const EXT_RGMII_IB_STATUS: u32 = 0x090;
pub(crate) const EXT_GPHY_CTRL: u32 = 0x09C;
pub(crate) const INTRL2_0: u32 = 0x200;
pub(crate) const INTRL2_1: u32 = 0x240;
pub(crate) const RBUF_CTRL: u32 = 0x300;
pub(crate) const RBUF_PKT_RDY_THLD: u32 = 0x308;
pub(crate) const RBUF_CHK_CTRL: u32 = 0x314;
pub(crate) const RBUF_OVFL_CNT: u32 = 0x394;
pub(crate) const RBUF_ERR_CNT: u32 = 0x398;
pub(crate) const RBUF_ENERGY_CTRL: u32 = 0x39C;
pub(crate) const TBUF_CTRL: u32 = 0x600;
pub(crate) const TBUF_BP_MC: u32 = 0x60C;
pub(crate) const TBUF_ENERGY_CTRL: u32 = 0x614;
pub(crate) const UMAC_HD_BKP_CTRL: u32 = 0x804;
pub(crate) const UMAC_CMD: u32 = 0x808;
pub(crate) const UMAC_MAC0: u32 = 0x80C;
pub(crate) const UMAC_MAC1: u32 = 0x810;
pub(crate) const UMAC_MAX_FRAME_LEN: u32 = 0x814;
pub(crate) const UMAC_PAUSE_QUANTA: u32 = 0x818;
pub(crate) const UMAC_MODE: u32 = 0x844;
pub(crate) const UMAC_TX_IPG_LEN: u32 = 0x85C;
pub(crate) const UMAC_EEE_CTRL: u32 = 0x864;
pub(crate) const UMAC_PAUSE_CTRL: u32 = 0xB30;
pub(crate) const UMAC_TX_FLUSH: u32 = 0xB34;
pub(crate) const UMAC_MIB: u32 = 0xC00;
pub(crate) const UMAC_MIB_CTRL: u32 = 0xD80;
pub(crate) const UMAC_MDIO_CMD: u32 = 0xE14;
pub(crate) const UMAC_MDIO_CFG: u32 = 0xE18;
pub(crate) const UMAC_MDF_ERR_CNT: u32 = 0xE38;
pub(crate) const UMAC_MDF_CTRL: u32 = 0xE50;
pub(crate) const UMAC_MDF_ADDR: u32 = 0xE54;
pub(crate) const UMAC_END: u32 = 0xEDC;
pub(crate) const RDMA: u32 = 0x2000;
pub(crate) const TDMA: u32 = 0x4000;
/// From a DMA block's start: ring registers, global registers.
pub(crate) const DMA_RINGS: u32 = 0xC00;
pub(crate) const DMA_GLOBAL: u32 = 0x1040;
pub(crate) const HFB_RAM: u32 = 0x8000;
pub(crate) const HFB_RAM_END: u32 = 0xE000;
pub(crate) const HFB_CTRL: u32 = 0xFC00;
pub(crate) const HFB_ENABLE: u32 = 0xFC04;
pub(crate) const HFB_LENGTH: u32 = 0xFC1C;

/// The register at `offset`, which must be a multiple of 4.
pub fn register(offset: u32) -> Option<Register> {
    match offset {
        0x000..0x080 => sys(offset),
        0x080..0x200 => ext(offset),
        0x200..0x230 | 0x240..0x270 => intrl2(offset),
        0x300..0x3B8 => rbuf(offset),
        0x600..0x62C => tbuf(offset),
        0x800..UMAC_END => umac(offset),
        RDMA..0x30D8 => dma(offset - RDMA, true),
        TDMA..0x50D8 => dma(offset - TDMA, false),
        HFB_RAM..HFB_RAM_END => rw("HFB_RAM", 0x000F_FFFF),
        0xFC00..0xFC4C => hfb(offset),
        _ => None,
    }
}

/// The register's name with its ring, filter or descriptor number.
pub fn register_name(offset: u32) -> Option<String> {
    let register = register(offset & !3)?;
    let dma = if offset >= TDMA { offset.wrapping_sub(TDMA) } else { offset.wrapping_sub(RDMA) };
    Some(match offset {
        RDMA..0x30D8 | TDMA..0x50D8 if dma < DMA_RINGS => format!("{} {}", register.name, dma / 12),
        RDMA..0x30D8 | TDMA..0x50D8 if dma < DMA_GLOBAL => {
            format!("{} ring {}", register.name, (dma - DMA_RINGS) / 0x40)
        }
        0x306C..0x30B0 => {
            format!("{} ring {}", register.name, (offset - 0x306C) / 4)
        }
        UMAC_MDF_ADDR..UMAC_END => format!("{} {}", register.name, (offset - UMAC_MDF_ADDR) / 8),
        HFB_RAM..HFB_RAM_END => format!("{} filter {}", register.name, (offset - HFB_RAM) / 0x200),
        _ => register.name.to_string(),
    })
}

const fn sys(offset: u32) -> Option<Register> {
    match offset {
        SYS_REV_CTRL => ro("SYS_REV_CTRL"),
        SYS_PORT_CTRL => rw("SYS_PORT_CTRL", 0x0000_0217),
        SYS_RBUF_FLUSH_CTRL => rw("SYS_RBUF_FLUSH_CTRL", 0x3),
        SYS_TBUF_FLUSH_CTRL => rw("SYS_TBUF_FLUSH_CTRL", 0x1),
        0x040 => ro("GR_BRIDGE_REV"),
        0x044 => rw("GR_BRIDGE_CTRL", 0),
        0x048 => rw("GR_BRIDGE_SW_RESET_0", 0),
        0x04C => rw("GR_BRIDGE_SW_RESET_1", 0),
        _ => None,
    }
}

const fn ext(offset: u32) -> Option<Register> {
    match offset {
        EXT_PWR_MGMT => rw("EXT_PWR_MGMT", 0x001F_11AF),
        0x084 => rw("EXT_EMCG_CTRL", 0x11),
        0x088 => rw("EXT_TEST_CTRL", ALL),
        EXT_RGMII_OOB_CTRL => rw("EXT_RGMII_OOB_CTRL", 0x0001_0070),
        EXT_RGMII_IB_STATUS => ro("RGMII_IB_STATUS"),
        0x094 => rw("RGMII_LED_CTRL", ALL),
        0x098 => rw("EXT_GENET_PWR_MGMT", ALL),
        EXT_GPHY_CTRL => rw("EXT_GPHY_CTRL", 0x3B),
        0x0A0 => ro("EXT_GPHY_STATUS"),
        _ => None,
    }
}

const fn intrl2(offset: u32) -> Option<Register> {
    match offset & 0x3F {
        0x00 => ro("INTRL2_CPU_STAT"),
        0x04 => wo("INTRL2_CPU_SET"),
        0x08 => wo("INTRL2_CPU_CLEAR"),
        0x0C => ro("INTRL2_CPU_MASK_STATUS"),
        0x10 => wo("INTRL2_CPU_MASK_SET"),
        0x14 => wo("INTRL2_CPU_MASK_CLEAR"),
        0x18 => ro("INTRL2_PCI_STAT"),
        0x1C => wo("INTRL2_PCI_SET"),
        0x20 => wo("INTRL2_PCI_CLEAR"),
        0x24 => ro("INTRL2_PCI_MASK_STATUS"),
        0x28 => wo("INTRL2_PCI_MASK_SET"),
        0x2C => wo("INTRL2_PCI_MASK_CLEAR"),
        _ => None,
    }
}

const fn rbuf(offset: u32) -> Option<Register> {
    match offset {
        RBUF_CTRL => rw("RBUF_CTRL", 0x7),
        RBUF_PKT_RDY_THLD => rw("RBUF_PKT_RDY_THLD", 0xFF),
        0x30C => ro("RBUF_STATUS"),
        0x310 => rw("RBUF_ENDIAN_CTRL", 0x7),
        RBUF_CHK_CTRL => rw("RBUF_CHK_CTRL", 0x31),
        0x334..0x394 => rw("RBUF_RXC_OFFSET", ALL),
        RBUF_OVFL_CNT => Some(Register { name: "RBUF_OVFL_CNT", access: ClearByZero, fields: ALL }),
        RBUF_ERR_CNT => Some(Register { name: "RBUF_ERR_CNT", access: ClearByZero, fields: ALL }),
        RBUF_ENERGY_CTRL => rw("RBUF_ENERGY_CTRL", 0x3),
        0x3A0 => rw("RBUF_PD_SRAM_CTRL", ALL),
        0x3B4 => rw("RBUF_TBUF_SIZE_CTRL", ALL),
        _ => None,
    }
}

const fn tbuf(offset: u32) -> Option<Register> {
    match offset {
        TBUF_CTRL => rw("TBUF_CTRL", 0x1),
        0x608 => rw("TBUF_ENDIAN_CTRL", ALL),
        TBUF_BP_MC => rw("TBUF_BP_MC", 0x0003_FFFF),
        0x610 => rw("TBUF_PKT_RDY_THLD", ALL),
        TBUF_ENERGY_CTRL => rw("TBUF_ENERGY_CTRL", 0x3),
        0x618 => ro("TBUF_EXT_BP_STATS"),
        0x61C..0x628 => rw("TBUF_TSV_MASK", ALL),
        0x628 => ro("TBUF_TSV_STATUS"),
        _ => None,
    }
}

const fn umac(offset: u32) -> Option<Register> {
    match offset {
        UMAC_HD_BKP_CTRL => rw("UMAC_HD_BKP_CTRL", 0x7F),
        UMAC_CMD => rw("UMAC_CMD", 0x7FC0_AFFF),
        UMAC_MAC0 => rw("UMAC_MAC0", ALL),
        UMAC_MAC1 => rw("UMAC_MAC1", 0xFFFF),
        UMAC_MAX_FRAME_LEN => rw("UMAC_MAX_FRAME_LEN", 0xFFFF),
        UMAC_PAUSE_QUANTA => rw("UMAC_PAUSE_QUANTA", 0xFFFF),
        0x840 => rw("UMAC_SDF_OFFSET", ALL),
        UMAC_MODE => ro("UMAC_MODE"),
        0x848 => rw("UMAC_FRM_TAG0", ALL),
        0x84C => rw("UMAC_FRM_TAG1", ALL),
        UMAC_TX_IPG_LEN => rw("UMAC_TX_IPG_LEN", ALL),
        UMAC_EEE_CTRL => rw("UMAC_EEE_CTRL", 0xFF),
        0x868 => rw("UMAC_EEE_LPI_TIMER", ALL),
        0x86C => rw("UMAC_EEE_WAKE_TIMER", ALL),
        0x870 => rw("UMAC_EEE_REF_COUNT", 0xFFFF),
        0x878 => rw("UMAC_RX_IPG_INV", ALL),
        0x87C => rw("UMAC_SYMMETRIC_IDLE_THLD", ALL),
        0xB10 => rw("UMAC_MACSEC_PROG_TX_CRC", ALL),
        0xB14 => rw("UMAC_MACSEC_CTRL", 0x31),
        0xB18 => ro("UMAC_TS_STATUS"),
        0xB1C => ro("UMAC_TS_DATA"),
        UMAC_PAUSE_CTRL => rw("UMAC_PAUSE_CTRL", 0x0003_FFFF),
        UMAC_TX_FLUSH => rw("UMAC_TX_FLUSH", 0x1),
        0xB38 => ro("UMAC_RX_FIFO_STATUS"),
        0xB3C => ro("UMAC_TX_FIFO_STATUS"),
        0xB40 => rw("UMAC_PPP_CTRL", 0x7),
        0xB44 => rw("UMAC_PPP_REFRESH_CTRL", 0x1),
        0xC00..0xC80 => ro("UMAC_MIB_RX"),
        0xC80..0xD00 => ro("UMAC_MIB_TX"),
        0xD00..0xD10 => ro("UMAC_MIB_RUNT"),
        UMAC_MIB_CTRL => rw("UMAC_MIB_CTRL", 0x7),
        0xE00 => rw("UMAC_BKPU_CTRL", ALL),
        0xE04 => rw("UMAC_MAC_RXERR_MASK", ALL),
        0xE08 => rw("UMAC_MAX_PKT_SIZE", ALL),
        0xE0C => rw("UMAC_VLAN_TAG", ALL),
        UMAC_MDIO_CMD => rw("UMAC_MDIO_CMD", 0x3FFF_FFFF),
        UMAC_MDIO_CFG => rw("UMAC_MDIO_CFG", 0x3F1),
        0xE20 => rw("UMAC_MPD_CTRL", 0x08FF_0001),
        0xE24 => rw("UMAC_MPD_PW_MS", ALL),
        0xE28 => rw("UMAC_MPD_PW_LS", ALL),
        UMAC_MDF_ERR_CNT => Some(Register { name: "UMAC_MDF_ERR_CNT", access: ClearByZero, fields: ALL }),
        UMAC_MDF_CTRL => rw("UMAC_MDF_CTRL", 0x1_FFFF),
        UMAC_MDF_ADDR..UMAC_END if (offset - UMAC_MDF_ADDR) & 4 == 0 => rw("UMAC_MDF_ADDR0", 0xFFFF),
        UMAC_MDF_ADDR..UMAC_END => rw("UMAC_MDF_ADDR1", ALL),
        _ => None,
    }
}

const fn dma(offset: u32, receive: bool) -> Option<Register> {
    match offset {
        0..DMA_RINGS => rw(if receive { "RDMA_DESCRIPTOR" } else { "TDMA_DESCRIPTOR" }, ALL),
        DMA_RINGS..DMA_GLOBAL if receive => rdma_ring((offset - DMA_RINGS) & 0x3F),
        DMA_RINGS..DMA_GLOBAL => tdma_ring((offset - DMA_RINGS) & 0x3F),
        _ if receive => rdma_global(offset - DMA_GLOBAL),
        _ => tdma_global(offset - DMA_GLOBAL),
    }
}

const fn rdma_ring(offset: u32) -> Option<Register> {
    match offset {
        0x00 => rw("RDMA_WRITE_PTR", ALL),
        0x04 => rw("RDMA_WRITE_PTR_HI", ALL),
        0x08 => rw("RDMA_PROD_INDEX", ALL),
        0x0C => rw("RDMA_CONS_INDEX", 0xFFFF),
        0x10 => rw("RDMA_RING_BUF_SIZE", ALL),
        0x14 => rw("RDMA_START_ADDR", ALL),
        0x18 => rw("RDMA_START_ADDR_HI", ALL),
        0x1C => rw("RDMA_END_ADDR", ALL),
        0x20 => rw("RDMA_END_ADDR_HI", ALL),
        0x24 => rw("RDMA_MBUF_DONE_THRESH", 0x1FF),
        0x28 => rw("RDMA_XON_XOFF_THRESH", ALL),
        0x2C => rw("RDMA_READ_PTR", ALL),
        0x30 => rw("RDMA_READ_PTR_HI", ALL),
        _ => None,
    }
}

const fn tdma_ring(offset: u32) -> Option<Register> {
    match offset {
        0x00 => rw("TDMA_READ_PTR", ALL),
        0x04 => rw("TDMA_READ_PTR_HI", ALL),
        0x08 => rw("TDMA_CONS_INDEX", 0xFFFF),
        0x0C => rw("TDMA_PROD_INDEX", 0xFFFF),
        0x10 => rw("TDMA_RING_BUF_SIZE", ALL),
        0x14 => rw("TDMA_START_ADDR", ALL),
        0x18 => rw("TDMA_START_ADDR_HI", ALL),
        0x1C => rw("TDMA_END_ADDR", ALL),
        0x20 => rw("TDMA_END_ADDR_HI", ALL),
        0x24 => rw("TDMA_MBUF_DONE_THRESH", 0x1FF),
        0x28 => rw("TDMA_FLOW_PERIOD", ALL),
        0x2C => rw("TDMA_WRITE_PTR", ALL),
        0x30 => rw("TDMA_WRITE_PTR_HI", ALL),
        _ => None,
    }
}

const fn rdma_global(offset: u32) -> Option<Register> {
    match offset {
        0x00 => rw("RDMA_RING_CFG", 0x1_FFFF),
        0x04 => rw("RDMA_CTRL", 0x0013_FFFF),
        0x08 => ro("RDMA_STATUS"),
        0x0C => rw("RDMA_SCB_BURST_SIZE", 0x1F),
        0x10 => ro("RDMA_ACTIVITY"),
        0x14 => rw("RDMA_MASK", 0x8001_FFFF),
        0x18..0x24 => rw("RDMA_MAP", ALL),
        0x24 => ro("RDMA_BACK_STATUS"),
        0x28 => rw("RDMA_OVERRIDE", 0x3),
        0x2C..0x70 => rw("RDMA_RING_TIMEOUT", ALL),
        0x70..0x90 => rw("RDMA_INDEX2RING", ALL),
        0x90 => rw("RDMA_TEST", ALL),
        0x94 => rw("RDMA_DEBUG", ALL),
        _ => None,
    }
}

const fn tdma_global(offset: u32) -> Option<Register> {
    match offset {
        0x00 => rw("TDMA_RING_CFG", 0x1_FFFF),
        0x04 => rw("TDMA_CTRL", 0x0013_FFFF),
        0x08 => ro("TDMA_STATUS"),
        0x0C => rw("TDMA_SCB_BURST_SIZE", 0x1F),
        0x10 => ro("TDMA_ACTIVITY"),
        0x14 => rw("TDMA_MASK", 0x8001_FFFF),
        0x18 | 0x1C => rw("TDMA_MAP", ALL),
        0x20 => ro("TDMA_BACK_STATUS"),
        0x24 => rw("TDMA_OVERRIDE", 0x3),
        0x28 => rw("TDMA_RATE_LIMIT_CTRL", ALL),
        0x2C => rw("TDMA_ARB_CTRL", 0x3),
        0x30..0x3C => rw("TDMA_PRIORITY", ALL),
        0x3C => rw("TDMA_RATE_ADJ", ALL),
        0x40 => rw("TDMA_TEST", ALL),
        0x44 => rw("TDMA_DEBUG", ALL),
        _ => None,
    }
}

const fn hfb(offset: u32) -> Option<Register> {
    match offset {
        HFB_CTRL => rw("HFB_CTRL", 0x7),
        HFB_ENABLE | 0xFC08 => rw("HFB_FLT_ENABLE", ALL),
        HFB_LENGTH..0xFC4C => rw("HFB_FLT_LEN", ALL),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_16_sits_where_drivers_expect_it() {
        assert_eq!(register_name(0x3024).unwrap(), "RDMA_MBUF_DONE_THRESH ring 16");
        assert_eq!(register_name(0x30AC).unwrap(), "RDMA_RING_TIMEOUT ring 16");
        assert_eq!(register_name(0x500C).unwrap(), "TDMA_PROD_INDEX ring 16");
        assert_eq!(register_name(0x2BFC).unwrap(), "RDMA_DESCRIPTOR 255");
        assert_eq!(register(0x100), None);
        assert_eq!(register(0x3034), None);
    }
}
