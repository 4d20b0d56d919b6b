//! Barriers, which the engine takes for nothing: whether what a device relies on was ordered before it was told.
//!
//! Two pairs are watched. A cache line that was cleaned must be followed by a DSB before a doorbell (TDMA PROD_INDEX, the
//! mailbox) tells a device to read memory; DMB does not complete maintenance (Arm ARM, "Ordering of cache maintenance").
//! A read of RDMA PROD_INDEX must be followed by a DMB or DSB before lines are invalidated on its word, or the core may
//! drop and refetch them before it has read the index.

use board::env::Finding;
use std::collections::BTreeSet;

const GENET: u64 = 0xfd58_0000;
const MAILBOX_WRITE: u64 = 0xfe00_b8a0;
/// Rings of a DMA block: first, end, step. PROD_INDEX of RDMA is at +8, of TDMA at +12.
const RDMA_RINGS: (u64, u64) = (0x2c00, 0x3040);
const TDMA_RINGS: (u64, u64) = (0x4c00, 0x5040);
const RING_BYTES: u64 = 0x40;

/// What a barrier instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Completes memory accesses and cache maintenance.
    Dsb,
    /// Orders memory accesses.
    Dmb,
}

impl Barrier {
    /// The barrier that an A64 word is.
    pub fn of(word: u32) -> Option<Barrier> {
        match word & 0xffff_f0ff {
            0xd503_309f => Some(Barrier::Dsb),
            0xd503_30bf => Some(Barrier::Dmb),
            _ => None,
        }
    }
}

/// What is not ordered yet. Does nothing until it is switched on.
#[derive(Debug, Default)]
pub struct Order {
    on: bool,
    cleaned: Option<u64>,
    index_read: bool,
    said: BTreeSet<(&'static str, u64)>,
    findings: Vec<Finding>,
}

impl Order {
    /// Watches from now on. The caller reports every barrier of the guest.
    pub fn watch(&mut self) {
        self.on = true;
    }

    /// The guest executed a barrier.
    pub fn barrier(&mut self, barrier: Barrier) {
        self.index_read = false;
        if barrier == Barrier::Dsb {
            self.cleaned = None;
        }
    }

    /// The guest cleaned a line.
    pub fn clean(&mut self, address: u64) {
        self.cleaned = Some(address);
    }

    /// The guest invalidated a line.
    pub fn invalidate(&mut self, at_ns: u64, pc: u64, address: u64) {
        if self.index_read {
            self.blame(at_ns, "no barrier between reading PROD_INDEX and invalidating a line", pc, address);
        }
    }

    /// The guest reads a device.
    pub fn device_read(&mut self, address: u64) {
        self.index_read |= is_index(address, RDMA_RINGS, 8);
    }

    /// The guest writes a device.
    pub fn device_write(&mut self, at_ns: u64, pc: u64, address: u64) {
        let doorbell = address == MAILBOX_WRITE || is_index(address, TDMA_RINGS, 12);
        if let Some(line) = self.cleaned.filter(|_| doorbell) {
            self.blame(at_ns, "no DSB between cleaning a line and the doorbell", pc, line);
        }
    }

    /// Once for each place in the program.
    fn blame(&mut self, at_ns: u64, what: &'static str, pc: u64, line: u64) {
        if self.on && self.said.insert((what, pc)) {
            let text = format!("{what} (line {line:#x}, block at {pc:#x})");
            self.findings.push(Finding { at_ns, device: "order", text });
        }
    }

    /// What was wrong.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

fn is_index(address: u64, (first, end): (u64, u64), at: u64) -> bool {
    let offset = address.wrapping_sub(GENET);
    (first..end).contains(&offset) && (offset - first) % RING_BYTES == at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doorbell_wants_a_dsb_after_the_clean() {
        for (barrier, found) in [(None, 1), (Some(Barrier::Dmb), 1), (Some(Barrier::Dsb), 0)] {
            let mut order = Order::default();
            order.watch();
            order.clean(0x1000);
            barrier.into_iter().for_each(|barrier| order.barrier(barrier));
            order.device_write(0, 0x80000, GENET + 0x500c);
            order.device_write(0, 0x80000, GENET + 0x500c);
            assert_eq!(order.findings().len(), found, "{barrier:?}");
        }
    }

    #[test]
    fn an_index_wants_a_barrier_before_its_lines_go() {
        for (barrier, found) in [(None, 1), (Some(Barrier::Dmb), 0)] {
            let mut order = Order::default();
            order.watch();
            order.device_read(GENET + 0x3008);
            barrier.into_iter().for_each(|barrier| order.barrier(barrier));
            order.invalidate(0, 0x80000, 0x1000);
            assert_eq!(order.findings().len(), found, "{barrier:?}");
        }
        let mut order = Order::default();
        order.watch();
        order.device_read(GENET + 0x300c);
        order.invalidate(0, 0x80000, 0x1000);
        assert_eq!(order.findings(), [], "CONS_INDEX announces nothing");
    }

    #[test]
    fn words_are_told_apart() {
        assert_eq!(Barrier::of(0xd503_3f9f), Some(Barrier::Dsb));
        assert_eq!(Barrier::of(0xd503_3bbf), Some(Barrier::Dmb));
        assert_eq!(Barrier::of(0xd503_3fdf), None, "ISB");
    }
}
