//! kernel8.img: wiring only.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
mod firmware;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!("This is firmware for a Raspberry Pi 4. Build it with `make kernel`; try it with `make run`.");
    std::process::exit(2);
}
