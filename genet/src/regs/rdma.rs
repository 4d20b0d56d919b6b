//! RDMA: receive descriptors (0x2000), rings (0x2C00) and engine (0x3040).

use super::{RING, Register};
use tock_registers::register_bitfields;

register_bitfields![u32,
    pub PROD_INDEX [
        INDEX OFFSET(0) NUMBITS(16) [],
        /// Frames dropped because no descriptor was free.
        DISCARDS OFFSET(16) NUMBITS(16) []
    ],
    pub BUF_SIZE [
        BUFFER_BYTES OFFSET(0) NUMBITS(16) [],
        DESCRIPTORS OFFSET(16) NUMBITS(16) []
    ],
    pub THRESHOLD [
        FRAMES OFFSET(0) NUMBITS(9) []
    ],
    /// In free descriptors. NetBSD and its ports call the halves the other way round.
    pub XON_XOFF [
        XON OFFSET(0) NUMBITS(16) [],
        XOFF OFFSET(16) NUMBITS(16) []
    ],
    pub CTRL [
        EN OFFSET(0) NUMBITS(1) [],
        /// Ring n is bit n + 1.
        RING16_EN OFFSET(17) NUMBITS(1) []
    ],
    pub STATUS [
        DISABLED OFFSET(0) NUMBITS(1) []
    ],
    /// One tick is 1024 cycles of 125 MHz, 8.192 us.
    pub TIMEOUT [
        TICKS OFFSET(0) NUMBITS(16) [],
        /// Not documented. Linux and NetBSD leave it as it is.
        UPPER OFFSET(16) NUMBITS(16) []
    ]
];

const fn ring(n: u32, register: u32) -> u32 {
    0x2c00 + 0x40 * n + register
}

const fn timeout(n: u32) -> u32 {
    0x306c + 4 * n
}

/// Descriptor-RAM word index of the next frame; three words a descriptor.
pub const WRITE_PTR: Register = Register::at(ring(RING, 0x00));
pub const WRITE_PTR_HI: Register = Register::at(ring(RING, 0x04));
/// Hardware's index. Its lower half takes writes only while the ring is disabled, its upper half always.
pub const PROD_INDEX: Register<PROD_INDEX::Register> = Register::at(ring(RING, 0x08));
/// Ours, free running modulo 65536.
pub const CONS_INDEX: Register = Register::at(ring(RING, 0x0c));
pub const RING_BUF_SIZE: Register<BUF_SIZE::Register> = Register::at(ring(RING, 0x10));
pub const START_ADDR: Register = Register::at(ring(RING, 0x14));
pub const START_ADDR_HI: Register = Register::at(ring(RING, 0x18));
pub const END_ADDR: Register = Register::at(ring(RING, 0x1c));
pub const END_ADDR_HI: Register = Register::at(ring(RING, 0x20));
pub const MBUF_DONE_THRESH: Register<THRESHOLD::Register> = Register::at(ring(RING, 0x24));
pub const XON_XOFF_THRESH: Register<XON_XOFF::Register> = Register::at(ring(RING, 0x28));
pub const READ_PTR: Register = Register::at(ring(RING, 0x2c));
pub const READ_PTR_HI: Register = Register::at(ring(RING, 0x30));

/// One bit a ring.
pub const RING_CFG: Register = Register::at(0x3040);
pub const CTRL: Register<CTRL::Register> = Register::at(0x3044);
pub const STATUS: Register<STATUS::Register> = Register::at(0x3048);
pub const SCB_BURST_SIZE: Register = Register::at(0x304c);
pub const RING16_TIMEOUT: Register<TIMEOUT::Register> = Register::at(timeout(RING));

/// Word 0 of a descriptor: length and status.
#[inline(always)]
pub const fn descriptor(slot: u8) -> u32 {
    0x2000 + 12 * slot as u32
}

/// Worth recording at boot: the engine.
pub const FOUND: &[(&str, u32)] = &[
    ("ring_cfg", 0x3040),
    ("ctrl", 0x3044),
    ("status", 0x3048),
    ("scb_burst_size", 0x304c),
    ("activity", 0x3050),
    ("mask", 0x3054),
    ("map_0", 0x3058),
    ("map_1", 0x305c),
    ("map_2", 0x3060),
    ("back_status", 0x3064),
    ("override", 0x3068),
    ("ring0_timeout", timeout(0)),
    ("ring1_timeout", timeout(1)),
    ("ring2_timeout", timeout(2)),
    ("ring3_timeout", timeout(3)),
    ("ring4_timeout", timeout(4)),
    ("ring5_timeout", timeout(5)),
    ("ring6_timeout", timeout(6)),
    ("ring7_timeout", timeout(7)),
    ("ring8_timeout", timeout(8)),
    ("ring9_timeout", timeout(9)),
    ("ring10_timeout", timeout(10)),
    ("ring11_timeout", timeout(11)),
    ("ring12_timeout", timeout(12)),
    ("ring13_timeout", timeout(13)),
    ("ring14_timeout", timeout(14)),
    ("ring15_timeout", timeout(15)),
    ("ring16_timeout", timeout(RING)),
    ("index2ring_0", 0x30b0),
    ("index2ring_1", 0x30b4),
    ("index2ring_2", 0x30b8),
    ("index2ring_3", 0x30bc),
    ("index2ring_4", 0x30c0),
    ("index2ring_5", 0x30c4),
    ("index2ring_6", 0x30c8),
    ("index2ring_7", 0x30cc),
];

/// Worth recording at boot: rings 0 and 16.
pub const FOUND_RINGS: &[(&str, u32)] = &[
    ("ring0_write_ptr", ring(0, 0x00)),
    ("ring0_prod_index", ring(0, 0x08)),
    ("ring0_cons_index", ring(0, 0x0c)),
    ("ring0_buf_size", ring(0, 0x10)),
    ("ring0_start_addr", ring(0, 0x14)),
    ("ring0_end_addr", ring(0, 0x1c)),
    ("ring0_mbuf_done_thresh", ring(0, 0x24)),
    ("ring0_xon_xoff_thresh", ring(0, 0x28)),
    ("ring0_read_ptr", ring(0, 0x2c)),
    ("ring16_write_ptr", ring(RING, 0x00)),
    ("ring16_prod_index", ring(RING, 0x08)),
    ("ring16_cons_index", ring(RING, 0x0c)),
    ("ring16_buf_size", ring(RING, 0x10)),
    ("ring16_start_addr", ring(RING, 0x14)),
    ("ring16_end_addr", ring(RING, 0x1c)),
    ("ring16_mbuf_done_thresh", ring(RING, 0x24)),
    ("ring16_xon_xoff_thresh", ring(RING, 0x28)),
    ("ring16_read_ptr", ring(RING, 0x2c)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_16_is_where_every_driver_has_it() {
        assert_eq!(PROD_INDEX.offset(), 0x3008);
        assert_eq!(CONS_INDEX.offset(), 0x300c);
        assert_eq!(MBUF_DONE_THRESH.offset(), 0x3024);
        assert_eq!(XON_XOFF_THRESH.offset(), 0x3028);
        assert_eq!(RING16_TIMEOUT.offset(), 0x30ac);
        assert_eq!(descriptor(255), 0x2bf4);
    }
}
