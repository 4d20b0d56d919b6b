//! A frame's way from the wire to RDMA: UniMAC receiver, address filter, RBUF, choice of ring.
//!
//! Of RXCHK it owns the plain sum of the 64-byte status block; it never sets "checksum OK". Without a filter match a
//! frame goes to ring 16 if that runs, else, by [`DefaultRing`], to the lowest ring that does or nowhere (certainty C).

use super::intrl2::bit;
use super::mac::{
    CMD_CNTL_FRM, CMD_CRC_FWD, CMD_HD_EN, CMD_LCL_LOOP, CMD_PAUSE_FWD, CMD_PROMISC, CMD_RUNT_FILTER_DIS, CMD_RX_EN,
    CMD_RX_ERR_DISC, CMD_RX_PAUSE_IGNORE, CMD_SW_RESET, Mac,
};
use super::map::*;
use super::mib::{Bank, rx};
use super::{Arriving, DefaultRing, LongFrames};
use crate::env::Env;
use crate::link::{FCS_BYTES, MIN_BYTES, Speed, pause_quanta};

const RBUF_64B_EN: u32 = 1 << 0;
const RBUF_ALIGN_2B: u32 = 1 << 1;
const RBUF_BAD_DIS: u32 = 1 << 2;
const STATUS_BYTES: usize = 64;
const CHK_EN: u32 = 1 << 0;
const NO_LEN_CHK: u32 = 1 << 24;
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

/// Low bits of the descriptor word.
mod flag {
    pub(super) const BROADCAST: u32 = 1 << 6;
    pub(super) const MULTICAST: u32 = 1 << 5;
    pub(super) const TOO_LONG: u32 = 1 << 4;
    pub(super) const NON_OCTET: u32 = 1 << 3;
    pub(super) const ERROR: u32 = 1 << 2;
    pub(super) const CRC: u32 = 1 << 1;
    pub(super) const OVERRUN: u32 = 1 << 0;
}

impl Mac {
    /// Port mode, RGMII mode and link bit as every driver sets them.
    pub(crate) fn rgmii_ready(&self) -> bool {
        const LINK_AND_MODE: u32 = 1 << 4 | 1 << 6;
        self.reg(SYS_PORT_CTRL) & 7 == 3 && self.reg(EXT_RGMII_OOB_CTRL) & LINK_AND_MODE == LINK_AND_MODE
    }

    /// UMAC_CMD's SPEED field; the MAC's own 2500 is not a speed of RGMII.
    pub(crate) fn speed(&self) -> Option<Speed> {
        match self.command() >> 2 & 3 {
            0 => Some(Speed::Mbps10),
            1 => Some(Speed::Mbps100),
            2 => Some(Speed::Mbps1000),
            _ => None,
        }
    }

    /// A frame reaches the MAC. `phy_speed` is the speed of the RGMII clock, `None` for a frame that never left the MAC.
    pub(crate) fn receive(&mut self, now: u64, frame: &Arriving, phy_speed: Option<Speed>, env: &mut Env<'_>) {
        self.stats.arrived += 1;
        let command = self.command();
        let inner = phy_speed.is_none();
        let off = self.umac_held() || command & CMD_SW_RESET != 0 || command & CMD_RX_EN == 0;
        if off || (!inner && (!self.rgmii_ready() || command & CMD_LCL_LOOP != 0)) {
            self.stats.receiver_off += 1;
            return;
        }
        // Ten and a hundred sample the same nibbles; gigabit samples bytes on both edges.
        let sampled = phy_speed.is_none_or(|s| (s == Speed::Mbps1000) == (self.speed() == Some(Speed::Mbps1000)));
        if !sampled {
            self.count(rx::CODE);
            self.stats.bad += 1;
            self.blame_once(1 << 3, now, env, || {
                format!("frame received at {phy_speed:?} with UMAC_CMD = {command:#010x}: wrong SPEED")
            });
            return;
        }
        if frame.bytes.len() < MIN_BYTES && !self.accept_runt(frame, command) {
            self.stats.bad += 1;
            return;
        }
        let (limit, flags) = self.inspect(frame);
        if flags & (flag::ERROR | flag::CRC) == 0 && self.is_control(now, &frame.bytes, command) {
            self.stats.control += 1;
            return;
        }
        self.filter_and_buffer(now, frame, limit, flags, env);
    }

