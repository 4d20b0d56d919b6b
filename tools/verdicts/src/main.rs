//! `verdicts`: the firmware's verdicts in worlds whose truth is known, as a confusion matrix.
//!
//! Exit status: 0 nothing false was confirmed and at least 95 % of the true causes were, 1 not so, 2 a session failed, a
//! world is not what it was made for, or bad usage.

use anyhow::{Context, Result, bail};
use clap::Parser;
use netbench::verdict::Hypothesis;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use verdicts::matrix::{Matrix, Row};
use verdicts::report_case::{self, CANDIDATES, Figure, MEASUREMENTS, measure, yields};
use verdicts::session::{self, Rates, image};
use verdicts::truth::{self, Truth};
use verdicts::variant::{Variant, seen_by, spread};
use verdicts::worlds::{WORLDS, World};
use verdicts::{json, pool};
use vpi4::image::Image;

/// Share of true causes that must be confirmed, millionths.
const ENOUGH_PPM: u64 = 950_000;
const SEEDS: u64 = 3;

/// Boots kernel8.img in virtual worlds whose truth is known and counts how often its verdicts are right.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The image, as on a card.
    #[arg(default_value = "target/kernel8.img")]
    image: PathBuf,
    /// Only these worlds.
    #[arg(long, value_name = "NAME")]
    world: Vec<String>,
    /// Only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Only the readings of the hardware whose names contain this, of all 72.
    #[arg(long, value_name = "TEXT")]
    variant: Option<String>,
    /// All 72 readings of the hardware for each world and seed (hours).
    #[arg(long)]
    full: bool,
    /// Sessions at a time; 0: one a core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Lists the worlds.
    #[arg(long)]
    list: bool,
    /// Only finds out what is true.
    #[arg(long)]
    truth: bool,
    /// The bug report's four measurements under each cause that was suggested, instead (a minute).
    #[arg(long)]
    report_case: bool,
    /// Writes what the console of one session prints to FILE, instead: of --world, --seed and --variant.
    #[arg(long, value_name = "FILE")]
    console: Option<PathBuf>,
    /// Where the rows go.
    #[arg(long, default_value = "target/verdicts.json")]
    json: PathBuf,
}

/// One session to be made.
#[derive(Clone, Copy)]
struct Job {
    index: usize,
    variant: Variant,
    seed: u64,
}

impl Job {
    /// The reading as the driver sees it.
    fn seen(&self) -> Variant {
        seen_by(WORLDS[self.index].settings(), &self.variant)
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("verdicts: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    if args.list {
        for world in WORLDS {
            println!("{:<20} {:<10} {:<24} {}", world.name, world.driver, words(world.causes), world.about);
        }
        return Ok(true);
    }
    let image = image(&args.image)?;
    let threads = match args.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    if args.report_case {
        return report(&image, args.seed.unwrap_or(1), threads);
    }
    let jobs = jobs(args)?;
    if jobs.is_empty() {
        bail!("no session: --variant wants a part of a name such as {}", Variant::BASE);
    }
    if let Some(path) = &args.console {
        let job = jobs.first().context("no session: --world, --seed, --variant")?;
        let world = &WORLDS[job.index];
        let setting = world.setting(&job.variant, job.seed);
        let session = session::run(&image, &setting, &session::verdict_words(world.driver))?;
        std::fs::write(path, &session.text).with_context(|| path.display().to_string())?;
        return Ok(true);
    }
    let truths = truths(&image, &jobs, threads)?;
    if args.truth {
        return Ok(true);
    }
    let rows = sessions(&image, &jobs, &truths, threads)?;
    let worlds: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.world).collect();
    std::fs::write(&args.json, json::render(&rows, worlds.len())).with_context(|| args.json.display().to_string())?;
    Ok(conclude(&rows))
}

fn report(image: &Image, seed: u64, threads: usize) -> Result<bool> {
    let all: Vec<usize> = (0..CANDIDATES.len()).collect();
    let rows = pool::map(&all, threads, |index| {
        let mut figures = [Figure { rate_bytes_per_s: 0, gap_ns: None }; 4];
        for (figure, measurement) in figures.iter_mut().zip(&MEASUREMENTS) {
            *figure = measure(image, &CANDIDATES[*index], measurement, seed)
                .with_context(|| format!("{}, {}", CANDIDATES[*index].id, measurement.name))?;
        }
        Ok((*index, figures))
    });
    let table: Vec<(usize, [Figure; 4])> = rows.into_iter().collect::<Result<_>>()?;
    println!("{}", report_case::render(&table));
    let all_four = |of: fn((usize, usize)) -> usize| {
        let who = table.iter().filter(|(_, figures)| of(yields(figures)) == MEASUREMENTS.len());
        let who: Vec<&str> = who.map(|(index, _)| CANDIDATES[*index].id).collect();
        if who.is_empty() { "no cause".to_owned() } else { who.join(", ") }
    };
    println!("all four in form: {}; in figures: {} (virtual, seed {seed})", all_four(|y| y.0), all_four(|y| y.1));
    Ok(true)
}

