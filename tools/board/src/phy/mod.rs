//! The BCM54210E PHY (BCM54213PE on a Pi 4B) as seen over MDIO, and its autonegotiation in virtual time.
//!
//! Owns the clause 22 registers, Broadcom's shadows and expansion registers, the MMD registers of EEE
//! and the link state with both ends' part in it. Reset values are those read on a Pi 4B
//! 1.5 under Linux (rusty-pi/pimu) unless a comment says otherwise. Does not own MDIO timing, which is the MAC's, nor
//! frames.

mod mmd;
mod negotiation;
mod vendor;

pub use negotiation::Resolved;

use crate::link::{Partner, Speed};
use mmd::Mmd;
use negotiation::State;
use vendor::Vendor;

/// Time that BMCR bit 15 reads 1. OpenBSD waits 500 us before it looks; certainty C.
const RESET_NS: u64 = 300_000;

const BMCR_RESET: u16 = 1 << 15;
const BMCR_LOOPBACK: u16 = 1 << 14;
const BMCR_SPEED_100: u16 = 1 << 13;
const BMCR_NEGOTIATE: u16 = 1 << 12;
const BMCR_POWER_DOWN: u16 = 1 << 11;
const BMCR_RESTART: u16 = 1 << 9;
const BMCR_FULL: u16 = 1 << 8;
const BMCR_SPEED_1000: u16 = 1 << 6;

/// Configuration of the PHY.
#[derive(Clone, Debug)]
pub struct PhyConfig {
    /// False: nobody answers on MDIO and no link ever comes.
    pub present: bool,
    /// MDIO address; 1 on a Pi 4, 0 in some early device trees (Circle).
    pub address: u8,
    /// ID registers 2 and 3. `0x600D_84A2` read on a Pi 4B 1.5 (rusty-pi/pimu).
    pub id: u32,
    /// From the start of autonegotiation to link.
    pub negotiation_ns: u64,
    /// The link is up at reset already, as after a boot stage that used it.
    pub up_at_reset: bool,
    /// MMD 7.60 after reset. Not known; the chip reports EEE for 100 and 1000.
    pub eee_advertised: u16,
}

impl Default for PhyConfig {
    fn default() -> Self {
        PhyConfig {
            present: true,
            address: 1,
            id: 0x600D_84A2,
            negotiation_ns: 2_500_000_000,
            up_at_reset: false,
            eee_advertised: 0x0006,
        }
    }
}

/// The PHY.
pub struct Phy {
    cfg: PhyConfig,
    bmcr: u16,
    anar: u16,
    next_page: u16,
    t1000_control: u16,
    reset_until: u64,
    /// BMSR bit 2 reads 0 once more after the link was down.
    link_lost: bool,
    page_received: bool,
    state: State,
    partner: Option<Partner>,
    mmd: Mmd,
    vendor: Vendor,
}

impl Phy {
    /// A PHY just after power-up, negotiating, with `partner` at the other end of the cable.
    pub fn new(cfg: &PhyConfig, partner: Option<&Partner>) -> Self {
        let mut phy = Phy {
            cfg: cfg.clone(),
            bmcr: 0,
            anar: 0,
            next_page: 0,
            t1000_control: 0,
            reset_until: 0,
            link_lost: false,
            page_received: false,
            state: State::Down,
            partner: partner.cloned(),
            mmd: Mmd::default(),
            vendor: Vendor::default(),
        };
        phy.set_defaults();
        phy.restart(0);
        if cfg.up_at_reset {
            phy.finish_now();
            phy.link_lost = false;
        }
        phy
    }

    fn set_defaults(&mut self) {
        self.bmcr = 0x1140;
        self.anar = 0x01E1;
        self.next_page = 0x2001;
        self.t1000_control = 0x0300;
        self.mmd = Mmd::new(self.cfg.eee_advertised);
        self.vendor = Vendor::default();
    }

    /// MDIO address at which it answers.
    pub fn answers_at(&self, address: u8) -> bool {
        self.cfg.present && self.cfg.address == address
    }

    /// Takes the PHY off the board or puts it back, as a fault.
    pub fn set_present(&mut self, now: u64, present: bool) {
        self.cfg.present = present;
        self.restart(now);
    }

    /// The cable was plugged into `partner` (or pulled): link goes, negotiation starts again.
    pub fn set_partner(&mut self, now: u64, partner: Option<&Partner>) {
        self.partner = partner.cloned();
        self.restart(now);
    }

    /// What the link is, when it is up.
    pub fn link(&self) -> Option<Resolved> {
        match self.state {
            State::Up(resolved) => Some(resolved),
            _ => None,
        }
    }

