//! The assembly: entry and vectors.

core::arch::global_asm!(include_str!("boot.s"));
core::arch::global_asm!(include_str!("vectors.s"));
core::arch::global_asm!(include_str!("memcpy.s"));