    fn accept_runt(&mut self, frame: &Arriving, command: u32) -> bool {
        self.count(rx::RUNTS);
        self.count(if frame.fcs_error { rx::RUNTS_BAD_FCS } else { rx::RUNTS_GOOD_FCS });
        self.count_by(rx::RUNT_BYTES, frame.bytes.len() as u32 + FCS_BYTES as u32);
        command & CMD_RUNT_FILTER_DIS != 0 && frame.bytes.len() >= 14
    }

    /// Counts the frame; (bytes that pass, descriptor flags).
    fn inspect(&mut self, frame: &Arriving) -> (usize, u32) {
        let mut flags = 0;
        let max = self.reg(UMAC_MAX_FRAME_LEN) as usize;
        let mut limit = frame.bytes.len();
        let length_error = frame.length_error && self.command() & NO_LEN_CHK == 0;
        for (seen, counter, marks) in [
            (frame.fcs_error, rx::FCS, flag::CRC | flag::ERROR),
            (frame.alignment_error, rx::ALIGNMENT, flag::NON_OCTET | flag::CRC | flag::ERROR),
            (frame.code_error, rx::CODE, flag::ERROR),
            (length_error, rx::LENGTH, flag::ERROR),
        ] {
            if seen {
                self.count(counter);
                flags |= marks;
            }
        }
        if frame.overrun {
            flags |= flag::OVERRUN | flag::ERROR;
        }
        if limit + FCS_BYTES as usize > max {
            self.count(if frame.fcs_error { rx::JABBER } else { rx::OVERSIZE });
            flags |= flag::TOO_LONG | flag::ERROR;
            if self.cfg.switches.long_frames == LongFrames::Cut {
                limit = max.saturating_sub(FCS_BYTES as usize);
            }
        }
        self.count_frame(Bank::Rx, &frame.bytes, flags == 0);
        match frame.bytes.first_chunk::<6>() {
            Some([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]) => flags |= flag::BROADCAST,
            Some([first, ..]) if first & 1 != 0 => flags |= flag::MULTICAST,
            _ => {}
        }
        (limit, flags)
    }

    /// MAC control frames: PAUSE acts on the transmitter. True when the frame ends here.
    fn is_control(&mut self, now: u64, bytes: &[u8], command: u32) -> bool {
        if bytes[12..14] != MAC_CONTROL {
            return false;
        }
        self.count(rx::CONTROL);
        let Some(quanta) = pause_quanta(bytes) else {
            self.count(rx::UNKNOWN_OPCODE);
            return command & CMD_CNTL_FRM == 0;
        };
        self.count(rx::PAUSE);
        if command & (CMD_RX_PAUSE_IGNORE | CMD_HD_EN) == 0 {
            let quantum_ns = self.speed().map_or(0, Speed::quantum_ns);
            self.tx.paused_until = now + u64::from(quanta) * quantum_ns;
            self.tx.kick_at = now;
        }
        command & CMD_PAUSE_FWD == 0
    }

    fn filter_and_buffer(&mut self, now: u64, frame: &Arriving, limit: usize, flags: u32, env: &mut Env<'_>) {
        let command = self.command();
        let destination = frame.bytes.first_chunk::<6>().copied().unwrap_or_default();
        if command & CMD_PROMISC == 0 && !self.address_passes(&destination) {
            self.set(UMAC_MDF_ERR_CNT, self.reg(UMAC_MDF_ERR_CNT).saturating_add(1));
            self.stats.filtered += 1;
            return;
        }
        if flags & flag::ERROR != 0 {
            let rbuf_drops = self.reg(RBUF_CTRL) & RBUF_BAD_DIS != 0;
            if rbuf_drops || command & CMD_RX_ERR_DISC != 0 {
                if rbuf_drops {
                    self.set(RBUF_ERR_CNT, self.reg(RBUF_ERR_CNT).saturating_add(1));
                }
                self.stats.bad += 1;
                return;
            }
        }
        if self.rbuf_blocked() {
            self.stats.rbuf += 1;
            return;
        }
        let filter = self.hfb_match(&frame.bytes);
        if filter.is_some() {
            self.raise_0(bit::HFB_SM);
        }
        let Some(ring) = self.choose_ring(now, filter) else {
            self.overflow();
            return;
        };
        let flags = flags | filter.map_or(0, |f| (f & 0x1F) << 7);
        self.fill_scratch(&frame.bytes[..limit], flags, frame.fcs_error);
        self.deliver(now, ring, flags, frame.status_word, env);
    }

