//! Why GENET could not be brought up.

use core::fmt;

/// A DMA engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// RDMA.
    Receive,
    /// TDMA.
    Transmit,
}

/// Why bring-up failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BringUpError {
    /// SYS_REV_CTRL is not that of a GENET v5; all ones or 0: nothing answers.
    WrongRevision {
        /// The register.
        found: u32,
    },
    /// An engine that was running when we came did not stop: it still writes somebody's memory.
    DmaStuck {
        /// Which one.
        engine: Engine,
        /// How long it was given, us.
        waited_us: u32,
    },
    /// A DMA region of the wrong size or alignment, or out of the device's reach.
    Memory {
        /// Which engine's.
        engine: Engine,
        /// Bus address.
        address: u64,
        /// Size in bytes.
        bytes: usize,
    },
}

impl fmt::Display for BringUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BringUpError::WrongRevision { found } => {
                write!(f, "no GENET v5 answers (SYS_REV_CTRL is {found:#010x}, expected 0x06xxxxxx)")
            }
            BringUpError::DmaStuck { engine, waited_us } => {
                write!(f, "{engine:?} DMA, left running by an earlier program, did not stop within {waited_us} us")
            }
            BringUpError::Memory { engine, address, bytes } => {
                write!(f, "{bytes} bytes at {address:#x} cannot hold the {engine:?} buffers")
            }
        }
    }
}

impl core::error::Error for BringUpError {}
