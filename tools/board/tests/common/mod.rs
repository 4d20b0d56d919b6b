//! A bare GENET with memory, driven register by register: what the tests of the model share.
#![allow(dead_code)]

use std::cell::RefCell;
use std::rc::Rc;

use board::env::{Env, Finding, FlatMemory};
use board::genet::{Genet, GenetConfig};
use board::link::{LinkConfig, Peer};

pub const STAT: u32 = 0x200;
pub const CLEAR: u32 = 0x208;
pub const CMD: u32 = 0x808;
pub const PROD: u32 = 0x3008;
pub const CONS: u32 = 0x300C;
pub const THRESH: u32 = 0x3024;
pub const XON_XOFF: u32 = 0x3028;
pub const RX_CTRL: u32 = 0x3044;
pub const TIMEOUT: u32 = 0x30AC;
pub const TX_CONS: u32 = 0x5008;
pub const TX_PROD: u32 = 0x500C;
pub const TX_CTRL: u32 = 0x5044;
pub const MDIO: u32 = 0xE14;
pub const RX_PF: u32 = 0xC40;
pub const TX_PF: u32 = 0xCB4;

pub const MBDONE: u32 = 1 << 13;
pub const PDONE: u32 = 1 << 14;
pub const BDONE: u32 = 1 << 15;

pub const MAC: [u8; 6] = [0xDC, 0xA6, 0x32, 0x01, 0x02, 0x03];
pub const MEMORY: u64 = 0x1000_0000;
pub const TX_BUFFERS: u64 = MEMORY + 256 * 2048;
/// After autonegotiation.
pub const LINK_NS: u64 = 3_000_000_000;

pub struct Bench {
    pub genet: Genet,
    pub memory: FlatMemory,
    pub findings: Vec<Finding>,
    pub now: u64,
    tx_index: u16,
}

impl Bench {
    pub fn new(cfg: &GenetConfig, link: &LinkConfig, peer: impl Peer + 'static) -> Self {
        Bench {
            genet: Genet::new(cfg, link, Box::new(peer)),
            memory: FlatMemory::new(MEMORY, 512 * 2048),
            findings: Vec::new(),
            now: 0,
            tx_index: 0,
        }
    }