    /// RBUF is being flushed, or EEE has stuck it: with RBUF_EEE_EN set and EEE active, receiving stops until
    /// SYS_RBUF_FLUSH_CTRL bit 0 is toggled (raspberrypi/linux 7304).
    fn rbuf_blocked(&mut self) -> bool {
        if self.reg(SYS_RBUF_FLUSH_CTRL) & 1 != 0 {
            return true;
        }
        let sleeps = self.reg(RBUF_ENERGY_CTRL) & 1 != 0 && self.reg(UMAC_EEE_CTRL) & 8 != 0 && self.link_eee;
        self.rbuf_stuck |= sleeps;
        if self.rbuf_stuck {
            self.set(RBUF_OVFL_CNT, self.reg(RBUF_OVFL_CNT).saturating_add(1));
            self.raise_0(bit::RBUF_OVERFLOW);
        }
        self.rbuf_stuck
    }

    /// Nobody empties RBUF: it is full at once.
    fn overflow(&mut self) {
        self.stats.rbuf += 1;
        self.set(RBUF_OVFL_CNT, self.reg(RBUF_OVFL_CNT).saturating_add(1));
        self.raise_0(bit::RBUF_OVERFLOW);
    }

    /// The ring a matched filter maps to, else the default.
    fn choose_ring(&self, now: u64, filter: Option<u32>) -> Option<u32> {
        if !self.engine_runs(now, RDMA) {
            return None;
        }
        let mapped = filter.map(|f| self.reg(RDMA + DMA_GLOBAL + 0x70 + f / 8 * 4) >> (f % 8 * 4) & 0xF);
        if let Some(ring) = mapped.filter(|&ring| self.ring_enabled(RDMA, ring)) {
            return Some(ring);
        }
        if self.ring_enabled(RDMA, 16) {
            return Some(16);
        }
        match self.cfg.switches.default_ring {
            DefaultRing::Running => (0..16).find(|&ring| self.ring_enabled(RDMA, ring)),
            DefaultRing::Ring16 => None,
        }
    }

    /// Lays the frame out as RBUF hands it over: status block, two pad bytes, frame, FCS.
    fn fill_scratch(&mut self, bytes: &[u8], flags: u32, fcs_error: bool) {
        let control = self.reg(RBUF_CTRL);
        let status = control & RBUF_64B_EN != 0;
        let pad = if control & RBUF_ALIGN_2B != 0 { 2 } else { 0 };
        let head = if status { STATUS_BYTES } else { 0 } + pad;
        let crc = self.command() & CMD_CRC_FWD != 0;
        let checksum = if status && self.reg(RBUF_CHK_CTRL) & CHK_EN != 0 { sum_after_header(bytes) } else { 0 };
        let scratch = &mut self.rx_scratch;
        scratch.clear();
        scratch.resize(head, 0);
        scratch.extend_from_slice(bytes);
        if crc {
            let fcs = super::fcs(bytes) ^ u32::from(fcs_error);
            scratch.extend_from_slice(&fcs.to_le_bytes());
        }
        if status {
            let length_status = (scratch.len() as u32) << 16 | 0x6000 | flags;
            scratch[0..4].copy_from_slice(&length_status.to_le_bytes());
            scratch[8..12].copy_from_slice(&u32::from(checksum).to_le_bytes());
        }
    }
}

/// Ones' complement sum of everything after the Ethernet header, as RXCHK reports it with L3_PARSE_DIS.
fn sum_after_header(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.get(14..).unwrap_or(&[]).chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}
