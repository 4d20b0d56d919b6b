//! The very image that goes on a card, on the virtual Pi: the main job, its determinism, and bad input.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::genet::DefaultRing;
use board::host::{DhcpMode, HttpFault};
use common::{boot, boot_as, ends, number, result};
use vpi4::cpu::EntryLevel;
use vpi4::image::Image;
use vpi4::{Machine, MachineConfig, Stop};

const SHORT: &str = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=20";

#[test]
fn the_main_job() {
    let text = ends("ok", "Receive by preset -- virtual", "", |_| {});
    for preset in ["amiga", "poll"] {
        let fields = result(&text, preset);
        assert!(number(&fields, "payload_bps") >= 940_000_000, "{preset}");
        assert_eq!(number(&fields, "discards"), 0, "{preset}");
    }
    let fields = result(&text, "ticks4096");
    // 4096 ticks of 8.192 us, and the round trip that the window waits for.
    let delay_ns = 4096 * 8192;
    let hump_ns = number(&fields, "irq_max_ns");
    assert!(hump_ns.abs_diff(delay_ns) * 100 < delay_ns, "{hump_ns}");
    assert!(number(&fields, "near_timeout_ppm") > 0);
    let bound_bps = 262_144 * 8 * 1_000_000_000 / (200_000 + delay_ns);
    assert!(number(&fields, "payload_bps").abs_diff(bound_bps) * 20 < bound_bps);
    for line in text.lines().filter(|l| !l.starts_with("$GB1")).skip_while(|l| !l.starts_with("Receive by")) {
        assert!(line.len() <= 100, "{line}");
    }
}

#[test]
fn one_seed_gives_the_same_bytes_and_another_does_not() {
    let plan = "gb.presets=linux,amiga,poll gb.warmup_ms=5 gb.window_ms=20";
    let (first, second) = (boot(plan, |_| {}), boot(plan, |_| {}));
    assert_eq!(first.0, Stop::Bye("ok".to_owned()));
    assert_eq!((first.1, first.2.stats()), (second.1, second.2.stats()));
    assert!(boot(plan, |board| board.genet.seed = 9).1 != boot(plan, |_| {}).1);
}

#[test]
fn enters_at_either_level_and_any_address() {
    for (level, load_address, memory_mib) in
        [(EntryLevel::El1, 0x8_0000, 1024), (EntryLevel::El2, 0x28_0000, 8192), (EntryLevel::El1, 0x1234_5000, 4096)]
    {
        let (stop, text, machine) = boot_as(SHORT, |config| {
            (config.level, config.load_address, config.board.memory_mib) = (level, load_address, memory_mib);
        });
        assert_eq!((stop, machine.findings()), (Stop::Bye("ok".to_owned()), vec![]), "{text}");
        assert!(text.contains(if level == EntryLevel::El1 { "entered at EL1" } else { "entered at EL2" }), "{text}");
    }
}

#[test]
fn registers_found_at_boot_are_what_a_driver_gets_that_never_writes_them() {
    let text = ends("ok", "511/4096", "gb.presets=linux,freebsd gb.window_ms=100", |board| {
        (board.genet.found.threshold, board.genet.found.timeout) = (511, 4096);
    });
    assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000);
    assert!(number(&result(&text, "freebsd"), "payload_bps") < 70_000_000);
    assert!(text.contains("interrupt after 511 frames or 4096 ticks = 33.554 ms"), "{text}");
}

#[test]
fn no_link_partner() {
    ends("link.down", "check the cable", SHORT, |board| board.link.partner.present = false);
}

#[test]
fn no_dhcp_answer() {
    ends("dhcp.timeout", "no DHCP server answered", SHORT, |board| board.peer.dhcp = DhcpMode::Silent);
}

#[test]
fn name_not_found() {
    let plan = format!("{SHORT} gb.url=http://nobody.genetbench.test/data");
    ends("dns.not_found", "no such host", &plan, |_| {});
}

#[test]
fn connection_refused() {
    ends("tcp.refused", "nothing listens there", SHORT, |board| board.peer.fault = HttpFault::Refuse);
}

#[test]
fn no_such_file() {
    let plan = format!("{SHORT} gb.url=http://peer.genetbench.test/nothing");
    ends("http.status", "the server answered 404", &plan, |_| {});
}

#[test]
fn a_body_shorter_than_promised() {
    let fault = HttpFault::ShortBody { after_bytes: 1 << 20 };
    ends("http.short", "promised bytes", SHORT, |board| board.peer.fault = fault);
}

#[test]
fn reset_in_the_middle() {
    let fault = HttpFault::Reset { after_bytes: 1 << 20 };
    ends("tcp.reset", "the peer reset the connection", SHORT, |board| board.peer.fault = fault);
}

#[test]
fn a_plan_with_mistakes_runs_as_far_as_it_is_right() {
    let plan = format!("{SHORT} gb.flow=2 gb.repeats=0");
    let text = ends("plan.bad", "did you mean `gb.flows`?", &plan, |_| {});
    assert!(text.contains("a number from 1 to 100"), "{text}");
    assert!(number(&result(&text, "linux"), "payload_bps") > 900_000_000);
}

