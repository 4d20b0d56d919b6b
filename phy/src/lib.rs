//! BCM54210E-family Ethernet PHY over MDIO.
//!
//! Owns the PHY's registers, the search for it, its set-up for RGMII and the link state. Facts come from IEEE 802.3
//! (clauses 22, 28, 40, 45, Annex 28B) and from the public drivers named at each register. Does not know which MAC
//! sits at the other end of the bus: whoever does implements [`MdioBus`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod access;
mod bcm54210e;
mod bus;
mod error;
mod link;
mod loopback;
mod regs;
mod settings;

pub use bcm54210e::{Advertise, Bcm54210e, StartAction};
pub use bus::{Clock, MdioBus, MdioError};
pub use error::PhyError;
pub use link::{LinkState, Speed, resolve_mode, resolve_pause};
pub use loopback::PhyState;
pub use settings::{LinkMode, LinkSettings};
