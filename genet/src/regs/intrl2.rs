//! INTRL2_0 (0x200) and INTRL2_1 (0x240): interrupt latches and masks.
//!
//! Latch and mask are independent: a bit latches while masked and raises the line when unmasked. Ring 16 reports in
//! INTRL2_0, rings 0 to 15 in INTRL2_1.

use super::Register;
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub EVENTS [
        LINK_UP OFFSET(4) NUMBITS(1) [],
        LINK_DOWN OFFSET(5) NUMBITS(1) [],
        RBUF_OVERFLOW OFFSET(9) NUMBITS(1) [],
        /// Ring 16, coalesced.
        RXDMA_MBDONE OFFSET(13) NUMBITS(1) [],
        RXDMA_PDONE OFFSET(14) NUMBITS(1) [],
        RXDMA_BDONE OFFSET(15) NUMBITS(1) [],
        TXDMA_MBDONE OFFSET(16) NUMBITS(1) []
    ]
];

type Events = Register<EVENTS::Register>;

pub const STAT_0: Events = Events::at(0x200);
/// Write 1 raises a bit.
pub const SET_0: Events = Events::at(0x204);
/// Write 1 clears.
pub const CLEAR_0: Events = Events::at(0x208);
/// 1: masked.
pub const MASK_STATUS_0: Events = Events::at(0x20c);
pub const MASK_SET_0: Events = Events::at(0x210);
pub const MASK_CLEAR_0: Events = Events::at(0x214);

pub const CLEAR_1: Register = Register::at(0x248);
pub const MASK_SET_1: Register = Register::at(0x250);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[("stat_0", 0x200), ("mask_0", 0x20c), ("stat_1", 0x240), ("mask_1", 0x24c)];
