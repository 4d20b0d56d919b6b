//! The program's options: every value is checked before anything runs, and faults that are asked for come.
//!
//! Needs target/kernel8.img: `make test` builds it first.

use std::process::{Command, Output};

const IMAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
const SHORT: &str = "gb.presets=linux gb.warmup_ms=5 gb.window_ms=50 gb.rtt_probes=2";

fn vpi4(options: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_vpi4")).arg(IMAGE).args(options).output().expect("vpi4 starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn values_are_checked() {
    for (options, words) in [
        (&["--loss-ppm", "1000001"][..], "0..=1000000"),
        (&["--loss-ppm=-1"], "--loss-ppm"),
        (&["--loss-ppm", "1%"], "--loss-ppm"),
        (&["--storm-fps", "1488096"], "0..=1488095"),
        (&["--rtt-us", "10000001"], "0..=10000000"),
        (&["--cpu-hz", "0"], "100000000..="),
        (&["--cpu-hz", "18446744073709551615"], "100000000..="),
        (&["--device-read-ns", "1000001"], "0..=1000000"),
        (&["--device-write-ns", "1000001"], "0..=1000000"),
        (&["--memory-mib", "0"], "one of [1024, 2048, 4096, 8192]"),
        (&["--memory-mib", "3000"], "one of [1024, 2048, 4096, 8192]"),
        (&["--found", "512", "0"], "at most 511"),
        (&["--found", "1", "65536"], "0..=65535"),
        (&["--found", "1"], "2 values required"),
        (&["--switch", "timer"], "timer=free_running"),
        (&["--switch", "timer=x"], "timer=last_packet"),
        (&["--switch", "threshold=512"], "threshold=0..511"),
        (&["--time-limit", "0"], "1..=1000000"),
        (&["--entry-el", "3"], "1..=2"),
        (&["--cores", "5"], "1..=4"),
        (&["--partner-pause", "4"], "0..=3"),
        (&["--load-address", "0x123"], "a multiple of 4096"),
        (&["--load-address", "0xffffffffffffffff"], "a multiple of 4096"),
        (&["--load-address", "12k"], "invalid digit"),
        (&["--seed", "x"], "--seed"),
        (&["--plan", "gb.flows=1\n2"], "cannot stand in the boot arguments"),
        (&["--dhcp", "never"], "answer, silent, nak"),
        (&["--http-fault", "x"], "short-body"),
        (&["--trace", "all"], "mmio:FILE"),
        (&["--uart", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["--pcap", "/nowhere/at/all"], "/nowhere/at/all"),
        (&["--profile", "/nowhere/at/all"], "/nowhere/at/all"),
    ] {
        let (code, out, err) = vpi4(options);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{options:?}: {err}");
        assert!(err.contains(words) && !err.contains("panicked"), "{options:?}: no `{words}` in {err}");
    }
    let (code, help, _) = vpi4(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(help.contains("--loss-ppm <N>") && help.contains("lost on the way to the board"), "{help}");
}

/// `payload_bps` of the only result.
fn payload_bps(text: &str) -> u64 {
    let line = text.lines().find(|line| line.contains(" result ") && line.contains("payload_bps=")).expect("a result");
    let value = line.split("payload_bps=").nth(1).and_then(|rest| rest.split(' ').next()).expect("a value");
    value.parse().expect("a number")
}

#[test]
fn a_trace_has_the_accesses_of_both_cores_and_a_missing_core_is_told() {
    let path = std::env::temp_dir().join(format!("vpi4-trace-{}", std::process::id()));
    let plan = "gb.presets=linux gb.warmup_ms=0 gb.window_ms=10 gb.rtt_probes=0";
    let (code, _, err) = vpi4(&["--plan", plan, "--trace", &format!("mmio:{}", path.display())]);
    let trace = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(&path);
    assert_eq!(code, Some(0), "{err}");
    let of_core_1 = |line: &&str| line.ends_with("(core 1)");
    let (second, first): (Vec<&str>, Vec<&str>) = trace.lines().partition(of_core_1);
    assert!(first.len() > 1_000 && first.iter().any(|line| line.contains("GICC")), "{} lines", first.len());
    let watched = |line: &&str| line.contains("  R32 GENET+0x3008 ") || line.contains("  R32 GENET+0x200 ");
    assert!(second.len() > 1_000 && second.iter().all(watched), "{} lines", second.len());
    let (code, text, err) = vpi4(&["--plan", plan, "--cores", "1"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(text.contains("core 1 does not start"), "{text}");
}

#[test]
fn losses_and_storms_that_are_asked_for_come() {
    let (code, whole, _) = vpi4(&["--plan", SHORT]);
    assert_eq!(code, Some(0));
    let (code, lossy, err) = vpi4(&["--plan", SHORT, "--loss-ppm", "2000"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(payload_bps(&lossy) < payload_bps(&whole) && payload_bps(&lossy) > 50_000_000, "{lossy}");
    let (code, stormy, err) = vpi4(&["--plan", SHORT, "--storm-fps", "50000"]);
    assert_eq!(code, Some(0), "{err}");
    assert!((900_000_000..925_000_000).contains(&payload_bps(&stormy)), "{stormy}");
    let (code, _, err) = vpi4(&["--plan", SHORT, "--loss-ppm", "1000000"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("rc=dhcp.timeout"), "{err}");
}
