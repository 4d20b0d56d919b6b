//! `vpi4`: boots kernel8.img on the virtual Pi 4 and shows its console.
//!
//! Exit status: 0 the firmware said `bye` with rc=ok, 1 it reported failures or misused the hardware, 2 bad usage, a
//! dead guest, a reset or the end of the time limit.

use anyhow::{Context, Result, bail};
use board::genet::{GenetConfig, SwitchError};
use board::host::{DhcpMode, HttpFault};
use board::path::PathConfig;
use board::storm::StormKind;
use clap::Parser;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use vpi4::cost::Cost;
use vpi4::cpu::EntryLevel;
use vpi4::image::{Image, LOAD_ADDRESS};
use vpi4::profile::Profile;
use vpi4::{Machine, MachineConfig, Stop};

/// Largest value of the threshold register.
const MAX_THRESHOLD: u32 = 511;

/// Boots kernel8.img on a virtual Pi 4, in deterministic virtual time. Every figure it prints is virtual.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The image, as on a card.
    image: PathBuf,
    /// Words of the boot arguments: `--plan 'gb.presets=linux,poll gb.window_ms=100'`.
    #[arg(long, default_value = "", value_name = "WORDS", value_parser = words)]
    plan: String,
    /// Decides everything that chance decides, and the order of the points unless the plan has gb.seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes the console's bytes to FILE.
    #[arg(long, value_name = "FILE")]
    uart: Option<PathBuf>,
    /// Writes every frame on the wire to FILE.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Writes every device access to FILE: `mmio:FILE`, or to the standard error: `mmio`.
    #[arg(long, value_name = "mmio[:FILE]", value_parser = trace_target)]
    trace: Option<TraceTarget>,
    /// Virtual seconds after which the run ends.
    #[arg(long, default_value_t = 600, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    time_limit: u64,
    /// The cable ends in nothing.
    #[arg(long)]
    no_partner: bool,
    /// The partner's pause bits: 0 none, 1 symmetric, 2 asymmetric, 3 both.
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=3))]
    partner_pause: Option<u8>,
    /// What the DHCP server does.
    #[arg(long, default_value = "answer", value_parser = ["answer", "silent", "nak"])]
    dhcp: String,
    /// What the HTTP server does wrong.
    #[arg(long, default_value = "none", value_parser = ["none", "refuse", "not-found", "short-body", "reset", "stall", "garbage", "mute", "close-each"])]
    http_fault: String,
    /// GENET does not answer.
    #[arg(long)]
    absent_genet: bool,
    /// Threshold (at most 511) and timeout ticks that the firmware finds at boot.
    #[arg(long, num_args = 2, value_names = ["FRAMES", "TICKS"], value_parser = clap::value_parser!(u32).range(0..=65_535))]
    found: Option<Vec<u32>>,
    /// An open reading of the hardware, as `timer=last_packet`, or a register met at boot, as `threshold=511`. May be
    /// given several times; a wrong one lists all.
    #[arg(long = "switch", value_name = "NAME=VALUE", value_parser = switch)]
    switches: Vec<String>,
    /// Round trip to the peer, us.
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    rtt_us: Option<u64>,
    /// Frames lost on the way to the board, in a million, by seed. Connections recover as with SACK.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    loss_ppm: u32,
    /// Broadcast frames a second that others send to the board: ARP requests and UDP. A gigabit holds 1,488,095.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_488_095))]
    storm_fps: u64,
    /// Core clock, Hz.
    #[arg(long, default_value_t = 1_500_000_000, value_name = "HZ", value_parser = clap::value_parser!(u64).range(100_000_000..=10_000_000_000))]
    cpu_hz: u64,
    /// Cost of a device read, ns.
    #[arg(long, default_value_t = 200, value_name = "NS", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    device_read_ns: u64,
    /// Cost of a device write, ns.
    #[arg(long, default_value_t = 50, value_name = "NS", value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    device_write_ns: u64,
    /// Cores of the board that work: with 1, nobody comes when the firmware wants a second one.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=4))]
    cores: u8,
    /// Exception level at entry.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
    entry_el: u8,
    /// Where the image is loaded, a multiple of 4096.
    #[arg(long, default_value_t = LOAD_ADDRESS, value_parser = address)]
    load_address: u64,
    /// Memory of the board: 1024, 2048, 4096 or 8192.
    #[arg(long, default_value_t = 2048, value_name = "MIB", value_parser = memory_mib)]
    memory_mib: u32,
    /// Resets after which the board starts again.
    #[arg(long, default_value_t = 0, value_name = "N")]
    reboots: u32,
    /// A reset leaves garbage in memory.
    #[arg(long)]
    lose_memory: bool,
    /// Prints counts at the end.
    #[arg(long)]
    stats: bool,
    /// Prints where the instructions went, by the symbols of the linked firmware.
    #[arg(long, value_name = "ELF")]
    profile: Option<PathBuf>,
}

