//! A fixed number of new inputs for each target, from a fixed seed: the same ones every time.

use fuzz::TARGETS;
use fuzz::runner::{Budget, Built, build};
use std::sync::OnceLock;

fn short(name: &str) {
    static BUILT: OnceLock<Result<Built, String>> = OnceLock::new();
    let built = BUILT.get_or_init(build).as_ref().unwrap();
    let target = TARGETS.iter().find(|t| t.name == name).unwrap();
    let report = built.run(target, Budget::Runs(target.test_runs)).unwrap();
    if let Some(crash) = report.crash {
        panic!("{name} is broken: {crash}");
    }
    assert!(report.executions >= u64::from(target.test_runs), "{report:?}");
    // Without instrumentation libFuzzer sees no edges and tries blindly.
    assert!(report.edges > 100, "no coverage: {report:?}");
}

#[test]
fn frames() {
    short("frames");
}

#[test]
fn http() {
    short("http");
}

#[test]
fn plan() {
    short("plan");
}

#[test]
fn tree() {
    short("tree");
}

#[test]
fn gb1() {
    short("gb1");
}
