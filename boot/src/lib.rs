//! Reset to Rust on a Raspberry Pi 4.
//!
//! Owns the arm64 Image header, the way from EL2 or EL1 to EL1 with MMU and caches on, the page
//! tables, the exception vectors and the linker script (`link/pi4.ld`). Register values: Linux
//! `Documentation/arch/arm64/booting.rst` and `el2_setup.h`, U-Boot and Circle, which agree; names
//! as in the Arm Architecture Reference Manual. Knows no device: what a fault or an interrupt
//! means is the kernel's business, through four functions that it must provide:
//!
//! - `extern "C" fn kernel_main(dtb: usize, entry_el: u64, image_base: usize) -> !`
//! - `extern "C" fn kernel_irq()`: an interrupt; runs with interrupts masked on the exception stack
//! - `extern "C" fn kernel_exception(frame: &mut ExceptionFrame)`: anything else; returning
//!   resumes at `frame.elr`
//! - `extern "C" fn kernel_secondary() -> !`: a core that `secondary::start` started, interrupts masked

#![cfg_attr(not(test), no_std)]

#[cfg(target_os = "none")]
mod entry;
pub mod layout;
pub mod mmu;
pub mod page_table;
#[cfg(target_os = "none")]
pub mod secondary;
pub mod vectors;

pub use vectors::ExceptionFrame;
