//! Memory: heap, and buffers that devices share.

pub mod dma;
pub mod heap;
