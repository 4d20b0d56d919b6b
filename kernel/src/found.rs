//! The registers as they were met at boot, kept for the console.

use alloc::vec::Vec;
use netbench::FoundSummary;

/// One register before anybody wrote it.
#[derive(Clone, Copy, Debug)]
pub struct FoundRegister {
    /// Block, as in `found` records.
    pub block: &'static str,
    /// Name.
    pub name: &'static str,
    /// Byte offset in GENET; for the PHY its number, with shadow or MMD.
    pub offset: u32,
    /// Value.
    pub value: u32,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order in which they were read.
    pub registers: Vec<FoundRegister>,
    /// What they mean.
    pub summary: FoundSummary,
}

impl Found {
    /// Keeps one.
    pub fn note(&mut self, block: &'static str, name: &'static str, offset: u32, value: u32) {
        self.summary.note(block, name, value);
        self.registers.push(FoundRegister { block, name, offset, value });
    }

    /// GENET's own, which can be read again by their offsets.
    pub fn genet(&self) -> impl Iterator<Item = &FoundRegister> {
        self.registers.iter().filter(|register| register.block != "phy")
    }

    /// The value that the PHY's register `offset` had.
    pub fn phy(&self, offset: u32) -> Option<u32> {
        self.registers.iter().find(|r| r.block == "phy" && r.offset == offset).map(|r| r.value)
    }
}
