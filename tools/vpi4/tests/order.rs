//! The checks of barriers and of device accesses find what they are for.

mod common;

use board::env::Finding;
use common::SHORT;
use vpi4::image::Image;
use vpi4::order::Barrier;
use vpi4::{Machine, MachineConfig};

const NOP: u32 = 0xd503_201f;

fn findings(image: &Image, change: impl FnOnce(&mut MachineConfig)) -> Vec<Finding> {
    let mut config = MachineConfig { limit_ns: 20_000_000_000, ..MachineConfig::default() };
    config.board.bootargs = SHORT.to_owned();
    change(&mut config);
    let mut machine = Machine::new(config, image).unwrap();
    machine.run();
    machine.findings()
}

fn image() -> Image {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    Image::parse(std::fs::read(path).expect("target/kernel8.img: run `make kernel`")).unwrap()
}

#[test]
fn an_image_without_its_barriers_is_found_out() {
    let mut image = image();
    for word in image.bytes.chunks_exact_mut(4) {
        if Barrier::of(u32::from_le_bytes([word[0], word[1], word[2], word[3]])).is_some() {
            word.copy_from_slice(&NOP.to_le_bytes());
        }
    }
    let found = findings(&image, |_| {});
    for what in ["between cleaning a line and the doorbell", "between reading PROD_INDEX and invalidating"] {
        assert!(found.iter().any(|finding| finding.text.contains(what)), "no `{what}` in {found:?}");
    }
}

/// Runs `access` with x2 = a register of the UART, then a branch to the image.
fn accessed(access: u32) -> Vec<Finding> {
    let mov_x2 = [0xd282_0302, 0xf2bf_c402]; // movz x2, #0x1018; movk x2, #0xfe20, lsl #16
    findings(&image(), |config| {
        let here = 0x1000 + 4 * (mov_x2.len() as u64 + 1);
        let branch = 0x1400_0000 | ((config.load_address - here) / 4) as u32;
        config.limit_ns = 1_000_000;
        config.preamble = [&mov_x2[..], &[access, branch]].concat();
    })
}

#[test]
fn a_device_access_must_be_an_aligned_word() {
    assert_eq!(accessed(0xb940_0041), [], "ldr w1, [x2]");
    for (access, text) in [
        (0xf940_0041, "ldr x1, [x2]"),
        (0x2940_0c41, "ldp w1, w3, [x2]"),
        (0xb840_2041, "ldur w1, [x2, #2]"),
        (0x7940_0041, "ldrh w1, [x2]"),
    ] {
        let found = accessed(access);
        let at = found.iter().find(|finding| finding.device == "width");
        assert!(at.is_some_and(|finding| finding.text.contains("by the instruction at 0x1008")), "{text}: {found:?}");
    }
}
