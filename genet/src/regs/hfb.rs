//! HFB (0xFC00): the hardware filter block, which we keep off. Off, all frames go to the default ring.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub CTRL [
        ENABLE OFFSET(0) NUMBITS(1) []
    ]
];

pub const CTRL: Register<CTRL::Register> = Register::at(0xfc00);
/// Filters 32 to 47.
pub const FLT_ENABLE_HIGH: Register = Register::at(0xfc04);
/// Filters 0 to 31.
pub const FLT_ENABLE_LOW: Register = Register::at(0xfc08);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[("ctrl", 0xfc00), ("flt_enable_0", 0xfc04), ("flt_enable_1", 0xfc08)];