/// A file, or the standard error. (An option inside an option means something else to clap.)
#[derive(Clone)]
struct TraceTarget(Option<PathBuf>);

fn trace_target(text: &str) -> Result<TraceTarget, String> {
    match text.split_once(':') {
        None if text == "mmio" => Ok(TraceTarget(None)),
        Some(("mmio", file)) if !file.is_empty() => Ok(TraceTarget(Some(file.into()))),
        _ => Err("write mmio or mmio:FILE".to_owned()),
    }
}

fn address(text: &str) -> Result<u64, String> {
    let parsed = text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
    parsed.map_err(|error| error.to_string())
}

fn words(text: &str) -> Result<String, String> {
    match text.chars().find(|c| c.is_control()) {
        Some(control) => Err(format!("{control:?} cannot stand in the boot arguments")),
        None => Ok(text.to_owned()),
    }
}

/// A setting of the model, tried on one that is thrown away.
fn switch(text: &str) -> Result<String, SwitchError> {
    GenetConfig::default().switch(text).map(|()| text.to_owned())
}

fn memory_mib(text: &str) -> Result<u32, String> {
    let sizes = [1024, 2048, 4096, 8192];
    let parsed = text.parse().ok().filter(|mib| sizes.contains(mib));
    parsed.ok_or_else(|| format!("a Pi 4 has one of {sizes:?} MiB"))
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("vpi4: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn config(args: &Args) -> MachineConfig {
    let mut config = MachineConfig {
        cost: Cost {
            cpu_hz: args.cpu_hz,
            device_read_ns: args.device_read_ns,
            device_write_ns: args.device_write_ns,
            ..Cost::default()
        },
        level: if args.entry_el == 1 { EntryLevel::El1 } else { EntryLevel::El2 },
        load_address: args.load_address,
        cores: args.cores,
        limit_ns: args.time_limit * 1_000_000_000,
        reboots: args.reboots,
        ..MachineConfig::default()
    };
    config.after_reset.ram_kept = !args.lose_memory;
    let mut board = config.board.seeded(args.seed);
    board.bootargs = format!("gb.seed={} {}", args.seed, args.plan);
    board.memory_mib = args.memory_mib;
    board.link.partner.present = !args.no_partner;
    if let Some(bits) = args.partner_pause {
        board.link.partner.pause_bits = bits;
    }
    if args.absent_genet {
        board.genet.absent = Some(0xffff_ffff);
    }
    if let Some(found) = &args.found {
        (board.genet.found.threshold, board.genet.found.timeout) = (found[0], found[1]);
    }
    for text in &args.switches {
        let known = board.genet.switch(text);
        debug_assert!(known.is_ok(), "checked as it was read");
    }
    if let Some(us) = args.rtt_us {
        board.path = PathConfig { seed: board.path.seed, ..PathConfig::round_trip(us * 1000) };
    }
    board.path.to_board_loss_ppm = args.loss_ppm;
    board.storm.frames_per_s = args.storm_fps;
    board.storm.during_ns = 0..u64::MAX;
    board.storm.kind = StormKind::Mixed;
    board.storm.board_ip = board.peer.board_ip;
    board.peer.dhcp = match args.dhcp.as_str() {
        "silent" => DhcpMode::Silent,
        "nak" => DhcpMode::Nak,
        _ => DhcpMode::Answer,
    };
    let after_bytes = 1 << 20;
    board.peer.fault = match args.http_fault.as_str() {
        "refuse" => HttpFault::Refuse,
        "not-found" => HttpFault::NotFound,
        "short-body" => HttpFault::ShortBody { after_bytes },
        "reset" => HttpFault::Reset { after_bytes },
        "stall" => HttpFault::Stall { after_bytes },
        "garbage" => HttpFault::GarbageHead,
        "mute" => HttpFault::Mute,
        "close-each" => HttpFault::CloseEach,
        _ => HttpFault::None,
    };
    config.board = board;
    config
}

fn run(args: Args) -> Result<u8> {
    if let Some(&[frames, _]) = args.found.as_deref()
        && frames > MAX_THRESHOLD
    {
        bail!("--found: the threshold register holds at most {MAX_THRESHOLD} frames, not {frames}");
    }
    let bytes =
        std::fs::read(&args.image).with_context(|| format!("{} (built by `make kernel`)", args.image.display()))?;
    let image = Image::parse(bytes).with_context(|| args.image.display().to_string())?;
    let mut machine = Machine::new(config(&args), &image)?;
    if let Some(path) = &args.profile {
        let elf = std::fs::read(path).with_context(|| path.display().to_string())?;
        machine.set_profile(Profile::new(&elf, args.load_address).with_context(|| path.display().to_string())?);
    }
    if let Some(path) = &args.pcap {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        machine.board_mut().start_capture(Box::new(BufWriter::new(file)))?;
    }
    if let Some(TraceTarget(target)) = &args.trace {
        let mut out: Box<dyn Write> = match target {
            Some(path) => Box::new(BufWriter::new(File::create(path).with_context(|| path.display().to_string())?)),
            None => Box::new(std::io::stderr()),
        };
        machine.set_trace(Box::new(move |access| drop(writeln!(out, "{access}"))));
    }
    let uart_file =
        args.uart.as_ref().map(|path| File::create(path).with_context(|| path.display().to_string())).transpose()?;
    let failed = Rc::new(RefCell::new(None));
    let sink_failed = failed.clone();
    let mut uart_file = uart_file.map(BufWriter::new);
    let live = std::io::stdout().is_terminal();
    machine.set_uart_sink(Box::new(move |bytes| {
        let mut out = std::io::stdout().lock();
        let result = out.write_all(bytes).and_then(|()| if live { out.flush() } else { Ok(()) });
        let filed = uart_file.as_mut().map_or(Ok(()), |file| file.write_all(bytes).and_then(|()| file.flush()));
        if let Err(error) = result.and(filed) {
            sink_failed.borrow_mut().get_or_insert(error);
        }
    }));
    let stop = machine.run();
    std::io::stdout().flush()?;
    machine.board_mut().finish_capture().context("writing the capture")?;
    if let Some(error) = failed.borrow_mut().take() {
        return Err(error).context("writing the console's output");
    }
    Ok(conclude(&args, &machine, &stop))
}

/// Says how it ended, and the exit status.
fn conclude(args: &Args, machine: &Machine, stop: &Stop) -> u8 {
    let stats = machine.stats();
    if args.stats {
        eprintln!("vpi4: virtual: {stats:#?}");
        for (core, stats) in (1..4).filter_map(|core| Some((core, machine.core_stats(core)?))) {
            eprintln!("vpi4: virtual: core {core}: {stats:#?}");
        }
    }
    if let Some(profile) = machine.profile() {
        let (total, smoltcp) = profile.totals();
        eprintln!("vpi4: virtual: {total} instructions, {smoltcp} of them in smoltcp");
        for (name, instructions) in profile.top(25) {
            eprintln!("{instructions:>14}  {name}");
        }
    }
    let findings = machine.findings();
    for finding in &findings {
        eprintln!("vpi4: the firmware's fault at {} ns: {}: {}", finding.at_ns, finding.device, finding.text);
    }
    let seconds = stats.now_ns as f64 / 1e9;
    match stop {
        Stop::Bye(rc) if rc == "ok" && findings.is_empty() => 0,
        Stop::Bye(rc) => {
            eprintln!("vpi4: the firmware ended with rc={rc}, {} faults noticed", findings.len());
            1
        }
        Stop::Limit => {
            eprintln!("vpi4: the time limit of {} virtual seconds is over (--time-limit)", args.time_limit);
            2
        }
        Stop::Reset => {
            eprintln!("vpi4: the board reset itself at {seconds:.3} s (virtual)");
            2
        }
        Stop::Text => 0,
        Stop::Dead(why) => {
            eprintln!("vpi4: dead guest at {seconds:.6} s (virtual): {why}");
            2
        }
    }
}
