//! GENET v5 with its PHY, cable and partner, behind the register window.
//!
//! [`Genet`] is the whole network side of the board: registers in, interrupt lines and DMA out, a [`Peer`] at the far
//! end of the cable. Behaviour follows public sources named where they are used; what they leave open is a switch in
//! [`GenetConfig`]. It does not model how long a register access takes, nor bus contention of its DMA.

mod boot;
mod coalesce;
mod config;
mod filter;
mod intrl2;
mod mac;
pub mod map;
mod mdio;
mod mib;
mod pause;
mod rdma;
mod receive;
mod switches;
mod transmit;

pub use coalesce::TICK_NS;
pub use config::*;
pub use mac::MacStats;
pub use map::register_name;
pub use switches::{SwitchError, settings as switch_settings};

use crate::env::Env;
use crate::link::{Link, LinkConfig, Peer, Speed};
use crate::phy::{Phy, PhyConfig};
use intrl2::bit;
use mac::Mac;

/// A frame as it reaches the MAC, with the faults that only the receiver sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arriving {
    /// Destination address to the end of the payload, without FCS.
    pub bytes: Vec<u8>,
    /// The FCS is wrong.
    pub fcs_error: bool,
    /// An odd number of nibbles came (dribble bits).
    pub alignment_error: bool,
    /// The PHY signalled an error inside the frame.
    pub code_error: bool,
    /// The receive FIFO overran inside this frame.
    pub overrun: bool,
    /// The length field disagrees with the frame's length.
    pub length_error: bool,
    /// The DMA engine's fault: it writes this descriptor word instead of the true one.
    pub status_word: Option<u32>,
}

/// The frame check sequence of `bytes` (CRC-32, IEEE 802.3).
pub fn fcs(bytes: &[u8]) -> u32 {
    const ETHERNET: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
    ETHERNET.checksum(bytes)
}

/// One GENET with everything on its cable. All times are nanoseconds since reset and never run backwards.
pub struct Genet {
    mac: Mac,
    phy: Phy,
    link: Link,
    peer: Box<dyn Peer>,
    absent: Option<u32>,
    /// When `run` is due: a copy of what the parts say.
    due: u64,
    /// When the peer wants to be polled.
    peer_due: u64,
    now: u64,
    /// Line 0 is up without a cause.
    pulse: bool,
    /// When that changes.
    pulse_due: u64,
}

impl Genet {
    /// A GENET in the state that `cfg` says, at time 0.
    pub fn new(cfg: &GenetConfig, link: &LinkConfig, peer: Box<dyn Peer>) -> Self {
        let used = cfg.inherited != Inherited::SdCard;
        let phy_cfg = PhyConfig { up_at_reset: cfg.phy.up_at_reset || used, ..cfg.phy.clone() };
        let mut genet = Genet {
            mac: Mac::new(cfg),
            phy: Phy::new(&phy_cfg, link.plugged.then_some(&link.partner)),
            link: Link::new(link),
            peer,
            absent: cfg.absent,
            due: 0,
            peer_due: 0,
            now: 0,
            pulse: false,
            pulse_due: u64::MAX,
        };
        genet.set_faults(cfg.faults);
        genet.sync_link(0);
        genet.ask_peer(0, false);
        genet.refresh_due();
        genet
    }

    /// A 32-bit read at `offset` of the 64 KiB window.
    pub fn read(&mut self, now: u64, offset: u32, env: &mut Env<'_>) -> u32 {
        if let Some(value) = self.absent {
            return value;
        }
        self.catch_up(now, env);
        self.mac.read(now, offset, env)
    }

    /// A 32-bit write.
    pub fn write(&mut self, now: u64, offset: u32, value: u32, env: &mut Env<'_>) {
        if self.absent.is_some() {
            return;
        }
        self.catch_up(now, env);
        self.mac.write(now, offset, value, env);
        self.refresh_due();
        self.catch_up(now, env);
    }

    /// An access that is not an aligned 32-bit one: has no effect but a finding. `size` in bytes.
    pub fn wrong_access(&mut self, now: u64, offset: u32, size: u8, write: bool, env: &mut Env<'_>) {
        let name = register_name(offset).unwrap_or_else(|| "unknown register".into());
        let what = if write { "write" } else { "read" };
        env.blame(now, "genet", format!("{what} of {size} bytes at {offset:#06x} ({name}): only aligned words work"));
    }

    /// When `run` has something to do.
    pub fn next_event(&self) -> Option<u64> {
        (self.due != u64::MAX).then_some(self.due)
    }

