//! Clause 45 registers behind 13 and 14, as far as EEE needs them (IEEE 802.3 22.2.4.3.11, clause 45; Linux mdio.h).

use super::negotiation::Resolved;
use crate::link::Partner;

const PCS: u16 = 3;
const AN: u16 = 7;

#[derive(Clone, Debug, Default)]
pub(super) struct Mmd {
    device: u16,
    /// 0 address, 1 data, 2 data with increment after both, 3 data with increment after writes.
    function: u16,
    address: u16,
    pcs_control: u16,
    pub(super) eee_advertised: u16,
    broadcom_eee: u16,
    lpi_counter: u16,
    /// MMD 3.22; clears on read.
    pub(super) wake_errors: u16,
}

impl Mmd {
    pub(super) fn new(eee_advertised: u16) -> Self {
        Mmd { eee_advertised, ..Mmd::default() }
    }

    /// Register 13.
    pub(super) fn select(&mut self, value: u16) {
        self.device = value & 0x1F;
        self.function = value >> 14;
    }

    /// Registers 13 and 14. `partner` only while its page is known.
    pub(super) fn read(&mut self, register: u8, partner: Option<&Partner>, link: Option<Resolved>) -> u16 {
        if register == 13 {
            return self.function << 14 | self.device;
        }
        if self.function == 0 {
            return self.address;
        }
        let value = match (self.device, self.address) {
            (PCS, 0) => self.pcs_control,
            // RX and TX LPI received, latched: modelled as seen on every EEE link.
            (PCS, 1) => 0x0004 | if link.is_some_and(|l| l.eee) { 0x0C00 } else { 0 },
            (PCS, 20) => 0x0006,
            (PCS, 22) => std::mem::take(&mut self.wake_errors),
            (AN, 60) => self.eee_advertised,
            (AN, 61) => partner.map_or(0, |p| p.eee),
            (AN, 0x803D) => self.broadcom_eee,
            (AN, 0x803F) => self.lpi_counter,
            _ => 0,
        };
        if self.function == 2 {
            self.address = self.address.wrapping_add(1);
        }
        value
    }

    /// Register 14; false when nothing is known to be there.
    pub(super) fn write(&mut self, value: u16) -> bool {
        if self.function == 0 {
            self.address = value;
            return true;
        }
        let known = match (self.device, self.address) {
            (PCS, 0) => Some(&mut self.pcs_control),
            (AN, 60) => Some(&mut self.eee_advertised),
            (AN, 0x803D) => Some(&mut self.broadcom_eee),
            (AN, 0x803F) => Some(&mut self.lpi_counter),
            _ => None,
        };
        let found = known.is_some();
        if let Some(place) = known {
            *place = value;
        }
        if self.function >= 2 {
            self.address = self.address.wrapping_add(1);
        }
        found
    }
}
