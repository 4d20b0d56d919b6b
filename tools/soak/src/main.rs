//! The soak's command line: progress, the table, and an exit code.

use clap::Parser;
use soak::heap;
use soak::soak::{Kind, Progress, Report, SoakConfig, run};
use std::process::ExitCode;
use std::time::Instant;

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

/// Receives frames at line rate in virtual time, through every preset and under faults, and accounts for each of them.
#[derive(Parser)]
struct Options {
    /// Frames to receive, at least.
    #[arg(long, default_value_t = 100_000_000)]
    frames: u64,
    /// Decides everything else; the same seed gives the same totals.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Progress lines in a run.
const LINES: u64 = 25;

fn main() -> ExitCode {
    let options = Options::parse();
    let config = SoakConfig { frames: options.frames.max(1), seed: options.seed };
    println!("soak: {} frames at least, seed {}; virtual time, virtual hardware", config.frames, config.seed);
    let started = Instant::now();
    let mut next = config.frames / LINES;
    let mut tell = |progress: Progress| {
        if progress.frames >= next {
            next = progress.frames + config.frames / LINES;
            let seconds = started.elapsed().as_secs_f64();
            println!(
                "{:3} %  {:>11} frames, {:8.1} s virtual, {:6.1} s here, {:7.0} frames/s",
                (progress.frames * 100 / config.frames).min(100),
                progress.frames,
                progress.virtual_ns as f64 / 1e9,
                seconds,
                progress.frames as f64 / seconds.max(1e-9)
            );
        }
    };
    match run(&config, &mut tell) {
        Ok(report) => {
            print(&report);
            let seconds = started.elapsed().as_secs_f64();
            println!(
                "soak: {} frames, {:.0} s virtual in {seconds:.0} s, seed {}: ok (virtual)",
                report.frames,
                report.virtual_ns as f64 / 1e9,
                config.seed
            );
            ExitCode::SUCCESS
        }
        Err(discrepancy) => {
            println!("soak: FAILED (virtual), seed {}: {discrepancy}", config.seed);
            ExitCode::FAILURE
        }
    }
}

fn print(report: &Report) {
    println!();
    println!(
        "{:13}{:>12}{:>9}{:>9}{:>11}{:>9}{:>8}{:>10}{:>8}{:>12}",
        "phases", "sent", "doubled", "injected", "lost", "errored", "others", "discards", "flushed", "delivered"
    );
    let mut sum = soak::soak::Ledger::default();
    let line = |name: &str, row: &soak::soak::Ledger| {
        println!(
            "{name:13}{:>12}{:>9}{:>9}{:>11}{:>9}{:>8}{:>10}{:>8}{:>12}",
            row.sent,
            row.duplicated,
            row.injected,
            row.lost() + row.fifo,
            row.with_errors(),
            row.not_for_us(),
            row.discarded,
            row.flushed,
            row.delivered
        );
    };
    for (kind, row) in Kind::ALL.iter().zip(&report.rows) {
        line(&kind.to_string(), row);
        sum.add(row);
    }
    line("all", &sum);
    println!(
        "  lost: path {}, switch queue {}, link down {}, cable {}, receiver off {}, FIFO {}",
        sum.lost_path, sum.lost_queue, sum.lost_link, sum.lost_cable, sum.off, sum.fifo
    );
    println!(
        "  {} phases, {} cable pulls, {} interrupts, {} rescues",
        report.phases, report.flaps, report.irqs, report.rescues
    );
    println!("  hashes: frames {:016x}, {} body bytes {:016x}", report.frame_hash, report.body_bytes, report.body_hash);
    println!(
        "  wraps: 32-bit bytes {}, 32-bit frames {}, 16-bit index {}, 16-bit discards {}",
        report.wraps.mib_bytes, report.wraps.mib_frames, report.wraps.index, report.wraps.discards
    );
    println!(
        "  firmware's live heap: {} bytes after the first phase, {} after the last, {} at most; {} allocations while \
         receiving numbered frames",
        report.heap.first_bytes, report.heap.last_bytes, report.heap.most_bytes, report.heap.raw_allocations
    );
}