fn words(causes: &[Hypothesis]) -> String {
    causes.iter().map(|cause| cause.word()).collect::<Vec<_>>().join(",")
}

fn jobs(args: &Args) -> Result<Vec<Job>> {
    if let Some(unknown) = args.world.iter().find(|name| World::named(name).is_none()) {
        bail!("there is no world {unknown}; --list tells which there are");
    }
    let mut jobs = Vec::new();
    for (index, world) in WORLDS.iter().enumerate() {
        if !args.world.is_empty() && args.world.iter().all(|name| name != world.name) {
            continue;
        }
        for seed in 1..=SEEDS {
            if args.seed.is_some_and(|only| only != seed) {
                continue;
            }
            let variants = match (&args.variant, args.full) {
                (Some(text), _) => Variant::all().into_iter().filter(|v| v.to_string().contains(text)).collect(),
                (None, true) => Variant::all(),
                (None, false) => spread(world.settings(), seed as usize - 1, SEEDS as usize),
            };
            jobs.extend(variants.into_iter().map(|variant| Job { index, variant, seed }));
        }
    }
    Ok(jobs)
}

type Truths = BTreeMap<(usize, String), Truth>;

/// What is true in each world under each reading; told where it is not what the world was made for.
fn truths(image: &Image, jobs: &[Job], threads: usize) -> Result<Truths> {
    let mut wanted: Vec<(usize, Variant)> = Vec::new();
    for job in jobs {
        let seen = (job.index, job.seen());
        if !wanted.contains(&seen) {
            wanted.push(seen);
        }
    }
    let started = Instant::now();
    eprintln!("what is true in {} worlds and readings, in {threads} threads", wanted.len());
    let rates = Rates::new(image);
    let found = pool::map(&wanted, threads, |(index, variant)| {
        let (world, begun) = (&WORLDS[*index], Instant::now());
        let truth = truth::find(&rates, &world.setting(variant, 1), world.driver)
            .with_context(|| format!("{} {variant}", world.name))?;
        tell(world, variant, &truth, begun.elapsed().as_millis());
        Ok(truth)
    });
    let mut truths = Truths::new();
    for ((index, variant), truth) in wanted.iter().zip(found) {
        let truth = truth.map_err(|error: anyhow::Error| error)?;
        let world = &WORLDS[*index];
        if *variant == Variant::BASE && truth.causes() != world.causes {
            bail!("{} was made for {} and is {}", world.name, words(world.causes), words(&truth.causes()));
        }
        truths.insert((*index, variant.to_string()), truth);
    }
    eprintln!("{} s", started.elapsed().as_secs());
    Ok(truths)
}

fn tell(world: &World, variant: &Variant, truth: &Truth, host_ms: u128) {
    let told: Vec<String> =
        truth.findings.iter().map(|f| format!("{} {:?} x{}", f.hypothesis.word(), f.kind, f.rise_milli)).collect();
    let as_made = *variant != Variant::BASE || truth.causes() == world.causes;
    println!(
        "{:<20} {:<30} {:>9} bit/s, harmless {:>9}, {host_ms} ms: {}{}",
        world.name,
        variant.to_string(),
        truth.rate_bps,
        truth.harmless_bps.map_or("-".to_owned(), |bps| bps.to_string()),
        told.join("; "),
        if as_made { "" } else { "  NOT WHAT IT WAS MADE FOR" }
    );
}

fn sessions(image: &Image, jobs: &[Job], truths: &Truths, threads: usize) -> Result<Vec<Row>> {
    let started = Instant::now();
    eprintln!("{} sessions", jobs.len());
    let done = AtomicUsize::new(0);
    let rows = pool::map(jobs, threads, |job| {
        let world = &WORLDS[job.index];
        let name = job.variant.to_string();
        let begun = Instant::now();
        let session =
            session::run(image, &world.setting(&job.variant, job.seed), &session::verdict_words(world.driver))
                .with_context(|| format!("{} {name} seed {}", world.name, job.seed))?;
        let truth = truths.get(&(job.index, job.seen().to_string())).cloned().context("no truth")?;
        let row = Row {
            world: world.name,
            variant: name,
            seed: job.seed,
            truth,
            states: session::states(&session),
            virtual_ns: session.virtual_ns,
            host_ms: begun.elapsed().as_millis() as u64,
        };
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        for (what, which) in [("FALSE", row.false_confirmations()), ("missed", row.missed())] {
            if !which.is_empty() {
                println!("{what:<6} {:<20} {:<30} seed {}: {}", row.world, row.variant, row.seed, words(&which));
            }
        }
        if count.is_multiple_of(25) {
            eprintln!("{count} of {}, {} s", jobs.len(), started.elapsed().as_secs());
        }
        Ok(row)
    });
    rows.into_iter().collect()
}

fn conclude(rows: &[Row]) -> bool {
    let matrix = Matrix::of(rows);
    println!("\n{matrix}");
    matrix.false_confirmations() == 0 && matrix.true_confirmed_ppm() >= ENOUGH_PPM
}