    /// Everything due at or before `now`, in order of time.
    pub fn run(&mut self, now: u64, env: &mut Env<'_>) {
        self.catch_up(now, env);
        self.now = self.now.max(now);
    }

    /// Level of SPI 157 (INTRL2_0).
    pub fn irq0(&self) -> bool {
        let faults = &self.mac.cfg.faults;
        self.absent.is_none() && !faults.irq0_dead && (self.mac.line(0) || faults.irq0_stuck || self.pulse)
    }

    /// Level of SPI 158 (INTRL2_1).
    pub fn irq1(&self) -> bool {
        self.absent.is_none() && (self.mac.line(1) || self.mac.cfg.faults.irq1_stuck)
    }

    /// A frame that reaches the MAC at `now` without having been on the cable: for faults and tests.
    pub fn inject(&mut self, now: u64, frame: &Arriving, env: &mut Env<'_>) {
        self.catch_up(now, env);
        let speed = self.phy.link().map_or(Speed::Mbps1000, |link| link.speed);
        self.mac.receive(now, frame, Some(speed), env);
        self.refresh_due();
    }

    /// Plugs or pulls the cable.
    pub fn set_plugged(&mut self, now: u64, plugged: bool, env: &mut Env<'_>) {
        self.catch_up(now, env);
        self.link.set_plugged(plugged);
        self.partner_changed(now);
        self.refresh_due();
    }

    /// Changes the partner (its abilities, how it takes PAUSE) and lets the link negotiate anew.
    pub fn change_partner(&mut self, now: u64, change: impl FnOnce(&mut LinkConfig), env: &mut Env<'_>) {
        self.catch_up(now, env);
        change(self.link.config_mut());
        self.partner_changed(now);
        self.refresh_due();
    }

    /// Asks the peer whether it wants to send: for one that was changed from outside.
    pub fn wake_peer(&mut self, now: u64, env: &mut Env<'_>) {
        self.catch_up(now, env);
        self.ask_peer(now, false);
        self.refresh_due();
    }

    /// Changes the faults of the MAC.
    pub fn set_faults(&mut self, faults: Faults) {
        self.mac.cfg.faults = faults;
        self.pulse = false;
        self.pulse_due = faults.irq0_pulses.map_or(u64::MAX, |pulses| self.now + pulses.period_ns);
        self.refresh_due();
    }

    fn step_pulses(&mut self, now: u64) {
        let Some(pulses) = self.mac.cfg.faults.irq0_pulses else { return };
        self.pulse = !self.pulse;
        self.pulse_due = now + if self.pulse { pulses.length_ns } else { pulses.period_ns - pulses.length_ns };
    }

    /// The PHY.
    pub fn phy(&self) -> &Phy {
        &self.phy
    }

    /// Takes the PHY off the board or puts it back.
    pub fn set_phy_present(&mut self, now: u64, present: bool, env: &mut Env<'_>) {
        self.catch_up(now, env);
        self.phy.set_present(now, present);
        self.sync_link(now);
        self.refresh_due();
    }

    /// The cable and the partner's port.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The cable, for taps and error rates.
    pub fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// What became of every frame that reached the MAC.
    pub fn stats(&self) -> MacStats {
        self.mac.stats
    }

    /// A register's content without an access: for tests and displays, no finding, no side effect. Registers that are
    /// computed when read (UMAC_MODE, DMA STATUS and ACTIVITY) show 0.
    pub fn peek(&self, offset: u32) -> u32 {
        self.mac.reg(offset)
    }

    fn catch_up(&mut self, now: u64, env: &mut Env<'_>) {
        while self.due <= now {
            let at = self.due.max(self.now);
            self.now = at;
            self.step(at, env);
            self.refresh_due();
        }
    }

    fn refresh_due(&mut self) {
        let plug = self.link.next_plug_event().unwrap_or(u64::MAX);
        let phy = self.phy.next_event().unwrap_or(u64::MAX);
        self.due = self.mac_due().min(self.link.next_event()).min(self.peer_due).min(plug).min(phy).min(self.pulse_due);
    }

    fn mac_due(&self) -> u64 {
        let loopback = self.mac.loopback.front().map_or(u64::MAX, |(at, ..)| *at);
        self.mac
            .ring_deadline
            .min(self.mac.mdio.done_at)
            .min(self.mac.pause.refresh_at)
            .min(self.mac.tx.next_event())
            .min(loopback)
    }

