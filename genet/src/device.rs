//! GENET as smoltcp sees it: tokens that lend DMA buffers.
//!
//! A received frame is read where the device put it, a frame to send is written where the device takes it. The
//! descriptor of a received frame goes back when the next one is asked for or the batch ends, never earlier, so a
//! token needs no bookkeeping of its own.

use crate::driver::Genet;
use crate::settings::RING_SIZE;
use crate::tx::TxQueue;
use crate::{Clock, DmaMemory, Registers};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// Ethernet header and 1500 bytes.
const MTU_BYTES: usize = 1514;

/// A received frame, in its DMA buffer.
pub struct RxFrame<'a> {
    bytes: &'a [u8],
}

impl RxToken for RxFrame<'_> {
    #[inline]
    fn consume<T, F: FnOnce(&[u8]) -> T>(self, f: F) -> T {
        f(self.bytes)
    }
}

/// Room for one frame to send, in a DMA buffer.
///
/// One that came with a received frame may turn out to have no room: then the frame is dropped and counted, because
/// receiving must not wait for a transmitter that a PAUSE has stopped.
pub struct TxSlot<'a, R, D> {
    regs: &'a R,
    queue: &'a mut TxQueue<D>,
}

impl<R: Registers, D: DmaMemory> TxToken for TxSlot<'_, R, D> {
    #[inline]
    fn consume<T, F: FnOnce(&mut [u8]) -> T>(self, len: usize, f: F) -> T {
        self.queue.send(self.regs, len, f)
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

    /// The next frame of the batch that [`Genet::poll_receive`] opened.
    #[inline]
    fn receive(&mut self, _timestamp: Instant) -> Option<(RxFrame<'_>, TxSlot<'_, R, D>)> {
        let Genet { regs, rx, tx, .. } = self;
        let frame = rx.next_frame(regs)?;
        Some((RxFrame { bytes: rx.bytes(frame) }, TxSlot { regs, queue: tx }))
    }

    #[inline]
    fn transmit(&mut self, _timestamp: Instant) -> Option<TxSlot<'_, R, D>> {
        let Genet { regs, tx, link, .. } = self;
        (link.up && tx.has_room(regs)).then_some(TxSlot { regs, queue: tx })
    }

    /// Whole Ethernet frames; bursts up to the ring, which bounds the window that TCP offers.
    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MTU_BYTES;
        capabilities.max_burst_size = Some(RING_SIZE.into());
        capabilities
    }
}
