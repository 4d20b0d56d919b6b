//! Frames and descriptor words into the driver, the stack and the benchmark.
//!
//! The first byte of an input chooses the depth, the rest is a script. 0: the driver's receive path alone, against a
//! register file that may lie. 1: `netbench::run` over smoltcp over the driver over that register file. 2: the same
//! without a driver. In 1 and 2 a peer answers properly (`peer`) and the script damages what it sends (`port`).

mod hardware;
mod peer;
mod port;
mod ring;

use netbench::plan::Plan;
use netbench::presets::PRESETS;
use netbench::record::{Reader, Recorder};
use netbench::{Console, Hello};
use port::HostilePort;
use std::fmt;

/// Runs the script in `input`.
pub fn check(input: &[u8]) {
    match input.split_first() {
        Some((0, script)) => ring::run(Script::new(script)),
        Some((1, script)) => sweep(script, true),
        Some((2, script)) => sweep(script, false),
        _ => {}
    }
}

/// The bytes of an input, taken one after the other.
struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Script { rest }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Zero when there is nothing left, like the others.
    fn u8(&mut self) -> u8 {
        self.byte().unwrap_or(0)
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    /// At most `limit` bytes, as many as the next byte says.
    fn bytes(&mut self, limit: usize) -> &'a [u8] {
        let count = usize::from(self.u8()).min(limit).min(self.rest.len());
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }
}

/// Keeps what was printed.
#[derive(Default)]
struct Log {
    text: String,
}

impl fmt::Write for Log {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl Console for Log {
    fn pending(&self) -> usize {
        0
    }

    fn read_byte(&mut self) -> Option<u8> {
        None
    }
}

const URLS: [&str; 4] =
    ["http://10.0.0.1/data", "http://peer.test/data", "http://10.0.0.1:8080/a?b", "http://203.0.113.9/far"];

fn plan(script: &mut Script<'_>) -> Plan {
    let choice = script.u8();
    let presets = [usize::from(choice) % PRESETS.len(), usize::from(choice / 16) % PRESETS.len()];
    let shape = script.u8();
    let names: Vec<&str> = presets[..1 + usize::from(choice >> 7)].iter().map(|i| PRESETS[*i].name).collect();
    let words = format!(
        "gb.url={} gb.presets={} gb.flows={} gb.warmup_ms={} gb.window_ms=10 gb.window_b={} gb.rtt_probes={} gb.link_wait_ms=1000",
        URLS[usize::from(shape) % URLS.len()],
        names.join(","),
        1 + u16::from(shape >> 2) % 3,
        u64::from(shape >> 4 & 1) * 3,
        4096 << (shape >> 5 & 1),
        shape >> 6
    );
    let (plan, problems) = netbench::plan::parse(&words);
    assert_eq!(problems, []);
    plan
}

/// A whole session. It ends, and what it printed can be read whatever came over the wire.
fn sweep(script: &[u8], over_driver: bool) {
    let mut script = Script::new(script);
    let plan = plan(&mut script);
    let Some(mut port) = HostilePort::new(script, over_driver) else { return };
    let mut log = Log::default();
    let mut recorder = Recorder::new();
    let hello = Hello {
        version: "0",
        commit: "0",
        model: "fuzz",
        board_revision: None,
        serial: None,
        boot: "virtual",
        entry_el: 2,
        core_hz: 0,
        memory_mib: 0,
        temperature_milli_c: None,
        throttled: None,
        reset: "power",
        reset_status: 0x1000,
        last: None,
        mac: port::MAC,
        is_virtual: true,
    };
    recorder.hello(&mut log, &hello);
    let outcome = netbench::run(&mut port, &mut log, &mut recorder, &plan);
    assert!(outcome.runs as usize <= plan.points().len() && outcome.failed <= outcome.runs, "{outcome:?}");
    assert!(outcome.rc != "ok" || outcome.failed == 0, "{outcome:?}");

    let mut reader = Reader::default();
    let mut byes = 0;
    let mut results = 0;
    for line in log.text.split_inclusive('\n') {
        let Some(record) = reader.line(line.as_bytes()) else { continue };
        match record.kind {
            "bye" => {
                byes += 1;
                assert_eq!((record.get("rc"), record.num("runs")), (Some(outcome.rc), Some(outcome.runs.into())));
            }
            "result" if record.num("part").is_none_or(|part| part == 1) => results += 1,
            _ => {}
        }
    }
    assert_eq!((reader.records, reader.damaged, reader.missing), (recorder.records(), 0, 0), "{}", log.text);
    assert_eq!((byes, results), (1, outcome.runs), "{}", log.text);
}
