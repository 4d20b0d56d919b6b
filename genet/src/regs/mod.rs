//! GENET v5 registers, one file per hardware block.
//!
//! Owns offsets, fields and the typed handle [`Register`]; nothing here decides anything. Offsets and fields are those
//! that Linux (`bcmgenet.h`, `unimac.h`), NetBSD/OpenBSD/FreeBSD, U-Boot and Circle agree on unless a line says
//! otherwise; "older map" is the Broadcom set-top driver for GENET v1 to v4. "Measured" values were read on a Pi 4B
//! rev 1.5 by rusty-pi/pimu.

#![allow(missing_docs)] // names are the hardware's; what a name does not tell is said beside it

pub mod ext;
pub mod hfb;
pub mod intrl2;
pub mod mdio;
pub mod mib;
pub mod rbuf;
pub mod rdma;
pub mod sys;
pub mod tbuf;
pub mod tdma;
pub mod umac;

use crate::Registers;
use core::marker::PhantomData;
use tock_registers::fields::FieldValue;
use tock_registers::{LocalRegisterCopy, RegisterLongName};

/// The descriptor ring that drivers use for everything without a filter.
pub const RING: u32 = 16;

/// One register: its place and, in the type, its fields.
pub struct Register<F: RegisterLongName = ()> {
    offset: u32,
    fields: PhantomData<F>,
}

impl<F: RegisterLongName> Register<F> {
    /// The register at byte `offset` of GENET.
    pub const fn at(offset: u32) -> Self {
        Register { offset, fields: PhantomData }
    }

    /// Its byte offset.
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Reads it.
    #[inline(always)]
    pub fn read<R: Registers>(&self, regs: &R) -> LocalRegisterCopy<u32, F> {
        LocalRegisterCopy::new(regs.read(self.offset))
    }

    /// Reads it as a number.
    #[inline(always)]
    pub fn get<R: Registers>(&self, regs: &R) -> u32 {
        regs.read(self.offset)
    }

    /// Writes it as a number.
    #[inline(always)]
    pub fn set<R: Registers>(&self, regs: &R, value: u32) {
        regs.write(self.offset, value);
    }

    /// Writes the fields given and 0 to all others.
    #[inline(always)]
    pub fn write<R: Registers>(&self, regs: &R, fields: FieldValue<u32, F>) {
        regs.write(self.offset, fields.value);
    }

    /// Writes the fields given and leaves all others.
    pub fn modify<R: Registers>(&self, regs: &R, fields: FieldValue<u32, F>) {
        regs.write(self.offset, fields.modify(regs.read(self.offset)));
    }
}
