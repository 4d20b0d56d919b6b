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
    ],
    /// Transmit ring n is bit n, receive ring n is bit 16 + n.
    pub RING_EVENTS [
        RX_RING0 OFFSET(16) NUMBITS(1) []
    ]
];

type Events = Register<EVENTS::Register>;

pub const CONTROLLER_0: u32 = 0x200;
pub const CONTROLLER_1: u32 = 0x240;
/// Registers of a controller.
pub const STAT: u32 = 0x00;
/// Write 1 raises a bit.
pub const SET: u32 = 0x04;
/// Write 1 clears.
pub const CLEAR: u32 = 0x08;
/// 1: masked.
pub const MASK_STATUS: u32 = 0x0c;
pub const MASK_SET: u32 = 0x10;
pub const MASK_CLEAR: u32 = 0x14;

pub const STAT_0: Events = Events::at(CONTROLLER_0 + STAT);
pub const CLEAR_0: Events = Events::at(CONTROLLER_0 + CLEAR);
pub const MASK_SET_0: Events = Events::at(CONTROLLER_0 + MASK_SET);
#[cfg(test)]
pub const MASK_STATUS_0: Events = Events::at(CONTROLLER_0 + MASK_STATUS);

pub const STAT_1: Register<RING_EVENTS::Register> = Register::at(CONTROLLER_1 + STAT);
pub const CLEAR_1: Register = Register::at(CONTROLLER_1 + CLEAR);
pub const MASK_SET_1: Register = Register::at(CONTROLLER_1 + MASK_SET);

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[("stat_0", 0x200), ("mask_0", 0x20c), ("stat_1", 0x240), ("mask_1", 0x24c)];
