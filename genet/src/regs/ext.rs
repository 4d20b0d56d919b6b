//! EXT (0x080): the way to the external PHY.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub RGMII_OOB_CTRL [
        RGMII_LINK OFFSET(4) NUMBITS(1) [],
        OOB_DISABLE OFFSET(5) NUMBITS(1) [],
        RGMII_MODE_EN OFFSET(6) NUMBITS(1) [],
        /// 0: the MAC delays TXC by about 2 ns. Linux and the BSDs clear it for `rgmii-rxid`; U-Boot and Circle set
        /// it and leave the PHY's delays as the firmware made them.
        ID_MODE_DIS OFFSET(16) NUMBITS(1) []
    ]
];

/// Measured 0x00F0_0000 before and 0x00F0_0050 under Linux.
pub const RGMII_OOB_CTRL: Register<RGMII_OOB_CTRL::Register> = Register::at(0x08c);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] =
    &[("pwr_mgmt", 0x080), ("rgmii_oob_ctrl", 0x08c), ("rgmii_ib_status", 0x090), ("gphy_ctrl", 0x09c)];
