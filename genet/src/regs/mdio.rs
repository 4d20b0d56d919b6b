//! MDIO (0xE14), the management bus controller inside UMAC.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub CMD [
        DATA OFFSET(0) NUMBITS(16) [],
        REGISTER OFFSET(16) NUMBITS(5) [],
        PHY OFFSET(21) NUMBITS(5) [],
        OPERATION OFFSET(26) NUMBITS(2) [
            Write = 1,
            Read = 2
        ],
        /// Nobody answered.
        READ_FAIL OFFSET(28) NUMBITS(1) [],
        START_BUSY OFFSET(29) NUMBITS(1) []
    ]
];

pub const CMD: Register<CMD::Register> = Register::at(0xe14);
