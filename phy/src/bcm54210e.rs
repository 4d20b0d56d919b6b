//! The PHY: finding it, setting it up, watching its link.
//!
//! Owns one BCM54210E-family PHY (the Pi 4's BCM54213PE is revision 2 of it). Never resets the chip: a reset returns
//! the clock delays to their defaults and costs the link, and no Pi 4 driver needs it. The clock delays are those of
//! `phy-mode = "rgmii-rxid"`: the PHY delays the receive clock, the MAC the transmit clock.

use crate::access::{self, Access};
use crate::link::{common_at_speed, resolve_mode, resolve_pause};
use crate::regs::*;
use crate::settings::{LinkMode, LinkSettings};
use crate::{Clock, LinkState, MdioBus, MdioError, PhyError, Speed};
use tock_registers::LocalRegisterCopy;

/// ID of the family, revision nibble masked (Linux `brcmphy.h`); a Pi 4B reads 0x600D84A2 (rusty-pi/pimu).
const BCM54210E_ID: u32 = 0x600d_84a0;
const ID_MASK: u32 = 0xffff_fff0;
/// EEE mask of 100BASE-TX in MMD 7.60 and 7.61.
const EEE_100TX: u16 = 0x0002;
/// EEE mask of 1000BASE-T.
const EEE_1000T: u16 = 0x0004;
/// How long the signal is away before a forced mode, us.
const LINK_BREAK_US: u32 = 10_000;
/// From power-down to the first register access that must work, us.
const POWER_UP_US: u32 = 1_000;

/// What we offer the partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertise {
    /// 10BASE-T.
    pub mbps10: bool,
    /// 100BASE-TX.
    pub mbps100: bool,
    /// 1000BASE-T.
    pub mbps1000: bool,
    /// The half-duplex modes of these speeds, too.
    pub half_duplex: bool,
    /// Symmetric PAUSE (ANAR bit 10).
    pub pause: bool,
    /// Asymmetric PAUSE (ANAR bit 11).
    pub asymmetric_pause: bool,
    /// EEE modes, MMD 7.60 (0x2 100BASE-TX, 0x4 1000BASE-T).
    pub eee: u16,
}

impl Default for Advertise {
    /// Every mode and both PAUSE bits, as Linux does (ANAR 0x0DE1 on a running Pi, rusty-pi/pimu), and no EEE.
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

impl Advertise {
    /// Register 4.
    fn anar(&self) -> u16 {
        let bit = |on: bool| u16::from(on);
        (ANAR::SELECTOR::Ieee8023
            + ANAR::T10_HALF.val(bit(self.mbps10 && self.half_duplex))
            + ANAR::T10_FULL.val(bit(self.mbps10))
            + ANAR::T100_HALF.val(bit(self.mbps100 && self.half_duplex))
            + ANAR::T100_FULL.val(bit(self.mbps100))
            + ANAR::PAUSE.val(bit(self.pause))
            + ANAR::ASYMMETRIC_PAUSE.val(bit(self.asymmetric_pause)))
        .value
    }

    /// Register 9. Master or slave is left to negotiation.
    fn gigabit_control(&self) -> u16 {
        (GIGABIT_CONTROL::FULL.val(self.mbps1000.into())
            + GIGABIT_CONTROL::HALF.val((self.mbps1000 && self.half_duplex).into()))
        .value
    }
}

/// What [`Bcm54210e::start`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAction {
    /// The PHY offered all we want and had a link, so nothing was restarted.
    LeftAlone,
    /// Autonegotiation starts anew; the link takes 2 to 3 s.
    Restarted,
}

/// A PHY of the BCM54210E family.
#[derive(Clone, Copy, Debug)]
pub struct Bcm54210e {
    address: u8,
    id: u32,
    /// EEE modes offered, as last read from the PHY.
    eee_advertised: u16,
    /// EEE modes offered before we wrote any.
    eee_found: Option<u16>,
    /// What the last look found, if it found a link.
    pub(crate) last: Option<LinkState>,
    /// Times that a link went.
    losses: u64,
}

impl Bcm54210e {
    /// Finds the PHY by its ID: at address 1 (every Pi 4 device tree), 0 (some older ones, Circle), then anywhere.
    ///
    /// # Errors
    /// [`PhyError::NotFound`] if no such PHY answers, [`PhyError::Mdio`] if the bus is stuck.
    pub fn find<B: MdioBus>(bus: &mut B) -> Result<Self, PhyError> {
        let mut other = None;
        for address in [1, 0].into_iter().chain(2..32) {
            match read_id(bus, address)? {
                Some(id) if id & ID_MASK == BCM54210E_ID => {
                    log::debug!("PHY {id:#010x} at MDIO address {address}");
                    return Ok(Bcm54210e { address, id, eee_advertised: 0, eee_found: None, last: None, losses: 0 });
                }
                Some(id) => other = other.or(Some((address, id))),
                None => {}
            }
        }
        Err(PhyError::NotFound { other })
    }

