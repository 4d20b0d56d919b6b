//! TBUF (0x600): the transmit FIFO.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub CTRL [
        /// The first 64 bytes of each frame are a status block and are not sent.
        STATUS_64B_EN OFFSET(0) NUMBITS(1) []
    ],
    pub ENERGY_CTRL [
        EEE_EN OFFSET(0) NUMBITS(1) [],
        PM_EN OFFSET(1) NUMBITS(1) []
    ]
];

pub const CTRL: Register<CTRL::Register> = Register::at(0x600);
pub const ENERGY_CTRL: Register<ENERGY_CTRL::Register> = Register::at(0x614);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[("ctrl", 0x600), ("bp_mc", 0x60c), ("energy_ctrl", 0x614)];
