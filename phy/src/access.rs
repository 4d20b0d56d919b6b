//! Ways into the PHY's address spaces: plain registers, two kinds of shadows, and MMDs.
//!
//! Shadows are Broadcom's (Linux `bcm-phy-lib.c`, BSD `brgphyreg.h`), MMDs are IEEE 802.3 clause 22.2.4.3.11-12.

use crate::regs::{
    AUX_CONTROL, AUX_CONTROL_REGISTER, AUX_MISC_SHADOW, MMD_CONTROL, MMD_CONTROL_REGISTER, MMD_DATA_REGISTER, SHADOW,
    SHADOW_REGISTER,
};
use crate::{MdioBus, MdioError};

/// A register of an MDIO manageable device inside the PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mmd {
    pub device: u8,
    pub register: u16,
}

/// PCS control and EEE wake errors.
pub(crate) const PCS_CONTROL: Mmd = Mmd { device: 3, register: 0 };
pub(crate) const PCS_STATUS: Mmd = Mmd { device: 3, register: 1 };
pub(crate) const EEE_CAPABILITY: Mmd = Mmd { device: 3, register: 20 };
/// Clears on read.
pub(crate) const EEE_WAKE_ERRORS: Mmd = Mmd { device: 3, register: 22 };
pub(crate) const EEE_ADVERTISEMENT: Mmd = Mmd { device: 7, register: 60 };
pub(crate) const EEE_PARTNER: Mmd = Mmd { device: 7, register: 61 };

/// The bus with one PHY's address.
pub(crate) struct Access<'a, B> {
    bus: &'a mut B,
    address: u8,
}

impl<'a, B: MdioBus> Access<'a, B> {
    pub(crate) fn new(bus: &'a mut B, address: u8) -> Self {
        Access { bus, address }
    }

    pub(crate) fn read(&mut self, register: u8) -> Result<u16, MdioError> {
        self.bus.read(self.address, register)
    }

    /// The error for an answer that no PHY gives.
    pub(crate) fn no_answer(&self, register: u8) -> MdioError {
        MdioError::ReadFailed { phy: self.address, register }
    }

    pub(crate) fn write(&mut self, register: u8, value: u16) -> Result<(), MdioError> {
        self.bus.write(self.address, register, value)
    }

    /// Shadow `shadow` of register 0x18.
    pub(crate) fn read_aux(&mut self, shadow: u16) -> Result<u16, MdioError> {
        let select = AUX_CONTROL::READ_SHADOW.val(shadow) + AUX_CONTROL::SHADOW.val(AUX_MISC_SHADOW);
        self.write(AUX_CONTROL_REGISTER, select.value)?;
        self.read(AUX_CONTROL_REGISTER)
    }

    /// The misc shadow of register 0x18, the only one written.
    pub(crate) fn write_aux_misc(&mut self, value: u16) -> Result<(), MdioError> {
        let select = AUX_CONTROL::WRITE::SET + AUX_CONTROL::SHADOW.val(AUX_MISC_SHADOW);
        self.write(AUX_CONTROL_REGISTER, select.modify(value))
    }

    /// Shadow `shadow` of register 0x1C: its ten data bits.
    pub(crate) fn read_shadow(&mut self, shadow: u16) -> Result<u16, MdioError> {
        self.write(SHADOW_REGISTER, SHADOW::SELECT.val(shadow).value)?;
        Ok(SHADOW::DATA.read(self.read(SHADOW_REGISTER)?))
    }

    pub(crate) fn write_shadow(&mut self, shadow: u16, data: u16) -> Result<(), MdioError> {
        let word = SHADOW::WRITE::SET + SHADOW::SELECT.val(shadow) + SHADOW::DATA.val(data);
        self.write(SHADOW_REGISTER, word.value)
    }

    fn select_mmd(&mut self, mmd: Mmd) -> Result<(), MdioError> {
        let device = MMD_CONTROL::DEVICE.val(mmd.device.into());
        self.write(MMD_CONTROL_REGISTER, (MMD_CONTROL::FUNCTION::Address + device).value)?;
        self.write(MMD_DATA_REGISTER, mmd.register)?;
        self.write(MMD_CONTROL_REGISTER, (MMD_CONTROL::FUNCTION::Data + device).value)
    }

    pub(crate) fn read_mmd(&mut self, mmd: Mmd) -> Result<u16, MdioError> {
        self.select_mmd(mmd)?;
        self.read(MMD_DATA_REGISTER)
    }

    pub(crate) fn write_mmd(&mut self, mmd: Mmd, value: u16) -> Result<(), MdioError> {
        self.select_mmd(mmd)?;
        self.write(MMD_DATA_REGISTER, value)
    }
}
