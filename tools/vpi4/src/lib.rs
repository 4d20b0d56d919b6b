//! The virtual Pi 4: the processor around `tools/board`'s models, in deterministic virtual time.
//!
//! Runs the very kernel8.img that goes on a card. The core is the Unicorn engine's Cortex-A72; everything that
//! engine would answer from the host's clock (counters, timers) or forgive (stale cache lines) is answered or checked
//! here instead. One instruction a cycle is a fiction, and device accesses are charged a flat cost: ratios are
//! plausible, no figure is a Pi 4's, and every one is labelled `virtual`.
//!
//! Alignment and width of device accesses and two kinds of missing barriers are judged (`width`, `order`). What it cannot
//! see: other missing barriers, speculation.

mod cores;
pub mod cost;
pub mod cpu;
pub mod guests;
pub mod image;
pub mod machine;
pub mod memory;
pub mod order;
mod polling;
pub mod profile;
mod seat;
mod state;
mod sysreg;
pub mod timer;
mod width;

pub use cost::Cost;
pub use machine::{AfterReset, Machine, MachineConfig, Stop};
pub use state::Stats;
