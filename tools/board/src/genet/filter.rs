//! Which frames pass: the address filters of the UniMAC (MDF) and the hardware filter block (HFB) in front of RDMA.

use super::EmptyFilter;
use super::mac::Mac;
use super::map::{HFB_CTRL, HFB_ENABLE, HFB_LENGTH, HFB_RAM, UMAC_MAC0, UMAC_MAC1, UMAC_MDF_ADDR, UMAC_MDF_CTRL};

const FILTERS: u32 = 17;
const HFB_FILTERS: u32 = 48;
const HFB_WORDS: u32 = 128;

impl Mac {
    /// The address in UMAC_MAC0/1.
    pub(crate) fn own_address(&self) -> [u8; 6] {
        let [a, b, c, d] = self.reg(UMAC_MAC0).to_be_bytes();
        let [_, _, e, f] = self.reg(UMAC_MAC1).to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// True when MDF lets `destination` pass. PROMISC is the caller's business.
    pub(crate) fn address_passes(&self, destination: &[u8; 6]) -> bool {
        let enabled = self.reg(UMAC_MDF_CTRL);
        if enabled == 0 {
            return match self.cfg.switches.empty_filter {
                EmptyFilter::AcceptsAll => true,
                EmptyFilter::AcceptsOwn => *destination == [0xFF; 6] || *destination == self.own_address(),
            };
        }
        (0..FILTERS).filter(|filter| enabled & (1 << (16 - filter)) != 0).any(|filter| {
            let [_, _, a, b] = self.reg(UMAC_MDF_ADDR + 8 * filter).to_be_bytes();
            let [c, d, e, f] = self.reg(UMAC_MDF_ADDR + 8 * filter + 4).to_be_bytes();
            *destination == [a, b, c, d, e, f]
        })
    }

    /// The first HFB filter that matches. A RAM word holds two frame bytes and a mask bit for each of their nibbles;
    /// a length of 0 matches nothing.
    pub(crate) fn hfb_match(&self, frame: &[u8]) -> Option<u32> {
        if self.reg(HFB_CTRL) & 1 == 0 {
            return None;
        }
        (0..HFB_FILTERS).find(|&filter| self.hfb_enabled(filter) && self.hfb_filter_matches(filter, frame))
    }

    fn hfb_enabled(&self, filter: u32) -> bool {
        // Filters 32..47 in the first word, 0..31 in the second.
        let word = if filter < 32 { HFB_ENABLE + 4 } else { HFB_ENABLE };
        self.reg(word) & (1 << (filter % 32)) != 0
    }

    fn hfb_filter_matches(&self, filter: u32, frame: &[u8]) -> bool {
        let lengths = self.reg(HFB_LENGTH + (HFB_FILTERS - 1 - filter) / 4 * 4);
        let length = lengths >> (8 * (filter % 4)) & 0xFF;
        if length == 0 {
            return false;
        }
        (0..length.div_ceil(2).min(HFB_WORDS)).all(|index| {
            let word = self.reg(HFB_RAM + (filter * HFB_WORDS + index) * 4);
            let at = index as usize * 2;
            let byte = |offset: usize| u32::from(frame.get(at + offset).copied().unwrap_or(0));
            let bits = byte(0) << 8 | byte(1);
            let mask = (0..4).filter(|n| word & (1 << (16 + n)) != 0).fold(0, |mask, n| mask | 0xF << (4 * n));
            (word ^ bits) & mask & 0xFFFF == 0
        })
    }
}
