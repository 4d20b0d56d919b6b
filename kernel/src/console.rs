//! The console: plans that are run, and commands that are obeyed until the board is switched off.
//!
//! Owns what commands share: the port, the records, the words of `set`. How a line is typed is in `line`, how it is read
//! in `commands`. Input that comes while a command is under way waits for the next prompt; Ctrl-C ends the command and
//! drops what was typed before it.

use crate::arch::{counter, interrupts};
use crate::board::mailbox::Mailbox;
use crate::board::property::Tag;
use crate::board::uart::{self, Console};
use crate::board::watchdog;
use crate::calibrate::calibrate;
use crate::commands::{self, Command, CommandError, Crash};
use crate::crash::crash;
use crate::found::Found;
use crate::irq::{self, GenetRegisters};
use crate::kept::State;
use crate::line::{LineEditor, PROMPT};
use crate::mem::{heap, kept};
use crate::port::BoardPort;
use alloc::string::String;
use core::fmt::{self, Write};
use core::ops::RangeInclusive;
use genet::Registers;
use netbench::plan;
use netbench::presets::PRESETS;
use netbench::record::{Mac, Recorder, parse};
use netbench::{Port, RxMode};

/// Names of commands that fit into a line of the list after start-up.
const NAMES_A_LINE: usize = 12;
/// Time between two turns of the idle console, ns: it shows the watchdog that it is alive.
const TURN_NS: u64 = 1_000_000_000;
/// Registers of the PHY of which reading changes something: the latched link, received pages, idle errors, LPI seen, wake
/// errors (GENET.md 11; IEEE 802.3 clauses 22, 28, 40 and 45).
const PHY_CLEARED: [u32; 5] = [1, 6, 10, 0x3_0001, 0x3_0016];

/// Everything that a command may need.
pub struct Desk<'a> {
    port: Result<BoardPort, &'static str>,
    recorder: Recorder,
    found: Found,
    mailbox: Option<Mailbox>,
    /// The boot arguments.
    bootargs: &'a str,
    /// The words of `set`, each key once.
    set: String,
    /// The words of the last plan.
    last: String,
}

/// Lines of a command that may be long: nothing more is printed after Ctrl-C.
struct Lines {
    stopped: bool,
}

impl Lines {
    fn begin() -> Self {
        uart::watch_for_stop();
        Lines { stopped: false }
    }

    /// Lets the line leave, so that little is left to print when somebody has read enough. False after Ctrl-C.
    fn go_on(&mut self) -> bool {
        if !self.stopped {
            uart::flush();
            self.stopped = uart::stop_wanted(counter::now_ns());
        }
        !self.stopped
    }

    fn print(&mut self, line: fmt::Arguments<'_>) {
        if self.go_on() {
            let _ = writeln!(Console, "{line}");
        }
    }

    fn end(self) {
        if uart::take_stop() {
            let _ = writeln!(Console, "^C");
        }
    }
}

impl<'a> Desk<'a> {
    /// The desk at the end of start-up. Without a port, `port` says why.
    pub fn new(
        port: Result<BoardPort, &'static str>,
        recorder: Recorder,
        found: Found,
        mailbox: Option<Mailbox>,
        bootargs: &'a str,
    ) -> Self {
        Desk { port, recorder, found, mailbox, bootargs, set: String::new(), last: String::new() }
    }

    /// Runs the plan of the boot arguments, then obeys for ever.
    pub fn serve(mut self) -> ! {
        self.sweep("");
        let _ = write!(Console, "\nCommands:");
        for (index, command) in commands::COMMANDS.iter().enumerate() {
            let _ = write!(Console, "{}{}", if index == NAMES_A_LINE { "\n          " } else { " " }, command.name);
        }
        let _ = write!(Console, "\n{PROMPT}");
        kept::note(format_args!("console: waiting for a command"));
        let mut editor = LineEditor::default();
        loop {
            while let Some(byte) = uart::read_byte() {
                let Some(line) = editor.push(byte, commands::completions, &mut Console) else { continue };
                let _ = writeln!(Console);
                match line.map_err(|_| CommandError::Garbled).and_then(commands::parse) {
                    Ok(Command::Nothing) => {}
                    Ok(command) => {
                        let text = line.ok().and_then(|line| core::str::from_utf8(line).ok());
                        kept::note(format_args!("console: {}", text.unwrap_or("")));
                        self.obey(command);
                        kept::note(format_args!("console: waiting for a command"));
                    }
                    Err(error) => {
                        let _ = writeln!(Console, "{error}");
                    }
                }
                let _ = write!(Console, "{PROMPT}");
            }
            irq::turn();
            let now_ns = counter::now_ns();
            watchdog::feed(now_ns);
            interrupts::mask();
            if !uart::take_event() {
                if watchdog::watching() {
                    counter::arm_timer(now_ns + TURN_NS);
                }
                interrupts::wait();
            }
            interrupts::unmask();
        }
    }

