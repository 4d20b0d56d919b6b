//! The board: where devices are and how the simple ones work.

#[cfg(target_os = "none")]
pub mod gic;
#[cfg(target_os = "none")]
pub mod gpio;
pub mod identity;
#[cfg(target_os = "none")]
pub mod mailbox;
pub mod map;
#[cfg(target_os = "none")]
pub mod mmio;
pub mod property;
pub mod tree;
#[cfg(target_os = "none")]
pub mod uart;
#[cfg(target_os = "none")]
pub mod watchdog;