    /// ID registers 2 (upper half) and 3.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How often [`Self::poll_link`] found that a link which it had seen was lost since, even if it is back.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// MDIO address.
    pub fn address(&self) -> u8 {
        self.address
    }

    /// [`Self::set`] with this offer and everything else as by default.
    ///
    /// # Errors
    /// As there.
    pub fn start<B: MdioBus, C: Clock>(
        &mut self,
        bus: &mut B,
        clock: &C,
        advertise: Advertise,
    ) -> Result<StartAction, PhyError> {
        self.negotiate(bus, clock, &LinkSettings::default(), &advertise)
    }

    /// Sets clock delays and offer or forced mode, and restarts the link if it has to: because the offer changed or
    /// because there is no link. A link that is as wanted is left alone; restarting it costs 2 to 3 s.
    ///
    /// # Errors
    /// The bus failed; the PHY may be half set up and can be set again.
    pub fn set<B: MdioBus, C: Clock>(
        &mut self,
        bus: &mut B,
        clock: &C,
        want: &LinkSettings,
    ) -> Result<StartAction, PhyError> {
        let found = if want.eee.is_none() { self.note_found(bus)? } else { 0 };
        match want.mode {
            LinkMode::Forced { speed, full_duplex } => {
                self.force(bus, clock, want, &want.advertise(found), (speed, full_duplex))
            }
            LinkMode::Auto | LinkMode::AutoAt(_) => self.negotiate(bus, clock, want, &want.advertise(found)),
        }
    }

    /// EEE modes that the PHY offered when it was met, before anything was written.
    fn note_found<B: MdioBus>(&mut self, bus: &mut B) -> Result<u16, PhyError> {
        let found = match self.eee_found {
            Some(found) => found,
            None => Access::new(bus, self.address).read_mmd(access::EEE_ADVERTISEMENT)?,
        };
        self.eee_found = Some(found);
        Ok(found)
    }

    fn negotiate<B: MdioBus, C: Clock>(
        &mut self,
        bus: &mut B,
        clock: &C,
        want: &LinkSettings,
        advertise: &Advertise,
    ) -> Result<StartAction, PhyError> {
        self.last = None;
        let mut phy = Access::new(bus, self.address);
        let woken = wake(&mut phy, clock)?;
        set_clock_delays(&mut phy, want)?;
        let changed = offer(&mut phy, advertise, &mut self.eee_found)?;
        self.eee_advertised = phy.read_mmd(access::EEE_ADVERTISEMENT)?;
        if self.eee_advertised != advertise.eee {
            log::warn!("EEE advertisement stayed {:#06x}, wanted {:#06x}", self.eee_advertised, advertise.eee);
        }
        let negotiated = BMSR::AN_COMPLETE::SET + BMSR::LINK::SET;
        let linked = read_status(&mut phy)?.1.matches_all(negotiated);
        if linked && !changed && !woken {
            return Ok(StartAction::LeftAlone);
        }
        let control = BMCR::AN_ENABLE::SET + BMCR::RESTART_AN::SET + BMCR::FULL_DUPLEX::SET + BMCR::SPEED_MSB::SET;
        phy.write(BMCR_REGISTER, control.value)?;
        Ok(StartAction::Restarted)
    }

    /// Speed and duplex without negotiation. The link goes and comes.
    fn force<B: MdioBus, C: Clock>(
        &mut self,
        bus: &mut B,
        clock: &C,
        want: &LinkSettings,
        advertise: &Advertise,
        (speed, full_duplex): (Speed, bool),
    ) -> Result<StartAction, PhyError> {
        self.last = None;
        let mut phy = Access::new(bus, self.address);
        set_clock_delays(&mut phy, want)?;
        let changed = offer(&mut phy, advertise, &mut self.eee_found)?;
        self.eee_advertised = phy.read_mmd(access::EEE_ADVERTISEMENT)?;
        let control = BMCR::SPEED_LSB.val((speed == Speed::Mbps100).into())
            + BMCR::SPEED_MSB.val((speed == Speed::Mbps1000).into())
            + BMCR::FULL_DUPLEX.val(full_duplex.into());
        let linked = read_status(&mut phy)?.1.is_set(BMSR::LINK);
        if linked && !changed && phy.read(BMCR_REGISTER)? == control.value {
            return Ok(StartAction::LeftAlone);
        }
        // Loopback takes the signal from the wire, so that the partner sees the link go (brgphy of the BSDs).
        phy.write(BMCR_REGISTER, BMCR::LOOPBACK::SET.value)?;
        clock.delay_us(LINK_BREAK_US);
        phy.write(BMCR_REGISTER, control.value)?;
        Ok(StartAction::Restarted)
    }

