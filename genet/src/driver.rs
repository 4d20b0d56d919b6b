//! The driver.

use crate::{
    ApplyError, BringUpError, Clock, Counters, DmaMemory, FrameStamp, LinkState, Registers, RxReadback, RxSettings,
};
use phy::{MdioBus, MdioError};
use smoltcp::phy::{Device, DeviceCapabilities, RxToken, TxToken};
use smoltcp::time::Instant;

/// GENET with its buffers.
pub struct Genet<R, D, C> {
    regs: R,
    _rx: D,
    _tx: D,
    _clock: C,
    counters: Counters,
}

impl<R: Registers, D: DmaMemory, C: Clock> Genet<R, D, C> {
    /// Brings the MAC up.
    pub fn bring_up(_regs: R, _rx: D, _tx: D, _clock: C, _mac: [u8; 6]) -> Result<Self, BringUpError> {
        Err(BringUpError::WrongRevision { found: 0 })
    }
    /// The management bus.
    pub fn mdio(&mut self) -> impl MdioBus + '_ {
        Mdio(&self.regs)
    }
    /// Programs the MAC for a link.
    pub fn link_changed(&mut self, _link: &LinkState) {}
    /// Applies settings.
    pub fn apply(&mut self, _want: &RxSettings) -> Result<RxReadback, ApplyError> {
        Err(ApplyError::DmaStuck { waited_us: 0 })
    }
    /// Looks for frames; returns how many are in the batch.
    pub fn poll_receive(&mut self, _irq_ns: u64) -> usize {
        0
    }
    /// Ends the batch.
    pub fn end_batch(&mut self) {}
    /// Lets the receive interrupt through again; true: frames were found that nothing announces.
    pub fn rearm(&mut self) -> bool {
        false
    }
    /// To be called every 100 ms or so while waiting: takes frames whose interrupt is long due.
    pub fn rescue_overdue(&mut self, _now_ns: u64) -> usize {
        0
    }
    /// Of the frame handed out last.
    pub fn last_stamp(&self) -> FrameStamp {
        FrameStamp::default()
    }
    /// Refreshes and returns all totals.
    pub fn counters(&mut self) -> &Counters {
        &self.counters
    }
    /// Stops everything.
    pub fn stop(&mut self) {}
}

struct Mdio<'a, R>(&'a R);

impl<R: Registers> MdioBus for Mdio<'_, R> {
    fn read(&mut self, phy: u8, register: u8) -> Result<u16, MdioError> {
        let _ = self.0.read(0);
        Err(MdioError::ReadFailed { phy, register })
    }
    fn write(&mut self, _phy: u8, _register: u8, _value: u16) -> Result<(), MdioError> {
        Ok(())
    }
}

/// A received frame, in its DMA buffer.
pub struct RxFrame<'a>(&'a [u8]);

impl RxToken for RxFrame<'_> {
    fn consume<T, F: FnOnce(&[u8]) -> T>(self, f: F) -> T {
        f(self.0)
    }
}

/// Room for one frame to send, in a DMA buffer.
pub struct TxSlot<'a, R, D> {
    _regs: &'a R,
    _tx: &'a mut D,
}

impl<R: Registers, D: DmaMemory> TxToken for TxSlot<'_, R, D> {
    fn consume<T, F: FnOnce(&mut [u8]) -> T>(self, len: usize, f: F) -> T {
        f(self._tx.bytes_mut(0..len))
    }
}

impl<R: Registers, D: DmaMemory, C: Clock> Device for Genet<R, D, C> {
    type RxToken<'a>
        = RxFrame<'a>
    where
        Self: 'a;
    type TxToken<'a>
        = TxSlot<'a, R, D>
    where
        Self: 'a;

    fn receive(&mut self, _timestamp: Instant) -> Option<(RxFrame<'_>, TxSlot<'_, R, D>)> {
        None
    }

    fn transmit(&mut self, _timestamp: Instant) -> Option<TxSlot<'_, R, D>> {
        None
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.max_transmission_unit = 1514;
        capabilities.max_burst_size = Some(256);
        capabilities
    }
}
