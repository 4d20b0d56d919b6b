//! `fuzz SECONDS [TARGET]`: fuzzes one target, or all one after the other, for SECONDS in all.
//!
//! Exit status: 0 nothing was found, 1 an input broke a target (its path is printed), 2 could not run.

use fuzz::runner::{Budget, build};
use fuzz::{TARGETS, Target};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::from(2)
        }
    }
}

/// Number of targets that were broken.
fn run() -> Result<usize, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seconds, wanted) = match arguments.as_slice() {
        [seconds] => (seconds, None),
        [seconds, target] => (seconds, Some(target.as_str())),
        _ => return Err("usage: fuzz SECONDS [TARGET]".into()),
    };
    let seconds: u32 = seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?;
    let targets: Vec<&Target> = TARGETS.iter().filter(|t| wanted.is_none_or(|w| w == t.name)).collect();
    if targets.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
        return Err(format!("no such target; there are {}", names.join(", ")));
    }
    eprintln!("building the targets with coverage instrumentation");
    let built = build()?;
    let each_s = (seconds / targets.len() as u32).max(1);
    println!("{:8} {:>12} {:>8} {:>14} {:>8} crashes", "target", "executions", "1/s", "edges", "corpus");
    let mut broken = 0;
    for target in targets {
        let report = built.run(target, Budget::Seconds(each_s)).map_err(|e| format!("{}: {e}", target.name))?;
        println!(
            "{:8} {:>12} {:>8} {:>14} {:>8} {}",
            target.name,
            report.executions,
            report.executions / u64::from(each_s),
            format!("{} -> {}", report.edges_before, report.edges),
            report.inputs,
            u8::from(report.crash.is_some())
        );
        if let Some(crash) = report.crash {
            broken += 1;
            println!("{} is broken: {crash}", target.name);
        }
    }
    Ok(broken)
}
