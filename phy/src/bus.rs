//! What the PHY driver needs from the outside: MDIO and time.
//!
//! Owns the two traits and the MDIO error. The MAC driver implements [`MdioBus`], the board implements [`Clock`].

use core::fmt;

/// Clause 22 management bus.
pub trait MdioBus {
    /// Reads `register` of the PHY at address `phy`.
    fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError>;
    /// Writes `register` of the PHY at address `phy`.
    fn write(&mut self, phy: u8, register: u8, value: u16) -> Result<(), MdioError>;
}

impl<B: MdioBus + ?Sized> MdioBus for &mut B {
    fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError> {
        (**self).read(phy, register)
    }

    fn write(&mut self, phy: u8, register: u8, value: u16) -> Result<(), MdioError> {
        (**self).write(phy, register, value)
    }
}

/// Time, as drivers need it.
pub trait Clock {
    /// Time since an arbitrary start, ns. Never goes back.
    fn now_ns(&self) -> u64;
    /// Waits for at least `us` microseconds.
    fn delay_us(&self, us: u32);
}

/// A transaction that did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdioError {
    /// The controller stayed busy.
    Timeout {
        /// PHY address.
        phy: u8,
        /// Register number.
        register: u8,
        /// How long it was given, us.
        waited_us: u32,
    },
    /// Nobody drove the data lines.
    ReadFailed {
        /// PHY address.
        phy: u8,
        /// Register number.
        register: u8,
    },
}

impl fmt::Display for MdioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            MdioError::Timeout { phy, register, waited_us } => {
                write!(f, "MDIO busy for {waited_us} us at PHY {phy} register {register:#04x}")
            }
            MdioError::ReadFailed { phy, register } => write!(f, "no answer from PHY {phy} register {register:#04x}"),
        }
    }
}

impl core::error::Error for MdioError {}
