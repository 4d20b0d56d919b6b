//! The image and a console line that carries noise: no hang, no lost record, and an answer afterwards.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::rng::SplitMix64;
use common::{Session, at_reset, whole_records};
use vpi4::{Machine, Stop};

/// Ctrl-C: it ends what is under way, and is meant to.
const STOP: u8 = 3;

/// Line noise: every byte value but [`STOP`], by seed, in lines of any length.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut rng = SplitMix64::new(seed);
    (0..bytes).map(|_| rng.next_u64() as u8).map(|byte| if byte == STOP { b' ' } else { byte }).collect()
}

/// The console obeys: an empty line ends whatever was typed, then a command.
fn expect_answer(machine: &mut Machine) {
    machine.type_text(b"\rhelp\r");
    assert_eq!(machine.run_until_text("the kept records again: all, number N"), Stop::Text);
}

#[test]
fn noise_on_the_console_from_reset_on() {
    let plan = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=200";
    // 5 s of noise: boot, the run, and the prompt afterwards.
    let mut machine = at_reset(plan, |_| {});
    machine.type_text(&noise(1, 60_000));
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    expect_answer(&mut machine);
    // In a window.
    machine.type_text(format!("run {plan}\r").as_bytes());
    assert_eq!(machine.run_until_text("[1/1] linux"), Stop::Text);
    machine.type_text(&noise(2, 4_000));
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    expect_answer(&mut machine);
    // What the full input queue has no room for leaves a hole, and a line with a hole is no command.
    machine.type_text(format!("run {plan}\r").as_bytes());
    assert_eq!(machine.run_until_text("[1/1] linux"), Stop::Text);
    machine.type_text(&[[b'\r'; 1_020].as_slice(), b"rebo", b"lost"].concat());
    assert_eq!(machine.run(), Stop::Bye("ok".to_owned()));
    machine.type_text(b"ot\r");
    assert_eq!(machine.run_until_text("unreadable input"), Stop::Text);
    expect_answer(&mut machine);
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    assert!(whole_records(&text) > 80, "{text}");
    assert!(text.contains("unreadable input"), "{text}");
    for run in ["run=1", "run=2", "run=3"] {
        let line = text.lines().find(|line| line.contains(" result ") && line.contains(&format!(" {run} ")));
        let bps = line.and_then(|line| line.split("payload_bps=").nth(1)?.split(' ').next()?.parse::<u64>().ok());
        assert!(bps.is_some_and(|bps| bps > 940_000_000), "{run}: {line:?}");
    }
    assert_eq!(machine.findings(), []);
}

#[test]
fn odd_input_at_the_prompt() {
    let mut session = Session::new(|_| {});
    let controls: Vec<u8> = (0..32).filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    for (what, input) in [
        ("a line of 100 KB", vec![b'x'; 100_000]),
        ("NULs", vec![0; 5_000]),
        ("control bytes", controls.repeat(100)),
        ("escape sequences", b"\x1b[A\x1b[1;5D\x1b]0;title\x07\x1bP\x1b\\\x1b[200~".repeat(100)),
        ("backspaces", b"\x08\x7f".repeat(2_000)),
        ("high bytes", (128..=255).collect::<Vec<u8>>().repeat(20)),
        ("empty lines", b"\r\n".repeat(1_500)),
    ] {
        session.machine.type_text(&input);
        expect_answer(&mut session.machine);
        let text = session.news();
        assert!(text.len() < 60_000, "{what}: {} bytes of answers", text.len());
    }
    session.expect_health();
    session.close();
}
