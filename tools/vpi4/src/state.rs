//! What the engines' hooks share: the board, memory, time, and the core whose turn it is.

use crate::cost::{Cost, TimeBase};
use crate::memory::Ram;
use crate::profile::Profile;
use crate::seat::{Cpu, Rest};
use crate::width::Width;
use board::board::Board;
use std::collections::VecDeque;

/// Counts since reset. All virtual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Virtual time, ns.
    pub now_ns: u64,
    /// Guest instructions.
    pub instructions: u64,
    /// Time in WFI or WFE, cycles.
    pub idle_cycles: u64,
    /// Device reads, all blocks.
    pub device_reads: u64,
    /// Device writes, all blocks.
    pub device_writes: u64,
    /// Reads of GENET.
    pub genet_reads: u64,
    /// Writes of GENET.
    pub genet_writes: u64,
    /// Interrupts taken.
    pub irqs: u64,
    /// Synchronous exceptions taken.
    pub exceptions: u64,
    /// Cache lines cleaned or invalidated.
    pub cache_operations: u64,
}

/// A device access, for the trace and for the report of a dead guest.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Which core.
    pub core: u8,
    /// When, ns.
    pub at_ns: u64,
    /// First instruction of the block it came from.
    pub pc: u64,
    /// A write.
    pub write: bool,
    /// Physical address.
    pub address: u64,
    /// Bytes.
    pub size: u8,
    /// Value read or written.
    pub value: u32,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, offset) = block_name(self.address);
        let direction = if self.write { "W" } else { "R" };
        write!(
            f,
            "{:>12} ns  pc {:#x}  {direction}{} {name}+{offset:#x} = {:#010x}",
            self.at_ns,
            self.pc,
            self.size * 8,
            self.value
        )?;
        if self.core != 0 { write!(f, "  (core {})", self.core) } else { Ok(()) }
    }
}

/// GENET's window.
const GENET: std::ops::Range<u64> = 0xfd58_0000..0xfd59_0000;

fn block_name(address: u64) -> (&'static str, u64) {
    const BLOCKS: [(u64, u64, &str); 9] = [
        (GENET.start, 0x1_0000, "GENET"),
        (0xff84_1000, 0x1000, "GICD"),
        (0xff84_2000, 0x2000, "GICC"),
        (0xfe20_0000, 0x100, "GPIO"),
        (0xfe20_1000, 0x200, "UART0"),
        (0xfe21_5000, 0x80, "UART1"),
        (0xfe00_b880, 0x40, "mailbox"),
        (0xfe10_0000, 0x200, "PM"),
        (0xfe00_3000, 0x20, "system timer"),
    ];
    for (start, bytes, name) in BLOCKS {
        if (start..start + bytes).contains(&address) {
            return (name, address - start);
        }
    }
    ("device ", address)
}

/// Why a hook wants the machine to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The run's limit of virtual time.
    Limit,
    /// The board resets.
    Reset,
    /// `Machine::run_until_text` has what it waited for.
    Text,
    /// The console was silent for a while after `bye`.
    Finished,
    /// The core's turn is over.
    Turn,
    /// The guest cannot go on; why.
    Dead(String),
}

/// Accesses kept for a report.
const HISTORY: usize = 16;
/// Exceptions in a row, without an instruction that a handler would need, that count as a storm.
const MAX_EXCEPTIONS: u64 = 1_000_000;
/// How long the console must be silent after `bye`, ns.
const SILENCE_NS: u64 = 100_000_000;

/// A destination of device accesses as text.
pub type TraceSink = Box<dyn FnMut(&Access)>;
/// A destination of console output.
pub type UartSink = Box<dyn FnMut(&[u8])>;

/// The state behind the hooks.
pub struct State {
    /// The core whose turn it is.
    pub cpu: Cpu,
    /// The other cores that run. None until the firmware releases one.
    pub others: Vec<Cpu>,
    /// Cores that were released and have no engine yet, with the address they begin at.
    pub released: Vec<(u8, u64)>,
    /// Cores that the board has.
    pub cores: u8,
    /// Latest time at which a device was asked, ns: it never goes back, though the cores' turns overlap a little.
    device_ns: u64,
    /// When the devices' next event was due before they were asked last, cycles.
    due: u64,
    pub base: TimeBase,
    read_cycles: u64,
    write_cycles: u64,
    pub counter_cycles: u64,
    pub width: Width,
    pub limit: u64,
    pub board: Board,
    pub ram: Ram,
    pub halt: Option<Halt>,
    pub history: VecDeque<Access>,
    pub trace: Option<TraceSink>,
    pub uart_sink: Option<UartSink>,
    pub uart: Vec<u8>,
    line_start: usize,
    /// `rc` of the `bye` record, once it came.
    pub bye: Option<String>,
    last_output_ns: u64,
    wanted: Option<(Vec<u8>, usize)>,
    pub profile: Option<Profile>,
}

