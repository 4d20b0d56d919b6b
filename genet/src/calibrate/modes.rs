//! Ways for a frame to come back: inside the MAC, or through the pins to the PHY and back.
//!
//! Owns entering a loopback and finding out whether it returns anything. On silicon the MAC's own loop may need a
//! clock that the PHY gives only with a link; then it is silent, and the PHY's loop is what remains.

use super::fact::{Ask, Value, Votes, Why};
use super::rig::{FRAME_BYTES, Rig};
use crate::bring_up::{set_rgmii, stop_mac};
use crate::regs::{rdma, umac};
use crate::settings::RxRing;
use crate::{Clock, DmaMemory, Registers, Speed, descriptor};
use phy::Bcm54210e;

/// How often a loop is tried, and the time between two tries. A PHY takes a while to change over; the first frames may
/// be lost.
const TRIES: u32 = 20;
const TRY_US: u32 = 10_000;
/// Good frames in a row that make a loop.
const GOOD: u32 = 4;

/// A loopback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// As in records.
    pub(super) word: &'static str,
    pub(super) asks: Ask,
    pub(super) by_phy: bool,
    pub(super) speed: Speed,
}

impl Mode {
    /// Before the first.
    pub(super) const NONE: Mode = Mode { word: "", asks: Ask::LoopMac1000, by_phy: false, speed: Speed::Mbps1000 };
}

/// In the order in which they are tried: the MAC's own first, which needs nobody else.
pub(super) const MODES: [Mode; 4] = [
    Mode { word: "mac_1000", asks: Ask::LoopMac1000, by_phy: false, speed: Speed::Mbps1000 },
    Mode { word: "mac_100", asks: Ask::LoopMac100, by_phy: false, speed: Speed::Mbps100 },
    Mode { word: "phy_1000", asks: Ask::LoopPhy1000, by_phy: true, speed: Speed::Mbps1000 },
    Mode { word: "phy_100", asks: Ask::LoopPhy100, by_phy: true, speed: Speed::Mbps100 },
];

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// Enters `mode` and tells whether frames come back. The MAC is off while the PHY changes over, which stops the
    /// receive clock, and until the ring runs; nothing of the loop before is left in the transmit ring.
    pub(super) fn enter(&mut self, mode: Mode, phy: &mut Bcm54210e) -> bool {
        self.mode = mode;
        let answer = self.ask(mode.asks, &mut |rig| {
            stop_mac(&rig.genet.regs, &rig.genet.clock);
            rig.genet.restart_transmit().map_err(|_| "dma_stuck")?;
            if mode.by_phy {
                phy.loop_back(&mut rig.genet.mdio(), mode.speed).map_err(|_| "no_mdio")?;
                set_rgmii(rig.regs(), true, rig.genet.id_mode_dis);
            }
            rig.configure_mac(mode);
            rig.start(RxRing::Ring16)?;
            umac::CMD.modify(rig.regs(), umac::CMD::TX_EN::SET + umac::CMD::RX_EN::SET);
            let works = rig.returns()?;
            Ok(Votes::once(Value::Word(if works { "works" } else { "silent" })))
        });
        answer == Some(Value::Word("works"))
    }

    /// For `mode`: full duplex, PAUSE neither sent nor obeyed. The MAC is off and stays off.
    fn configure_mac(&self, mode: Mode) {
        let regs = self.regs();
        let speed = match mode.speed {
            Speed::Mbps10 => umac::CMD::SPEED::Mbps10,
            Speed::Mbps100 => umac::CMD::SPEED::Mbps100,
            Speed::Mbps1000 => umac::CMD::SPEED::Mbps1000,
        };
        let command = speed
            + umac::CMD::LCL_LOOP_EN.val((!mode.by_phy).into())
            + umac::CMD::HD_EN::CLEAR
            + umac::CMD::PROMISC::CLEAR
            + umac::CMD::TX_PAUSE_IGNORE::SET
            + umac::CMD::RX_PAUSE_IGNORE::SET;
        umac::CMD.modify(regs, command);
        // Frames to us alone: whatever else is about shall not be counted.
        umac::MDF_CTRL.write(regs, umac::MDF_CTRL::ENABLE_1::SET);
    }

    /// Some good frames in a row come back.
    fn returns(&mut self) -> Result<bool, Why> {
        let mut good = 0;
        for _ in 0..TRIES {
            self.go_on()?;
            good = if self.comes_back()? { good + 1 } else { 0 };
            if good == GOOD {
                return Ok(true);
            }
            if good == 0 {
                self.pass(TRY_US)?;
                self.free(crate::settings::RING_SIZE);
            }
        }
        Ok(false)
    }

    /// One does, as long as it was and without an error.
    fn comes_back(&mut self) -> Result<bool, Why> {
        let slot = self.slot();
        self.write(rdma::descriptor(slot), 0);
        match self.bounce() {
            Ok(_) => {}
            Err("no_frame_came" | "transmit_stuck") => return Ok(false),
            Err(why) => return Err(why),
        }
        let word = self.read(rdma::descriptor(slot));
        Ok(descriptor::received_bytes(word) == Some(FRAME_BYTES + descriptor::PAD_BYTES))
    }

    /// The descriptor of the next frame, by the pointer.
    fn slot(&self) -> u8 {
        (self.ring.write_ptr().get(self.regs()) / 3) as u8
    }
}
