//! MIB counters: 32-bit, wrapping, held at their start while their MIB_CTRL bit is set. Map from Linux bcmgenet.
//!
//! Octets count destination address to FCS; whether the silicon counts the FCS is not published (certainty C).

use super::mac::Mac;
use super::map::{UMAC_MIB, UMAC_MIB_CTRL};
use crate::link::FCS_BYTES;

/// A bank of counters for one direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bank {
    Rx,
    Tx,
}

/// RX counters, offset from the UMAC_MIB base.
pub(crate) mod rx {
    pub(crate) const PACKETS: u32 = 0x28;
    pub(crate) const BYTES: u32 = 0x2C;
    pub(crate) const MULTICAST: u32 = 0x30;
    pub(crate) const BROADCAST: u32 = 0x34;
    pub(crate) const FCS: u32 = 0x38;
    pub(crate) const CONTROL: u32 = 0x3C;
    pub(crate) const PAUSE: u32 = 0x40;
    pub(crate) const UNKNOWN_OPCODE: u32 = 0x44;
    pub(crate) const ALIGNMENT: u32 = 0x48;
    pub(crate) const LENGTH: u32 = 0x4C;
    pub(crate) const CODE: u32 = 0x50;
    pub(crate) const OVERSIZE: u32 = 0x58;
    pub(crate) const JABBER: u32 = 0x5C;
    pub(crate) const GOOD: u32 = 0x64;
    pub(crate) const UNICAST: u32 = 0x68;
    pub(crate) const RUNTS: u32 = 0x100;
    pub(crate) const RUNTS_GOOD_FCS: u32 = 0x104;
    pub(crate) const RUNTS_BAD_FCS: u32 = 0x108;
    pub(crate) const RUNT_BYTES: u32 = 0x10C;
}

/// TX counters, offset from the UMAC_MIB base.
pub(crate) mod tx {
    pub(crate) const PACKETS: u32 = 0xA8;
    pub(crate) const MULTICAST: u32 = 0xAC;
    pub(crate) const BROADCAST: u32 = 0xB0;
    pub(crate) const PAUSE: u32 = 0xB4;
    pub(crate) const CONTROL: u32 = 0xB8;
    pub(crate) const FCS: u32 = 0xBC;
    pub(crate) const OVERSIZE: u32 = 0xC0;
    pub(crate) const DEFERRED: u32 = 0xC4;
    pub(crate) const SINGLE_COLLISION: u32 = 0xCC;
    pub(crate) const LATE_COLLISION: u32 = 0xD4;
    pub(crate) const COLLISIONS: u32 = 0xE0;
    pub(crate) const BYTES: u32 = 0xE8;
    pub(crate) const GOOD: u32 = 0xEC;
    pub(crate) const UNICAST: u32 = 0xF0;
}

/// Offset of the size bucket inside a bank for a frame of `wire` bytes with FCS.
fn bucket(wire: u64, tagged: bool) -> Option<u32> {
    let index = match wire {
        0..64 => return None,
        64 => 0,
        65..=127 => 1,
        128..=255 => 2,
        256..=511 => 3,
        512..=1023 => 4,
        1024..=1518 => 5,
        1519..=1522 if tagged => 6,
        1519..=2047 => 7,
        2048..=4095 => 8,
        4096..=9216 => 9,
        _ => return None,
    };
    Some(index * 4)
}

impl Mac {
    /// Adds to the counter at `counter` from UMAC_MIB.
    pub(crate) fn count_by(&mut self, counter: u32, amount: u32) {
        let reset_bit = match counter {
            0..0x80 => 1,
            0x100.. => 2,
            _ => 4,
        };
        if self.reg(UMAC_MIB_CTRL) & reset_bit == 0 {
            let value = self.reg(UMAC_MIB + counter).wrapping_add(amount);
            self.set(UMAC_MIB + counter, value);
        }
    }

    /// Adds one.
    pub(crate) fn count(&mut self, counter: u32) {
        self.count_by(counter, 1);
    }

    /// The counters that every frame moves: bucket, packets, bytes, kind of address.
    pub(crate) fn count_frame(&mut self, bank: Bank, frame: &[u8], good: bool) {
        let wire = frame.len() as u64 + FCS_BYTES;
        let tagged = frame.get(12..14) == Some(&[0x81, 0x00]);
        let (base, packets, bytes) = match bank {
            Bank::Rx => (0, rx::PACKETS, rx::BYTES),
            Bank::Tx => (0x80, tx::PACKETS, tx::BYTES),
        };
        if let Some(offset) = bucket(wire, tagged) {
            self.count(base + offset);
        }
        if bank == Bank::Rx {
            self.stats.mib_frames += 1;
            self.stats.mib_bytes += wire;
        }
        self.count(packets);
        self.count_by(bytes, wire as u32);
        if !good {
            return;
        }
        let (broadcast, multicast, unicast, all) = match bank {
            Bank::Rx => (rx::BROADCAST, rx::MULTICAST, rx::UNICAST, rx::GOOD),
            Bank::Tx => (tx::BROADCAST, tx::MULTICAST, tx::UNICAST, tx::GOOD),
        };
        self.count(all);
        match frame.first_chunk::<6>() {
            Some([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) => self.count(broadcast),
            Some([first, ..]) if first & 1 != 0 => self.count(multicast),
            _ => self.count(unicast),
        }
    }

    /// MIB_CTRL: a set bit clears its bank and holds it.
    pub(crate) fn write_mib_ctrl(&mut self, value: u32) {
        self.set(UMAC_MIB_CTRL, value);
        for (bit, from, to) in [(0, 0x00, 0x80), (1, 0x100, 0x110), (2, 0x80, 0x100)] {
            if value & (1 << bit) != 0 {
                for counter in (from..to).step_by(4) {
                    self.set(UMAC_MIB + counter, self.cfg.found.mib_start);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn buckets_meet_without_gaps() {
        assert_eq!(bucket(63, false), None);
        assert_eq!(bucket(64, false), Some(0));
        assert_eq!(bucket(127, false), Some(4));
        assert_eq!(bucket(1518, false), Some(20));
        assert_eq!(bucket(1522, true), Some(24));
        assert_eq!(bucket(1519, false), Some(28));
        assert_eq!(bucket(9216, false), Some(36));
    }
}
