//! The management bus controller in UMAC, polled.
//!
//! Interrupts for it exist, but Circle saw none on the Pi 4 and no driver relies on them.

use crate::Registers;
use crate::regs::mdio::CMD;
use phy::{Clock, MdioBus, MdioError};

/// A transaction takes 26 us at 2.5 MHz; drivers give it 10 ms.
const LIMIT_US: u32 = 10_000;
/// Time between two looks.
const POLL_US: u32 = 5;

/// MDIO through GENET's registers.
pub struct Mdio<'a, R, C> {
    regs: &'a R,
    clock: &'a C,
}

impl<'a, R: Registers, C: Clock> Mdio<'a, R, C> {
    /// The bus behind `regs`. The UniMAC must be out of reset.
    pub fn new(regs: &'a R, clock: &'a C) -> Self {
        Mdio { regs, clock }
    }

    /// Waits for the controller and returns the command register.
    fn finish(&self, phy: u8, register: u8) -> Result<u32, MdioError> {
        let mut waited_us = 0;
        loop {
            let command = CMD.read(self.regs);
            if !command.is_set(CMD::START_BUSY) {
                return Ok(command.get());
            }
            if waited_us >= LIMIT_US {
                return Err(MdioError::Timeout { phy, register, waited_us });
            }
            self.clock.delay_us(POLL_US);
            waited_us += POLL_US;
        }
    }

    fn transact(&self, phy: u8, register: u8, operation: u32) -> Result<u32, MdioError> {
        self.finish(phy, register)?; // somebody else's transaction
        let address = CMD::PHY.val(phy.into()) + CMD::REGISTER.val(register.into());
        CMD.set(self.regs, (address + CMD::START_BUSY::SET).value | operation);
        self.finish(phy, register)
    }
}

impl<R: Registers, C: Clock> MdioBus for Mdio<'_, R, C> {
    fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError> {
        let command = self.transact(phy, register, CMD::OPERATION::Read.value)?;
        if CMD::READ_FAIL.is_set(command) {
            return Err(MdioError::ReadFailed { phy, register });
        }
        Ok(CMD::DATA.read(command) as u16)
    }

    fn write(&mut self, phy: u8, register: u8, value: u16) -> Result<(), MdioError> {
        let word = CMD::OPERATION::Write + CMD::DATA.val(value.into());
        self.transact(phy, register, word.value).map(|_| ())
    }
}
