//! What somebody beside the driver may read to see frames come, without changing anything.

use crate::interrupt::RxSource;
use crate::regs::rdma;
use crate::settings::RxRing;

/// Registers of a receive ring that tell of frames. Reading them has no effect: every driver polls the one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPoints {
    /// Offset of PROD_INDEX; the index is in the lower half.
    pub prod_index: u32,
    /// Offset of the latch that the ring's interrupt is in, CPU_STAT of an INTRL2.
    pub status: u32,
    /// The ring's bit there.
    pub status_bit: u32,
}

impl WatchPoints {
    /// Of a ring.
    pub const fn of(ring: RxRing) -> WatchPoints {
        let (status, status_bit) = RxSource::of(ring).latch();
        WatchPoints { prod_index: rdma::Ring::at(ring.number()).prod_index().offset(), status, status_bit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_where_every_driver_has_them() {
        let points = |prod_index, status, status_bit| WatchPoints { prod_index, status, status_bit };
        assert_eq!(WatchPoints::of(RxRing::Ring16), points(0x3008, 0x200, 1 << 13));
        assert_eq!(WatchPoints::of(RxRing::Ring0), points(0x2c08, 0x240, 1 << 16));
    }
}
