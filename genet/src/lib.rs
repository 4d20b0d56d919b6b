//! GENET v5, the BCM2711's Ethernet MAC, free of hardware.
//!
//! Owns the MAC's registers, both DMA rings and the buffers behind them, interrupt moderation, flow control and
//! counters. Knows no board: registers, DMA memory and time come through small traits ([`Registers`], [`DmaMemory`],
//! [`Clock`]), the PHY is the `phy` crate's. Where each register fact comes from is said in `regs`.
//!
//! ```text
//! interrupt handler: acknowledge(&regs)              one read, masks and clears
//! main loop:         poll_receive(irq_ns)            one read, opens a batch
//!                    receive() ...                   one read a frame
//!                    end_batch(), rearm()            no read (threshold 1: one)
//! ```

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod apply;
mod bring_up;
pub mod calibrate;
mod counters;
mod descriptor;
mod device;
mod driver;
mod error;
mod found;
mod interrupt;
mod io;
mod mdio;
mod regs;
mod rx;
mod settings;
mod tx;
mod watch;

#[cfg(test)]
mod tests;

pub use counters::Counters;
pub use descriptor::FrameErrors;
pub use device::{RxFrame, TxSlot};
pub use driver::Genet;
pub use error::{BringUpError, Engine};
pub use found::{check_revision, found};
pub use interrupt::{Pending, acknowledge, acknowledge_second};
pub use io::{DmaMemory, Registers};
pub use mdio::Mdio;
pub use phy::{Clock, LinkMode, LinkSettings, LinkState, PhyError, Speed};
pub use settings::{
    ApplyError, FrameStamp, MAX_THRESHOLD, Pause, Posted, RING_SIZE, RxMode, RxReadback, RxRing, RxSettings,
};
pub use watch::WatchPoints;
