//! Booting the image that goes on a card, and reading what it printed.
//!
//! Needs target/kernel8.img: `make test` builds it first.

#![allow(dead_code)] // each test program uses its part

use board::board::BoardConfig;
use vpi4::image::Image;
use vpi4::{Machine, MachineConfig, Stop};

pub fn boot(plan: &str, change: impl FnOnce(&mut BoardConfig)) -> (Stop, String, Machine) {
    boot_as(plan, |config| change(&mut config.board))
}

pub fn boot_as(plan: &str, change: impl FnOnce(&mut MachineConfig)) -> (Stop, String, Machine) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    let image = Image::parse(std::fs::read(path).expect("target/kernel8.img: run `make kernel`")).unwrap();
    let mut config = MachineConfig::default();
    config.limit_ns = 120_000_000_000;
    config.board = config.board.seeded(1);
    config.board.bootargs = format!("console=ttyAMA0,115200 {plan}");
    change(&mut config);
    let mut machine = Machine::new(config, &image).unwrap();
    let stop = machine.run();
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    (stop, text, machine)
}

/// A short plan that ends as `rc`, with `words` on the console and nothing to blame the firmware for.
pub fn ends(rc: &str, words: &str, plan: &str, change: impl FnOnce(&mut BoardConfig)) -> String {
    let (stop, text, machine) = boot(plan, change);
    assert_eq!(stop, Stop::Bye(rc.to_owned()), "{text}");
    assert_eq!(machine.findings(), []);
    assert!(text.contains(words), "no `{words}` in {text}");
    text
}

/// Fields of the `result` records of `preset`, joined over their parts.
pub fn result(text: &str, preset: &str) -> Vec<(String, String)> {
    let lines = || text.lines().filter(|l| l.starts_with("$GB1 ") && l.contains(" result "));
    let named = lines().find(|l| l.contains(&format!("preset={preset} "))).unwrap();
    let run = named.split(' ').find(|w| w.starts_with("run=")).unwrap();
    let mut fields = Vec::new();
    for line in lines().filter(|l| l.split(' ').any(|w| w == run)) {
        let body = line.rsplit_once('*').unwrap().0;
        fields.extend(body.split(' ').filter_map(|w| w.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())));
    }
    fields
}

pub fn number(fields: &[(String, String)], key: &str) -> u64 {
    fields.iter().find(|(k, _)| k == key).unwrap_or_else(|| panic!("no {key} in {fields:?}")).1.parse().unwrap()
}

/// Number of records in `text`, all of them whole: CRC right, sequence numbers from 0 without a gap.
pub fn whole_records(text: &str) -> u64 {
    let mut next = 0;
    for line in text.lines().filter(|line| line.contains("$GB1 ")) {
        let inner = line.trim_end().strip_prefix('$').unwrap_or_else(|| panic!("text before a record: {line}"));
        let (body, crc) = inner.rsplit_once('*').unwrap_or_else(|| panic!("no CRC: {line}"));
        assert_eq!(u32::from_str_radix(crc, 16), Ok(crc32(body.as_bytes())), "{line}");
        let seq: u64 = body.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(seq, next, "a record is missing before {line}");
        next += 1;
    }
    next
}

/// CRC-32 of IEEE 802.3.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}
