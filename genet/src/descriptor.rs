//! Descriptor words: what the hardware says of a received frame, what we say of one to send.
//!
//! Owns word 0, `length_status`. Plain integers in, plain values out.

use core::fmt;
use tock_registers::register_bitfields;
use tock_registers::{LocalRegisterCopy, fields::FieldValue};

register_bitfields![u32,
    /// Receive. Bit 15 and 11:7 (checksum, filter) are meaningless as we set the MAC up.
    pub RX [
        OVERRUN OFFSET(0) NUMBITS(1) [],
        CRC_ERROR OFFSET(1) NUMBITS(1) [],
        RX_ERROR OFFSET(2) NUMBITS(1) [],
        NON_OCTET OFFSET(3) NUMBITS(1) [],
        TOO_LONG OFFSET(4) NUMBITS(1) [],
        ERRORS OFFSET(0) NUMBITS(5) [],
        SOP OFFSET(13) NUMBITS(1) [],
        EOP OFFSET(14) NUMBITS(1) [],
        /// With the pad bytes, without FCS.
        LENGTH OFFSET(16) NUMBITS(12) []
    ],
    pub TX [
        APPEND_CRC OFFSET(6) NUMBITS(1) [],
        /// All ones in every driver (Linux masks six bits, NetBSD names 12:7).
        QTAG OFFSET(7) NUMBITS(6) [],
        SOP OFFSET(13) NUMBITS(1) [],
        EOP OFFSET(14) NUMBITS(1) [],
        LENGTH OFFSET(16) NUMBITS(12) []
    ]
];

/// Bytes of a buffer; the ring is told so.
pub(crate) const BUFFER_BYTES: usize = 2048;
/// Pad in front of a received frame (RBUF_CTRL.ALIGN_2B).
pub(crate) const PAD_BYTES: usize = 2;
/// Shortest frame on the wire, without FCS.
pub(crate) const MIN_FRAME_BYTES: usize = 60;
/// Longest frame either way (UMAC MAX_FRAME_LEN; 2049 to 2093 bytes hang the transmitter, raspberrypi/linux 4485).
pub(crate) const MAX_FRAME_BYTES: usize = 1536;
/// An Ethernet header.
const HEADER_BYTES: usize = 14;

/// Frames that were dropped, by reason. The first reason that applies counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameErrors {
    /// FIFO overrun in the middle of a frame.
    pub overrun: u64,
    /// FCS wrong.
    pub crc: u64,
    /// The PHY signalled an error.
    pub receive: u64,
    /// Not a whole number of bytes.
    pub alignment: u64,
    /// Longer than the MAC takes.
    pub too_long: u64,
    /// A piece of a frame: start or end missing.
    pub fragment: u64,
    /// A length that no frame has.
    pub length: u64,
}

impl FrameErrors {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.overrun + self.crc + self.receive + self.alignment + self.too_long + self.fragment + self.length
    }

    /// Counts the frame that `word` describes, which is not a good one.
    #[cold]
    pub(crate) fn count(&mut self, word: u32) {
        let word = LocalRegisterCopy::<u32, RX::Register>::new(word);
        let counter = if word.is_set(RX::OVERRUN) {
            &mut self.overrun
        } else if word.is_set(RX::CRC_ERROR) {
            &mut self.crc
        } else if word.is_set(RX::NON_OCTET) {
            &mut self.alignment
        } else if word.is_set(RX::TOO_LONG) {
            &mut self.too_long
        } else if word.is_set(RX::RX_ERROR) {
            &mut self.receive
        } else if !word.matches_all(RX::SOP::SET + RX::EOP::SET) {
            &mut self.fragment
        } else {
            &mut self.length
        };
        *counter += 1;
    }
}

impl fmt::Display for FrameErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} crc, {} alignment, {} receive, {} overrun, {} too long, {} pieces, {} lengths",
            self.crc, self.alignment, self.receive, self.overrun, self.too_long, self.fragment, self.length
        )
    }
}

/// Bytes in the buffer, pad included, if `word` describes a whole good frame.
#[inline]
pub(crate) fn received_bytes(word: u32) -> Option<usize> {
    let whole: FieldValue<u32, RX::Register> = RX::SOP::SET + RX::EOP::SET;
    let word = LocalRegisterCopy::<u32, RX::Register>::new(word);
    let bytes = word.read(RX::LENGTH) as usize;
    let good = word.matches_all(whole)
        && !word.is_set(RX::ERRORS)
        && (PAD_BYTES + HEADER_BYTES..=PAD_BYTES + MAX_FRAME_BYTES).contains(&bytes);
    good.then_some(bytes)
}

/// Bytes in the buffer, pad included, whatever else `word` says.
pub(crate) fn length(word: u32) -> usize {
    RX::LENGTH.read(word) as usize
}

/// A frame begins here.
pub(crate) fn starts(word: u32) -> bool {
    RX::SOP.is_set(word)
}

/// A frame ends here.
pub(crate) fn ends(word: u32) -> bool {
    RX::EOP.is_set(word)
}

/// True if `word` was written by the hardware since it was last set to 0.
pub(crate) fn filled(word: u32) -> bool {
    starts(word) || ends(word)
}

/// Word 0 of a frame of `bytes` bytes that one descriptor holds.
#[inline]
pub(crate) fn to_send(bytes: usize) -> u32 {
    (TX::LENGTH.val(bytes as u32) + TX::SOP::SET + TX::EOP::SET + TX::APPEND_CRC::SET + TX::QTAG.val(0x3f)).value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_seen_in_other_drivers() {
        assert_eq!(to_send(60), 60 << 16 | 0x7fc0);
        assert_eq!(received_bytes(0x0042_6000), Some(66));
        assert_eq!(received_bytes(0x0042_6000 | 1 << 15 | 1 << 6 | 1 << 5 | 0x1f << 7), Some(66), "no error bits");
    }

    #[test]
    fn every_flaw_is_refused_and_counted_once() {
        for (word, pick) in [
            (0x0042_6001, (|e| e.overrun) as fn(&FrameErrors) -> u64),
            (0x0042_6002, |e| e.crc),
            (0x0042_6004, |e| e.receive),
            (0x0042_6008, |e| e.alignment),
            (0x0042_6010, |e| e.too_long),
            (0x0042_2000, |e| e.fragment),
            (0x0042_4000, |e| e.fragment),
            (0, |e| e.fragment),
            (0x0000_6000, |e| e.length),
            (0x000f_6000, |e| e.length),
            (1539 << 16 | 0x6000, |e| e.length),
            (0xffff_ffff, |e| e.overrun),
        ] {
            let mut errors = FrameErrors::default();
            assert_eq!(received_bytes(word), None, "{word:#x}");
            errors.count(word);
            assert_eq!((pick(&errors), errors.total()), (1, 1), "{word:#x}");
        }
    }

    #[test]
    fn limits_of_length() {
        assert_eq!(received_bytes(16 << 16 | 0x6000), Some(16));
        assert_eq!(received_bytes(1538 << 16 | 0x6000), Some(1538));
    }
}
