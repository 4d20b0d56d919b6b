//! UMAC (0x800): the MAC itself, without MIB and MDIO.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub CMD [
        TX_EN OFFSET(0) NUMBITS(1) [],
        RX_EN OFFSET(1) NUMBITS(1) [],
        /// Also selects the RGMII transmit clock.
        SPEED OFFSET(2) NUMBITS(2) [
            Mbps10 = 0,
            Mbps100 = 1,
            Mbps1000 = 2
        ],
        PROMISC OFFSET(4) NUMBITS(1) [],
        CRC_FWD OFFSET(6) NUMBITS(1) [],
        PAUSE_FWD OFFSET(7) NUMBITS(1) [],
        /// 1: a received PAUSE does not stop our transmitter.
        RX_PAUSE_IGNORE OFFSET(8) NUMBITS(1) [],
        HD_EN OFFSET(10) NUMBITS(1) [],
        /// Does not clear itself.
        SW_RESET OFFSET(13) NUMBITS(1) [],
        /// Gives the MAC a clock during reset when the PHY supplies none.
        LCL_LOOP_EN OFFSET(15) NUMBITS(1) [],
        /// 1: no PAUSE frame is sent.
        TX_PAUSE_IGNORE OFFSET(28) NUMBITS(1) []
    ],
    pub TX_FLUSH [
        FLUSH OFFSET(0) NUMBITS(1) []
    ],
    pub EEE_CTRL [
        EN_LPI_RX_PAUSE OFFSET(0) NUMBITS(1) [],
        EN_LPI_TX_PFC OFFSET(1) NUMBITS(1) [],
        EN_LPI_TX_PAUSE OFFSET(2) NUMBITS(1) [],
        EEE_EN OFFSET(3) NUMBITS(1) []
    ],
    /// One enable per filter, filter 0 in the highest bit.
    pub MDF_CTRL [
        ENABLE_0 OFFSET(16) NUMBITS(1) [],
        ENABLE_1 OFFSET(15) NUMBITS(1) []
    ]
];

pub const CMD: Register<CMD::Register> = Register::at(0x808);
/// Address bytes 0 to 3, byte 0 in 31:24.
pub const MAC0: Register = Register::at(0x80c);
/// Address bytes 4 and 5 in 15:0, byte 4 higher.
pub const MAC1: Register = Register::at(0x810);
pub const MAX_FRAME_LEN: Register = Register::at(0x814);
/// 15:0, in each PAUSE frame that the MAC sends. Measured 0xFFFF; no driver writes it.
pub const PAUSE_QUANTA: Register = Register::at(0x818);
/// Measured 0x40, 0x48 with EEE active.
pub const EEE_CTRL: Register<EEE_CTRL::Register> = Register::at(0x864);
/// 17: repeat PAUSE, 16:0 how often. Reset value and unit are not known.
pub const PAUSE_CTRL: Register = Register::at(0xb30);
pub const TX_FLUSH: Register<TX_FLUSH::Register> = Register::at(0xb34);
pub const MDF_CTRL: Register<MDF_CTRL::Register> = Register::at(0xe50);

/// Address bytes 0 and 1 of filter `n`.
pub const fn mdf_addr0(n: u32) -> Register {
    Register::at(0xe54 + 8 * n)
}

/// Address bytes 2 to 5 of filter `n`.
pub const fn mdf_addr1(n: u32) -> Register {
    Register::at(0xe58 + 8 * n)
}

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[
    ("hd_bkp_ctrl", 0x804),
    ("cmd", 0x808),
    ("mac0", 0x80c),
    ("mac1", 0x810),
    ("max_frame_len", 0x814),
    ("pause_quanta", 0x818),
    ("mode", 0x844),
    ("tx_ipg_len", 0x85c),
    ("eee_ctrl", 0x864),
    ("eee_lpi_timer", 0x868),
    ("eee_wake_timer", 0x86c),
    ("eee_ref_count", 0x870),
    ("pause_ctrl", 0xb30),
    ("mib_rx_pf", 0xc40),
    ("mib_tx_pf", 0xcb4),
    ("mdio_cmd", 0xe14),
    ("mdio_cfg", 0xe18),
    ("mdf_err_cnt", 0xe38),
    ("mdf_ctrl", 0xe50),
    ("mdf_addr0_0", 0xe54),
    ("mdf_addr1_0", 0xe58),
    ("mdf_addr0_1", 0xe5c),
    ("mdf_addr1_1", 0xe60),
];