impl State {
    pub fn new(board: Board, ram: Ram, cost: Cost) -> Self {
        let base = TimeBase::new(cost.cpu_hz);
        let mut state = State {
            cpu: Cpu::new(0),
            others: Vec::new(),
            released: Vec::new(),
            cores: 4,
            device_ns: 0,
            due: u64::MAX,
            base,
            read_cycles: base.cycles(cost.device_read_ns),
            write_cycles: base.cycles(cost.device_write_ns),
            counter_cycles: base.cycles(cost.counter_read_ns),
            width: Width::default(),
            limit: u64::MAX,
            board,
            ram,
            halt: None,
            history: VecDeque::with_capacity(HISTORY),
            trace: None,
            uart_sink: None,
            uart: Vec::new(),
            line_start: 0,
            bye: None,
            last_output_ns: 0,
            wanted: None,
            profile: None,
        };
        state.settle();
        state
    }

    pub fn now_ns(&self) -> u64 {
        self.base.ns(self.cpu.cycles)
    }

    /// Cycles the core has been awake: what PMCCNTR counts.
    pub fn awake_cycles(&self, now: u64) -> u64 {
        now - self.cpu.stats.idle_cycles
    }

    /// Takes over what belongs to whoever watches the machine, not to the machine that was reset.
    pub fn take_over(&mut self, before: &mut State) {
        self.trace = before.trace.take();
        self.uart_sink = before.uart_sink.take();
        self.uart = std::mem::take(&mut before.uart);
        self.line_start = self.uart.len();
        self.wanted = before.wanted.take();
        self.profile = before.profile.take();
        self.board.continue_capture(&mut before.board);
    }

    /// Time for a device that is asked now, ns.
    pub fn device_now(&mut self) -> u64 {
        self.device_ns = self.device_ns.max(self.now_ns());
        self.device_ns
    }

    /// Recomputes the interrupt line and the next event. After anything that may change them.
    pub fn settle(&mut self) {
        let count = self.base.count(self.cpu.cycles);
        let core = usize::from(self.cpu.number);
        self.board.set_ppi(core, 30, self.cpu.physical.line(count));
        self.board.set_ppi(core, 27, self.cpu.virtual_timer.line(count));
        self.cpu.line = self.board.irq(core);
        let mut next = self.base.cycles(self.board.next_event().unwrap_or(u64::MAX));
        if !self.others.is_empty() {
            next = next.min(self.look_at_sleepers());
        }
        for timer in [&self.cpu.physical, &self.cpu.virtual_timer] {
            if let Some(due) = timer.due(count) {
                next = next.min(self.base.cycles_of_count(due));
            }
        }
        if self.bye.is_some() {
            next = next.min(self.base.cycles(self.last_output_ns + SILENCE_NS));
        }
        // What was printed during a device access is seen before the next block, not at some later event.
        let next = if self.board.has_uart_output() { self.cpu.cycles } else { next.min(self.limit) };
        self.cpu.next_event = next.min(self.cpu.turn_ends);
    }

    /// Remembers when the devices had something to do, for whoever is woken by it.
    fn begin_step(&mut self) {
        self.ram.begin_step();
        if !self.others.is_empty() {
            self.due = self.base.cycles(self.board.next_event().unwrap_or(u64::MAX));
        }
    }

    /// Wakes the cores whose line rose, and ends this core's turn for them. When the next of their timers is due, cycles.
    fn look_at_sleepers(&mut self) -> u64 {
        let mut next = u64::MAX;
        let count = self.base.count(self.cpu.cycles);
        for other in self.others.iter_mut().filter(|other| other.rest == Rest::Interrupt) {
            let core = usize::from(other.number);
            let mut due = self.due;
            for (intid, timer) in [(30, &other.physical), (27, &other.virtual_timer)] {
                self.board.set_ppi(core, intid, timer.line(count));
                if timer.line(count) {
                    due = due.min(self.base.cycles_of_count(timer.compare()));
                } else if let Some(due) = timer.due(count) {
                    next = next.min(self.base.cycles_of_count(due));
                }
            }
            if self.board.irq(core) {
                other.wake_at(due.min(self.cpu.cycles));
                self.cpu.turn_ends = self.cpu.cycles;
            }
        }
        next
    }

    /// Runs what is due now: devices, timers, the ends of the run and of the turn.
    pub fn run_events(&mut self) {
        let now = self.device_now();
        self.begin_step();
        self.board.run(now, &mut self.ram);
        self.drain_uart(now);
        if self.board.reset_requested().is_some_and(|at| at <= now) {
            self.halt = Some(Halt::Reset);
        } else if self.cpu.cycles >= self.limit {
            self.halt = Some(Halt::Limit);
        } else if self.bye.is_some() && now >= self.last_output_ns + SILENCE_NS {
            self.halt = Some(Halt::Finished);
        }
        self.settle();
        if self.cpu.cycles >= self.cpu.turn_ends && self.halt.is_none() {
            self.halt = Some(Halt::Turn);
        }
    }

