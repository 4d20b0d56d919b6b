//! Builds the targets with coverage instrumentation and runs them under libFuzzer.
//!
//! A nested cargo with a target directory of its own: stable Rust's own sancov pass, no cargo-fuzz, no nightly. What
//! each target prints is kept in a log; what is worth knowing is read out of it.

use crate::{TARGETS, Target, directory};
use std::path::PathBuf;
use std::process::Command;
use std::{env, fmt, fs, io};

/// Eight-bit counters for edges, a table of them, and operands of comparisons: what libFuzzer is steered by.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                         -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                         -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
/// Longest time for one input, s.
const INPUT_LIMIT_S: u32 = 10;
/// Most memory of a target, MiB.
const MEMORY_LIMIT_MIB: u32 = 1024;

/// How long a target runs.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// This many inputs after the corpus, from a fixed seed and the repository's corpus alone.
    Runs(u32),
    /// This long, going on from what was found before.
    Seconds(u32),
}

/// What a run of a target found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Inputs tried.
    pub executions: u64,
    /// Edges reached by the corpus.
    pub edges_before: u64,
    /// Edges reached at the end.
    pub edges: u64,
    /// Inputs in the corpus at the end.
    pub inputs: u64,
    /// The input that broke it and what was said.
    pub crash: Option<Crash>,
}

/// An input that broke a target.
#[derive(Clone, Debug)]
pub struct Crash {
    /// Where the input is, if it could be kept.
    pub input: Option<PathBuf>,
    /// The panic's message, or libFuzzer's.
    pub message: String,
    /// All that was printed.
    pub log: PathBuf,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.input {
            Some(input) => write!(f, "{}\n  input: {}\n  log: {}", self.message, input.display(), self.log.display()),
            None => write!(f, "{} (no input was kept)\n  log: {}", self.message, self.log.display()),
        }
    }
}

/// Instrumented binaries.
#[derive(Debug)]
pub struct Built {
    binaries: PathBuf,
    work: PathBuf,
}

