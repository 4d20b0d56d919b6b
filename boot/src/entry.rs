//! The assembly: entry and vectors.

// One block: the second file uses the macros of the first.
core::arch::global_asm!(concat!(include_str!("boot.s"), include_str!("secondary.s")));
core::arch::global_asm!(include_str!("vectors.s"));
core::arch::global_asm!(include_str!("memcpy.s"));
