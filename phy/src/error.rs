//! Why a PHY could not be used.

use crate::MdioError;
use core::fmt;

/// Why finding or starting the PHY failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhyError {
    /// The bus failed.
    Mdio(MdioError),
    /// No BCM54210E-family PHY at any of the 32 addresses.
    NotFound {
        /// Address and ID of a PHY of another kind, if one answered.
        other: Option<(u8, u32)>,
    },
}

impl From<MdioError> for PhyError {
    fn from(error: MdioError) -> Self {
        PhyError::Mdio(error)
    }
}

impl fmt::Display for PhyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            PhyError::Mdio(error) => error.fmt(f),
            PhyError::NotFound { other: None } => write!(f, "no PHY answers at any MDIO address"),
            PhyError::NotFound { other: Some((address, id)) } => {
                write!(f, "no BCM54210E; the PHY at MDIO address {address} has ID {id:#010x}")
            }
        }
    }
}

impl core::error::Error for PhyError {}
