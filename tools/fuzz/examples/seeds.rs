//! `seeds DIRECTORY`: writes first inputs for every target, DIRECTORY/TARGET/NAME. What is kept in the repository is
//! what libFuzzer's `-merge=1` leaves of these and of what it found.

use board::dtb::TreeConfig;
use netbench::record::Recorder;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let Some(directory) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("usage: seeds DIRECTORY"));
    };
    for (target, name, bytes) in seeds() {
        let directory: &Path = &directory.join(target);
        fs::create_dir_all(directory)?;
        fs::write(directory.join(name), bytes)?;
    }
    Ok(())
}

fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let mut add = |target, bytes: Vec<u8>| seeds.push((target, format!("seed{:02}", seeds.len()), bytes));
    for head in [
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/plain\r\nContent-Length: 1048576\r\n\r\nbody",
        "HTTP/1.0 206 Partial Content\r\nContent-Range: bytes 0-0/9\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 301 Moved\r\nLocation: http://h/\r\nConnection: close\r\n\r\n",
        "http://mirror.example:8080/a/b?c=%20#frag",
        "http://10.0.0.1",
        "https://h/",
    ] {
        add("http", head.into());
    }
    for words in [
        "coherent_pool=1M console=ttyAMA0,115200 gb.presets=linux,netbsd gb.flows=1,4 gb.repeats=2 gb.window_ms=50 rootwait",
        "gb.presets=amiga,nonsense,all gb.flows=0,2 gb.warmup_ms=x gb.seed=18446744073709551615",
        "gb.flows=16 gb.window_b=1048576 gb.range_b=4096 gb.rtt_probes=0 gb.link_wait_ms=1000",
        "gb.url=http://10.0.0.1:8080/x gb.preset=linux gb.url",
    ] {
        add("plan", words.into());
    }
    for tree in trees() {
        add("tree", tree);
    }
    add("tree", (0..=255).collect());
    let mut capture = String::new();
    let mut recorder = Recorder::new();
    recorder.record(&mut capture, "found", |r| {
        r.word("block", "umac");
        r.hex("value", 0xffff_ffff);
    });
    recorder.record(&mut capture, "run", |r| {
        r.num("run", 7u8);
        r.text("url", "http://A/b c");
        r.signed("offset_ns", -3);
    });
    add("gb1", format!("\0{capture}point 3/9\r\n").into());
    add("gb1", b"\x010 hello gb=1 mac=02:00:00:00:00:01\n7 result run=0x1f url=%41%20".to_vec());
    add("gb1", (2..200).collect());
    // Good hardware: five times twelve frames, looked for, taken, given back.
    let batch: Vec<u8> = (0..12).flat_map(|i| [0, i % 3 * 2, 100 + i, i]).chain([7, 255, 9]).collect();
    add("frames", [[0, 0].as_slice(), &batch.repeat(5)].concat());
    // Undamaged sessions, over the driver and without.
    for driver in [1, 2] {
        add("frames", vec![driver, 0x80, 0xc5]);
        add("frames", (0..200u8).map(|i| if i == 0 { driver } else { i.wrapping_mul(37) }).collect());
    }
    seeds
}

fn trees() -> Vec<Vec<u8>> {
    let shipped = TreeConfig {
        memory_mib: 4096,
        command_line: "gb.presets=linux".into(),
        serial: 0x1000_0000_0123_4567,
        mac: [0xdc, 0xa6, 0x32, 1, 2, 3],
        uart_clock_hz: 48_000_000,
        scb_two_size_cells: true,
        mainline_names: false,
        boot_mode: 1,
        uboot: false,
        reset_status: 0x1000,
        marked_virtual: true,
    };
    let mainline = TreeConfig {
        memory_mib: 8192,
        scb_two_size_cells: false,
        mainline_names: true,
        uboot: true,
        marked_virtual: false,
        ..shipped.clone()
    };
    let network = TreeConfig { memory_mib: 1024, boot_mode: 2, marked_virtual: false, ..shipped.clone() };
    [shipped, mainline, network].iter().map(board::dtb::build).collect()
}
