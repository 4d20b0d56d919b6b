//! `vpi4-compare FOLDER IMG OUT.md`: U-Boot, Linux and our firmware receive the same data over the same virtual link.
//!
//! Each receives a smaller and a larger amount; the difference of all counts belongs to the frames of the difference
//! alone, so neither start nor connection set-up is in the figures. Every figure is virtual.

use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write;
use std::path::Path;
use vpi4::guests::{self, LARGE_BYTES, SMALL_BYTES, UBOOT_PROMPT};
use vpi4::image::Image;
use vpi4::{Machine, MachineConfig, Stats, Stop};

/// What `ethtool -C` gets: frames and microseconds.
const LINUX_SETTINGS: [&str; 4] = ["1/0", "10/57", "32/250", "511/33554"];

/// Counts at one moment.
#[derive(Clone, Copy)]
struct Moment {
    stats: Stats,
    frames: u64,
}

fn moment(machine: &Machine) -> Moment {
    Moment { stats: machine.stats(), frames: machine.board().genet().stats().delivered }
}

/// One row: the larger transfer less the smaller.
struct Row {
    name: String,
    bytes: u64,
    counts: [u64; 6],
}

impl Row {
    /// `small` and `large`: before and after each transfer.
    fn new(name: String, bytes: u64, small: [Moment; 2], large: [Moment; 2]) -> Self {
        let count = |f: fn(&Moment) -> u64| {
            let spent = |pair: &[Moment; 2]| f(&pair[1]) - f(&pair[0]);
            spent(&large).saturating_sub(spent(&small))
        };
        let counts = [
            count(|m| m.stats.now_ns),
            count(|m| m.frames),
            count(|m| m.stats.instructions),
            count(|m| m.stats.genet_reads),
            count(|m| m.stats.genet_writes),
            count(|m| m.stats.irqs),
        ];
        Row { name, bytes, counts }
    }

    fn print(&self, out: &mut String) {
        let [ns, frames, rest @ ..] = self.counts;
        let mbit = self.bytes as f64 * 8e3 / ns as f64;
        let [instructions, reads, writes, irqs] = rest.map(|count| count as f64 / frames as f64);
        let _ = writeln!(
            out,
            "| {} | {mbit:.0} | {frames} | {instructions:.0} | {reads:.2} | {writes:.2} | {irqs:.3} |",
            self.name
        );
    }
}

fn uboot(folder: &Path) -> Result<Row> {
    let mut machine = guests::uboot_at_prompt(folder, |_| {})?;
    for command in ["setenv autoload no", "dhcp"] {
        guests::uboot_command(&mut machine, command)?;
    }
    let mut fetch = |file: &str| -> Result<[Moment; 2]> {
        machine.type_text(format!("tftpboot 0x2000000 10.77.0.1:{file}\r").as_bytes());
        guests::await_text(&mut machine, "Loading: ")?;
        let before = moment(&machine);
        guests::await_text(&mut machine, "done")?;
        let after = moment(&machine);
        guests::await_text(&mut machine, UBOOT_PROMPT)?;
        Ok([before, after])
    };
    let (small, large) = (fetch("small")?, fetch("large")?);
    Ok(Row::new("U-Boot, tftpboot (a block a round trip)".to_owned(), LARGE_BYTES - SMALL_BYTES, small, large))
}

fn linux(folder: &Path) -> Result<Vec<Row>> {
    let mut machine = guests::linux(folder, &LINUX_SETTINGS, |_| {})?;
    let mut rows = Vec::new();
    for setting in LINUX_SETTINGS {
        eprintln!("compare: Linux, ethtool -C {setting}");
        let mut at = |when: &str, file: &str| -> Result<Moment> {
            guests::await_text(&mut machine, &format!("SAID {when} {file} {setting} "))?;
            Ok(moment(&machine))
        };
        let small = [at("before", "small")?, at("after", "small")?];
        let large = [at("before", "large")?, at("after", "large")?];
        rows.push(Row::new(format!("Linux, wget, ethtool {setting}"), LARGE_BYTES - SMALL_BYTES, small, large));
    }
    Ok(rows)
}

/// Our firmware under one preset: two windows of different length.
fn ours(image: &Image, preset: &str) -> Result<Row> {
    let run = |window_ms: u64| -> Result<(Moment, u64)> {
        let mut config = MachineConfig::default();
        config.board = config.board.seeded(1);
        config.board.bootargs = format!("gb.presets={preset} gb.window_ms={window_ms} gb.rtt_probes=0");
        let mut machine = Machine::new(config, image)?;
        let stop = machine.run();
        ensure!(stop == Stop::Bye("ok".to_owned()), "{preset}: {stop:?}");
        let text = String::from_utf8_lossy(machine.uart()).into_owned();
        let words = text.lines().filter(|line| line.contains(" result ")).flat_map(|line| line.split(' '));
        let bytes = words.filter_map(|word| word.strip_prefix("payload_b=")).next().context("payload_b")?;
        Ok((moment(&machine), bytes.parse()?))
    };
    let (short, long) = (run(100)?, run(500)?);
    let start = Moment { stats: Stats::default(), frames: 0 };
    let mut row = Row::new(format!("genetbench, preset {preset}"), long.1 - short.1, [start, short.0], [start, long.0]);
    row.counts[0] = 400_000_000; // the windows' difference: the runs also print more
    Ok(row)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let [_, folder, image, out] = &args[..] else { bail!("usage: vpi4-compare FOLDER IMG OUT.md") };
    let image = Image::parse(std::fs::read(image).with_context(|| image.clone())?)?;
    eprintln!("compare: U-Boot, then Linux, then ours; about two minutes");
    let mut rows = vec![uboot(Path::new(folder))?];
    rows.extend(linux(Path::new(folder))?);
    for preset in ["linux", "amiga", "ticks4096", "poll"] {
        rows.push(ours(&image, preset)?);
    }
    let mut text = String::from(
        "| virtual: who, how | payload Mbit/s | frames | instructions/frame | GENET reads/frame | GENET writes/frame | interrupts/frame |\n\
         |---|---|---|---|---|---|---|\n",
    );
    rows.iter().for_each(|row| row.print(&mut text));
    print!("{text}");
    std::fs::write(out, &text).with_context(|| out.clone())?;
    println!("(written to {out})");
    Ok(())
}
