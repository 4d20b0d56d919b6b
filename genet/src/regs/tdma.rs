//! TDMA: transmit descriptors (0x4000), rings (0x4C00) and engine (0x5040).

use super::{RING, Register, rdma};

const fn ring(register: u32) -> u32 {
    0x4c00 + 0x40 * RING + register
}

/// Descriptor-RAM word index of the next frame to send.
pub const READ_PTR: Register = Register::at(ring(0x00));
pub const READ_PTR_HI: Register = Register::at(ring(0x04));
/// Hardware's index.
pub const CONS_INDEX: Register<rdma::PROD_INDEX::Register> = Register::at(ring(0x08));
/// Ours: the doorbell.
pub const PROD_INDEX: Register = Register::at(ring(0x0c));
pub const RING_BUF_SIZE: Register<rdma::BUF_SIZE::Register> = Register::at(ring(0x10));
pub const START_ADDR: Register = Register::at(ring(0x14));
pub const START_ADDR_HI: Register = Register::at(ring(0x18));
pub const END_ADDR: Register = Register::at(ring(0x1c));
pub const END_ADDR_HI: Register = Register::at(ring(0x20));
pub const MBUF_DONE_THRESH: Register = Register::at(ring(0x24));
/// 31:16 largest packet, 15:0 period. 0 is off, as on the default queue of every driver.
pub const FLOW_PERIOD: Register = Register::at(ring(0x28));
pub const WRITE_PTR: Register = Register::at(ring(0x2c));
pub const WRITE_PTR_HI: Register = Register::at(ring(0x30));

pub const RING_CFG: Register = Register::at(0x5040);
pub const CTRL: Register<rdma::CTRL::Register> = Register::at(0x5044);
pub const STATUS: Register<rdma::STATUS::Register> = Register::at(0x5048);
pub const SCB_BURST_SIZE: Register = Register::at(0x504c);

/// Word 0 of a descriptor: length and status.
#[inline(always)]
pub const fn descriptor(slot: u8) -> u32 {
    0x4000 + 12 * slot as u32
}

/// Worth recording at boot.
pub const FOUND: &[(&str, u32)] = &[
    ("ring_cfg", 0x5040),
    ("ctrl", 0x5044),
    ("status", 0x5048),
    ("scb_burst_size", 0x504c),
    ("arb_ctrl", 0x506c),
    ("ring16_read_ptr", ring(0x00)),
    ("ring16_cons_index", ring(0x08)),
    ("ring16_prod_index", ring(0x0c)),
    ("ring16_buf_size", ring(0x10)),
    ("ring16_mbuf_done_thresh", ring(0x24)),
    ("ring16_flow_period", ring(0x28)),
    ("ring16_write_ptr", ring(0x2c)),
];
