//! The whole sweep on the desk: the real driver, stack and benchmark over the models, without a processor.

use board::host::{Host, HostConfig};
use board::path::{Path, PathConfig};
use netbench::plan;
use netbench::presets::PRESETS;
use netbench::record::{Reader, Recorder};
use soak::{Desk, DeskConfig, Transcript};

#[test]
fn every_preset_is_measured_and_its_records_read_back() {
    let (host, _) = Host::shared(HostConfig::default());
    let peer = Box::new(Path::new(PathConfig::default(), host));
    let mut desk = Desk::new(&DeskConfig::default(), peer).unwrap();
    let (mut console, mut recorder) = (Transcript::default(), Recorder::new());
    recorder.hello(&mut console, &desk.hello());
    let (plan, _) = plan::parse("gb.warmup_ms=20 gb.window_ms=200");
    let outcome = netbench::run(&mut desk, &mut console, &mut recorder, &plan);
    assert_eq!((outcome.rc, outcome.failed, outcome.runs as usize), ("ok", 0, PRESETS.len()), "{}", console.text);
    let mut reader = Reader::default();
    let (mut results, mut records) = (0, 0);
    for line in console.text.lines() {
        if let Some(record) = reader.line(line.as_bytes()) {
            records += 1;
            results += u32::from(record.kind == "result" && line.contains(" rc=ok"));
        }
    }
    assert_eq!(results, outcome.runs);
    assert!(records > 100 && reader.damaged == 0 && reader.missing == 0, "{reader:?}");
    let rate = |preset: &str| {
        let line = console.text.lines().find(|l| l.contains(" result ") && l.contains(&format!("preset={preset} ")));
        let bps = line.and_then(|l| l.split([' ', '*']).find_map(|word| word.strip_prefix("payload_bps=")));
        bps.and_then(|bps| bps.parse::<u64>().ok()).unwrap_or_else(|| panic!("no rate of {preset} in {}", console.text))
    };
    for preset in ["linux", "amiga", "poll"] {
        assert!((900_000_000..=950_000_000).contains(&rate(preset)), "{preset}: {}", rate(preset));
    }
    assert!(rate("ticks4096") < 70_000_000);
    let world_findings = desk.handle().world(|world| world.findings.clone());
    assert_eq!(world_findings, []);
}
