//! PAUSE that the MAC sends: when a ring runs low, how it is repeated, when it is taken back.
//!
//! A ring asserts back-pressure when its free descriptors fall below XOFF and holds it until they rise above XON
//! (deduced from the values every driver writes; certainty B). XON as a PAUSE of 0 quanta is 802.3 practice. The unit
//! of PAUSE_CTRL's interval is taken as the quantum of 512 bit times (certainty C).

use super::mac::{CMD_HD_EN, CMD_TX_PAUSE_IGNORE, CTRL, Mac, XON_XOFF, ring_base};
use super::map::{DMA_GLOBAL, RDMA, UMAC_PAUSE_CTRL, UMAC_PAUSE_QUANTA};
use super::{BackPressureMask, XoffTrigger};

const MASK: u32 = RDMA + DMA_GLOBAL + 0x14;
const BACK_STATUS: u32 = RDMA + DMA_GLOBAL + 0x24;
const REFRESH_ENABLE: u32 = 1 << 17;

/// What is to be said to the partner next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Xoff,
    Xon,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pause {
    /// Some ring asks for silence.
    asked: bool,
    pub(crate) request: Option<Request>,
    /// The last frame sent was an XOFF.
    told_off: bool,
    /// When PAUSE_CTRL repeats the XOFF; `u64::MAX` when it does not.
    pub(crate) refresh_at: u64,
}

impl Default for Pause {
    fn default() -> Self {
        Pause { asked: false, request: None, told_off: false, refresh_at: u64::MAX }
    }
}

impl Mac {
    /// Rings that assert back-pressure and may do so.
    fn asking(&self) -> u32 {
        let mask = self.reg(MASK) & 0x1_FFFF;
        self.reg(BACK_STATUS)
            & match self.cfg.switches.back_pressure_mask {
                BackPressureMask::SetBlocks => !mask,
                BackPressureMask::SetEnables => mask,
            }
    }

    /// True when the MAC listens to such requests at all.
    pub(crate) fn may_pause(&self) -> bool {
        self.command() & (CMD_TX_PAUSE_IGNORE | CMD_HD_EN) == 0
    }

    /// The free descriptors of `ring` may have changed.
    pub(crate) fn watch_level(&mut self, now: u64, ring: u32) {
        self.update_back_status(ring);
        self.settle(now);
    }

    /// Enables, masks or everything may have changed.
    pub(crate) fn watch_levels(&mut self, now: u64) {
        for ring in 0..=16 {
            self.update_back_status(ring);
        }
        self.settle(now);
    }

    fn update_back_status(&mut self, ring: u32) {
        let thresholds = self.reg(ring_base(RDMA, ring) + XON_XOFF);
        let (xoff, xon) = ((thresholds >> 16) as i32, (thresholds & 0xFFFF) as i32);
        let counts = self.ring_enabled(RDMA, ring) || self.cfg.faults.idle_rings_ask;
        let runs = self.reg(RDMA + CTRL) & 1 != 0 && counts;
        let status = self.reg(BACK_STATUS);
        let bit = 1 << ring;
        let free = self.free_descriptors(ring);
        let asserted = runs && xoff != 0 && (free < xoff || (status & bit != 0 && free <= xon));
        self.set(BACK_STATUS, if asserted { status | bit } else { status & !bit });
    }

    fn settle(&mut self, now: u64) {
        let asks = self.asking() != 0;
        if asks == std::mem::replace(&mut self.pause.asked, asks) {
            return;
        }
        if asks {
            return self.request(now, Request::Xoff);
        }
        self.pause.refresh_at = u64::MAX;
        self.pause.request = None;
        if self.pause.told_off {
            self.request(now, Request::Xon);
        }
    }

    fn request(&mut self, now: u64, request: Request) {
        if self.may_pause() {
            self.pause.request = Some(request);
            self.tx.kick_at = now;
        }
    }

    /// A frame for `ring` arrived (or was refused) while the ring may be below XOFF.
    pub(crate) fn arrived_below_xoff(&mut self, now: u64, ring: u32) {
        if self.cfg.switches.xoff == XoffTrigger::EachFrame && self.asking() & (1 << ring) != 0 {
            self.request(now, Request::Xoff);
        }
    }

    /// UMAC_CMD was written.
    pub(crate) fn pause_bits_changed(&mut self, now: u64, before: u32, after: u32) {
        const GATES: u32 = CMD_TX_PAUSE_IGNORE | CMD_HD_EN;
        if after & GATES != 0 {
            self.pause = Pause { asked: self.pause.asked, ..Pause::default() };
        } else if before & GATES != 0 && self.pause.asked {
            self.request(now, Request::Xoff);
        }
    }

    /// Repeats the XOFF that is due.
    pub(crate) fn refresh_pause(&mut self, now: u64) {
        self.pause.refresh_at = u64::MAX;
        if self.asking() != 0 {
            self.request(now, Request::Xoff);
        }
    }

    /// The quanta of the frame to send now. Takes the request.
    pub(crate) fn take_pause_request(&mut self, now: u64, quantum_ns: u64) -> Option<u16> {
        let request = self.pause.request.take()?;
        self.pause.told_off = request == Request::Xoff;
        let control = self.reg(UMAC_PAUSE_CTRL);
        let repeats = self.pause.told_off && control & REFRESH_ENABLE != 0;
        let interval = u64::from(control & 0x1_FFFF).max(1) * quantum_ns;
        self.pause.refresh_at = if repeats { now + interval } else { u64::MAX };
        Some(if self.pause.told_off { self.reg(UMAC_PAUSE_QUANTA) as u16 } else { 0 })
    }

    /// The PAUSE frame itself (802.3 Annex 31B), padded.
    pub(crate) fn pause_frame(&self, quanta: u16) -> [u8; 60] {
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x01]);
        frame[6..12].copy_from_slice(&self.own_address());
        frame[12..16].copy_from_slice(&[0x88, 0x08, 0x00, 0x01]);
        frame[16..18].copy_from_slice(&quanta.to_be_bytes());
        frame
    }
}
