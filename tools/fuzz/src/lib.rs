//! Hostile input for everything of genetbench that reads what it did not write.
//!
//! Each target is a function from bytes to nothing that panics when the code under it panics or breaks a promise. It is
//! bounded in time and memory for any input. [`runner`] lets libFuzzer look for such inputs; the inputs kept in
//! `corpus` and `regressions` run as plain tests.

#![forbid(unsafe_code)]

pub mod frames;
pub mod gb1;
pub mod http;
pub mod plan;
pub mod runner;
pub mod tree;

use std::path::{Path, PathBuf};

/// What is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of its module, its binary (`fuzz-NAME`), its corpus and its dictionary.
    pub name: &'static str,
    /// Takes one input.
    pub check: fn(&[u8]),
    /// Longest input that is tried, bytes.
    pub max_bytes: usize,
    /// Inputs tried by `make test`: some seconds in all.
    pub test_runs: u32,
}

/// All targets.
pub static TARGETS: [Target; 5] = [
    Target { name: "frames", check: frames::check, max_bytes: 2048, test_runs: 1_500 },
    Target { name: "http", check: http::check, max_bytes: 1024, test_runs: 4_000 },
    Target { name: "plan", check: plan::check, max_bytes: 512, test_runs: 4_000 },
    Target { name: "tree", check: tree::check, max_bytes: 4096, test_runs: 10_000 },
    Target { name: "gb1", check: gb1::check, max_bytes: 1024, test_runs: 4_000 },
];

/// This crate's directory.
pub fn directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Target {
    /// The small set of inputs that reaches most of the code.
    pub fn corpus(&self) -> PathBuf {
        directory().join("corpus").join(self.name)
    }

    /// Inputs that broke something once.
    pub fn regressions(&self) -> PathBuf {
        directory().join("regressions").join(self.name)
    }
}