    fn obey(&mut self, command: Command<'_>) {
        match command {
            Command::Nothing => {}
            Command::Help => _ = commands::write_help(&mut Console),
            Command::Status => self.status(),
            Command::Found => self.found(),
            Command::Regs(block) => self.regs(block),
            Command::Phy => self.phy(),
            Command::Mib => self.mib(),
            Command::Presets => {
                for preset in &PRESETS {
                    let _ = writeln!(Console, "{:<10} {}; not: {}", preset.name, preset.about, preset.missing);
                }
            }
            Command::Words => self.list_words(),
            Command::Set(words) => self.set(words),
            Command::SetClear => {
                self.set.clear();
                self.list_words();
            }
            Command::Run(words) => self.run(words),
            Command::Sweep(words) => self.sweep(words),
            Command::Verdict(preset, words) => self.verdict(preset, words),
            Command::Calibrate => self.calibrate(),
            Command::Reprint(seqs) => self.reprint(seqs),
            Command::LogLevel => _ = writeln!(Console, "log: {}", level_word()),
            Command::Log(level) => {
                log::set_max_level(level);
                let _ = writeln!(Console, "log: {}", level_word());
            }
            Command::Reboot => reboot(),
            Command::Crash(Crash::Watcher) => {
                let _ = writeln!(Console, "failing on purpose: {:?}", Crash::Watcher);
                if let Ok(port) = &mut self.port {
                    port.fail_watcher();
                }
            }
            Command::Crash(kind) => crash(kind),
        }
    }

    /// The plan of the boot arguments, the words of `set`, then `own`; of a key that comes twice the last one holds.
    fn sweep(&mut self, own: &str) {
        self.measure(join([self.bootargs, &self.set, own].into_iter()));
    }

    /// One run of the preset linux at the server of the boot arguments, unless the words of `set` or `own` say otherwise.
    fn run(&mut self, own: &str) {
        let urls = self.bootargs.split_ascii_whitespace().filter(|word| word.starts_with("gb.url="));
        let before = ["gb.presets=linux"].into_iter().chain(urls);
        self.measure(join(before.chain([self.set.as_str(), own])));
    }

    /// The plan of the boot arguments as a search for the cause, in the settings of `preset` if one is named.
    fn verdict(&mut self, preset: Option<&str>, own: &str) {
        let subject = preset.map(|name| alloc::format!("gb.subject={name}")).unwrap_or_default();
        self.measure(join([self.bootargs, &self.set, &subject, own, "gb.verdict=1 gb.calibrate=0"].into_iter()));
    }

    /// Runs the plan in `words`.
    fn measure(&mut self, words: String) {
        let (plan, problems) = plan::parse(&words);
        self.last = words;
        netbench::report_problems(&mut Console, &problems);
        if plan.calibrate {
            return self.calibrate();
        }
        match &mut self.port {
            Ok(port) => {
                uart::watch_for_stop();
                netbench::run(port, &mut Console, &mut self.recorder, &plan);
                uart::take_stop();
            }
            Err(rc) => no_port(rc),
        }
    }

    /// Lets the hardware measure itself.
    fn calibrate(&mut self) {
        match &mut self.port {
            Ok(port) => {
                uart::watch_for_stop();
                calibrate(port, &mut self.recorder);
                uart::take_stop();
            }
            Err(rc) => no_port(rc),
        }
    }

