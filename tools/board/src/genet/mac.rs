//! The register file and what writing to it sets off.
//!
//! The state of the block is its register file: a register reads back what it holds, and hardware-owned registers are
//! updated when the hardware moves. Only what has no register (timers, FIFOs) is kept beside it.

use std::collections::VecDeque;

use super::coalesce::Coalesce;
use super::map::{self, *};
use super::mdio::Mdio;
use super::pause::Pause;
use super::transmit::Transmit;
use super::{Arriving, GenetConfig};
use crate::env::Env;
use crate::link::Speed;
use crate::rng::SplitMix64;

pub(crate) const SLOTS: u32 = 256;
pub(crate) const WORDS_A_SLOT: u32 = 3;

/// Ring registers, RDMA names.
pub(crate) const WRITE_PTR: u32 = 0x00;
pub(crate) const PROD_INDEX: u32 = 0x08;
pub(crate) const CONS_INDEX: u32 = 0x0C;
pub(crate) const RING_SIZE: u32 = 0x10;
pub(crate) const START_ADDR: u32 = 0x14;
pub(crate) const END_ADDR: u32 = 0x1C;
pub(crate) const THRESH: u32 = 0x24;
pub(crate) const XON_XOFF: u32 = 0x28;

pub(crate) const CTRL: u32 = DMA_GLOBAL + 0x04;
const RDMA_CTRL: u32 = RDMA + CTRL;
const TDMA_CTRL: u32 = TDMA + CTRL;
const RDMA_STATUS: u32 = RDMA + DMA_GLOBAL + 0x08;
const TDMA_STATUS: u32 = TDMA + DMA_GLOBAL + 0x08;
const RDMA_ACTIVITY: u32 = RDMA + DMA_GLOBAL + 0x10;
const TDMA_ACTIVITY: u32 = TDMA + DMA_GLOBAL + 0x10;

pub(crate) const CMD_TX_EN: u32 = 1 << 0;
pub(crate) const CMD_RX_EN: u32 = 1 << 1;
pub(crate) const CMD_PROMISC: u32 = 1 << 4;
pub(crate) const CMD_CRC_FWD: u32 = 1 << 6;
pub(crate) const CMD_PAUSE_FWD: u32 = 1 << 7;
pub(crate) const CMD_RX_PAUSE_IGNORE: u32 = 1 << 8;
pub(crate) const CMD_TX_ADDR_INS: u32 = 1 << 9;
pub(crate) const CMD_HD_EN: u32 = 1 << 10;
pub(crate) const CMD_SW_RESET: u32 = 1 << 13;
pub(crate) const CMD_LCL_LOOP: u32 = 1 << 15;
pub(crate) const CMD_CNTL_FRM: u32 = 1 << 23;
pub(crate) const CMD_RX_ERR_DISC: u32 = 1 << 26;
pub(crate) const CMD_TX_PAUSE_IGNORE: u32 = 1 << 28;
pub(crate) const CMD_RUNT_FILTER_DIS: u32 = 1 << 30;

/// First register of a ring.
pub(crate) const fn ring_base(block: u32, ring: u32) -> u32 {
    block + DMA_RINGS + ring * 0x40
}

/// The truth about frames that reached the MAC, which no register tells in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MacStats {
    /// Reached the MAC.
    pub arrived: u64,
    /// Receiver off, in reset, or its interface not set up.
    pub receiver_off: u64,
    /// PAUSE and other control frames that end in the MAC.
    pub control: u64,
    /// Not for us.
    pub filtered: u64,
    /// Dropped for an error.
    pub bad: u64,
    /// Lost in front of RDMA: flushed, engine off or RBUF stuck.
    pub rbuf: u64,
    /// No free descriptor.
    pub discarded: u64,
    /// Written to memory.
    pub delivered: u64,
    /// Taken from TX rings.
    pub transmitted: u64,
    /// Frames that the receive MIB counted.
    pub mib_frames: u64,
    /// Bytes that the receive MIB counted.
    pub mib_bytes: u64,
}

pub(crate) struct Mac {
    regs: Box<[u32]>,
    pub(crate) cfg: GenetConfig,
    pub(crate) rng: SplitMix64,
    pub(crate) rings: [Coalesce; 17],
    /// Earliest deadline of `rings`.
    pub(crate) ring_deadline: u64,
    pub(crate) mdio: Mdio,
    pub(crate) pause: Pause,
    pub(crate) tx: Transmit,
    /// Frames on their way back from a loopback: when, the speed of the PHY's clock if they went through the pins, and
    /// the frame.
    pub(crate) loopback: VecDeque<(u64, Option<Speed>, Arriving)>,
    pub(crate) rbuf_stuck: bool,
    /// RXDMA_MBDONE events of ring 16 so far, for the fault that loses some.
    pub(crate) mbdone_events: u32,
    /// When each engine has come to rest after DMA_EN was cleared: RDMA, TDMA.
    stopped_at: [u64; 2],
    pub(crate) link_up: bool,
    pub(crate) link_eee: bool,
    pub(crate) rx_scratch: Vec<u8>,
    pub(crate) held: std::collections::VecDeque<super::rdma::Held>,
    pub(crate) stats: MacStats,
    /// Complaints made once for each place: read, write.
    reported: [Box<[bool]>; 2],
    pub(crate) once: u32,
}

