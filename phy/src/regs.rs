//! Registers of the BCM54210E family.
//!
//! Owns numbers and fields, nothing that moves. Clause 22 registers are IEEE 802.3's; registers 0x10 and up are
//! Broadcom's, as Linux (`brcmphy.h`, `bcm-phy-lib.c`) and the BSDs (`brgphyreg.h`) name them.

#![allow(missing_docs)] // names are the manual's; what matters is said at the fields

use tock_registers::register_bitfields;

pub const BMCR_REGISTER: u8 = 0;
pub const BMSR_REGISTER: u8 = 1;
pub const ID1_REGISTER: u8 = 2;
pub const ID2_REGISTER: u8 = 3;
pub const ANAR_REGISTER: u8 = 4;
pub const ANLPAR_REGISTER: u8 = 5;
pub const GIGABIT_CONTROL_REGISTER: u8 = 9;
pub const GIGABIT_STATUS_REGISTER: u8 = 10;
pub const MMD_CONTROL_REGISTER: u8 = 13;
pub const MMD_DATA_REGISTER: u8 = 14;
pub const AUX_CONTROL_REGISTER: u8 = 0x18;
pub const AUX_STATUS_REGISTER: u8 = 0x19;
pub const SHADOW_REGISTER: u8 = 0x1c;

/// Shadow of register 0x18 that holds the receive clock skew.
pub const AUX_MISC_SHADOW: u16 = 7;
/// Shadow of register 0x1C that holds the transmit clock delay.
pub const CLOCK_CONTROL_SHADOW: u16 = 3;

register_bitfields![u16,
    pub BMCR [
        SPEED_MSB OFFSET(6) NUMBITS(1) [],
        FULL_DUPLEX OFFSET(8) NUMBITS(1) [],
        RESTART_AN OFFSET(9) NUMBITS(1) [],
        ISOLATE OFFSET(10) NUMBITS(1) [],
        POWER_DOWN OFFSET(11) NUMBITS(1) [],
        AN_ENABLE OFFSET(12) NUMBITS(1) [],
        SPEED_LSB OFFSET(13) NUMBITS(1) [],
        LOOPBACK OFFSET(14) NUMBITS(1) [],
        RESET OFFSET(15) NUMBITS(1) []
    ],
    pub BMSR [
        /// Latches low: the first read after a loss says so, the second tells the state now.
        LINK OFFSET(2) NUMBITS(1) [],
        AN_COMPLETE OFFSET(5) NUMBITS(1) []
    ],
    pub ANAR [
        SELECTOR OFFSET(0) NUMBITS(5) [Ieee8023 = 1],
        T10_HALF OFFSET(5) NUMBITS(1) [],
        T10_FULL OFFSET(6) NUMBITS(1) [],
        T100_HALF OFFSET(7) NUMBITS(1) [],
        T100_FULL OFFSET(8) NUMBITS(1) [],
        PAUSE OFFSET(10) NUMBITS(1) [],
        ASYMMETRIC_PAUSE OFFSET(11) NUMBITS(1) []
    ],
    pub ANLPAR [
        PAUSE OFFSET(10) NUMBITS(1) [],
        ASYMMETRIC_PAUSE OFFSET(11) NUMBITS(1) []
    ],
    pub GIGABIT_CONTROL [
        HALF OFFSET(8) NUMBITS(1) [],
        FULL OFFSET(9) NUMBITS(1) []
    ],
    pub GIGABIT_STATUS [
        PARTNER_HALF OFFSET(10) NUMBITS(1) [],
        PARTNER_FULL OFFSET(11) NUMBITS(1) [],
        MASTER_SLAVE_FAULT OFFSET(15) NUMBITS(1) []
    ],
    pub MMD_CONTROL [
        DEVICE OFFSET(0) NUMBITS(5) [],
        FUNCTION OFFSET(14) NUMBITS(2) [
            Address = 0,
            Data = 1
        ]
    ],
    pub AUX_CONTROL [
        /// Which shadow a write goes to.
        SHADOW OFFSET(0) NUMBITS(3) [],
        /// Misc shadow only. Linux, U-Boot and a dump of a running Pi (rusty-pi/pimu: 0x71E7) have the RXC skew
        /// here; the BSDs call bit 9 so, which Linux knows as "force auto-MDIX".
        RXC_SKEW OFFSET(8) NUMBITS(1) [],
        /// Which shadow the next read shows, when SHADOW is 7 and WRITE is clear.
        READ_SHADOW OFFSET(12) NUMBITS(3) [],
        /// Misc shadow only.
        WRITE OFFSET(15) NUMBITS(1) []
    ],
    pub AUX_STATUS [
        RX_PAUSE OFFSET(1) NUMBITS(1) [],
        TX_PAUSE OFFSET(0) NUMBITS(1) [],
        LINK OFFSET(2) NUMBITS(1) [],
        RESULT OFFSET(8) NUMBITS(3) [
            None = 0,
            T10Half = 1,
            T10Full = 2,
            T100Half = 3,
            T100Base4 = 4,
            T100Full = 5,
            T1000Half = 6,
            T1000Full = 7
        ],
        AN_COMPLETE OFFSET(15) NUMBITS(1) []
    ],
    pub SHADOW [
        DATA OFFSET(0) NUMBITS(10) [],
        /// Clock control shadow only: the PHY delays GTXCLK (transmit).
        GTXCLK_DELAY OFFSET(9) NUMBITS(1) [],
        SELECT OFFSET(10) NUMBITS(5) [],
        WRITE OFFSET(15) NUMBITS(1) []
    ]
];