    fn drain_uart(&mut self, now: u64) {
        let bytes = self.board.take_uart();
        if bytes.is_empty() {
            return;
        }
        self.last_output_ns = now;
        if let Some(sink) = &mut self.uart_sink {
            sink(&bytes);
        }
        self.uart.extend(&bytes);
        while let Some(end) = self.uart[self.line_start..].iter().position(|&b| b == b'\n') {
            let line = &self.uart[self.line_start..self.line_start + end];
            if let Some(rc) = bye_rc(line) {
                self.bye = Some(rc);
            }
            self.line_start += end + 1;
        }
        if let Some((text, from)) = &mut self.wanted {
            if self.uart[*from..].windows(text.len()).any(|w| w == &text[..]) {
                self.halt = Some(Halt::Text);
                self.wanted = None;
            } else {
                *from = (*from).max(self.uart.len().saturating_sub(text.len()));
            }
        }
    }

    /// Stop when `text` has been printed from now on.
    pub fn want_text(&mut self, text: &str) {
        self.wanted = Some((text.as_bytes().to_vec(), self.uart.len()));
    }

    /// Forgets the last session's end, for one that is started from the console.
    pub fn forget_bye(&mut self) {
        self.bye = None;
        self.settle();
    }

    pub fn device_read(&mut self, address: u64, size: usize) -> u32 {
        self.charge(self.read_cycles);
        self.cpu.stats.device_reads += 1;
        self.cpu.stats.genet_reads += u64::from(GENET.contains(&address));
        let now = self.device_now();
        self.begin_step();
        self.cpu.order.device_read(address);
        let core = usize::from(self.cpu.number);
        let value = self.board.read_from(core, now, address, size as u8, &mut self.ram);
        self.note(now, false, address, size, value);
        self.settle();
        value
    }

    pub fn device_write(&mut self, address: u64, size: usize, value: u32) {
        self.cpu.polling.disturb();
        self.charge(self.write_cycles);
        self.cpu.stats.device_writes += 1;
        self.cpu.stats.genet_writes += u64::from(GENET.contains(&address));
        let now = self.device_now();
        self.note(now, true, address, size, value);
        self.cpu.order.device_write(now, self.cpu.block_pc, address);
        self.begin_step();
        self.board.write_from(usize::from(self.cpu.number), now, address, size as u8, value, &mut self.ram);
        self.settle();
    }

    pub fn charge(&mut self, cycles: u64) {
        self.cpu.cycles += cycles;
        self.cpu.block_cycles += cycles;
    }

    fn note(&mut self, at_ns: u64, write: bool, address: u64, size: usize, value: u32) {
        let access =
            Access { core: self.cpu.number, at_ns, pc: self.cpu.block_pc, write, address, size: size as u8, value };
        if let Some(trace) = &mut self.trace {
            trace(&access);
        }
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(access);
    }

    /// The core sleeps from now to `until`.
    pub fn sleep_until(&mut self, until: u64) {
        self.cpu.sleep_until(until);
    }

    /// Counts an exception; true when there are too many to be an honest program's.
    pub fn exception_storm(&mut self) -> bool {
        self.cpu.stats.exceptions += 1;
        self.cpu.stats.exceptions > MAX_EXCEPTIONS
    }

    /// Core `number`, if it runs.
    pub fn core(&self, number: u8) -> Option<&Cpu> {
        std::iter::once(&self.cpu).chain(&self.others).find(|cpu| cpu.number == number)
    }

    /// Counts of a core since the reset.
    pub fn snapshot(&self, number: u8) -> Option<Stats> {
        let cpu = self.core(number)?;
        Some(Stats { now_ns: self.base.ns(cpu.cycles), ..cpu.stats })
    }
}

/// `rc` of a `bye` record, if `line` is an undamaged one.
fn bye_rc(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (body, crc) = line.strip_prefix('$')?.rsplit_once('*')?;
    let mut words = body.split(' ');
    if words.next() != Some("GB1")
        || words.nth(1) != Some("bye")
        || u32::from_str_radix(crc, 16).ok()? != crc32(body.as_bytes())
    {
        return None;
    }
    words.find_map(|word| word.strip_prefix("rc=")).map(str::to_owned)
}

/// CRC-32 of IEEE 802.3, bit by bit: a few hundred bytes a run.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| c >> 1 ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bye_is_recognised_and_only_when_undamaged() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let body = "GB1 17 bye runs=9 failed=1 rc=dhcp.timeout";
        let line = format!("${body}*{:08x}\r", crc32(body.as_bytes()));
        assert_eq!(bye_rc(line.as_bytes()).as_deref(), Some("dhcp.timeout"));
        assert_eq!(bye_rc(line.replace("runs=9", "runs=8").as_bytes()), None);
        assert_eq!(bye_rc(b"bye rc=ok"), None);
    }
}
