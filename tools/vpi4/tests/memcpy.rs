//! The firmware's own memcpy, as linked, against the obvious answer.

use object::{Object, ObjectSection, ObjectSymbol};
use std::path::PathBuf;
use unicorn_engine::{Arch, Mode, Prot, RegisterARM64 as R, Unicorn};

const CODE: u64 = 0x10_0000;
const DATA: u64 = 0x20_0000;
const END: u64 = 0x30_0000;

/// The words of the function.
fn memcpy() -> Vec<u8> {
    let top = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(top.join("target"), PathBuf::from);
    let path = target.join("aarch64-unknown-none/kernel/kernel");
    let elf = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}: run `make kernel`", path.display()));
    let file = object::File::parse(&*elf).unwrap();
    let symbol = file.symbols().find(|s| s.name() == Ok("memcpy")).unwrap();
    let text = file.section_by_index(symbol.section_index().unwrap()).unwrap();
    text.data_range(symbol.address(), symbol.size()).unwrap().unwrap().to_vec()
}

#[test]
fn copies_every_length_at_every_alignment_and_nothing_else() {
    let mut uc = Unicorn::new(Arch::ARM64, Mode::ARM).unwrap();
    uc.mem_map(CODE, 0x1000, Prot::ALL).unwrap();
    uc.mem_map(DATA, 0x4000, Prot::ALL).unwrap();
    uc.mem_map(END, 0x1000, Prot::ALL).unwrap();
    uc.mem_write(CODE, &memcpy()).unwrap();
    let source: Vec<u8> = (0..0x1000u32).map(|i| (i * 167 % 251) as u8 + 1).collect();
    uc.mem_write(DATA, &source).unwrap();
    let lengths = (0..200).chain([255, 256, 257, 1459, 1460, 1514, 2048]);
    for length in lengths {
        for (from, to) in [(0, 0), (0, 1), (1, 0), (2, 6), (7, 3), (8, 8), (54, 0), (54, 13)] {
            uc.mem_write(DATA + 0x2000, &[0; 0x1000]).unwrap();
            let destination = DATA + 0x2000 + 64 + to as u64;
            uc.reg_write(R::X0, destination).unwrap();
            uc.reg_write(R::X1, DATA + from as u64).unwrap();
            uc.reg_write(R::X2, length as u64).unwrap();
            uc.reg_write(R::LR, END).unwrap();
            uc.emu_start(CODE, END, 0, 0).unwrap();
            let mut expected = vec![0; 0x1000];
            expected[64 + to..64 + to + length].copy_from_slice(&source[from..from + length]);
            let got = uc.mem_read_as_vec(DATA + 0x2000, 0x1000).unwrap();
            assert!(got == expected, "{length} bytes from +{from} to +{to}");
            assert_eq!(uc.reg_read(R::X0).unwrap(), destination);
        }
    }
}
