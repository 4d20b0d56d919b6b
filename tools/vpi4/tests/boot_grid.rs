//! The real image entered in every way that a loader may: level, junk in registers, caches, place, memory, core.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod entry;

use board::env::Finding;
use entry::{Code, JUNK_AT_EL1, JUNK_AT_EL2, SCTLR_CHOICES, SCTLR_EL1, SCTLR_EL2};
use vpi4::cpu::EntryLevel;
use vpi4::image::Image;
use vpi4::{Machine, MachineConfig, Stop};

fn image() -> Image {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    Image::parse(std::fs::read(path).expect("target/kernel8.img: run `make kernel`")).unwrap()
}

/// What the earlier stage did: nothing, or junk with the given SCTLR.
fn preamble(level: EntryLevel, sctlr: Option<u64>, image: u64) -> Vec<u32> {
    let Some(sctlr) = sctlr else { return Vec::new() };
    let code = match level {
        EntryLevel::El2 => Code::default().set_all(&JUNK_AT_EL2).set(SCTLR_EL2, sctlr),
        EntryLevel::El1 => Code::default().set_all(&JUNK_AT_EL1).set(SCTLR_EL1, sctlr),
    };
    code.go(image).0
}

#[test]
fn every_entry_reaches_the_console_with_interrupts_and_the_timer() {
    let image = image();
    let mut memory = [1024, 2048, 4096, 8192].into_iter().cycle();
    for level in [EntryLevel::El1, EntryLevel::El2] {
        for load_address in [0x8_0000, 0x20_0000] {
            for sctlr in [None].into_iter().chain(SCTLR_CHOICES.map(Some)) {
                // Six entries for each level and place: over all of them each memory size comes six times.
                for memory_mib in memory.by_ref().take(1 + usize::from(sctlr.is_none())) {
                    boots(&image, level, load_address, sctlr, memory_mib);
                }
            }
        }
    }
}

fn boots(image: &Image, level: EntryLevel, load_address: u64, sctlr: Option<u64>, memory_mib: u32) {
    let mut config = MachineConfig { level, load_address, limit_ns: 5_000_000_000, ..MachineConfig::default() };
    config.preamble = preamble(level, sctlr, load_address);
    config.board.memory_mib = memory_mib;
    config.board.bootargs = "gb.link_wait_ms=1000".to_owned();
    config.board.link.partner.present = false;
    let mut machine = Machine::new(config, image).unwrap();
    // The wait for the link ends by the timer's interrupt, the text leaves by the UART's.
    let stop = machine.run_until_text("Commands: help");
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    let case = format!("{level:?} at {load_address:#x}, SCTLR {sctlr:x?}, {memory_mib} MiB");
    assert_eq!(stop, Stop::Text, "{case}: {text}");
    let number = if level == EntryLevel::El1 { 1 } else { 2 };
    // The VideoCore's part of the first bank, and the peripherals' of the last, are not in the tree.
    assert!(text.contains(&format!("entered at EL{number}, ")), "{case}: {text}");
    let told_mib: u32 = text.split("entered at EL").nth(1).unwrap()[3..].split(' ').next().unwrap().parse().unwrap();
    assert!(told_mib > memory_mib * 9 / 10 && told_mib <= memory_mib, "{case}: {told_mib} MiB");
    assert!(machine.stats().irqs > 100, "{case}: {} interrupts", machine.stats().irqs);
    assert!(text.contains("no link after 1.0 s"), "{case}: {text}");
    assert_eq!(machine.findings(), [] as [Finding; 0], "{case}");
}

#[test]
fn a_core_other_than_0_parks_and_touches_nothing_until_it_is_released() {
    const RELEASED: u64 = 0x4000;
    let image = image();
    for core in 1..4u8 {
        for level in [EntryLevel::El1, EntryLevel::El2] {
            let config = MachineConfig { core, level, limit_ns: 100_000_000, ..MachineConfig::default() };
            let at = config.load_address;
            let mut machine = Machine::new(config, &image).unwrap();
            let bytes = image.memory_bytes as usize + 0x10_0000;
            let before = machine.read_memory(0, at as usize + bytes).unwrap();
            assert_eq!(machine.run(), Stop::Limit, "core {core}");
            assert!((at..at + 0x1000).contains(&machine.pc()), "core {core} at {:#x}", machine.pc());
            let stats = machine.stats();
            assert_eq!((stats.device_reads, stats.device_writes, stats.cache_operations), (0, 0, 0), "core {core}");
            assert!(machine.read_memory(0, at as usize + bytes).unwrap() == before, "core {core} wrote to memory");

            let config = MachineConfig { core, level, limit_ns: 100_000_000, ..MachineConfig::default() };
            let mut machine = Machine::new(config, &image).unwrap();
            machine.write_memory(RELEASED, &0xd503_205f_u32.to_le_bytes()).unwrap(); // wfe
            machine.write_memory(RELEASED + 4, &0xd400_0002_u32.to_le_bytes()).unwrap(); // hvc: ends the machine
            machine.write_memory(0xd8 + 8 * u64::from(core), &RELEASED.to_le_bytes()).unwrap();
            assert!(matches!(machine.run(), Stop::Dead(why) if why.contains("HVC")), "core {core} was not released");
        }
    }
}