impl Mac {
    pub(crate) fn new(cfg: &GenetConfig) -> Self {
        let words = || vec![false; 0x4000].into_boxed_slice();
        let mut mac = Mac {
            regs: vec![0; 0x4000].into_boxed_slice(),
            rng: SplitMix64::new(cfg.seed ^ 0x6D61_6363),
            cfg: cfg.clone(),
            rings: [Coalesce::default(); 17],
            ring_deadline: u64::MAX,
            mdio: Mdio::default(),
            pause: Pause::default(),
            tx: Transmit::default(),
            loopback: VecDeque::new(),
            rbuf_stuck: false,
            mbdone_events: 0,
            stopped_at: [0; 2],
            link_up: false,
            link_eee: false,
            rx_scratch: Vec::with_capacity(16 * 1024),
            held: std::collections::VecDeque::new(),
            stats: MacStats::default(),
            reported: [words(), words()],
            once: 0,
        };
        mac.power_up();
        mac
    }

    /// What the register at `offset` holds.
    #[inline]
    pub(crate) fn reg(&self, offset: u32) -> u32 {
        self.regs[(offset >> 2) as usize & 0x3FFF]
    }

    #[inline]
    pub(crate) fn set(&mut self, offset: u32, value: u32) {
        self.regs[(offset >> 2) as usize & 0x3FFF] = value;
    }

    #[inline]
    pub(crate) fn command(&self) -> u32 {
        self.reg(UMAC_CMD)
    }

    /// The UniMAC is held in reset by SYS_RBUF_FLUSH_CTRL.
    pub(crate) fn umac_held(&self) -> bool {
        self.reg(SYS_RBUF_FLUSH_CTRL) & 2 != 0
    }

    /// True while the engine at `block` moves data.
    pub(crate) fn engine_runs(&self, now: u64, block: u32) -> bool {
        self.reg(block + CTRL) & 1 != 0 || now < self.stopped_at[usize::from(block == TDMA)]
    }

    pub(crate) fn ring_enabled(&self, block: u32, ring: u32) -> bool {
        self.reg(block + CTRL) & (2 << ring) != 0
    }

    /// Files a complaint the first time that it comes up; `bit` of `once` remembers.
    pub(crate) fn blame_once(&mut self, bit: u32, now: u64, env: &mut Env<'_>, text: impl FnOnce() -> String) {
        if self.once & bit == 0 {
            self.once |= bit;
            env.blame(now, "genet", text());
        }
    }

    fn blame_place(&mut self, write: bool, now: u64, offset: u32, env: &mut Env<'_>, text: impl FnOnce() -> String) {
        let seen = &mut self.reported[usize::from(write)][(offset >> 2) as usize & 0x3FFF];
        if !std::mem::replace(seen, true) {
            env.blame(now, "genet", text());
        }
    }

    pub(crate) fn read(&mut self, now: u64, offset: u32, env: &mut Env<'_>) -> u32 {
        if matches!(offset, RDMA..0x3040 | TDMA..0x5040) && offset & 0xFFF < DMA_RINGS {
            return self.reg(offset);
        }
        let Some(register) = map::register(offset) else {
            self.blame_place(false, now, offset, env, || format!("read of unknown register {offset:#06x}"));
            return 0;
        };
        match offset {
            UMAC_MODE => self.mode(),
            RDMA_STATUS => self.dma_status(now, RDMA),
            TDMA_STATUS => self.dma_status(now, TDMA),
            RDMA_ACTIVITY => self.dma_activity(RDMA),
            TDMA_ACTIVITY => self.dma_activity(TDMA),
            EXT_RGMII_IB_STATUS => u32::from(self.link_up),
            _ if register.access == Access::WriteOnly => {
                let name = register.name;
                self.blame_place(false, now, offset, env, || format!("read of write-only {name} ({offset:#06x})"));
                0
            }
            _ => self.reg(offset),
        }
    }

    pub(crate) fn write(&mut self, now: u64, offset: u32, value: u32, env: &mut Env<'_>) {
        if matches!(offset, RDMA..0x2C00 | TDMA..0x4C00) {
            return self.set(offset, value);
        }
        let Some(register) = map::register(offset) else {
            self.blame_place(true, now, offset, env, || {
                format!("write of {value:#010x} to unknown register {offset:#06x}")
            });
            return;
        };
        let name = register.name;
        match register.access {
            Access::ReadOnly => self.blame_place(true, now, offset, env, || {
                format!("write of {value:#010x} to read-only {name} ({offset:#06x})")
            }),
            Access::ClearByZero if value == 0 => self.set(offset, 0),
            Access::ClearByZero => self.blame_place(true, now, offset, env, || {
                format!("write of {value:#010x} to counter {name} ({offset:#06x}), which only takes 0")
            }),
            Access::WriteOnly => self.write_intrl2(offset, value),
            Access::ReadWrite => {
                if (value ^ self.reg(offset)) & !register.fields != 0 {
                    self.blame_place(true, now, offset, env, || {
                        format!("{name} ({offset:#06x}) = {value:#010x} changes bits that no source documents")
                    });
                }
                self.write_plain(now, offset, value, env);
            }
        }
    }

