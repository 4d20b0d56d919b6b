//! Models of a Raspberry Pi 4's devices, the wire and the peer, in virtual time.
//!
//! Everything is event driven and deterministic: a model's whole future follows from its configuration (with seeds),
//! the accesses made to it and their times. Written from public facts about the hardware; shares nothing with the
//! driver it judges.
#![forbid(unsafe_code)]

mod access;
pub mod board;
pub mod cprman;
pub mod dtb;
pub mod env;
pub mod genet;
pub mod gic;
pub mod gpio;
pub mod host;
pub mod link;
pub mod mailbox;
pub mod mangle;
pub mod miniuart;
pub mod path;
pub mod pcap;
pub mod phy;
pub mod pl011;
pub mod pm;
pub mod rng;
pub mod rng200;
pub mod source;
pub mod storm;
pub mod systimer;
