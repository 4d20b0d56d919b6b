//! The board: every model at its address, on one clock, with its interrupt line in the GIC.
//!
//! Owns address decoding over 0xFC00_0000..0x1_0000_0000, the order of events, interrupt wiring and the captures (UART,
//! frames, complaints). Whoever runs it owns memory and processors: it calls `read` and `write` for the guest's device
//! accesses and `run` when `next_event` is due. Addresses: Linux bcm2711 device tree, Circle. Everything at an address
//! without a model is reported once.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::rc::Rc;

use crate::access::blame;
use crate::cprman::Cprman;
use crate::dtb;
use crate::env::{Env, Finding, GuestMemory};
use crate::genet::Genet;
use crate::gic::Gic;
use crate::gpio::Gpio;
use crate::host::{Host, HostHandle};
use crate::link::Peer;
use crate::mailbox::{self, Facts, Mailbox};
use crate::mangle::{MangleHandle, Mangler};
use crate::miniuart::{self, MiniUart};
use crate::path::Path;
use crate::pcap::Capture;
use crate::pl011::{self, Pl011, SentByte};
use crate::pm::Pm;
use crate::rng200::Rng200;
use crate::storm::{Storm, StormHandle};
use crate::systimer::{self, SystemTimer};

mod config;

pub use config::BoardConfig;

/// Where the peripherals begin.
pub const WINDOW: Range<u64> = 0xFC00_0000..0x1_0000_0000;
/// INTIDs of GENET (SPI 157 and 158).
pub const GENET_INTID: [u32; 2] = [189, 190];

const DEVICE: &str = "board";
/// Core clock: the mini UART's.
const CORE_HZ: u64 = 500_000_000;
/// Complaints kept; later ones are counted only.
const MAX_FINDINGS: usize = 10_000;

/// The default path to the default host.
pub type PathHandle = Rc<RefCell<Path<HostHandle>>>;

/// What an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Genet,
    Distributor,
    Interface,
    Uart,
    MiniUart,
    Rng,
    Clocks,
    Gpio,
    Mailbox,
    Pm,
    SystemTimer,
    LocalTimer,
    None,
}

/// The decoder: block and offset in it.
fn decode(pa: u64) -> (Block, u32) {
    let at = |block, base: u64| (block, (pa - base) as u32);
    match pa {
        0xFD58_0000..0xFD59_0000 => at(Block::Genet, 0xFD58_0000),
        0xFF84_1000..0xFF84_2000 => at(Block::Distributor, 0xFF84_1000),
        0xFF84_2000..0xFF84_4000 => at(Block::Interface, 0xFF84_2000),
        0xFE20_1000..0xFE20_1400 => ((Block::Uart), (pa & 0xFFF) as u32 % 0x400),
        0xFE20_0000..0xFE20_0100 => at(Block::Gpio, 0xFE20_0000),
        0xFE10_1000..0xFE10_3000 => at(Block::Clocks, 0xFE10_1000),
        0xFE10_4000..0xFE10_4028 => at(Block::Rng, 0xFE10_4000),
        0xFE21_5000..0xFE21_5080 => at(Block::MiniUart, 0xFE21_5000),
        0xFE00_B880..0xFE00_B8C0 => at(Block::Mailbox, 0xFE00_B880),
        0xFE10_0000..0xFE10_0200 => at(Block::Pm, 0xFE10_0000),
        0xFE00_3000..0xFE00_3020 => at(Block::SystemTimer, 0xFE00_3000),
        0xFF80_0000..0xFF80_0010 => at(Block::LocalTimer, 0xFF80_0000),
        _ => (Block::None, 0),
    }
}

/// Models with events of their own, in the order in which simultaneous events run.
const SOURCES: usize = 6;
const GENET: usize = 0;
const UART: usize = 1;
const MAILBOX: usize = 2;
const PM: usize = 3;
const TIMER: usize = 4;
const MINI_UART: usize = 5;

