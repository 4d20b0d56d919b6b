//! The console of the image: every command answers, Tab and arrows work over the wire, Ctrl-C ends what is going on with
//! what there is.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use common::{Session, whole_records};
use vpi4::Stop;

const PROMPT: &str = "\n> ";

/// Types `line` and waits for the next prompt: what was printed.
fn ask(session: &mut Session, line: &[u8]) -> String {
    session.machine.type_text(line);
    assert_eq!(session.machine.run_until_text(PROMPT), Stop::Text, "{}", String::from_utf8_lossy(line));
    session.news()
}

#[test]
fn every_command_of_the_help_answers() {
    let mut session = Session::new(|_| {});
    let help = ask(&mut session, b"help\r");
    let names: Vec<String> = help.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    for name in "status found regs phy mib presets set run sweep verdict reprint log reboot".split(' ') {
        assert!(names.iter().any(|known| known == name), "{name} is not in {help}");
    }
    for (line, words) in [
        ("status", "link      1000 Mbit/s full duplex"),
        ("found", "eee_capability"),
        ("regs umac", "hd_bkp_ctrl"),
        ("phy", "aux_status"),
        ("mib", "rx_64"),
        ("presets", "openbsd"),
        ("set gb.flows=2", "set: gb.flows=2"),
        ("set", "set: gb.flows=2"),
        ("set clear", "set: nothing"),
        ("log", "log: info"),
        ("log debug", "log: debug"),
        ("reprint 0", "$GB1 0 hello"),
        ("regs nothing", "It takes:"),
        ("verdict openbds", "did you mean `openbsd`?"),
    ] {
        let text = ask(&mut session, format!("{line}\r").as_bytes());
        let answer = text.split_once('\n').map_or("", |(_, answer)| answer);
        assert!(answer.contains(words), "{line}: no `{words}` in {text}");
    }
    assert_eq!(session.machine.findings(), []);
}

#[test]
fn tab_completes_and_arrows_bring_lines_back() {
    let mut session = Session::new(|_| {});
    // Completed as typed: `pre` to `presets`, `sta` to `status`.
    assert!(ask(&mut session, b"pre\t\r").contains("NetBSD bcmgenet"));
    assert!(ask(&mut session, b"sta\t\r").contains("Mbit/s full duplex"));
    // Two ways on: both are listed, and the line stands there again.
    assert!(ask(&mut session, b"re\t").contains("regs reprint reboot"));
    assert!(ask(&mut session, b"\x15help\r").contains("this list"), "Ctrl-U rubs the line out");
    // Keys and their words.
    let text = ask(&mut session, b"set gb.mo\tpo\t\r");
    assert!(text.contains("set: gb.mode=poll"), "{text}");
    // The line before, changed at its end.
    let text = ask(&mut session, b"\x1b[A\x08\x08\x08\x08irq\r");
    assert!(text.contains("set: gb.mode=irq"), "{text}");
    // Two back and one forth.
    let text = ask(&mut session, b"\x1b[A\x1b[A\x1b[B\r");
    assert!(text.contains("set: gb.mode=irq"), "{text}");
    assert_eq!(session.machine.findings(), []);
}

#[test]
fn ctrl_c_ends_a_sweep_a_verdict_and_a_listing_with_what_there_is() {
    let mut session = Session::new(|_| {});
    // In the third run of a sweep: two results stand, the rest is not run.
    session.machine.type_text(b"sweep gb.presets=all gb.window_ms=200\r");
    assert_eq!(session.machine.run_until_text("[3/9]"), Stop::Text);
    session.machine.type_text(b"\x03");
    assert_eq!(session.machine.run(), Stop::Bye("stopped".to_owned()));
    let text = session.news();
    assert!(text.contains("Receive by preset"), "{text}");
    assert!((2..=3).contains(&text.matches(" result ").count().min(3)), "{text}");
    assert!(!text.contains("[5/9]"), "{text}");
    // In a search for the cause: every hypothesis has a state, and none is confirmed.
    session.machine.type_text(b"verdict amiga\r");
    assert_eq!(session.machine.run_until_text("  run "), Stop::Text);
    session.machine.type_text(b"\x03");
    assert_eq!(session.machine.run(), Stop::Bye("stopped".to_owned()));
    let text = session.news();
    assert_eq!(text.matches(" verdict hypothesis=").count(), 11, "{text}");
    assert!(!text.contains("state=confirmed"), "{text}");
    // In a long listing.
    session.machine.type_text(b"reprint\r");
    assert_eq!(session.machine.run_until_text("$GB1 9 "), Stop::Text);
    session.machine.type_text(b"\x03");
    assert_eq!(session.machine.run_until_text(PROMPT), Stop::Text);
    let text = session.news();
    assert!(text.contains("^C") && text.matches("$GB1 ").count() < 40, "{text}");
    session.expect_health();
    assert_eq!(session.machine.findings(), []);
}

#[test]
fn reprint_gives_the_same_bytes() {
    let mut session = Session::new(|_| {});
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("$GB1 ")).map(str::to_owned).collect()
    };
    let first = lines(&String::from_utf8_lossy(session.machine.uart()));
    session.news();
    let again = lines(&ask(&mut session, b"reprint\r"));
    assert!(whole_records(&first.join("\n")) > 50);
    assert_eq!(first, again);
    assert_eq!(lines(&ask(&mut session, b"reprint 7-9\r")), first[7..=9]);
}
