//! Memory: heap, buffers that devices share, and the page that outlives a reset.

pub mod dma;
pub mod heap;
pub mod kept;
