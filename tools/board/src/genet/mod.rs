//! GENET v5 with its PHY, cable and partner, behind the register window.

mod config;

pub use config::*;

use crate::env::Env;
use crate::link::{LinkConfig, Peer};

/// A frame as it reaches the MAC, with the faults that only the receiver sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arriving {
    /// Destination address to the end of the payload, without FCS.
    pub bytes: Vec<u8>,
    /// The FCS is wrong.
    pub fcs_error: bool,
    /// An odd number of nibbles came (dribble bits).
    pub alignment_error: bool,
    /// The PHY signalled an error inside the frame.
    pub code_error: bool,
    /// The receive FIFO overran inside this frame.
    pub overrun: bool,
    /// The length field disagrees with the frame's length.
    pub length_error: bool,
}

/// One GENET with everything on its cable. All times are nanoseconds since reset and never run backwards.
pub struct Genet {
    #[allow(dead_code)]
    peer: Box<dyn Peer>,
}

impl Genet {
    /// A GENET in the state that `cfg` says, at time 0.
    pub fn new(_cfg: &GenetConfig, _link: &LinkConfig, peer: Box<dyn Peer>) -> Self {
        Genet { peer }
    }

    /// A 32-bit read at `offset` of the 64 KiB window.
    pub fn read(&mut self, _now: u64, _offset: u32, _env: &mut Env<'_>) -> u32 {
        0
    }

    /// A 32-bit write.
    pub fn write(&mut self, _now: u64, _offset: u32, _value: u32, _env: &mut Env<'_>) {}

    /// An access that is not an aligned 32-bit one: has no effect but a finding. `size` in bytes.
    pub fn wrong_access(&mut self, _now: u64, _offset: u32, _size: u8, _write: bool, _env: &mut Env<'_>) {}

    /// When `run` has something to do.
    pub fn next_event(&self) -> Option<u64> {
        None
    }

    /// Everything due at or before `now`, in order of time.
    pub fn run(&mut self, _now: u64, _env: &mut Env<'_>) {}

    /// Level of SPI 157 (INTRL2_0).
    pub fn irq0(&self) -> bool {
        false
    }

    /// Level of SPI 158 (INTRL2_1).
    pub fn irq1(&self) -> bool {
        false
    }

    /// A frame that reaches the MAC at `now` without having been on the cable: for faults and tests.
    pub fn inject(&mut self, _now: u64, _frame: &Arriving, _env: &mut Env<'_>) {}
}