    fn write_plain(&mut self, now: u64, offset: u32, value: u32, env: &mut Env<'_>) {
        match offset {
            0x800..UMAC_END if offset != UMAC_MDIO_CMD && offset != UMAC_MDIO_CFG => {
                self.write_umac(now, offset, value, env);
            }
            UMAC_MDIO_CMD => self.write_mdio_cmd(now, value, env),
            SYS_RBUF_FLUSH_CTRL => self.write_flush(offset, value),
            EXT_RGMII_OOB_CTRL | SYS_PORT_CTRL => {
                self.set(offset, value);
                self.tx.kick_at = now;
            }
            0x2C00..0x3040 => self.write_rdma_ring(now, offset, value, env),
            0x4C00..0x5040 => self.write_tdma_ring(now, offset, value, env),
            RDMA_CTRL => self.write_ctrl(now, RDMA, value, env),
            TDMA_CTRL => self.write_ctrl(now, TDMA, value, env),
            _ => self.set(offset, value),
        }
        if offset == RDMA + DMA_GLOBAL + 0x14 {
            self.watch_levels(now);
        }
    }

    fn write_umac(&mut self, now: u64, offset: u32, value: u32, env: &mut Env<'_>) {
        if self.umac_held() {
            if offset == UMAC_CMD && value & (CMD_TX_EN | CMD_RX_EN) != 0 {
                env.blame(now, "genet", format!("UMAC_CMD = {value:#010x} while the UniMAC is held in reset"));
            }
            return;
        }
        let before = self.reg(offset);
        match offset {
            UMAC_MIB_CTRL => self.write_mib_ctrl(value),
            UMAC_TX_FLUSH => {
                self.set(offset, value);
                if value & 1 != 0 {
                    self.flush_transmit();
                }
            }
            _ => self.set(offset, value),
        }
        if offset == UMAC_CMD {
            self.pause_bits_changed(now, before, value);
        }
        self.tx.kick_at = now;
    }

    /// SYS_RBUF_FLUSH_CTRL: bit 1 resets the UniMAC while it is set, bit 0 empties RBUF and frees it when stuck.
    fn write_flush(&mut self, offset: u32, value: u32) {
        if value & 2 != 0 && !self.umac_held() {
            self.reset_umac();
            self.flush_transmit();
            self.pause = Pause::default();
        }
        if value & 1 != 0 {
            self.rbuf_stuck = false;
        }
        self.set(offset, value);
    }

    fn write_ctrl(&mut self, now: u64, block: u32, value: u32, env: &mut Env<'_>) {
        let before = self.reg(block + CTRL);
        self.set(block + CTRL, value);
        if before & !value & 1 != 0 {
            let faults = self.cfg.faults;
            let rest = if faults.dma_never_stops { u64::MAX } else { now + faults.dma_stop_ns };
            self.stopped_at[usize::from(block == TDMA)] = rest;
        }
        if block == TDMA {
            self.tx.kick_at = now;
            return;
        }
        let live = |control: u32| if control & 1 != 0 { control >> 1 & 0x1_FFFF } else { 0 };
        let started = live(value) & !live(before);
        for ring in (0..=16).filter(|ring| started & (1 << ring) != 0) {
            self.rings[ring as usize] = Coalesce::default();
            self.check_ring(now, ring, env);
        }
        self.refresh_ring_deadline();
        self.watch_levels(now);
    }

    /// 0 engine off, 17:1 ring off, 18 init busy (never seen).
    fn dma_status(&self, now: u64, block: u32) -> u32 {
        let control = self.reg(block + CTRL);
        u32::from(!self.engine_runs(now, block)) | (!control & 0x3_FFFE)
    }

    fn dma_activity(&self, block: u32) -> u32 {
        (0..=16).filter(|&ring| self.ring_enabled(block, ring)).fold(0, |active, ring| {
            let base = ring_base(block, ring);
            let differs = (self.reg(base + PROD_INDEX) ^ self.reg(base + CONS_INDEX)) & 0xFFFF != 0;
            active | u32::from(differs) << ring
        })
    }

    /// UMAC_MODE: 1:0 speed, 2 half duplex, 3 RX pause, 4 TX pause, 5 link (measured 0x3A with CMD 0xB).
    fn mode(&self) -> u32 {
        let command = self.command();
        let half = command & CMD_HD_EN != 0;
        let rx_pause = command & CMD_RX_PAUSE_IGNORE == 0 && !half;
        let tx_pause = command & CMD_TX_PAUSE_IGNORE == 0 && !half;
        let link = self.link_up && self.reg(EXT_RGMII_OOB_CTRL) & (1 << 6) != 0;
        command >> 2 & 3
            | u32::from(half) << 2
            | u32::from(rx_pause) << 3
            | u32::from(tx_pause) << 4
            | u32::from(link) << 5
    }
}