    /// Everything due at `now`.
    fn step(&mut self, now: u64, env: &mut Env<'_>) {
        if self.link.take_plug_event(now) {
            self.partner_changed(now);
        }
        if self.pulse_due <= now {
            self.step_pulses(now);
        }
        if self.phy.run(now) {
            self.sync_link(now);
        }
        if self.mac.mdio.done_at <= now {
            let before = self.phy.loopback();
            self.mac.finish_mdio(now, &mut self.phy, env);
            if self.phy.loopback() != before && self.mac.command() & (mac::CMD_TX_EN | mac::CMD_RX_EN) != 0 {
                env.blame(now, "genet", "the PHY's loopback and with it RXC changed while the MAC was on".to_owned());
            }
            self.sync_link(now);
        }
        self.arrivals(now, env);
        if self.mac.ring_deadline <= now {
            self.mac.expire_rings(now);
        }
        if self.mac.pause.refresh_at <= now {
            self.mac.refresh_pause(now);
        }
        if self.mac.tx.next_event() <= now {
            self.link.set_board_half(self.mac.command() & mac::CMD_HD_EN != 0);
            self.mac.run_transmit(now, &mut self.link, &self.phy, env);
        }
        self.partner_side(now);
    }

    fn arrivals(&mut self, now: u64, env: &mut Env<'_>) {
        while let Some(frame) = self.link.arrived_at_board(now) {
            let fcs_error = frame.fcs_error || self.mac.rx_clock_wrong(&self.phy);
            if fcs_error {
                self.phy.count_receive_error();
            }
            let speed = self.link.mode().map_or(Speed::Mbps1000, |mode| mode.speed);
            let arriving = Arriving { bytes: frame.bytes, fcs_error, ..Arriving::default() };
            self.mac.receive(frame.at, &arriving, Some(speed), env);
        }
        while self.mac.loopback.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((at, speed, mut frame)) = self.mac.loopback.pop_front() else { break };
            frame.fcs_error |= speed.is_some() && self.mac.rx_clock_wrong(&self.phy);
            self.mac.receive(at, &frame, speed, env);
        }
    }

    fn partner_side(&mut self, now: u64) {
        let mut woken = self.peer_due <= now;
        while self.link.partner_frame_due(now) {
            woken |= self.link.deliver_to_partner(now, self.peer.as_mut(), &mut self.mac.tx.spare);
        }
        let left = self.link.start_due(now);
        if left {
            let (collisions, late) = self.link.take_board_collisions();
            self.mac.count_collisions(collisions, late);
        }
        if woken || left {
            self.ask_peer(now, left);
        }
    }

    /// Tells the peer how much room there is and takes its frames. Starts the first one at once if the wire is free.
    fn ask_peer(&mut self, now: u64, left: bool) {
        self.peer.room(self.link.free_bytes());
        if self.peer.next_event().is_some_and(|due| due <= now) {
            let link = &mut self.link;
            self.peer.poll(now, &mut |frame| link.offer(frame));
            if !left {
                self.link.start_due(now);
            }
        }
        // Polled once at this time: whatever it says, not again before time moves.
        self.peer_due = self.peer.next_event().map_or(u64::MAX, |due| due.max(now + 1));
    }

    fn partner_changed(&mut self, now: u64) {
        let partner = self.link.plugged().then(|| self.link.config().partner.clone());
        self.phy.set_partner(now, partner.as_ref());
        self.sync_link(now);
    }

    /// Carries a change of the PHY's link to the cable and to the MAC's interrupt bits.
    fn sync_link(&mut self, now: u64) {
        let mode = self.phy.link();
        if mode == self.link.mode() {
            return;
        }
        self.link.set_mode(now, mode);
        // The partner's queue is empty now: whoever waited for room there has to be told.
        self.peer.room(self.link.free_bytes());
        self.peer_due = now;
        self.mac.link_eee = mode.is_some_and(|mode| mode.eee);
        self.mac.tx.kick_at = now;
        let up = mode.is_some();
        if up != std::mem::replace(&mut self.mac.link_up, up) && self.mac.reg(map::EXT_RGMII_OOB_CTRL) & 0x40 != 0 {
            // GENET v5 does not raise LINK_UP at 10 Mbit/s (Linux).
            match mode {
                Some(mode) if mode.speed == Speed::Mbps10 => {}
                Some(_) => self.mac.raise_0(bit::LINK_UP),
                None => self.mac.raise_0(bit::LINK_DOWN),
            }
        }
    }
}
