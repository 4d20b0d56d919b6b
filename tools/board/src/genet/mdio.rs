//! MDIO_CMD: one transaction at a time, busy while it lasts.
//!
//! Clause 22 only. The time of a transaction is configured, not derived from MDIO_CFG: which clock its divider
//! divides is not settled.

use super::MdioFault;
use super::intrl2::bit;
use super::mac::Mac;
use super::map::UMAC_MDIO_CMD;
use crate::env::Env;
use crate::phy::Phy;

const WRITE: u32 = 1 << 26;
const READ: u32 = 1 << 27;
const READ_FAIL: u32 = 1 << 28;
const START_BUSY: u32 = 1 << 29;
const FIELDS: u32 = 0x0FFF_FFFF;

/// State of the transaction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mdio {
    /// When it ends; `u64::MAX` when none runs.
    pub(crate) done_at: u64,
    reads: u64,
}

impl Default for Mdio {
    fn default() -> Self {
        Mdio { done_at: u64::MAX, reads: 0 }
    }
}

impl Mac {
    pub(crate) fn write_mdio_cmd(&mut self, now: u64, value: u32, env: &mut Env<'_>) {
        if self.reg(UMAC_MDIO_CMD) & START_BUSY != 0 {
            if self.cfg.faults.mdio != MdioFault::Stuck {
                env.blame(now, "genet", format!("UMAC_MDIO_CMD written ({value:#010x}) while START_BUSY is set"));
            }
            return;
        }
        if value & START_BUSY == 0 {
            self.set(UMAC_MDIO_CMD, value & FIELDS);
            return;
        }
        if value & (READ | WRITE) == 0 || value & (READ | WRITE) == READ | WRITE {
            env.blame(now, "genet", format!("UMAC_MDIO_CMD started without one of read and write ({value:#010x})"));
        }
        self.set(UMAC_MDIO_CMD, value & (FIELDS | START_BUSY));
        if self.cfg.faults.mdio != MdioFault::Stuck {
            self.mdio.done_at = now + self.cfg.mdio_busy_ns;
        }
    }

    /// Ends the transaction that is due.
    pub(crate) fn finish_mdio(&mut self, now: u64, phy: &mut Phy, env: &mut Env<'_>) {
        self.mdio.done_at = u64::MAX;
        let command = self.reg(UMAC_MDIO_CMD) & FIELDS;
        let address = (command >> 21 & 0x1F) as u8;
        let register = (command >> 16 & 0x1F) as u8;
        let answers = phy.answers_at(address);
        if command & READ != 0 {
            self.mdio.reads += 1;
            let failed = match self.cfg.faults.mdio {
                MdioFault::Fails => true,
                MdioFault::FirstReadFails => self.mdio.reads == 1,
                MdioFault::None | MdioFault::Stuck | MdioFault::AllOnes => false,
            };
            let data = if self.cfg.faults.mdio == MdioFault::AllOnes {
                Some(0xFFFF)
            } else {
                (answers && !failed).then(|| phy.read(now, register))
            };
            let status = if data.is_none() { READ_FAIL } else { 0 };
            self.set(UMAC_MDIO_CMD, command & !0xFFFF | status | u32::from(data.unwrap_or(0xFFFF)));
            self.raise_0(if data.is_none() { bit::MDIO_ERROR } else { bit::MDIO_DONE });
            return;
        }
        if command & WRITE != 0 && answers && !phy.write(now, register, command as u16) {
            env.blame(now, "phy", format!("write of {:#06x} to register {register:#04x}: not known", command as u16));
        }
        self.set(UMAC_MDIO_CMD, command);
        self.raise_0(bit::MDIO_DONE);
    }
}
