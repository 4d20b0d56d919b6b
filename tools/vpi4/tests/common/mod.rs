//! Booting the image that goes on a card, and reading what it printed.
//!
//! Needs target/kernel8.img: `make test` builds it first.

#![allow(dead_code)] // each test program uses its part

use board::board::BoardConfig;
use board::host::HostConfig;
use board::mangle::Rule;
use board::path::PathConfig;
use vpi4::image::Image;
use vpi4::{Machine, MachineConfig, Stop};

pub fn boot(plan: &str, change: impl FnOnce(&mut BoardConfig)) -> (Stop, String, Machine) {
    boot_as(plan, |config| change(&mut config.board))
}

pub fn boot_as(plan: &str, change: impl FnOnce(&mut MachineConfig)) -> (Stop, String, Machine) {
    let mut machine = at_reset(plan, change);
    let stop = machine.run();
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    (stop, text, machine)
}

/// The machine before its first instruction.
pub fn at_reset(plan: &str, change: impl FnOnce(&mut MachineConfig)) -> Machine {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    let image = Image::parse(std::fs::read(path).expect("target/kernel8.img: run `make kernel`")).unwrap();
    let mut config = MachineConfig::default();
    config.limit_ns = 120_000_000_000;
    config.board = config.board.seeded(1);
    config.board.bootargs = format!("console=ttyAMA0,115200 {plan}");
    change(&mut config);
    Machine::new(config, &image).unwrap()
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

/// A plan of one short run.
pub const SHORT: &str = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=20 gb.rtt_probes=2";

/// One boot and then one plan after the other from the console: a fault costs a run, not a boot.
pub struct Session {
    pub machine: Machine,
    read_bytes: usize,
}

impl Session {
    /// Boots and makes one good run.
    pub fn new(change: impl FnOnce(&mut BoardConfig)) -> Self {
        let (stop, text, machine) =
            boot_as("gb.presets=linux gb.warmup_ms=0 gb.window_ms=10 gb.rtt_probes=0", |config| {
                config.limit_ns = 3_000_000_000_000;
                change(&mut config.board);
            });
        assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
        let read_bytes = machine.uart().len();
        Session { machine, read_bytes }
    }

    /// What was printed since the last look.
    pub fn news(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.machine.uart()[self.read_bytes..]).into_owned();
        self.read_bytes = self.machine.uart().len();
        text
    }

    /// Runs `plan` until its `bye`: how it ended, and what was printed.
    pub fn run(&mut self, plan: &str) -> (String, String) {
        self.machine.type_text(format!("run {plan}\r").as_bytes());
        match self.machine.run() {
            Stop::Bye(rc) => (rc, self.news()),
            other => panic!("{plan}: {other:?} after {}", self.news()),
        }
    }

    /// Runs the plan; it must end as `rc` with `words` on the console.
    pub fn expect(&mut self, plan: &str, what: &str, rc: &str, words: &str) -> String {
        let (got, text) = self.run(plan);
        assert_eq!(got, rc, "{what}: {text}");
        assert!(text.contains(words), "{what}: no `{words}` in {text}");
        text
    }

    /// After all the faults a run without any is as good as ever.
    pub fn expect_health(&mut self) {
        let text = self.expect(SHORT, "no fault", "ok", "Receive by preset");
        assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000, "{text}");
    }

    pub fn host(&self, change: impl FnOnce(&mut HostConfig)) {
        change(self.machine.board().host().expect("a host").borrow_mut().config_mut());
    }

    pub fn path(&self, change: impl FnOnce(&mut PathConfig)) {
        change(self.machine.board().path().expect("a path").borrow_mut().config_mut());
    }

    /// Rules of the hostile stage from now on.
    pub fn rules(&self, rules: Vec<Rule>) {
        self.machine.board().mangler().expect("a hostile stage").borrow_mut().set_rules(rules);
    }

    /// Segments harmed under these rules.
    pub fn harmed(&self) -> u64 {
        self.machine.board().mangler().expect("a hostile stage").borrow().harmed()
    }

    /// DHCP messages answered since reset.
    pub fn dhcp_replies(&self) -> u64 {
        self.machine.board().host().expect("a host").borrow().stats().dhcp_replies
    }

    /// The session may end here: nothing to blame the firmware for, no record lost or damaged.
    pub fn close(self) {
        assert_eq!(self.machine.findings(), []);
        assert!(whole_records(&String::from_utf8_lossy(self.machine.uart())) > 50);
    }
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
