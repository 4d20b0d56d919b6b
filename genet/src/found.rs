//! Registers as they are met, before anybody writes one.

use crate::regs::{ext, hfb, intrl2, rbuf, rdma, sys, tbuf, tdma, umac};
use crate::settings::{MAX_THRESHOLD, RxRing};
use crate::{BringUpError, Registers};

/// Calls `f` with block, register, offset and value of everything on the receive path and beside it. Reads only, and
/// no register that changes by being read.
pub fn found<R: Registers>(regs: &R, mut f: impl FnMut(&'static str, &'static str, u32, u32)) {
    let blocks = [
        ("sys", sys::FOUND),
        ("ext", ext::FOUND),
        ("intrl2", intrl2::FOUND),
        ("rbuf", rbuf::FOUND),
        ("tbuf", tbuf::FOUND),
        ("umac", umac::FOUND),
        ("rdma", rdma::FOUND_RINGS),
        ("rdma", rdma::FOUND),
        ("tdma", tdma::FOUND),
        ("hfb", hfb::FOUND),
    ];
    for (block, registers) in blocks {
        for &(name, offset) in registers {
            f(block, name, offset, regs.read(offset));
        }
    }
}

/// SYS_REV_CTRL, if it is that of a GENET v5.
///
/// # Errors
/// Another generation, or nobody answers.
pub fn check_revision<R: Registers>(regs: &R) -> Result<u32, BringUpError> {
    let revision = sys::REV_CTRL.read(regs);
    // All ones and all zeros, as an absent block reads, do not have 6 here.
    if revision.matches_all(sys::REV_CTRL::MAJOR::V5) {
        Ok(revision.get())
    } else {
        Err(BringUpError::WrongRevision { found: revision.get() })
    }
}

/// What drivers leave alone who do not write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundSettings {
    ring_0: Coalescing,
    ring_16: Coalescing,
    /// PAUSE_QUANTA. Every driver resets the UniMAC, so what counts is what that leaves.
    pub quanta: u16,
}

/// THRESH and TIMEOUT of a ring, which FreeBSD, OpenBSD, U-Boot and EDK2 never write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coalescing {
    pub threshold: u16,
    pub timeout_ticks: u16,
}

impl FoundSettings {
    pub(crate) fn read<R: Registers>(regs: &R) -> Self {
        let ring = |ring: RxRing| Coalescing::read(regs, rdma::Ring::at(ring.number()));
        FoundSettings { ring_0: ring(RxRing::Ring0), ring_16: ring(RxRing::Ring16), quanta: 0 }
    }

    pub(crate) fn coalescing(&self, ring: RxRing) -> Coalescing {
        match ring {
            RxRing::Ring0 => self.ring_0,
            RxRing::Ring16 => self.ring_16,
        }
    }
}

impl Coalescing {
    /// As the ring's registers hold it.
    pub(crate) fn read<R: Registers>(regs: &R, ring: rdma::Ring) -> Self {
        Coalescing {
            threshold: ring.mbuf_done_thresh().get(regs) as u16 & MAX_THRESHOLD,
            timeout_ticks: ring.timeout().read(regs).read(rdma::TIMEOUT::TICKS) as u16,
        }
    }
}
