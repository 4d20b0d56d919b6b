//! The firmware's network half on the host, in virtual time: a desk for tests, and a soak.
//!
//! Owns what stands between the real crates (`genet`, `phy`, `netbench`) and the models of `board` when there is no
//! processor: [`Desk`] implements [`netbench::Port`] on the real driver. Everything follows from configuration and
//! seeds; a run can be repeated to the byte. Times and rates are those of the models, labelled virtual.

mod attendant;
pub mod desk;
pub mod heap;
pub mod soak;
pub mod source;
pub mod world;

pub use desk::{Desk, DeskConfig, DeskError, Transcript};
