//! The real image when it stops on purpose: the watchdog's reset, the fault reports, and what the next start tells.
//!
//! Needs target/kernel8.img: `make test` builds it first.

use object::{Object, ObjectSymbol};
use std::path::PathBuf;
use vpi4::image::Image;
use vpi4::{Machine, MachineConfig, Stop};

/// The firmware's time for a main loop that stands still, and how much later than its last feed that may be, ns.
const WATCHDOG_NS: u64 = 8_000_000_000;
const FEED_NS: u64 = 1_600_000_000;
/// Where the record of the last event lies.
const KEPT: u64 = 0x0b00_0000;
/// A plan that is over at once: the console is what these tests want.
const NO_LINK: &str = "gb.link_wait_ms=1000";

fn machine(change: impl FnOnce(&mut MachineConfig)) -> Machine {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    let image = Image::parse(std::fs::read(path).expect("target/kernel8.img: run `make kernel`")).unwrap();
    let mut config = MachineConfig { limit_ns: 120_000_000_000, reboots: 1, ..MachineConfig::default() };
    config.board.bootargs = NO_LINK.to_owned();
    config.board.link.partner.present = false;
    change(&mut config);
    Machine::new(config, &image).unwrap()
}

/// A machine whose first session is over, at the console.
fn at_console(change: impl FnOnce(&mut MachineConfig)) -> Machine {
    let mut machine = machine(change);
    assert_eq!(machine.run_until_text("Commands: help"), Stop::Text);
    machine
}

fn text(machine: &Machine) -> String {
    String::from_utf8_lossy(machine.uart()).into_owned()
}

/// Fields of the `hello` record of start number `start` (from 0), joined over its parts.
fn hello(machine: &Machine, start: usize) -> Vec<(String, String)> {
    let text = text(machine);
    let of_start = text.split("genetbench 0").nth(start + 1).unwrap_or_else(|| panic!("no start {start} in {text}"));
    let lines = of_start.lines().filter(|l| l.starts_with("$GB1 ") && l.split(' ').nth(2) == Some("hello"));
    let bodies = lines.map(|l| l.rsplit_once('*').unwrap().0);
    bodies.flat_map(|b| b.split(' ').filter_map(|w| w.split_once('='))).map(|(k, v)| (k.into(), v.into())).collect()
}

fn field<'a>(fields: &'a [(String, String)], key: &str) -> Option<&'a str> {
    fields.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
}

/// Runs over the reset to the end of the next start's bring-up; its `hello`.
fn after_reset(machine: &mut Machine) -> Vec<(String, String)> {
    assert_eq!(machine.run_until_text("Commands: help"), Stop::Text, "{}", text(machine));
    hello(machine, 1)
}

fn wedge(machine: &mut Machine) {
    machine.type_text(b"crash wedge\r");
    assert_eq!(machine.run_until_text("on purpose"), Stop::Text);
}

#[test]
fn a_main_loop_that_stands_still_is_reset_after_its_time_and_the_next_start_says_so() {
    let mut machine = at_console(|config| config.reboots = 0);
    assert_eq!(field(&hello(&machine, 0), "reset"), Some("power"));
    assert_eq!(field(&hello(&machine, 0), "last"), None);
    wedge(&mut machine);
    let (wedged_ns, irqs) = (machine.stats().now_ns, machine.stats().irqs);
    assert_eq!(machine.run(), Stop::Reset);
    let waited_ns = machine.stats().now_ns - wedged_ns;
    assert!((WATCHDOG_NS - FEED_NS..=WATCHDOG_NS).contains(&waited_ns), "{waited_ns}");
    assert!(machine.stats().irqs > irqs, "interrupts went on: they do not feed it");
    machine.reset().unwrap();
    let fields = after_reset(&mut machine);
    assert_eq!(field(&fields, "reset"), Some("watchdog"));
    assert_eq!(field(&fields, "pm_rsts"), Some("0x1020"));
    assert_eq!(field(&fields, "last"), Some("console:%20crash%20wedge"));
    assert!(field(&fields, "last_ns").unwrap().parse::<u64>().unwrap().abs_diff(wedged_ns) < 200_000_000);
    assert!(text(&machine).contains("the watchdog reset the board (PM_RSTS 0x1020)"), "{}", text(&machine));
    assert!(text(&machine).contains("last event before, 1 s after the start: console: crash wedge"));
    assert_eq!(machine.findings(), []);
}

#[test]
fn a_wedge_in_the_middle_of_a_run_names_the_run() {
    // A slow core, because every turn of the endless loop is emulated; the code must not have run before it is broken.
    let mut machine = machine(|config| {
        config.cost.cpu_hz = 20_000_000;
        config.board.bootargs = "gb.presets=linux gb.window_ms=50".to_owned();
        config.board.link.partner.present = true;
    });
    assert_eq!(machine.run_until_text("looking up"), Stop::Text);
    let at =
        MachineConfig::default().load_address + symbol(|name| name.contains("Transfer") && name.contains("connect"));
    machine.write_memory(at, &0x1400_0000u32.to_le_bytes()).unwrap(); // b .
    assert_eq!(machine.run_until_text("the watchdog reset the board"), Stop::Text, "{}", text(&machine));
    assert_eq!(machine.run_until_text("DHCP"), Stop::Text);
    assert_eq!(field(&hello(&machine, 1), "reset"), Some("watchdog"));
    assert_eq!(field(&hello(&machine, 1), "last"), Some("run%201:%20linux%2c%201%20flows"));
}

