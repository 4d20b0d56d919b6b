//! `vpi4-bench IMG ELF OUT.json`: what the receive path costs, in steady state, on the virtual Pi.
//!
//! Two runs of one preset whose windows differ: the difference of all counts belongs to the frames of the longer
//! window alone. Figures are virtual, but for `emulated_mips`, which is this machine's.

use anyhow::{Context, Result, bail};
use std::time::Instant;
use vpi4::image::{Image, LOAD_ADDRESS};
use vpi4::profile::Profile;
use vpi4::{Machine, MachineConfig, Stats, Stop};

/// What one run came to.
struct Run {
    stats: Stats,
    smoltcp: u64,
    frames: u64,
    banner_us: u64,
    link_to_first_byte_us: Option<u64>,
    heap_bytes: Option<u64>,
}

fn run(image: &Image, elf: &[u8], window_ms: u64) -> Result<Run> {
    let mut config = MachineConfig::default();
    config.board = config.board.seeded(1);
    config.board.bootargs = format!("gb.presets=amiga gb.window_ms={window_ms} gb.rtt_probes=0");
    let mut machine = Machine::new(config, image)?;
    machine.set_profile(Profile::new(elf, LOAD_ADDRESS)?);
    if machine.run_until_text("genetbench") != Stop::Text {
        bail!("no banner");
    }
    let banner_us = machine.stats().now_ns / 1000;
    let stop = machine.run();
    let text = String::from_utf8_lossy(machine.uart()).into_owned();
    if stop != Stop::Bye("ok".to_owned()) {
        bail!("the run ended with {stop:?}:\n{text}");
    }
    Ok(Run {
        stats: machine.stats(),
        smoltcp: machine.profile().map_or(0, |p| p.totals().1),
        frames: field(&text, "result", "frames").context("a result record with frames")?,
        banner_us,
        link_to_first_byte_us: field(&text, "bye", "link_to_first_byte_us"),
        heap_bytes: field(&text, "bye", "heap_b"),
    })
}

/// A number in the first record of `kind` that has `key`.
fn field(text: &str, kind: &str, key: &str) -> Option<u64> {
    let records = text.lines().filter(|l| l.starts_with("$GB1 ") && l.split(' ').nth(2) == Some(kind));
    let bodies = records.filter_map(|l| l.rsplit_once('*')).map(|(body, _)| body);
    bodies.flat_map(|b| b.split(' ')).find_map(|w| w.split_once('=').filter(|(k, _)| *k == key)?.1.parse().ok())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, image_path, elf_path, out_path] = &args[..] else { bail!("usage: vpi4-bench IMG ELF OUT.json") };
    let bytes = std::fs::read(image_path).with_context(|| image_path.clone())?;
    let image_bytes = bytes.len();
    let image = Image::parse(bytes)?;
    let elf = std::fs::read(elf_path).with_context(|| elf_path.clone())?;
    eprintln!("bench: two runs on the virtual Pi, a few seconds");
    let short = run(&image, &elf, 200)?;
    let started = Instant::now();
    let long = run(&image, &elf, 1200)?;
    let mips = long.stats.instructions as f64 / started.elapsed().as_secs_f64() / 1e6;
    let frames = (long.frames - short.frames) as f64;
    let per_frame = |count: fn(&Run) -> u64| (count(&long) as f64 - count(&short) as f64) / frames;
    let mut figures: Vec<(&str, f64)> = vec![
        ("instructions_per_frame", per_frame(|r| r.stats.instructions)),
        ("instructions_per_frame_outside_smoltcp", per_frame(|r| r.stats.instructions - r.smoltcp)),
        ("device_reads_per_frame_thr32", per_frame(|r| r.stats.device_reads)),
        ("device_writes_per_frame_thr32", per_frame(|r| r.stats.device_writes)),
        ("image_bytes", image_bytes as f64),
        ("emulated_mips", mips),
        ("reset_to_banner_us", long.banner_us as f64),
    ];
    figures.extend(long.heap_bytes.map(|b| ("heap_bytes", b as f64)));
    figures.extend(long.link_to_first_byte_us.map(|us| ("link_to_first_byte_us", us as f64)));
    let mut json = String::from("{\n");
    for (name, value) in &figures {
        println!("{name:<40} {value:>14.3}");
        json.push_str(&format!("  \"{name}\": {value:.4},\n"));
    }
    json.push_str("  \"note\": \"virtual: figures of the virtual Pi 4; emulated_mips is the host's\"\n}\n");
    std::fs::write(out_path, json).with_context(|| out_path.clone())?;
    println!("(virtual but for emulated_mips; {} frames; written to {out_path})", frames);
    Ok(())
}
