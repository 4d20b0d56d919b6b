//! Registers as they are met, before anybody writes one.

use crate::regs::{ext, hfb, intrl2, rbuf, rdma, sys, tbuf, tdma, umac};
use crate::settings::MAX_THRESHOLD;
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

/// The pair that drivers leave alone who do not write it: FreeBSD, OpenBSD, U-Boot, EDK2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundCoalescing {
    pub threshold: u16,
    pub timeout_ticks: u16,
}

impl FoundCoalescing {
    pub(crate) fn read<R: Registers>(regs: &R) -> Self {
        FoundCoalescing {
            threshold: rdma::MBUF_DONE_THRESH.get(regs) as u16 & MAX_THRESHOLD,
            timeout_ticks: rdma::RING16_TIMEOUT.read(regs).read(rdma::TIMEOUT::TICKS) as u16,
        }
    }
}