/// A Pi 4 without processors and memory.
pub struct Board {
    config: BoardConfig,
    genet: Genet,
    gic: Gic,
    uart: Pl011,
    mini_uart: MiniUart,
    gpio: Gpio,
    mailbox: Mailbox,
    pm: Pm,
    timer: SystemTimer,
    rng: Rng200,
    clocks: Cprman,
    /// Next event of each source, `u64::MAX` for none.
    due: [u64; SOURCES],
    next: u64,
    findings: Vec<Finding>,
    findings_lost: u64,
    strangers: BTreeSet<(u64, bool)>,
    uart_output: Vec<SentByte>,
    reset_at: Option<u64>,
    host: Option<HostHandle>,
    path: Option<PathHandle>,
    mangler: Option<MangleHandle<PathHandle>>,
    storm: Option<StormHandle<MangleHandle<PathHandle>>>,
    capture: Option<Capture>,
}

impl Board {
    /// A board at reset whose partner port leads to `peer`, without the path of the configuration.
    pub fn new(config: BoardConfig, peer: Box<dyn Peer>) -> Self {
        let facts = Facts {
            firmware_revision: 0x67F2_5A40,
            board_revision: dtb::revision_code(config.memory_mib),
            serial: config.serial,
            mac: config.genet.mac,
            arm_memory_bytes: dtb::memory_banks(config.memory_mib)[0].1 as u32,
            command_line: config.bootargs.clone(),
            uart_clock_hz: config.uart_clock_hz,
            arm_clock_hz: config.arm_clock_hz,
            arm_clock_range_hz: config.arm_clock_range_hz,
            core_clock_hz: CORE_HZ as u32,
            temperature_milli_c: config.temperature_milli_c,
            throttled: config.throttled,
        };
        let mut board = Board {
            genet: Genet::new(&config.genet, &config.link, peer),
            gic: Gic::new(),
            uart: Pl011::new(u64::from(config.uart_clock_hz), config.terminal_baud),
            mini_uart: MiniUart::new(CORE_HZ, config.terminal_baud, config.mini_uart_on_header),
            gpio: Gpio::new(config.uart_on_header, config.mini_uart_on_header),
            mailbox: Mailbox::new(config.mailbox.clone(), facts),
            pm: Pm::new(if config.reset_status_cleared { 0 } else { config.reset_status }),
            timer: SystemTimer::default(),
            rng: Rng200::new(config.seed),
            clocks: Cprman::default(),
            due: [u64::MAX; SOURCES],
            next: u64::MAX,
            findings: Vec::new(),
            findings_lost: 0,
            strangers: BTreeSet::new(),
            uart_output: Vec::new(),
            reset_at: None,
            host: None,
            path: None,
            mangler: None,
            storm: None,
            capture: None,
            config,
        };
        board.set_pins();
        if board.config.uart_on_header {
            board.uart.set_up_by_firmware();
        }
        for source in 0..SOURCES {
            board.settle(0, source);
        }
        board
    }

    /// A board whose partner port leads over the configured path to the configured host, with all that is hostile on it.
    pub fn with_default_host(config: BoardConfig) -> Self {
        let (host, handle) = Host::shared(config.peer.clone());
        let path = Rc::new(RefCell::new(Path::new(config.path.clone(), host)));
        let mangler = Rc::new(RefCell::new(Mangler::new(config.mangle.clone(), path.clone())));
        let storm = Rc::new(RefCell::new(Storm::new(config.storm.clone(), mangler.clone())));
        let mut board = Board::new(config, Box::new(storm.clone()));
        board.host = Some(handle);
        board.path = Some(path);
        board.mangler = Some(mangler);
        board.storm = Some(storm);
        board
    }

    /// What the board was made from.
    pub fn config(&self) -> &BoardConfig {
        &self.config
    }

    /// The default host, to look at or to change while the board runs.
    pub fn host(&self) -> Option<&HostHandle> {
        self.host.as_ref()
    }