#[test]
fn a_failed_point_does_not_end_the_sweep() {
    let text =
        ends("tcp.reset", "Receive by preset", "gb.presets=linux,poll gb.warmup_ms=5 gb.window_ms=20", |board| {
            board.peer.fault = HttpFault::Reset { after_bytes: 1 << 20 };
            board.peer.fault_requests = 0..1;
        });
    assert_eq!(text.lines().filter(|l| l.contains(" result ") && l.contains("rc=ok")).count(), 1, "{text}");
}

#[test]
fn a_board_whose_genet_does_not_answer() {
    for value in [0, u32::MAX] {
        let (stop, text, _) = boot(SHORT, |board| board.genet.absent = Some(value));
        assert_eq!(stop, Stop::Bye("genet.absent".to_owned()), "{text}");
        assert!(text.contains("no GENET v5 answers") && text.contains("Commands: help"), "{text}");
    }
}

#[test]
fn the_console_obeys_after_a_session() {
    let (stop, _, mut machine) = boot(SHORT, |_| {});
    assert_eq!(stop, Stop::Bye("ok".to_owned()));
    machine.type_text(b"pre\t\r");
    assert_eq!(machine.run_until_text("presets"), Stop::Text, "echo and completion");
    assert_eq!(machine.run_until_text("NetBSD bcmgenet"), Stop::Text);
    machine.type_text(b"hepl\r");
    assert_eq!(machine.run_until_text("`hepl` is no command. Commands: help"), Stop::Text);
    machine.type_text(b"run gb.presets=poll gb.warmup_ms=5 gb.window_ms=20\r");
    assert_eq!(machine.run_until_text("[1/1] poll"), Stop::Text);
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    machine.type_text(b"reboot\r");
    assert_eq!(machine.run(), Stop::Reset);
}

/// Start of `name` in the linked firmware, from the image's start.
fn symbol(name: &str) -> u64 {
    use object::{Object, ObjectSymbol};
    let top = std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(top.join("target"), std::path::PathBuf::from);
    let elf = std::fs::read(target.join("aarch64-unknown-none/kernel/kernel")).expect("run `make kernel`");
    let file = object::File::parse(&*elf).unwrap();
    file.symbols().find(|s| s.name() == Ok(name)).unwrap().address()
}

#[test]
fn an_unexpected_exception_is_reported_and_the_board_resets() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    let image = Image::parse(std::fs::read(path).unwrap()).unwrap();
    let config = MachineConfig { limit_ns: 14_000_000_000, ..MachineConfig::default() };
    let at = config.load_address + symbol("kernel_irq");
    let mut machine = Machine::new(config, &image).unwrap();
    // Before the first interrupt: the engine does not notice changes of code that it has translated.
    assert_eq!(machine.run_until_text("genetbench"), Stop::Text);
    let broken_ns = machine.stats().now_ns;
    machine.write_memory(at, &[0; 4]).unwrap(); // UDF
    let stop = machine.run();
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    assert_eq!(stop, Stop::Reset, "{text}");
    let report = &text[text.find("*** EXCEPTION").expect("a report")..];
    assert!(report.contains(&format!("{at:#x}")) || report.contains(&format!("{at:x}")), "{report}");
    assert!(report.contains("called from image") && report.contains("resets in 10 s"), "{report}");
    let waited_ns = machine.stats().now_ns - broken_ns;
    assert!((10_000_000_000..12_000_000_000).contains(&waited_ns), "{waited_ns}");
}

#[test]
fn both_rings_fill_the_link_and_quanta_and_clock_delay_are_read_back() {
    let plan = "gb.presets=linux gb.ring=0,16 gb.quanta=found,256 gb.id_mode=1 gb.warmup_ms=5 gb.window_ms=20 \
                gb.rtt_probes=2";
    for default_ring in [DefaultRing::Running, DefaultRing::Ring16] {
        let text = ends("ok", "Receive by preset", plan, |board| board.genet.switches.default_ring = default_ring);
        let rates: Vec<u64> = words(&text, "result", "payload_bps").iter().map(|rate| rate.parse().unwrap()).collect();
        assert!(rates.len() == 4 && rates.iter().all(|rate| *rate > 900_000_000), "{rates:?}");
        let [rings, quanta, delays] = ["ring_got", "quanta_got", "id_mode_got"].map(|key| words(&text, "run", key));
        let mut got: Vec<_> = rings.into_iter().zip(quanta).zip(delays).map(|((r, q), d)| (r, q, d)).collect();
        got.sort_unstable();
        assert_eq!(got, [("0", "256", "1"), ("0", "65535", "1"), ("16", "256", "1"), ("16", "65535", "1")]);
    }
}

/// The values of `key` in records of a kind, in order.
fn words<'a>(text: &'a str, kind: &str, key: &str) -> Vec<&'a str> {
    let lines = text.lines().filter(|line| line.starts_with("$GB1 ") && line.split(' ').nth(2) == Some(kind));
    lines.filter_map(|line| line.split([' ', '*']).find_map(|word| word.strip_prefix(key)?.strip_prefix('='))).collect()
}
