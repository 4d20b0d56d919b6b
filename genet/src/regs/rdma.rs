//! RDMA: receive descriptors (0x2000), rings (0x2C00) and engine (0x3040).

use super::{RING, Register};
use crate::Registers;
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
        /// Bit n: ring n.
        RINGS OFFSET(1) NUMBITS(17) []
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

/// One ring's registers: the same block for each of the 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring(u32);

impl Ring {
    /// Ring `n`.
    pub const fn at(n: u32) -> Self {
        Ring(n)
    }

    /// Descriptor-RAM word index of the next frame; three words a descriptor.
    pub const fn write_ptr(self) -> Register {
        Register::at(ring(self.0, 0x00))
    }

    /// Hardware's index. Its lower half takes writes only while the ring is disabled, its upper half always.
    #[inline(always)]
    pub const fn prod_index(self) -> Register<PROD_INDEX::Register> {
        Register::at(ring(self.0, 0x08))
    }

    /// Ours, free running modulo 65536.
    #[inline(always)]
    pub const fn cons_index(self) -> Register {
        Register::at(ring(self.0, 0x0c))
    }

    pub const fn buf_size(self) -> Register<BUF_SIZE::Register> {
        Register::at(ring(self.0, 0x10))
    }

    pub const fn mbuf_done_thresh(self) -> Register<THRESHOLD::Register> {
        Register::at(ring(self.0, 0x24))
    }

    pub const fn xon_xoff_thresh(self) -> Register<XON_XOFF::Register> {
        Register::at(ring(self.0, 0x28))
    }

    /// 0x30AC for ring 16.
    pub const fn timeout(self) -> Register<TIMEOUT::Register> {
        Register::at(timeout(self.0))
    }

    /// First and last word of its descriptors.
    pub fn set_words<R: Registers>(self, regs: &R, first: u32, last: u32) {
        for (offset, value) in [(0x14, first), (0x18, 0), (0x1c, last), (0x20, 0)] {
            regs.write(ring(self.0, offset), value);
        }
    }

    /// Both pointers, to the descriptor at `word`.
    pub fn set_pointers<R: Registers>(self, regs: &R, word: u32) {
        for (offset, value) in [(0x00, word), (0x04, 0), (0x2c, word), (0x30, 0)] {
            regs.write(ring(self.0, offset), value);
        }
    }
}

/// One bit a ring.
pub const RING_CFG: Register = Register::at(0x3040);
pub const CTRL: Register<CTRL::Register> = Register::at(0x3044);
pub const STATUS: Register<STATUS::Register> = Register::at(0x3048);
/// Back-pressure mask, a bit a ring. Which way round is not known.
pub const MASK: Register = Register::at(0x3054);
pub const SCB_BURST_SIZE: Register = Register::at(0x304c);
/// Which ring the frames of HFB filters 0 to 7 go to, four bits a filter.
pub const INDEX2RING_0: Register = Register::at(0x30b0);

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
        let ring = Ring::at(RING);
        assert_eq!(ring.prod_index().offset(), 0x3008);
        assert_eq!(ring.cons_index().offset(), 0x300c);
        assert_eq!(ring.mbuf_done_thresh().offset(), 0x3024);
        assert_eq!(ring.xon_xoff_thresh().offset(), 0x3028);
        assert_eq!(ring.timeout().offset(), 0x30ac);
        assert_eq!((Ring::at(0).prod_index().offset(), Ring::at(0).timeout().offset()), (0x2c08, 0x306c));
        assert_eq!(descriptor(255), 0x2bf4);
    }
}