    /// Defaults, brought up with 256 buffers, at [`LINK_NS`], with a handle to the peer.
    pub fn up<P: Peer + 'static>(cfg: &GenetConfig, link: &LinkConfig, peer: P) -> (Self, Rc<RefCell<P>>) {
        let peer = Rc::new(RefCell::new(peer));
        let mut bench = Bench::new(cfg, link, peer.clone());
        bench.bring_up();
        bench.run_to(LINK_NS);
        (bench, peer)
    }

    pub fn read(&mut self, offset: u32) -> u32 {
        let mut env = Env { mem: &mut self.memory, findings: &mut self.findings };
        self.genet.read(self.now, offset, &mut env)
    }

    pub fn write(&mut self, offset: u32, value: u32) {
        let mut env = Env { mem: &mut self.memory, findings: &mut self.findings };
        self.genet.write(self.now, offset, value, &mut env);
    }

    pub fn with<T>(&mut self, act: impl FnOnce(&mut Genet, u64, &mut Env<'_>) -> T) -> T {
        let mut env = Env { mem: &mut self.memory, findings: &mut self.findings };
        act(&mut self.genet, self.now, &mut env)
    }

    pub fn run_to(&mut self, at: u64) {
        let mut env = Env { mem: &mut self.memory, findings: &mut self.findings };
        self.genet.run(at, &mut env);
        self.now = at;
    }

    /// Runs from event to event until `done` or `limit`; the time when it was done.
    pub fn run_until(&mut self, limit: u64, mut done: impl FnMut(&Genet) -> bool) -> Option<u64> {
        while !done(&self.genet) {
            let at = self.genet.next_event().filter(|at| *at <= limit)?;
            self.run_to(at.max(self.now));
        }
        Some(self.now)
    }

    /// The order that every public driver agrees on, ring 16, everything posted.
    pub fn bring_up(&mut self) {
        for (offset, value) in [
            (RX_CTRL, 0),
            (TX_CTRL, 0),
            (0x008, 2),
            (0x008, 0),
            (CMD, 0),
            (CMD, 1 << 13 | 1 << 15),
            (CMD, 0),
            (0xD80, 7),
            (0xD80, 0),
            (0x814, 1536),
            (0x300, 0xC042),
            (0x3B4, 1),
            (0x004, 3),
            (0x80C, u32::from_be_bytes([MAC[0], MAC[1], MAC[2], MAC[3]])),
            (0x810, u32::from_be_bytes([0, 0, MAC[4], MAC[5]])),
            (0x304C, 8),
            (0x504C, 8),
        ] {
            self.write(offset, value);
        }
        self.rings();
        for (offset, value) in [(0x3040, 1 << 16), (0x5040, 1 << 16), (RX_CTRL, 1 << 17 | 1), (TX_CTRL, 1 << 17 | 1)] {
            self.write(offset, value);
        }
        self.write(0x08C, 0x00F0_0050);
        self.write(CMD, 0x0B);
    }

    pub fn rings(&mut self) {
        for base in [0x3000, 0x5000] {
            for (register, value) in [(0x00, 0), (0x04, 0), (0x08, 0), (0x0C, 0), (0x10, 256 << 16 | 2048)] {
                self.write(base + register, value);
            }
            for (register, value) in [(0x14, 0), (0x18, 0), (0x1C, 767), (0x20, 0), (0x24, 1), (0x2C, 0), (0x30, 0)] {
                self.write(base + register, value);
            }
        }
        self.write(XON_XOFF, 5 << 16 | 16);
        self.write(0x5028, 0);
        self.write(TIMEOUT, 0);
        for slot in 0..256 {
            self.write(0x2000 + slot * 12 + 4, MEMORY as u32 + slot * 2048);
            self.write(0x2000 + slot * 12 + 8, 0);
        }
        self.tx_index = 0;
    }

    /// Bytes of the buffer that RX descriptor `slot` points at.
    pub fn buffer(&self, slot: u32) -> &[u8] {
        &self.memory.bytes()[slot as usize * 2048..][..2048]
    }

    pub fn prod(&mut self) -> u16 {
        self.read(PROD) as u16
    }

    /// Queues one frame on TX ring 16.
    pub fn send(&mut self, frame: &[u8]) {
        let slot = u32::from(self.tx_index) % 256;
        let at = 256 * 2048 + slot as usize * 1024;
        self.memory.bytes_mut()[at..at + frame.len()].copy_from_slice(frame);
        self.write(0x4000 + slot * 12 + 4, (MEMORY + at as u64) as u32);
        self.write(0x4000 + slot * 12 + 8, 0);
        self.write(0x4000 + slot * 12, (frame.len() as u32) << 16 | 0x7FC0);
        self.tx_index = self.tx_index.wrapping_add(1);
        self.write(TX_PROD, u32::from(self.tx_index));
    }

    pub fn mdio_read(&mut self, phy: u32, register: u32) -> u32 {
        self.write(MDIO, 1 << 29 | 1 << 27 | phy << 21 | register << 16);
        self.wait_mdio()
    }

    pub fn mdio_write(&mut self, phy: u32, register: u32, value: u32) {
        self.write(MDIO, 1 << 29 | 1 << 26 | phy << 21 | register << 16 | value);
        self.wait_mdio();
    }

    fn wait_mdio(&mut self) -> u32 {
        for _ in 0..100 {
            self.run_to(self.now + 1_000);
            let value = self.read(MDIO);
            if value & 1 << 29 == 0 {
                return value;
            }
        }
        panic!("MDIO stays busy");
    }

    /// Fails with the list when the firmware's side (the test) did something wrong.
    pub fn assert_clean(&self) {
        assert_eq!(self.findings, [], "findings");
    }
}

/// A frame of `len` bytes (no FCS) for `destination`.
pub fn frame(destination: [u8; 6], len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[..6].copy_from_slice(&destination);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
    bytes[12..14].copy_from_slice(&[0x88, 0xB5]);
    for (at, byte) in bytes.iter_mut().enumerate().skip(14) {
        *byte = at as u8;
    }
    bytes
}

/// A PAUSE frame.
pub fn pause(quanta: u16) -> Vec<u8> {
    let mut bytes = frame([0x01, 0x80, 0xC2, 0, 0, 1], 60);
    bytes[12..16].copy_from_slice(&[0x88, 0x08, 0, 1]);
    bytes[16..18].copy_from_slice(&quanta.to_be_bytes());
    bytes
}