/// Builds all targets.
///
/// # Errors
/// The compiler's name cannot be found out, or the build fails (cargo has said why).
pub fn build() -> Result<Built, String> {
    let workspace = directory().join("../..").canonicalize().map_err(|e| format!("no workspace: {e}"))?;
    let target_dir = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let work = workspace.join(target_dir).join("fuzz");
    let host = host()?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&workspace)
        .env("RUSTFLAGS", RUSTFLAGS)
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .args(["build", "--locked", "--quiet", "--profile", "fuzz", "--target", &host])
        .args(["-p", "fuzz", "--features", "libfuzzer", "--target-dir"])
        .arg(&work)
        .args(TARGETS.iter().flat_map(|target| ["--bin".into(), format!("fuzz-{}", target.name)]))
        .status();
    match status {
        Ok(status) if status.success() => Ok(Built { binaries: work.join(host).join("fuzz"), work }),
        Ok(status) => Err(format!("cargo build of the fuzz targets: {status}")),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

fn host() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(&rustc).arg("-vV").output().map_err(|e| format!("{}: {e}", rustc.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(Into::into).ok_or_else(|| format!("{} -vV names no host", rustc.display()))
}

impl Built {
    /// Runs `target` over its corpus and regressions, then for `budget`.
    ///
    /// # Errors
    /// Files cannot be written or the binary cannot be started. A crash is no error: see [`Report::crash`].
    pub fn run(&self, target: &Target, budget: Budget) -> io::Result<Report> {
        let name = target.name;
        let (found, limit) = match budget {
            Budget::Runs(runs) => {
                let found = self.work.join("short").join(name);
                if found.exists() {
                    fs::remove_dir_all(&found)?;
                }
                // Reading the corpus counts.
                (found, format!("-runs={}", u64::from(runs) + files(&target.corpus())? + files(&target.regressions())?))
            }
            Budget::Seconds(seconds) => (self.work.join("found").join(name), format!("-max_total_time={seconds}")),
        };
        let crashes = self.work.join("crashes").join(name);
        fs::create_dir_all(&found)?;
        fs::create_dir_all(&crashes)?;
        let mut command = Command::new(self.binaries.join(format!("fuzz-{name}")));
        command.env("RUST_BACKTRACE", "1");
        command.args([limit, format!("-max_len={}", target.max_bytes), format!("-timeout={INPUT_LIMIT_S}")]);
        command.args([format!("-rss_limit_mb={MEMORY_LIMIT_MIB}"), "-print_final_stats=1".into()]);
        command.arg(format!("-artifact_prefix={}/", crashes.display()));
        let dictionary = directory().join("dictionaries").join(name);
        if dictionary.exists() {
            command.arg(format!("-dict={}", dictionary.display()));
        }
        if let Budget::Runs(_) = budget {
            // What differs from run to run: operands of comparisons (there are addresses among them) are used for
            // mutations, and the corpus is read again every second.
            command.args(["-seed=1", "-use_cmp=0", "-reload=0"]);
        }
        command.arg(found);
        command.args([target.corpus(), target.regressions()].iter().filter(|dir| dir.is_dir()));
        let output = command.output()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let log = self.work.join(format!("{name}.log"));
        fs::write(&log, text.as_bytes())?;
        let mut report = read_log(&text);
        if !output.status.success() {
            let (input, message) = read_crash(&text);
            let message = message.unwrap_or_else(|| output.status.to_string());
            report.crash = Some(Crash { input, message, log });
        }
        Ok(report)
    }
}

/// Files in a directory that may not exist.
fn files(directory: &std::path::Path) -> io::Result<u64> {
    if directory.is_dir() { Ok(fs::read_dir(directory)?.count() as u64) } else { Ok(0) }
}

/// Figures of libFuzzer's status lines: `#123  NEW  cov: 45 ft: 67 corp: 8/9b ...`, `stat::number_of_executed_units: 9`.
fn read_log(text: &str) -> Report {
    let mut report = Report::default();
    for line in text.lines() {
        if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            report.executions = count.trim().parse().unwrap_or(0);
            continue;
        }
        let Some(status) = line.strip_prefix('#') else { continue };
        let figure = |name| {
            let after = status.split(name).nth(1)?;
            after.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        let Some(edges) = figure("cov:") else { continue };
        if status.contains("INITED") {
            report.edges_before = edges;
        }
        report.edges = edges;
        report.inputs = figure("corp:").unwrap_or(0);
        report.executions = status.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0);
    }
    report
}

/// Where the input was written, and the message: the line after `panicked at`, or libFuzzer's own.
fn read_crash(text: &str) -> (Option<PathBuf>, Option<String>) {
    let input = text.lines().find_map(|line| line.split("Test unit written to ").nth(1)).map(PathBuf::from);
    let mut lines = text.lines();
    let panic = lines.find(|line| line.contains("panicked at")).map(|at| {
        let place = at.split("panicked at ").nth(1).unwrap_or_default();
        format!("{place} {}", lines.next().unwrap_or_default())
    });
    let other = || text.lines().find(|line| line.contains("ERROR: libFuzzer")).map(Into::into);
    (input, panic.or_else(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_libfuzzers_lines() {
        let report = read_log(
            "#12\tINITED cov: 40 ft: 50 corp: 3/9b exec/s: 0 rss: 27Mb\n\
             #900\tDONE   cov: 41 ft: 55 corp: 4/12b lim: 8 exec/s: 0\nstat::number_of_executed_units: 900\n",
        );
        assert_eq!((report.executions, report.edges_before, report.edges, report.inputs), (900, 40, 41, 4));
        let (input, message) = read_crash(
            "thread 'x' panicked at a.rs:1:2:\nit broke\n==1== ERROR: libFuzzer: deadly signal\n\
             artifact_prefix='./'; Test unit written to /t/crash-1\n",
        );
        assert_eq!((input, message.as_deref()), (Some("/t/crash-1".into()), Some("a.rs:1:2: it broke")));
    }
}
