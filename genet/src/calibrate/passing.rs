//! What passes: without filters, beyond the longest frame, with wrong clock delays.

use super::fact::{Ask, Value, Votes, Why};
use super::rig::{FRAME_BYTES, Rig};
use crate::regs::{ext, rdma, umac};
use crate::settings::RING_SIZE;
use crate::{Clock, DmaMemory, Registers, descriptor};
use phy::{Bcm54210e, PhyState};

/// MIB: frames received with a wrong FCS.
const RX_FCS: u32 = 0xc38;
const RUNS: u16 = 3;

impl<R: Registers, D: DmaMemory, C: Clock> Rig<'_, R, D, C> {
    /// No filter and no PROMISC: ours, broadcast, a stranger's, a group's.
    pub(super) fn empty_filter(&mut self) {
        const STRANGER: [u8; 6] = [0x02, 0x67, 0x62, 0, 0, 0x77];
        const GROUP: [u8; 6] = [0x01, 0x00, 0x5e, 0, 0, 0x77];
        let found = umac::MDF_CTRL.get(self.regs());
        umac::MDF_CTRL.set(self.regs(), 0);
        self.ask(Ask::EmptyFilter, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                let mut passes = [false; 4];
                for (passes, to) in passes.iter_mut().zip([rig.own, [0xff; 6], STRANGER, GROUP]) {
                    rig.free(RING_SIZE);
                    rig.send_to(to, FRAME_BYTES)?;
                    *passes = rig.arrival(3_000).is_ok();
                }
                Ok(Value::Word(match passes {
                    [true, true, true, true] => "everything",
                    [true, true, false, false] => "own_and_broadcast",
                    [true, false, false, false] => "own",
                    [false, false, false, false] => "nothing",
                    _ => "something_else",
                }))
            })
        });
        umac::MDF_CTRL.set(self.regs(), found);
    }

    /// A frame that is longer than MAX_FRAME_LEN when it ends. The limit holds for sending too, so it is lowered while
    /// the frame is on its way: at 100 Mbit/s that takes 121 us.
    pub(super) fn long_frames(&mut self) {
        const BYTES: usize = 1514;
        const LIMIT: u32 = 1_000;
        let found = umac::MAX_FRAME_LEN.get(self.regs());
        self.ask(Ask::LongFrames, &mut |rig| {
            rig.repeat(RUNS, &mut |rig, _| {
                rig.free(RING_SIZE);
                let slot = (rig.ring.write_ptr().get(rig.regs()) / 3) as u8;
                let first = rig.index();
                rig.send_to(rig.own, BYTES)?;
                rig.genet.clock.delay_us(30);
                umac::MAX_FRAME_LEN.set(rig.regs(), LIMIT);
                let came = rig.arrival(3_000);
                rig.genet.clock.delay_us(20);
                umac::MAX_FRAME_LEN.set(rig.regs(), found);
                if came == Err("no_frame_came") {
                    return Ok(Value::Word("not_at_all"));
                }
                came?;
                let pieces = rig.index().wrapping_sub(first) as u8;
                let words = (0..pieces).map(|piece| rig.read(rdma::descriptor(slot.wrapping_add(piece))));
                let bytes: usize = words.map(descriptor::length).sum();
                rig.prod = rig.index();
                Ok(Votes::word(bytes >= BYTES, "whole", "cut"))
            })
        });
        umac::MAX_FRAME_LEN.set(self.regs(), found);
    }

    /// Frames through the pins with each clock delayed once, not at all and twice.
    pub(super) fn clock_delays(&mut self, phy: &mut Bcm54210e, found: &PhyState) {
        let mac_found = ext::RGMII_OOB_CTRL.get(self.regs());
        let good = |rig: &mut Self, phy: &mut Bcm54210e| rig.damaged(phy, false, (true, false));
        self.ask(Ask::RgmiiTx, &mut |rig| {
            let none = rig.damaged(phy, true, (true, false))?;
            let both = rig.damaged(phy, false, (true, true))?;
            wrong_delay(good(rig, phy)?, none + both)
        });
        self.ask(Ask::RgmiiRx, &mut |rig| {
            let none = rig.damaged(phy, false, (false, false))?;
            wrong_delay(good(rig, phy)?, none)
        });
        ext::RGMII_OOB_CTRL.set(self.regs(), mac_found);
        // As it was as far as the delays go; the loop stays.
        let _ = found.restore_delays(phy, &mut self.genet.mdio());
    }

    /// Of 64 frames those that did not come back whole. `id_mode_dis`: the MAC does not delay the transmit clock;
    /// `phy_delays`: the PHY delays RXC, GTXCLK.
    fn damaged(&mut self, phy: &mut Bcm54210e, id_mode_dis: bool, phy_delays: (bool, bool)) -> Result<u32, Why> {
        const FRAMES: u32 = 64;
        self.go_on()?;
        let delayed = phy.delay_clocks(&mut self.genet.mdio(), phy_delays.0, phy_delays.1);
        delayed.map_err(|_| "no_mdio")?;
        ext::RGMII_OOB_CTRL.modify(self.regs(), ext::RGMII_OOB_CTRL::ID_MODE_DIS.val(id_mode_dis.into()));
        self.pass(1_000)?;
        self.free(RING_SIZE);
        let (came, wrong) = (self.index(), self.read(RX_FCS));
        for _ in 0..FRAMES {
            self.send()?;
            self.genet.clock.delay_us(20);
        }
        self.pass(1_000)?;
        self.prod = self.index();
        let came = u32::from(self.prod.wrapping_sub(came));
        // Damaged frames come too, unless something drops them.
        Ok(FRAMES - came.min(FRAMES) + self.read(RX_FCS).wrapping_sub(wrong))
    }
}

fn wrong_delay(right: u32, wrong: u32) -> Result<Votes, Why> {
    match (right, wrong) {
        (0, 0) => Ok(Votes::once(Value::Word("no_harm"))),
        (0, _) => Ok(Votes::once(Value::Word("damages_frames"))),
        _ => Err("always_damaged"),
    }
}