    /// The way to the default host.
    pub fn path(&self) -> Option<&PathHandle> {
        self.path.as_ref()
    }

    /// The hostile stage on the way from the default host.
    pub fn mangler(&self) -> Option<&MangleHandle<PathHandle>> {
        self.mangler.as_ref()
    }

    /// Frames of the storm so far.
    pub fn storm_frames(&self) -> u64 {
        self.storm.as_ref().map_or(0, |storm| storm.borrow().sent())
    }

    /// GENET with its PHY and cable, to look at.
    pub fn genet(&self) -> &Genet {
        &self.genet
    }

    /// GENET with its PHY and cable.
    pub fn genet_mut(&mut self) -> &mut Genet {
        &mut self.genet
    }

    /// Changes GENET or what is on its cable at `now`, and follows what comes of it.
    pub fn with_genet<T>(
        &mut self,
        now: u64,
        mem: &mut dyn GuestMemory,
        change: impl FnOnce(&mut Genet, u64, &mut Env<'_>) -> T,
    ) -> T {
        self.run(now, mem);
        let result = change(&mut self.genet, now, &mut Env { mem, findings: &mut self.findings });
        self.settle(now, GENET);
        result
    }

    /// The device tree for x0.
    pub fn device_tree(&self) -> Vec<u8> {
        dtb::build(&self.config.tree())
    }

    /// Tells the UARTs which of them has the header's pins.
    fn set_pins(&mut self) {
        self.uart.set_pins(self.gpio.uart0_on_header());
        self.mini_uart.set_pins(self.gpio.mini_uart_on_header());
    }

    // ---- accesses ----

    /// A read by core 0 of `size` (1, 2 or 4) bytes at physical address `pa`.
    pub fn read(&mut self, now: u64, pa: u64, size: u8, mem: &mut dyn GuestMemory) -> u32 {
        self.read_from(0, now, pa, size, mem)
    }

    /// A write by core 0.
    pub fn write(&mut self, now: u64, pa: u64, size: u8, value: u32, mem: &mut dyn GuestMemory) {
        self.write_from(0, now, pa, size, value, mem);
    }

    /// A read by `core`: the GIC shows each core its own registers.
    pub fn read_from(&mut self, core: usize, now: u64, pa: u64, size: u8, mem: &mut dyn GuestMemory) -> u32 {
        self.run(now, mem);
        let (block, offset) = decode(pa);
        let findings = &mut self.findings;
        match block {
            Block::Genet => {
                let mut env = Env { mem, findings };
                let value = if size == 4 && offset.is_multiple_of(4) {
                    self.genet.read(now, offset, &mut env)
                } else {
                    self.genet.wrong_access(now, offset, size, false, &mut env);
                    0
                };
                self.settle(now, GENET);
                value
            }
            Block::Interface => self.gic.read_interface(now, core, offset, size, findings),
            Block::Distributor => self.gic.read_distributor(now, core, offset, size, findings),
            Block::Uart => {
                let value = self.uart.read(now, offset, size, findings);
                self.settle(now, UART);
                value
            }
            Block::MiniUart => {
                let value = self.mini_uart.read(now, offset, size, findings);
                self.settle(now, MINI_UART);
                value
            }
            Block::Gpio => self.gpio.read(now, offset, size, findings),
            Block::Mailbox => {
                let value = self.mailbox.read(now, offset, size, &mut Env { mem, findings });
                self.settle(now, MAILBOX);
                value
            }
            Block::Pm => self.pm.read(now, offset, size, findings),
            Block::Rng => self.rng.read(now, offset, size, findings),
            Block::Clocks => self.clocks.read(now, offset, size, findings),
            Block::SystemTimer => self.timer.read(now, offset, size, findings),
            Block::LocalTimer => u32::from(offset == 8) << 31, // as the stub wrote it: crystal, divide by 1
            Block::None => {
                self.stranger(now, pa, false, None);
                0
            }
        }
    }

    /// A write by `core`.
    pub fn write_from(&mut self, core: usize, now: u64, pa: u64, size: u8, value: u32, mem: &mut dyn GuestMemory) {
        self.run(now, mem);
        let (block, offset) = decode(pa);
        let findings = &mut self.findings;
        match block {
            Block::Genet => {
                let mut env = Env { mem, findings };
                if size == 4 && offset.is_multiple_of(4) {
                    self.genet.write(now, offset, value, &mut env);
                } else {
                    self.genet.wrong_access(now, offset, size, true, &mut env);
                }
                self.settle(now, GENET);
            }
            Block::Interface => self.gic.write_interface(now, core, offset, size, value, findings),
            Block::Distributor => self.gic.write_distributor(now, core, offset, size, value, findings),
            Block::Uart => {
                self.uart.write(now, offset, size, value, findings);
                self.settle(now, UART);
            }
            Block::MiniUart => {
                self.mini_uart.write(now, offset, size, value, findings);
                self.settle(now, MINI_UART);
            }
            Block::Gpio => {
                self.gpio.write(now, offset, size, value, findings);
                self.set_pins();
            }
            Block::Mailbox => {
                self.mailbox.write(now, offset, size, value, &mut Env { mem, findings });
                self.settle(now, MAILBOX);
            }
            Block::Pm => {
                self.pm.write(now, offset, size, value, findings);
                self.settle(now, PM);
            }
            Block::Rng => self.rng.write(now, offset, size, value, findings),
            Block::Clocks => self.clocks.write(now, offset, size, value, findings),
            Block::SystemTimer => {
                self.timer.write(now, offset, size, value, findings);
                self.settle(now, TIMER);
            }
            Block::LocalTimer | Block::None => self.stranger(now, pa, true, Some(value)),
        }
    }

    /// An access to nothing: reported once for each address and direction.
    fn stranger(&mut self, now: u64, pa: u64, write: bool, value: Option<u32>) {
        if self.config.tolerated.iter().any(|range| range.contains(&pa)) || !self.strangers.insert((pa, write)) {
            return;
        }
        let text = match value {
            Some(value) => format!("unmodelled device at {pa:#010x}, write of {value:#x}"),
            None => format!("unmodelled device at {pa:#010x}, read"),
        };
        blame(DEVICE, now, &mut self.findings, text);
    }

    // ---- events ----

    /// When the board has to run next.
    pub fn next_event(&self) -> Option<u64> {
        (self.next != u64::MAX).then_some(self.next)
    }

    /// Everything due at or before `now`, in order of time.
    pub fn run(&mut self, now: u64, mem: &mut dyn GuestMemory) {
        while self.next <= now {
            let at = self.next;
            let Some(source) = self.due.iter().position(|due| *due == at) else { break };
            let mut env = Env { mem, findings: &mut self.findings };
            match source {
                GENET => self.genet.run(at, &mut env),
                UART => self.uart.run(at, env.findings),
                MAILBOX => self.mailbox.run(at, &mut env),
                MINI_UART => self.mini_uart.run(at, env.findings),
                PM => self.reset_at = self.reset_at.or(Some(at)),
                _ => self.timer.run(at),
            }
            self.settle(at, source);
        }
    }

    /// After `source` changed: its next event and its interrupt lines.
    fn settle(&mut self, now: u64, source: usize) {
        let findings = &mut self.findings;
        self.due[source] = match source {
            GENET => {
                self.gic.set_spi(now, GENET_INTID[0], self.genet.irq0(), findings);
                self.gic.set_spi(now, GENET_INTID[1], self.genet.irq1(), findings);
                self.genet.next_event()
            }
            UART => {
                self.gic.set_spi(now, pl011::INTID, self.uart.irq(), findings);
                self.uart_output.extend(self.uart.take_output());
                self.uart.next_event()
            }
            MINI_UART => {
                self.gic.set_spi(now, miniuart::INTID, self.mini_uart.irq(), findings);
                self.uart_output.extend(self.mini_uart.take_output());
                self.mini_uart.next_event()
            }
            MAILBOX => {
                self.gic.set_spi(now, mailbox::INTID, self.mailbox.irq(), findings);
                self.mailbox.next_event()
            }
            PM => self.pm.reset_at().filter(|_| self.reset_at.is_none()),
            _ => {
                for index in 0..4 {
                    let intid = systimer::FIRST_INTID + index as u32;
                    self.gic.set_spi(now, intid, self.timer.irq(index), findings);
                }
                self.timer.next_event()
            }
        }
        .unwrap_or(u64::MAX);
        self.next = self.due.iter().copied().min().unwrap_or(u64::MAX);
        if self.findings.len() > MAX_FINDINGS {
            self.findings_lost += (self.findings.len() - MAX_FINDINGS) as u64;
            self.findings.truncate(MAX_FINDINGS);
        }
    }

    // ---- lines ----

    /// The IRQ input of `core`.
    pub fn irq(&self, core: usize) -> bool {
        self.gic.irq(core)
    }

    /// Drives a private interrupt of `core`: generic timers and PMU live in the processor's model.
    pub fn set_ppi(&mut self, core: usize, intid: u32, level: bool) {
        self.gic.set_ppi(core, intid, level);
    }

    /// Drives a shared interrupt that no model here owns (PMU: 48 to 51).
    pub fn set_spi(&mut self, now: u64, intid: u32, level: bool) {
        self.gic.set_spi(now, intid, level, &mut self.findings);
    }

    // ---- what came of it ----

    /// Takes the bytes that reached the terminal since the last call.
    pub fn take_uart(&mut self) -> Vec<u8> {
        self.take_uart_timed().into_iter().map(|sent| sent.byte).collect()
    }

    /// The same with the time of each byte's stop bit.
    pub fn take_uart_timed(&mut self) -> Vec<SentByte> {
        std::mem::take(&mut self.uart_output)
    }

    /// The terminal types `bytes` from `now` on.
    pub fn uart_input(&mut self, now: u64, bytes: &[u8]) {
        if self.gpio.mini_uart_on_header() {
            self.mini_uart.type_bytes(now, bytes);
            self.settle(now, MINI_UART);
        } else {
            self.uart.type_bytes(now, bytes);
            self.settle(now, UART);
        }
    }

    /// When the watchdog reset the board.
    pub fn reset_requested(&self) -> Option<u64> {
        self.reset_at
    }

    /// The reset-status register for the board that boots after the watchdog's reset.
    pub fn status_after_reset(&self, keeps_power_on_bit: bool) -> u32 {
        self.pm.status_after_reset(keeps_power_on_bit)
    }

    /// Goes on with the capture of the board that was before a reset.
    pub fn continue_capture(&mut self, before: &mut Board) {
        if let Some(capture) = before.capture.take() {
            self.tap(capture);
        }
    }

    fn tap(&mut self, capture: Capture) {
        let tap = capture.clone();
        self.genet.link_mut().set_tap(Some(Box::new(move |at, _direction, frame| tap.frame(at, frame))));
        self.capture = Some(capture);
    }

    /// The firmware's faults so far.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Complaints that were not kept.
    pub fn findings_lost(&self) -> u64 {
        self.findings_lost
    }

    /// Files a complaint of whoever runs the board.
    pub fn report(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Writes every frame on the wire, both directions, to `out` in pcap format.
    ///
    /// # Errors
    /// Those of writing the file header; later ones come from [`Board::finish_capture`].
    pub fn start_capture(&mut self, out: Box<dyn Write>) -> std::io::Result<()> {
        self.tap(Capture::new(out)?);
        Ok(())
    }

    /// Flushes the capture.
    ///
    /// # Errors
    /// The first error that writing it met.
    pub fn finish_capture(&mut self) -> std::io::Result<()> {
        self.capture.take().map_or(Ok(()), |capture| capture.finish())
    }
}

#[cfg(test)]
mod tests;
