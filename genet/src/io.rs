//! What the driver needs from the outside: registers and DMA memory. (Time comes from [`phy::Clock`].)

use core::ops::Range;

/// GENET's 64 KiB register window. Word access only.
///
/// Reads and writes reach the device in program order; writes may be posted. Takes `&self` so that the interrupt
/// handler can hold a second handle for [`acknowledge`](crate::acknowledge).
pub trait Registers {
    /// Reads the register at byte `offset`.
    fn read(&self, offset: u32) -> u32;
    /// Writes the register at byte `offset`.
    fn write(&self, offset: u32, value: u32);
}

/// One contiguous piece of memory below 1 GiB, aligned to 64 bytes, that the device reads or writes. GENET's DMA does
/// not see the caches, so ownership changes hands by [`clean`](Self::clean) and [`invalidate`](Self::invalidate).
#[allow(clippy::len_without_is_empty)] // an empty region is a caller's mistake, which bring-up reports
pub trait DmaMemory {
    /// Where the device finds byte 0.
    fn bus_address(&self) -> u64;
    /// Size in bytes.
    fn len(&self) -> usize;
    /// The CPU's view.
    fn bytes(&self, range: Range<usize>) -> &[u8];
    /// The CPU's view, to write.
    fn bytes_mut(&mut self, range: Range<usize>) -> &mut [u8];
    /// When it returns, the device sees what the CPU wrote (DC CVAC, then DSB: the next register write is a doorbell).
    fn clean(&mut self, range: Range<usize>);
    /// Reads that follow see what the device wrote before the last register read (DSB, DC IVAC, DSB).
    fn invalidate(&mut self, range: Range<usize>);
}