    /// Set when the PHY returns to the MAC what it sends, at this speed.
    pub fn loopback(&self) -> Option<Speed> {
        (self.bmcr & BMCR_LOOPBACK != 0 && self.bmcr & BMCR_POWER_DOWN == 0).then(|| self.forced_speed())
    }

    /// Clock delays: (PHY delays RXC, PHY delays GTXCLK).
    pub fn delays(&self) -> (bool, bool) {
        self.vendor.delays()
    }

    /// Counts a frame in which the receiver saw errors (register 0x12).
    pub fn count_receive_error(&mut self) {
        self.vendor.receive_errors = self.vendor.receive_errors.saturating_add(1);
    }

    /// When `run` has something to do.
    pub fn next_event(&self) -> Option<u64> {
        match self.state {
            State::Negotiating { until } => Some(until),
            _ => None,
        }
    }

    /// Finishes what is due; true when the link changed.
    pub fn run(&mut self, now: u64) -> bool {
        match self.state {
            State::Negotiating { until } if until <= now => {
                self.finish_now();
                self.link().is_some()
            }
            _ => false,
        }
    }

    /// MDIO read. Registers that no public source names read 0.
    pub fn read(&mut self, now: u64, register: u8) -> u16 {
        match register {
            0 if now < self.reset_until => BMCR_RESET | self.bmcr,
            0 => self.bmcr,
            1 => self.status(),
            2 => (self.cfg.id >> 16) as u16,
            3 => self.cfg.id as u16,
            4 => self.anar,
            5 => self.partner_abilities(),
            6 => self.expansion(),
            7 => self.next_page,
            8 => 0,
            9 => self.t1000_control,
            10 => self.t1000_status(),
            13 | 14 => self.mmd_read(register),
            15 => 0x3000,
            0x19 => self.aux_status(),
            0x10..=0x1F => self.vendor.read(register),
            _ => 0,
        }
    }

    /// MDIO write; false when no public source names the register or it is read-only.
    pub fn write(&mut self, now: u64, register: u8, value: u16) -> bool {
        match register {
            0 => self.write_control(now, value),
            4 => self.anar = value & 0xBFFF,
            7 => self.next_page = value,
            9 => self.t1000_control = value & 0xFF00,
            13 => self.mmd.select(value),
            14 => return self.mmd.write(value),
            0x10..=0x1F => return self.vendor.write(register, value),
            _ => return false,
        }
        true
    }

    fn write_control(&mut self, now: u64, value: u16) {
        if now < self.reset_until {
            return;
        }
        if value & BMCR_RESET != 0 {
            self.set_defaults();
            self.reset_until = now + RESET_NS;
            self.restart(now);
            return;
        }
        const STAYS: u16 = !(BMCR_RESET | BMCR_RESTART);
        const LINK_BITS: u16 =
            BMCR_LOOPBACK | BMCR_SPEED_100 | BMCR_SPEED_1000 | BMCR_FULL | BMCR_POWER_DOWN | BMCR_NEGOTIATE;
        let changed = (self.bmcr ^ value) & LINK_BITS;
        self.bmcr = value & STAYS;
        let negotiates = value & BMCR_NEGOTIATE != 0;
        // With autonegotiation on, speed and duplex bits mean nothing; a write that only touches them changes nothing.
        let matters = if negotiates { changed & (BMCR_LOOPBACK | BMCR_POWER_DOWN | BMCR_NEGOTIATE) } else { changed };
        if matters != 0 || (negotiates && value & BMCR_RESTART != 0) {
            self.restart(now);
        }
    }

    /// BMSR: `0x7949` down, `0x796D` up (measured); link latches low.
    fn status(&mut self) -> u16 {
        let up = self.link().is_some();
        let shown_up = up && !std::mem::take(&mut self.link_lost);
        let done = up && self.bmcr & BMCR_NEGOTIATE != 0;
        0x7949 | if shown_up { 1 << 2 } else { 0 } | if done { 1 << 5 } else { 0 }
    }

    fn mmd_read(&mut self, register: u8) -> u16 {
        let link = self.link();
        self.mmd.read(register, self.partner.as_ref().filter(|_| link.is_some_and(|l| l.negotiated)), link)
    }

    fn forced_speed(&self) -> Speed {
        if self.bmcr & BMCR_SPEED_1000 != 0 {
            Speed::Mbps1000
        } else if self.bmcr & BMCR_SPEED_100 != 0 {
            Speed::Mbps100
        } else {
            Speed::Mbps10
        }
    }

    fn forced_full(&self) -> bool {
        self.bmcr & BMCR_FULL != 0
    }
}

#[cfg(test)]
mod tests;