#[test]
fn memory_that_was_lost_or_damaged_leaves_the_register_alone_to_tell() {
    let mut lost = at_console(|config| config.after_reset.ram_kept = false);
    wedge(&mut lost);
    let fields = after_reset(&mut lost);
    assert_eq!((field(&fields, "reset"), field(&fields, "last")), (Some("watchdog"), None));

    let mut damaged = at_console(|config| (config.reboots, config.after_reset.power_on_bit_kept) = (0, false));
    wedge(&mut damaged);
    assert_eq!(damaged.run(), Stop::Reset);
    damaged.reset().unwrap();
    let byte = damaged.read_memory(KEPT + 20, 1).unwrap()[0];
    damaged.write_memory(KEPT + 20, &[byte ^ 0x10]).unwrap();
    let fields = after_reset(&mut damaged);
    assert_eq!((field(&fields, "reset"), field(&fields, "last")), (Some("watchdog"), None));
    assert_eq!(field(&fields, "pm_rsts"), Some("0x20"));
}

#[test]
fn a_register_that_reading_has_cleared_is_told_by_the_device_tree_or_by_memory() {
    let mut machine = at_console(|config| config.board.reset_status_cleared = true);
    assert_eq!(field(&hello(&machine, 0), "reset"), Some("power"), "from the tree");
    wedge(&mut machine);
    assert_eq!(field(&after_reset(&mut machine), "reset"), Some("watchdog"));
}

#[test]
fn the_consoles_reboot_is_no_watchdog() {
    let mut machine = at_console(|_| {});
    machine.type_text(b"reboot\r");
    let fields = after_reset(&mut machine);
    assert_eq!((field(&fields, "reset"), field(&fields, "last")), (Some("reboot"), Some("console:%20reboot")));
}

#[test]
fn faults_are_reported_and_remembered() {
    for (command, report, last) in [
        ("crash panic", "*** PANIC: asked for on the console at ", "%2a%2a%2a%20%50%41%4e%49%43:%20asked%20for"),
        ("crash abort", "*** EXCEPTION: data abort", "%2a%2a%2a%20%45%58%43%45%50%54%49%4f%4e:%20data%20abort"),
        ("crash heap", "*** PANIC: memory allocation of 65536 bytes failed", "%2a%2a%2a%20%50%41%4e%49%43:%20memory"),
    ] {
        let mut machine = at_console(|_| {});
        machine.type_text(format!("{command}\r").as_bytes());
        let fields = after_reset(&mut machine);
        let text = text(&machine);
        assert!(text.contains(report) && text.contains("resets in 10 s"), "{text}");
        assert_eq!(field(&fields, "reset"), Some("fault"), "{command}");
        assert!(field(&fields, "last").unwrap().starts_with(last), "{fields:?}");
        if command == "crash heap" {
            let line = text.lines().find(|l| l.contains("heap: ")).expect("a line about the heap");
            let used: u64 = line.trim().split(' ').nth(1).unwrap().parse().unwrap();
            assert!(used > 7_000_000, "{line}");
        }
    }
}

#[test]
fn long_legal_waits_trip_nothing() {
    // Half a minute without a link, then an hour at the console.
    let mut machine = machine(|config| {
        config.reboots = 0;
        config.limit_ns = 3_700_000_000_000;
        config.board.bootargs = "gb.link_wait_ms=30000".to_owned();
    });
    assert_eq!(machine.run_until_text("Commands: help"), Stop::Text, "{}", text(&machine));
    let hour = Stop::Bye("link.down".to_owned());
    assert_eq!(machine.run(), hour);
    machine.type_text(b"\r");
    assert_eq!(machine.run_until_text("this never comes"), Stop::Limit, "{}", text(&machine));
    assert!(machine.stats().now_ns >= 3_700_000_000_000);
}

#[test]
fn ten_seconds_in_one_write_after_the_other_trip_nothing() {
    let mut machine = at_console(|config| config.reboots = 0);
    // Each answer takes 40 ms of the line, and the answers to what is typed fill the output queue at once: from then on
    // the main loop sits in the console's output, command after command.
    let before_ns = machine.stats().now_ns;
    for answer in 0..400 {
        if answer % 100 == 0 {
            machine.type_text("help\r".repeat(200).as_bytes());
        }
        assert_eq!(machine.run_until_text("Tab completes, arrows"), Stop::Text, "answer {answer}");
    }
    assert!(machine.stats().now_ns - before_ns > 10_000_000_000, "{}", machine.stats().now_ns - before_ns);
}

/// Start of the one function whose mangled name `wanted` accepts, from the image's start.
fn symbol(wanted: impl Fn(&str) -> bool) -> u64 {
    let top = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(top.join("target"), PathBuf::from);
    let elf = std::fs::read(target.join("aarch64-unknown-none/kernel/kernel")).expect("run `make kernel`");
    let file = object::File::parse(&*elf).unwrap();
    let found: Vec<_> = file.symbols().filter(|s| s.name().is_ok_and(&wanted)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].address()
}