    fn set(&mut self, words: &str) {
        for word in words.split_ascii_whitespace() {
            let (_, problems) = plan::parse(word);
            if !problems.is_empty() {
                netbench::report_problems(&mut Console, &problems);
                continue;
            }
            let key = word.split('=').next().unwrap_or(word);
            let others = self.set.split(' ').filter(|old| old.split('=').next() != Some(key));
            self.set = join(others.chain([word]));
        }
        // What does not go together, though each word does.
        netbench::report_problems(&mut Console, &plan::parse(&self.set).1);
        self.list_words();
    }

    fn list_words(&self) {
        let words = if self.set.is_empty() { "nothing; keys: see Tab after `set `" } else { &self.set };
        let _ = writeln!(Console, "set: {words}");
    }

    fn status(&mut self) {
        let now_ms = counter::now_ns() / 1_000_000;
        let _ = write!(Console, "up        {}.{:03} s", now_ms / 1000, now_ms % 1000);
        let temperature = self.mailbox.as_mut().and_then(|m| m.ask(Tag::Temperature, [0; 2]).ok());
        if let Some([_, milli_c]) = temperature {
            let _ = write!(Console, ", {}.{} C", milli_c / 1000, milli_c % 1000 / 100);
        }
        let _ = writeln!(Console, ", heap {} of {} B", heap::used_bytes(), heap::HEAP_BYTES);
        match &mut self.port {
            Ok(port) => port_status(port, &self.recorder),
            Err(rc) => no_port(rc),
        }
        let ours = |words: &str| join(words.split_ascii_whitespace().filter(|word| word.starts_with("gb.")));
        for (what, words) in [("boot", ours(self.bootargs)), ("set", self.set.clone()), ("last plan", ours(&self.last))]
        {
            let _ = writeln!(Console, "{what:<9} {}", if words.is_empty() { "-" } else { &words });
        }
        let (records, gone) = (self.recorder.records(), self.recorder.gone());
        let _ = write!(Console, "records   {records}");
        let _ = if gone > 0 { writeln!(Console, ", the first {gone} of them gone") } else { writeln!(Console) };
        let _ = writeln!(Console, "log       {}", level_word());
    }

    fn found(&self) {
        let mut lines = Lines::begin();
        for r in &self.found.registers {
            lines.print(format_args!("{:<7} {:<24} {:#07x} {:#010x}", r.block, r.name, r.offset, r.value));
        }
        if lines.go_on() {
            let _ = self.found.summary.write(&mut Console);
        }
        lines.end();
    }

    fn regs(&self, block: Option<&str>) {
        let mut lines = Lines::begin();
        if self.found.genet().next().is_none() {
            lines.print(format_args!("GENET did not answer at boot and is not asked again"));
        } else {
            lines
                .print(format_args!("{:<7} {:<24} {:>7} {:>10} {:>10}", "block", "register", "offset", "found", "now"));
        }
        for r in self.found.genet().filter(|r| block.is_none_or(|block| block == r.block)) {
            let now = GenetRegisters::new().read(r.offset);
            let mark = if now == r.value { "" } else { " *" };
            lines.print(format_args!(
                "{:<7} {:<24} {:#07x} {:#010x} {now:#010x}{mark}",
                r.block, r.name, r.offset, r.value
            ));
        }
        lines.end();
    }

    fn phy(&mut self) {
        let port = match &mut self.port {
            Ok(port) => port,
            Err(rc) => return no_port(rc),
        };
        let mut lines = Lines::begin();
        lines.print(format_args!("{:<20} {:>7} {:>6} {:>6}", "register", "number", "found", "now"));
        let found = &self.found;
        port.phy_registers(&mut |name, code, value| {
            let before = found.phy(code);
            let mark = if before == Some(value.into()) { "" } else { " *" };
            let cleared = if PHY_CLEARED.contains(&code) { " (reading changes it)" } else { "" };
            let before = before.map_or(String::from("-"), |value| alloc::format!("{value:#06x}"));
            lines.print(format_args!("{name:<20} {code:#07x} {before:>6} {value:#06x}{mark}{cleared}"));
        });
        if lines.go_on() {
            print_link(port);
        }
        lines.end();
    }

