//! The firmware: the board, and everything wired together.
//!
//! The only crate that knows all others. What can be tested without a Pi (device tree, property
//! messages, lines and commands of the console) builds on a host too; the rest exists for the target alone.

#![cfg_attr(target_os = "none", no_std)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(target_os = "none")]
pub mod arch;
pub mod board;
#[cfg(target_os = "none")]
pub mod calibrate;
pub mod commands;
#[cfg(target_os = "none")]
pub mod console;
#[cfg(target_os = "none")]
pub mod crash;
pub mod ctrl_c;
#[cfg(target_os = "none")]
pub mod fault;
#[cfg(target_os = "none")]
pub mod found;
#[cfg(target_os = "none")]
pub mod irq;
pub mod kept;
pub mod line;
#[cfg(target_os = "none")]
pub mod logger;
#[cfg(target_os = "none")]
pub mod mem;
#[cfg(target_os = "none")]
pub mod port;
pub mod watch;
