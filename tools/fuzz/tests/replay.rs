//! Every kept input runs in the ordinary build, without libFuzzer.

use fuzz::{TARGETS, Target};
use std::fs;
use std::path::Path;

/// Runs the files of `directory`; their number and bytes.
fn replay(target: &Target, directory: &Path) -> (usize, u64) {
    let Ok(entries) = fs::read_dir(directory) else { return (0, 0) };
    let mut bytes = 0;
    let mut files = 0;
    for entry in entries {
        let path = entry.unwrap().path();
        let input = fs::read(&path).unwrap();
        // Printed only if the test fails: then the last one is to blame.
        println!("{}", path.display());
        (target.check)(&input);
        bytes += input.len() as u64;
        files += 1;
    }
    (files, bytes)
}

fn corpus(name: &str) {
    let target = TARGETS.iter().find(|t| t.name == name).unwrap();
    let (files, bytes) = replay(target, &target.corpus());
    assert!((1..=30).contains(&files) && bytes <= 64 << 10, "{files} files, {bytes} bytes: minimise the corpus");
    replay(target, &target.regressions());
}

#[test]
fn frames() {
    corpus("frames");
}

#[test]
fn http() {
    corpus("http");
}

#[test]
fn plan() {
    corpus("plan");
}

#[test]
fn tree() {
    corpus("tree");
}

#[test]
fn gb1() {
    corpus("gb1");
}
