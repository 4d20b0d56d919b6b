//! What the kernel asks of the core itself: barriers, caches, counters, interrupt masking.

pub mod cache;
pub mod counter;
pub mod interrupts;
