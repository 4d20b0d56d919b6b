//! Loopback: the PHY returns what the MAC sends, whatever is on the cable.
//!
//! Owns BMCR bit 14 (IEEE 802.3 clause 22.2.4.1.2) and the way back from it. Autonegotiation is off meanwhile, so the
//! link goes and has to be negotiated again afterwards, which costs 2 to 3 s.

use crate::access::Access;
use crate::bcm54210e::{read_clock_delays, set_clock_delays};
use crate::regs::{BMCR, BMCR_REGISTER};
use crate::{Bcm54210e, LinkSettings, MdioBus, MdioError, Speed};

/// What [`Bcm54210e::restore`] goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhyState {
    control: u16,
    rxc_skew: bool,
    gtxclk_delay: bool,
}

impl PhyState {
    /// Goes back to its clock delays alone.
    ///
    /// # Errors
    /// The bus failed.
    pub fn restore_delays<B: MdioBus>(&self, phy: &Bcm54210e, bus: &mut B) -> Result<(), MdioError> {
        phy.delay_clocks(bus, self.rxc_skew, self.gtxclk_delay)
    }
}

impl Bcm54210e {
    /// Mode and clock delays as they are.
    ///
    /// # Errors
    /// The bus failed.
    pub fn state<B: MdioBus>(&self, bus: &mut B) -> Result<PhyState, MdioError> {
        let mut phy = Access::new(bus, self.address());
        let control = phy.read(BMCR_REGISTER)?;
        if control == 0xffff {
            return Err(phy.no_answer(BMCR_REGISTER)); // floating lines
        }
        let (rxc_skew, gtxclk_delay) = read_clock_delays(&mut phy)?;
        Ok(PhyState { control, rxc_skew, gtxclk_delay })
    }

    /// Returns to the MAC what it sends, at `speed` in full duplex. The link is gone until [`Self::restore`].
    ///
    /// # Errors
    /// The bus failed, or the PHY does not take it.
    pub fn loop_back<B: MdioBus>(&mut self, bus: &mut B, speed: Speed) -> Result<(), MdioError> {
        self.last = None;
        let mut phy = Access::new(bus, self.address());
        let control = BMCR::LOOPBACK::SET
            + BMCR::FULL_DUPLEX::SET
            + BMCR::SPEED_LSB.val((speed == Speed::Mbps100).into())
            + BMCR::SPEED_MSB.val((speed == Speed::Mbps1000).into());
        phy.write(BMCR_REGISTER, control.value)?;
        if phy.read(BMCR_REGISTER)? != control.value {
            return Err(phy.no_answer(BMCR_REGISTER));
        }
        Ok(())
    }

    /// Sets the clock delays alone: RXC, GTXCLK.
    ///
    /// # Errors
    /// The bus failed.
    pub fn delay_clocks<B: MdioBus>(&self, bus: &mut B, rxc_skew: bool, gtxclk_delay: bool) -> Result<(), MdioError> {
        let want = LinkSettings { rxc_skew, gtxclk_delay, ..LinkSettings::default() };
        set_clock_delays(&mut Access::new(bus, self.address()), &want)
    }

    /// Goes back to `state`; autonegotiation, if it was on, starts anew.
    ///
    /// # Errors
    /// The bus failed; [`Self::set`] may succeed later.
    pub fn restore<B: MdioBus>(&mut self, bus: &mut B, state: &PhyState) -> Result<(), MdioError> {
        self.last = None;
        state.restore_delays(self, bus)?;
        let restart = BMCR::RESTART_AN.val(u16::from(BMCR::AN_ENABLE.is_set(state.control)));
        Access::new(bus, self.address()).write(BMCR_REGISTER, restart.modify(state.control))
    }
}
