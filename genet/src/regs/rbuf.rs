//! RBUF (0x300): the receive FIFO and what it puts in front of a frame.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub CTRL [
        /// A 64-byte status block in front of each frame.
        STATUS_64B_EN OFFSET(0) NUMBITS(1) [],
        /// Two pad bytes in front of each frame, so that the IP header is aligned.
        ALIGN_2B OFFSET(1) NUMBITS(1) [],
        /// Drop bad frames here. Off: they come with error bits and are counted one by one.
        BAD_DIS OFFSET(2) NUMBITS(1) [],
        /// Set by the firmware (measured 0xC040), meaning unknown. Kept.
        FIRMWARE_6 OFFSET(6) NUMBITS(1) [],
        FIRMWARE_15_14 OFFSET(14) NUMBITS(2) []
    ],
    pub CHK_CTRL [
        RXCHK_EN OFFSET(0) NUMBITS(1) [],
        SKIP_FCS OFFSET(4) NUMBITS(1) [],
        L3_PARSE_DIS OFFSET(5) NUMBITS(1) []
    ],
    pub ENERGY_CTRL [
        /// Receive stops when EEE becomes active with this set (raspberrypi/linux 7304).
        EEE_EN OFFSET(0) NUMBITS(1) [],
        PM_EN OFFSET(1) NUMBITS(1) []
    ]
];

pub const CTRL: Register<CTRL::Register> = Register::at(0x300);
pub const CHK_CTRL: Register<CHK_CTRL::Register> = Register::at(0x314);
/// Frames lost because RBUF was full. Saturates; writing 0 clears.
pub const OVFL_CNT: Register = Register::at(0x394);
/// Frames dropped with an error. Saturates; writing 0 clears.
pub const ERR_CNT: Register = Register::at(0x398);
pub const ENERGY_CTRL: Register<ENERGY_CTRL::Register> = Register::at(0x39c);
/// Every driver writes 1.
pub const TBUF_SIZE_CTRL: Register = Register::at(0x3b4);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[
    ("ctrl", 0x300),
    ("pkt_rdy_thld", 0x308),
    ("status", 0x30c),
    ("endian_ctrl", 0x310),
    ("chk_ctrl", 0x314),
    ("ovfl_cnt", 0x394),
    ("err_cnt", 0x398),
    ("energy_ctrl", 0x39c),
    ("tbuf_size_ctrl", 0x3b4),
];