    fn mib(&mut self) {
        let port = match &mut self.port {
            Ok(port) => port,
            Err(rc) => return no_port(rc),
        };
        let mut lines = Lines::begin();
        let mut some = false;
        port.for_each_mib(&mut |name, value| {
            if value > 0 {
                some = true;
                lines.print(format_args!("{name:<24} {value:>14}"));
            }
        });
        if !some {
            lines.print(format_args!("all MIB counters are 0"));
        }
        lines.end();
    }

    fn reprint(&self, seqs: RangeInclusive<u64>) {
        let (gone, records) = (self.recorder.gone(), self.recorder.records());
        if gone > *seqs.start() {
            let _ = writeln!(Console, "records 0 to {} are gone", gone - 1);
        }
        if *seqs.start() >= records || *seqs.end() < gone {
            let _ = writeln!(Console, "there are records {gone} to {}", records.saturating_sub(1));
        }
        let mut lines = Lines::begin();
        self.recorder.reprint(&mut Console, seqs, |_| lines.go_on());
        uart::flush();
        lines.end();
    }
}

/// Words with single spaces between them.
fn join<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let mut joined = String::new();
    for word in words.flat_map(str::split_ascii_whitespace) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

fn level_word() -> &'static str {
    commands::level_word(log::max_level())
}

fn no_port(rc: &str) {
    let _ = writeln!(Console, "No network port ({rc}, see the start-up messages).");
}

fn print_link(port: &mut BoardPort) {
    let losses = port.link_losses();
    let link = port.link();
    if !link.up {
        let _ = writeln!(Console, "link      none, lost {losses} times");
        return;
    }
    let _ = writeln!(
        Console,
        "link      {} Mbit/s {} duplex; PAUSE negotiated: {}, {}; EEE {}; lost {losses} times",
        link.speed.mbps(),
        if link.full_duplex { "full" } else { "half" },
        if link.pause_tx { "sent" } else { "not sent" },
        if link.pause_rx { "obeyed" } else { "not obeyed" },
        if link.eee_active { "active" } else { "not active" }
    );
}

fn port_status(port: &mut BoardPort, recorder: &Recorder) {
    print_link(port);
    let _ = write!(Console, "address   {}", Mac(port.mac()));
    let last = recorder.last("addr");
    let address = last.as_ref().and_then(|line| parse(line.as_bytes()).ok()).and_then(|r| r.get("address"));
    let _ = writeln!(Console, ", {}", address.unwrap_or("no IP address yet"));
    let got = port.settings();
    let _ = writeln!(
        Console,
        "settings  threshold {}, timeout {} ticks, {} posted, XOFF {}, XON {}, PAUSE {} and {}, {}",
        got.threshold,
        got.timeout_ticks,
        got.posted,
        got.xoff,
        got.xon,
        if got.send_pause { "sent" } else { "not sent" },
        if got.obey_pause { "obeyed" } else { "not obeyed" },
        if got.mode == RxMode::Interrupt { "interrupts" } else { "polling" }
    );
    let (totals, irqs) = (port.totals(), irq::totals());
    let _ = writeln!(
        Console,
        "received  {} frames, {} receive interrupts, {} rescues; {} frames sent",
        totals.frames, totals.irqs, totals.rescues, totals.tx_frames
    );
    let _ = writeln!(
        Console,
        "lost      {}{} without a descriptor, {} FIFO full, {} FIFO errors, {} bad frames",
        if totals.discards_capped > 0 { "at least " } else { "" },
        totals.discards,
        totals.rbuf_overflow,
        totals.rbuf_errors,
        totals.frame_errors
    );
    let _ = writeln!(
        Console,
        "PAUSE     {} sent, {} received; {} other and {} spurious interrupts, {} MDIO errors",
        totals.pause_sent,
        totals.pause_received,
        irqs.genet_other,
        irqs.spurious,
        port.mdio_errors()
    );
}

fn reboot() {
    let _ = writeln!(Console, "resetting");
    uart::flush();
    kept::enter(State::Reboot);
    watchdog::start(10);
    loop {
        interrupts::wait();
    }
}
