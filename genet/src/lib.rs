//! GENET v5, the BCM2711's Ethernet MAC, free of hardware.
//!
//! Owns the MAC's registers, both DMA rings and the buffers behind them, interrupt moderation, flow control and
//! counters. Knows no board: registers, DMA memory and time come through small traits ([`Registers`], [`DmaMemory`],
//! [`Clock`]), the PHY is the `phy` crate's. Where each register fact comes from is said in `regs`.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod counters;
mod driver;
mod error;
mod io;
mod settings;

pub use counters::Counters;
pub use driver::{Genet, RxFrame, TxSlot};
pub use error::{BringUpError, Engine};
pub use io::{DmaMemory, Registers};
pub use phy::{Clock, LinkState, Speed};
pub use settings::{ApplyError, FrameStamp, MAX_THRESHOLD, Pause, Posted, RING_SIZE, RxMode, RxReadback, RxSettings};

/// What an interrupt was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Received frames. Their interrupt is masked now; [`Genet::rearm`] unmasks it.
    pub rx: bool,
    /// Status bits of INTRL2_0 as read.
    pub status: u32,
}

/// For the interrupt handler: one read; masks and clears what is pending. The caller issues the barrier that makes
/// the device see the writes before it tells the interrupt controller.
pub fn acknowledge<R: Registers>(_regs: &R) -> Pending {
    Pending::default()
}

/// The revision register, if a GENET v5 answers.
pub fn check_revision<R: Registers>(_regs: &R) -> Result<u32, BringUpError> {
    Err(BringUpError::WrongRevision { found: 0 })
}

/// Every register of interest before anything is written: block, name, offset, value.
pub fn found<R: Registers>(_regs: &R, _f: impl FnMut(&'static str, &'static str, u32, u32)) {}
