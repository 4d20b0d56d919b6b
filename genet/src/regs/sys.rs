//! SYS (0x000): revision, port mode, block resets.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub REV_CTRL [
        EPHY OFFSET(0) NUMBITS(16) [],
        MINOR OFFSET(16) NUMBITS(4) [],
        /// 6 is GENET v5, 5 is v4.
        MAJOR OFFSET(24) NUMBITS(4) [V5 = 6]
    ],
    pub PORT_CTRL [
        MODE OFFSET(0) NUMBITS(3) [
            InternalEphy = 0,
            InternalGphy = 1,
            ExternalEphy = 2,
            /// RGMII: the Pi 4.
            ExternalGphy = 3
        ]
    ],
    pub RBUF_FLUSH_CTRL [
        /// Nothing else recovers an RBUF that stopped with EEE (raspberrypi/linux 7304).
        FLUSH OFFSET(0) NUMBITS(1) [],
        UMAC_RESET OFFSET(1) NUMBITS(1) []
    ]
];

/// Measured 0x0600_0000.
pub const REV_CTRL: Register<REV_CTRL::Register> = Register::at(0x000);
pub const PORT_CTRL: Register<PORT_CTRL::Register> = Register::at(0x004);
pub const RBUF_FLUSH_CTRL: Register<RBUF_FLUSH_CTRL::Register> = Register::at(0x008);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] =
    &[("rev_ctrl", 0x000), ("port_ctrl", 0x004), ("rbuf_flush_ctrl", 0x008), ("tbuf_flush_ctrl", 0x00c)];