    /// The link now. One register read while the link stays as it was (a lost link latches, and renegotiation drops
    /// it), two while there is none, about fifteen when it has just come.
    ///
    /// # Errors
    /// The bus failed; the state is not known.
    pub fn poll_link<B: MdioBus>(&mut self, bus: &mut B) -> Result<LinkState, PhyError> {
        let mut phy = Access::new(bus, self.address);
        let (never_lost, status) = read_status(&mut phy)?;
        if let Some(state) = self.last
            && never_lost
        {
            return Ok(state);
        }
        self.losses += u64::from(self.last.take().is_some());
        let down = LinkState { eee_advertised: self.eee_advertised, ..LinkState::default() };
        if !status.is_set(BMSR::LINK) {
            return Ok(down);
        }
        let control = LocalRegisterCopy::<u16, BMCR::Register>::new(phy.read(BMCR_REGISTER)?);
        if control.is_set(BMCR::AN_ENABLE) && !status.is_set(BMSR::AN_COMPLETE) {
            return Ok(down); // not settled; what the partner offers may be half a page
        }
        let state = self.settled(&mut phy, control)?;
        self.last = Some(state);
        Ok(state)
    }

    /// Speed, duplex, PAUSE and EEE of a link that is up.
    fn settled<B: MdioBus>(
        &mut self,
        phy: &mut Access<'_, B>,
        control: LocalRegisterCopy<u16, BMCR::Register>,
    ) -> Result<LinkState, MdioError> {
        let mut state = LinkState { up: true, ..LinkState::default() };
        if control.is_set(BMCR::AN_ENABLE) {
            let (anar, anlpar) = (phy.read(ANAR_REGISTER)?, phy.read(ANLPAR_REGISTER)?);
            let gigabit = (phy.read(GIGABIT_CONTROL_REGISTER)?, phy.read(GIGABIT_STATUS_REGISTER)?);
            let aux = LocalRegisterCopy::new(phy.read(AUX_STATUS_REGISTER)?);
            (state.speed, state.full_duplex) = negotiated_mode(anar, anlpar, gigabit, aux);
            if state.full_duplex {
                (state.pause_tx, state.pause_rx) = resolve_pause(anar, anlpar);
            }
        } else {
            state.speed = match (control.is_set(BMCR::SPEED_MSB), control.is_set(BMCR::SPEED_LSB)) {
                (true, _) => Speed::Mbps1000,
                (false, true) => Speed::Mbps100,
                (false, false) => Speed::Mbps10,
            };
            state.full_duplex = control.is_set(BMCR::FULL_DUPLEX);
        }
        self.eee_advertised = phy.read_mmd(access::EEE_ADVERTISEMENT)?;
        state.eee_advertised = self.eee_advertised;
        state.eee_partner = phy.read_mmd(access::EEE_PARTNER)?;
        let in_use = match state.speed {
            Speed::Mbps10 => 0,
            Speed::Mbps100 => EEE_100TX,
            Speed::Mbps1000 => EEE_1000T,
        };
        state.eee_active = state.full_duplex && state.eee_advertised & state.eee_partner & in_use != 0;
        Ok(state)
    }

