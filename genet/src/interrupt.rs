//! The receive interrupt: acknowledging it, masking it, letting it through.
//!
//! Status bits latch whether masked or not, and the mask only gates the line. So the handler masks and clears, the
//! main loop reads PROD_INDEX after that, and whatever arrives later raises the line at the moment of unmasking.

use crate::Registers;
use crate::regs::intrl2::*;

/// What an interrupt was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Received frames. Their interrupt is masked now until [`Genet::rearm`](crate::Genet::rearm).
    pub rx: bool,
    /// INTRL2_0 as read.
    pub status: u32,
}

/// For the interrupt handler: reads the status once, masks the receive interrupt if it is pending and clears all that
/// was pending. The caller issues the barrier that makes the device see the writes before it tells the interrupt
/// controller that it is done.
#[inline]
pub fn acknowledge<R: Registers>(regs: &R) -> Pending {
    let status = STAT_0.read(regs);
    let rx = status.is_set(EVENTS::RXDMA_MBDONE);
    if rx {
        MASK_SET_0.write(regs, EVENTS::RXDMA_MBDONE::SET);
    }
    if status.get() == 0 {
        silence_second(regs);
    } else {
        CLEAR_0.set(regs, status.get());
    }
    Pending { rx, status: status.get() }
}

/// Nothing is pending in INTRL2_0: if anything is real, it is INTRL2_1, of which we want nothing.
#[cold]
fn silence_second<R: Registers>(regs: &R) {
    MASK_SET_1.set(regs, u32::MAX);
    CLEAR_1.set(regs, u32::MAX);
}

/// Masks and clears everything.
pub(crate) fn silence<R: Registers>(regs: &R) {
    MASK_SET_0.set(regs, u32::MAX);
    CLEAR_0.set(regs, u32::MAX);
    silence_second(regs);
}

/// Masks the receive interrupt. It goes on latching.
pub(crate) fn mask_rx<R: Registers>(regs: &R) {
    MASK_SET_0.write(regs, EVENTS::RXDMA_MBDONE::SET);
}

/// Lets the receive interrupt through.
#[inline]
pub(crate) fn unmask_rx<R: Registers>(regs: &R) {
    MASK_CLEAR_0.write(regs, EVENTS::RXDMA_MBDONE::SET);
}

/// Forgets an interrupt that nobody has seen.
pub(crate) fn clear_rx<R: Registers>(regs: &R) {
    CLEAR_0.write(regs, EVENTS::RXDMA_MBDONE::SET);
}

/// Raises the receive interrupt by software.
pub(crate) fn raise_rx<R: Registers>(regs: &R) {
    SET_0.write(regs, EVENTS::RXDMA_MBDONE::SET);
}

/// The receive interrupt is pending.
pub(crate) fn rx_is_pending<R: Registers>(regs: &R) -> bool {
    STAT_0.read(regs).is_set(EVENTS::RXDMA_MBDONE)
}

/// The receive interrupt is let through.
pub(crate) fn rx_is_unmasked<R: Registers>(regs: &R) -> bool {
    !MASK_STATUS_0.read(regs).is_set(EVENTS::RXDMA_MBDONE)
}
