//! The firmware's verdicts in virtual worlds whose truth is known: how often is it right?
//!
//! Boots the very kernel8.img on the virtual Pi in each world (`worlds`) under each open reading of the hardware
//! (`variant`), reads the verdict records (`session`) and compares them with what is true there (`truth`). The truth
//! comes from the models: a cause is taken away there (`removal`), and if the rate rises it was one. The firmware is
//! told nothing but which driver is under suspicion. Every figure is virtual.

#![forbid(unsafe_code)]

pub mod json;
pub mod matrix;
pub mod pool;
pub mod removal;
pub mod report_case;
pub mod session;
pub mod truth;
pub mod variant;
pub mod wire;
pub mod worlds;
