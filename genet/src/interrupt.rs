//! The receive interrupt: acknowledging it, masking it, letting it through.
//!
//! Status bits latch whether masked or not, and the mask only gates the line. So the handler masks and clears, the
//! main loop reads PROD_INDEX after that, and whatever arrives later raises the line at the moment of unmasking.
//! Ring 16 reports in the first controller and on line 0, ring 0 in the second and on line 1.

use crate::regs::intrl2::*;
use crate::{Registers, RxRing};

/// What an interrupt was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Received frames. Their interrupt is masked now until [`Genet::rearm`](crate::Genet::rearm).
    pub rx: bool,
    /// The controller's status as read.
    pub status: u32,
}

/// For the handler of line 0: reads the status once, masks the receive interrupt if it is pending and clears all that
/// was pending. The caller issues the barrier that makes the device see the writes before it tells the interrupt
/// controller that it is done.
#[inline]
pub fn acknowledge<R: Registers>(regs: &R) -> Pending {
    let status = STAT_0.read(regs);
    let rx = status.is_set(EVENTS::RXDMA_MBDONE);
    if rx {
        MASK_SET_0.write(regs, EVENTS::RXDMA_MBDONE::SET);
    }
    CLEAR_0.set(regs, status.get());
    Pending { rx, status: status.get() }
}

/// The same for line 1. Of what is there only ring 0 is ever let through; anything else is masked again.
#[inline]
pub fn acknowledge_second<R: Registers>(regs: &R) -> Pending {
    let status = STAT_1.read(regs);
    let rx = status.is_set(RING_EVENTS::RX_RING0);
    MASK_SET_1.set(regs, if rx { u32::MAX } else { !RING_EVENTS::RX_RING0::SET.value });
    CLEAR_1.set(regs, status.get());
    Pending { rx, status: status.get() }
}

/// Masks and clears everything.
pub(crate) fn silence<R: Registers>(regs: &R) {
    MASK_SET_0.set(regs, u32::MAX);
    CLEAR_0.set(regs, u32::MAX);
    MASK_SET_1.set(regs, u32::MAX);
    CLEAR_1.set(regs, u32::MAX);
}

/// Where the interrupt of a receive ring latches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RxSource {
    controller: u32,
    bit: u32,
}

impl RxSource {
    pub(crate) const fn of(ring: RxRing) -> Self {
        match ring {
            RxRing::Ring16 => RxSource { controller: CONTROLLER_0, bit: EVENTS::RXDMA_MBDONE::SET.value },
            RxRing::Ring0 => RxSource { controller: CONTROLLER_1, bit: RING_EVENTS::RX_RING0::SET.value },
        }
    }

    /// Offset of the register that it latches in, and its bit.
    pub(crate) const fn latch(self) -> (u32, u32) {
        (self.controller + STAT, self.bit)
    }

    /// Masks it. It goes on latching.
    pub(crate) fn mask<R: Registers>(self, regs: &R) {
        regs.write(self.controller + MASK_SET, self.bit);
    }

    /// Lets it through.
    #[inline]
    pub(crate) fn unmask<R: Registers>(self, regs: &R) {
        regs.write(self.controller + MASK_CLEAR, self.bit);
    }

    /// Forgets one that nobody has seen.
    pub(crate) fn clear<R: Registers>(self, regs: &R) {
        regs.write(self.controller + CLEAR, self.bit);
    }

    /// Raises it by software.
    pub(crate) fn raise<R: Registers>(self, regs: &R) {
        regs.write(self.controller + SET, self.bit);
    }

    /// It is pending.
    pub(crate) fn is_pending<R: Registers>(self, regs: &R) -> bool {
        regs.read(self.controller + STAT) & self.bit != 0
    }

    /// It is let through.
    pub(crate) fn is_unmasked<R: Registers>(self, regs: &R) -> bool {
        regs.read(self.controller + MASK_STATUS) & self.bit == 0
    }
}
