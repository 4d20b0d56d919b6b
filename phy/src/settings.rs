//! What is asked of a link: which mode, what is offered, which clocks the PHY delays.
//!
//! Owns the types only, so that a benchmark can name a link without a driver.

use crate::{Advertise, Speed};

/// How speed and duplex come about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkMode {
    /// Negotiated, every speed offered.
    #[default]
    Auto,
    /// Negotiated, this speed alone offered (full and half duplex).
    AutoAt(Speed),
    /// Not negotiated: 10 or 100 Mbit/s as said. A partner that negotiates detects the speed and takes half duplex
    /// (IEEE 802.3 clause 28), and PAUSE is not agreed on.
    Forced {
        /// 10 or 100 Mbit/s; 1000BASE-T needs negotiation (clause 40).
        speed: Speed,
        /// Full duplex at our end.
        full_duplex: bool,
    },
}

/// A link as it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// Speed and duplex.
    pub mode: LinkMode,
    /// Symmetric PAUSE offered (ANAR bit 10).
    pub pause: bool,
    /// Asymmetric PAUSE offered (ANAR bit 11).
    pub asymmetric_pause: bool,
    /// EEE modes offered, MMD 7.60 (0x2 100BASE-TX, 0x4 1000BASE-T); `None`: as found at boot.
    pub eee: Option<u16>,
    /// The PHY delays RXC (shadow 7 of register 0x18, bit 8).
    pub rxc_skew: bool,
    /// The PHY delays GTXCLK (shadow 3 of register 0x1C, bit 9).
    pub gtxclk_delay: bool,
}

impl Default for LinkSettings {
    /// As [`Advertise::default`], with the delays of `rgmii-rxid`.
    fn default() -> Self {
        LinkSettings {
            mode: LinkMode::Auto,
            pause: true,
            asymmetric_pause: true,
            eee: Some(0),
            rxc_skew: true,
            gtxclk_delay: false,
        }
    }
}

impl LinkSettings {
    /// What the partner is told; `found_eee` is what the PHY offered at boot.
    pub(crate) fn advertise(&self, found_eee: u16) -> Advertise {
        let offers = |speed| match self.mode {
            LinkMode::Auto => true,
            LinkMode::AutoAt(only) => only == speed,
            LinkMode::Forced { .. } => false,
        };
        let negotiates = !matches!(self.mode, LinkMode::Forced { .. });
        Advertise {
            mbps10: offers(Speed::Mbps10),
            mbps100: offers(Speed::Mbps100),
            mbps1000: offers(Speed::Mbps1000),
            half_duplex: true,
            // Forced media write the selector alone (OpenBSD, NetBSD brgphy).
            pause: negotiates && self.pause,
            asymmetric_pause: negotiates && self.asymmetric_pause,
            eee: self.eee.unwrap_or(found_eee),
        }
    }
}