    /// What [`Self::found`] reads, read now. A loss of the link that was latched is counted here, since reading clears it.
    pub fn registers<B: MdioBus>(&mut self, bus: &mut B, mut f: impl FnMut(&'static str, u32, u16)) {
        let mut latched = false;
        Self::found(bus, self.address, |name, code, value| {
            latched |= code == BMSR_REGISTER.into() && !BMSR::LINK.is_set(value);
            f(name, code, value);
        });
        if latched {
            self.losses += u64::from(self.last.take().is_some());
        }
    }

    /// Reads what is worth recording before anything is changed: name, register, value. Shadows of register 0x18 and
    /// 0x1C carry their number in the low byte, MMD registers their device in 23:16. A register that does not answer
    /// is left out. Reading clears what clears on read (the link latch, the EEE wake error count).
    pub fn found<B: MdioBus>(bus: &mut B, address: u8, mut f: impl FnMut(&'static str, u32, u16)) {
        const PLAIN: [(&str, u8); 14] = [
            ("bmcr", BMCR_REGISTER),
            ("bmsr", BMSR_REGISTER),
            ("id1", ID1_REGISTER),
            ("id2", ID2_REGISTER),
            ("anar", ANAR_REGISTER),
            ("anlpar", ANLPAR_REGISTER),
            ("aner", 6),
            ("next_page", 7),
            ("partner_next_page", 8),
            ("1000t_control", GIGABIT_CONTROL_REGISTER),
            ("1000t_status", GIGABIT_STATUS_REGISTER),
            ("extended_status", 15),
            ("aux_status", AUX_STATUS_REGISTER),
            ("interrupt_mask", 0x1b),
        ];
        const MMDS: [(&str, access::Mmd); 6] = [
            ("pcs_control", access::PCS_CONTROL),
            ("pcs_status", access::PCS_STATUS),
            ("eee_capability", access::EEE_CAPABILITY),
            ("eee_wake_errors", access::EEE_WAKE_ERRORS),
            ("eee_advertisement", access::EEE_ADVERTISEMENT),
            ("eee_partner", access::EEE_PARTNER),
        ];
        let mut phy = Access::new(bus, address);
        for (name, register) in PLAIN {
            if let Ok(value) = phy.read(register) {
                f(name, register.into(), value);
            }
        }
        let shadow_code = |register: u8, shadow: u16| u32::from(register) << 8 | u32::from(shadow);
        if let Ok(value) = phy.read_aux(AUX_MISC_SHADOW) {
            f("aux_misc", shadow_code(AUX_CONTROL_REGISTER, AUX_MISC_SHADOW), value);
        }
        if let Ok(value) = phy.read_shadow(CLOCK_CONTROL_SHADOW) {
            f("clock_control", shadow_code(SHADOW_REGISTER, CLOCK_CONTROL_SHADOW), value);
        }
        for (name, mmd) in MMDS {
            if let Ok(value) = phy.read_mmd(mmd) {
                f(name, u32::from(mmd.device) << 16 | u32::from(mmd.register), value);
            }
        }
    }
}

/// The ID at `address`, `None` if nobody is there.
fn read_id<B: MdioBus>(bus: &mut B, address: u8) -> Result<Option<u32>, MdioError> {
    // Some PHYs fail the first read after power-up, so one is thrown away (Linux bcmmii.c).
    let answer = match bus.read(address, BMSR_REGISTER) {
        Err(error @ MdioError::Timeout { .. }) => return Err(error),
        _ => bus.read(address, ID1_REGISTER),
    };
    match answer.and_then(|upper| Ok((upper, bus.read(address, ID2_REGISTER)?))) {
        Ok((0xffff, 0xffff) | (0, 0)) | Err(MdioError::ReadFailed { .. }) => Ok(None),
        Ok((upper, lower)) => Ok(Some(u32::from(upper) << 16 | u32::from(lower))),
        Err(error) => Err(error),
    }
}

type Status = LocalRegisterCopy<u16, BMSR::Register>;

/// Whether the link has been up since the last look, and the status now.
fn read_status<B: MdioBus>(phy: &mut Access<'_, B>) -> Result<(bool, Status), MdioError> {
    let mut read = || match phy.read(BMSR_REGISTER)? {
        // Floating lines: bit 15 (100BASE-T4) is 0 on every PHY of the family.
        0xffff => Err(phy.no_answer(BMSR_REGISTER)),
        status => Ok(Status::new(status)),
    };
    let latched = read()?;
    if latched.is_set(BMSR::LINK) {
        return Ok((true, latched));
    }
    Ok((false, read()?))
}

/// Ends power-down, isolation, loopback and forced mode. True if any of them was on.
fn wake<B: MdioBus, C: Clock>(phy: &mut Access<'_, B>, clock: &C) -> Result<bool, MdioError> {
    let control = LocalRegisterCopy::<u16, BMCR::Register>::new(phy.read(BMCR_REGISTER)?);
    let off = BMCR::POWER_DOWN::SET + BMCR::ISOLATE::SET + BMCR::LOOPBACK::SET;
    if !control.any_matching_bits_set(off) && control.is_set(BMCR::AN_ENABLE) {
        return Ok(false);
    }
    phy.write(BMCR_REGISTER, BMCR::AN_ENABLE::SET.value)?;
    clock.delay_us(POWER_UP_US);
    Ok(true)
}

/// Clocks that are delayed here: RXC, GTXCLK.
pub(crate) fn read_clock_delays<B: MdioBus>(phy: &mut Access<'_, B>) -> Result<(bool, bool), MdioError> {
    let rxc = AUX_CONTROL::RXC_SKEW.is_set(phy.read_aux(AUX_MISC_SHADOW)?);
    Ok((rxc, SHADOW::GTXCLK_DELAY.is_set(phy.read_shadow(CLOCK_CONTROL_SHADOW)?)))
}

/// RGMII clocks: which of them are delayed here and not in the MAC or on the board.
pub(crate) fn set_clock_delays<B: MdioBus>(phy: &mut Access<'_, B>, want: &LinkSettings) -> Result<(), MdioError> {
    let misc = phy.read_aux(AUX_MISC_SHADOW)?;
    if AUX_CONTROL::RXC_SKEW.is_set(misc) != want.rxc_skew {
        phy.write_aux_misc(AUX_CONTROL::RXC_SKEW.val(want.rxc_skew.into()).modify(misc))?;
    }
    let clock = phy.read_shadow(CLOCK_CONTROL_SHADOW)?;
    if SHADOW::GTXCLK_DELAY.is_set(clock) != want.gtxclk_delay {
        phy.write_shadow(CLOCK_CONTROL_SHADOW, SHADOW::GTXCLK_DELAY.val(want.gtxclk_delay.into()).modify(clock))?;
    }
    Ok(())
}

/// Writes the advertisement where it differs. True if it did. `eee_found` keeps what EEE was at the first time.
fn offer<B: MdioBus>(
    phy: &mut Access<'_, B>,
    advertise: &Advertise,
    eee_found: &mut Option<u16>,
) -> Result<bool, MdioError> {
    let mut changed = false;
    for (register, want) in [(ANAR_REGISTER, advertise.anar()), (GIGABIT_CONTROL_REGISTER, advertise.gigabit_control())]
    {
        if phy.read(register)? != want {
            phy.write(register, want)?;
            changed = true;
        }
    }
    let eee = phy.read_mmd(access::EEE_ADVERTISEMENT)?;
    eee_found.get_or_insert(eee);
    if eee != advertise.eee {
        phy.write_mmd(access::EEE_ADVERTISEMENT, advertise.eee)?;
        changed = true;
    }
    Ok(changed)
}

/// Speed and full duplex from what both ends offer, checked against the chip's own summary.
///
/// The summary (register 0x19) is not measured on this chip, so it never decides alone. It knows one thing that the
/// advertisements hide: a link that came up below the best common speed because a pair of the cable is broken.
fn negotiated_mode(
    anar: u16,
    anlpar: u16,
    gigabit: (u16, u16),
    aux: LocalRegisterCopy<u16, AUX_STATUS::Register>,
) -> (Speed, bool) {
    let resolved = resolve_mode(anar, anlpar, gigabit);
    let summary = match aux.read_as_enum(AUX_STATUS::RESULT) {
        Some(AUX_STATUS::RESULT::Value::T1000Half | AUX_STATUS::RESULT::Value::T1000Full) => Some(Speed::Mbps1000),
        Some(AUX_STATUS::RESULT::Value::T100Half | AUX_STATUS::RESULT::Value::T100Full) => Some(Speed::Mbps100),
        // Which of the two codes is full duplex is told differently by different headers.
        Some(AUX_STATUS::RESULT::Value::T10Half | AUX_STATUS::RESULT::Value::T10Full) => Some(Speed::Mbps10),
        _ => None,
    }
    .filter(|_| aux.is_set(AUX_STATUS::LINK));
    match (resolved, summary) {
        (Some(mode), Some(speed)) if speed < mode.0 => match common_at_speed(speed, anar, anlpar, gigabit) {
            Some(full_duplex) => {
                log::warn!("link runs at {} Mbit/s, both ends can do {}: cable?", speed.mbps(), mode.0.mbps());
                (speed, full_duplex)
            }
            None => mode,
        },
        (Some(mode), _) => mode,
        // The partner does not negotiate. 802.3 clause 28: half duplex, whatever the partner is forced to.
        (None, Some(speed)) => (speed, false),
        (None, None) => {
            log::warn!("link without a common mode (ANAR {anar:#06x}, partner {anlpar:#06x}); taken as 10 half");
            (Speed::Mbps10, false)
        }
    }
}
