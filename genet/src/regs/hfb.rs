//! HFB (0xFC00, RAM at 0x8000): the hardware filter block. Off, all frames go to the default ring.

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
/// Lengths of filters 3 to 0 in bytes, filter 0 in 7:0. (Twelve of these, the highest filters first.)
pub const FLT_LEN_LAST: Register = Register::at(0xfc48);

/// Word `index` of filter 0: two frame bytes in 15:0, and in 19:16 which of their nibbles are compared.
pub const fn filter_0_word(index: u32) -> Register {
    Register::at(0x8000 + 4 * index)
}

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[("ctrl", 0xfc00), ("flt_enable_0", 0xfc04), ("flt_enable_1", 0xfc08)];
