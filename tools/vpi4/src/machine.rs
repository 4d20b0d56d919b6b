//! The machine: a board, memory and one core, run until something ends it.

use crate::cores::Secondary;
use crate::cost::Cost;
use crate::cpu::{self, Engine, EntryLevel};
use crate::image::{Image, LOAD_ADDRESS};
use crate::memory::{FIRST_BANK_BYTES, Ram};
use crate::profile::Profile;
use crate::seat::{Rest, Seat};
use crate::state::{Halt, State, Stats, TraceSink, UartSink};
use anyhow::{Result, bail};
use board::board::{Board, BoardConfig};
use board::env::{Env, Finding};
use board::genet::Genet;
use unicorn_engine::{RegisterARM64 as R, uc_error};

/// Where the device tree goes: above any image that loads low, below the VideoCore's memory.
const TREE_ADDRESS: u64 = 0x2e00_0000;

/// Where an initial RAM disk goes.
const INITRD_ADDRESS: u64 = 0x1000_0000;
/// Where [`MachineConfig::preamble`] goes: the page after the stub's.
const PREAMBLE_ADDRESS: u64 = 0x1000;

/// What a machine is made from.
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// The board and the world at its network port.
    pub board: BoardConfig,
    /// What things cost.
    pub cost: Cost,
    /// Level at entry.
    pub level: EntryLevel,
    /// Where the image goes, a multiple of 4096.
    pub load_address: u64,
    /// Code that runs before the image at the image's level, as an earlier stage leaves registers; it must end in a
    /// branch to the image. Empty: none.
    pub preamble: Vec<u32>,
    /// Number of the core (MPIDR_EL1 affinity 0).
    pub core: u8,
    /// Cores that the board has: with 1 nobody waits on the spin table.
    pub cores: u8,
    /// Virtual time after which the run ends, ns, all starts of the board together.
    pub limit_ns: u64,
    /// A device tree of somebody else's, to be filled in with the board's facts; the board's own without.
    pub foreign_tree: Option<Vec<u8>>,
    /// Check the guest's cache maintenance. Off for a guest that shares memory with devices through uncached mappings,
    /// which this machine cannot tell from cached ones.
    pub check_caches: bool,
    /// An initial RAM disk for a Linux kernel; the tree tells where it lies.
    pub initrd: Option<Vec<u8>>,
    /// Resets after which the board starts again by itself; the next one ends the run.
    pub reboots: u32,
    /// What a reset leaves.
    pub after_reset: AfterReset,
}

/// What is left of the board before a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterReset {
    /// RAM keeps what had reached it, or holds garbage.
    pub ram_kept: bool,
    /// PM_RSTS still has the power-on bit.
    pub power_on_bit_kept: bool,
}

impl Default for MachineConfig {
    fn default() -> Self {
        MachineConfig {
            board: BoardConfig::default(),
            cost: Cost::default(),
            level: EntryLevel::El2,
            load_address: LOAD_ADDRESS,
            preamble: Vec::new(),
            core: 0,
            cores: 4,
            limit_ns: 600_000_000_000,
            foreign_tree: None,
            check_caches: true,
            initrd: None,
            reboots: 0,
            after_reset: AfterReset { ram_kept: true, power_on_bit_kept: true },
        }
    }
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The firmware said `bye` and fell silent. Its `rc`.
    Bye(String),
    /// The awaited text was printed.
    Text,
    /// The limit of virtual time.
    Limit,
    /// The watchdog reset the board.
    Reset,
    /// The guest cannot go on; why, with the registers and the last device accesses.
    Dead(String),
}

/// The state of a board whose firmware has just loaded image and device tree.
fn load(board: Board, mut ram: Ram, config: &MachineConfig, image: &Image, limit_ns: u64) -> Result<State> {
    let mut tree = match &config.foreign_tree {
        None => board.device_tree(),
        Some(base) => board::dtb::adapt(base, &board.config().tree()).map_err(anyhow::Error::msg)?,
    };
    if !config.check_caches {
        ram.never_check();
    }
    if let Some(initrd) = &config.initrd {
        let (start, end) = (INITRD_ADDRESS, INITRD_ADDRESS + initrd.len() as u64);
        let fits = end <= TREE_ADDRESS && config.load_address + image.memory_bytes <= start;
        anyhow::ensure!(fits && ram.load(start, initrd), "no room for the initial RAM disk");
        tree = board::dtb::with_initrd(&tree, start..end).map_err(anyhow::Error::msg)?;
    }
    let loaded = ram.load(config.load_address, &image.bytes) && ram.load(TREE_ADDRESS, &tree);
    anyhow::ensure!(loaded, "image and device tree do not fit into {FIRST_BANK_BYTES} bytes of RAM");
    let preamble: Vec<u8> = config.preamble.iter().flat_map(|word| word.to_le_bytes()).collect();
    anyhow::ensure!(ram.load(PREAMBLE_ADDRESS, &preamble), "the preamble does not fit into RAM");
    let mut state = State::new(board, ram, config.cost);
    state.cpu.number = config.core;
    state.cores = if config.core == 0 { config.cores } else { 0 };
    state.limit = state.base.cycles(limit_ns);
    state.settle();
    Ok(state)
}

/// The first core, at the image's entry.
fn start(state: State, config: &MachineConfig, image: &Image) -> Result<Engine> {
    let pc = if config.preamble.is_empty() { config.load_address } else { PREAMBLE_ADDRESS };
    let engine = start_core(Seat::new(state), config, image, pc, TREE_ADDRESS);
    engine.map_err(|error| anyhow::anyhow!("the Unicorn engine refused: {error:?}"))
}

fn start_core(seat: Seat, config: &MachineConfig, image: &Image, pc: u64, x0: u64) -> Result<Engine, uc_error> {
    let at = config.load_address;
    let mut engine = cpu::new(seat, config.level, pc, x0, &cpu::wfe_addresses(&image.bytes, at))?;
    // A guest of somebody else's may move its code, and its barriers with it.
    if config.foreign_tree.is_none() {
        cpu::watch_events(&mut engine, &image.bytes, at)?;
        cpu::watch_barriers(&mut engine, &image.bytes, at)?;
    }
    Ok(engine)
}

/// A virtual Pi 4.
pub struct Machine {
    /// Of the first core.
    engine: Engine,
    /// Of the cores that the firmware released.
    pub(crate) secondaries: Vec<(u8, Secondary)>,
    config: MachineConfig,
    image: Image,
    reboots_left: u32,
    /// Time before the last reset, ns.
    earlier_ns: u64,
    earlier_findings: Vec<Finding>,
}

impl Machine {
    /// A board that is about to enter `image` as the Pi's firmware does.
    ///
    /// # Errors
    /// The image does not fit at its address, or the engine refuses.
    pub fn new(config: MachineConfig, image: &Image) -> Result<Self> {
        let (at, bytes) = (config.load_address, image.memory_bytes);
        if !at.is_multiple_of(4096) || at < 0x1000 || at.checked_add(bytes).is_none_or(|end| end > TREE_ADDRESS) {
            bail!(
                "the image ({bytes} bytes) cannot be loaded at {at:#x}: a multiple of 4096 from 0x1000 to {:#x} can",
                TREE_ADDRESS - bytes
            );
        }
        let board = Board::with_default_host(config.board.clone());
        let state = load(board, Ram::new(FIRST_BANK_BYTES), &config, image, config.limit_ns)?;
        Ok(Machine {
            engine: start(state, &config, image)?,
            secondaries: Vec::new(),
            reboots_left: config.reboots,
            config,
            image: image.clone(),
            earlier_ns: 0,
            earlier_findings: Vec::new(),
        })
    }

    /// Resets the board as its watchdog does: core and devices start anew, the board's firmware loads image and device
    /// tree again, and the rest of RAM is as [`AfterReset`] says. The world at the network port starts anew as well; the
    /// console's text, sinks, trace and capture go on. Time and [`Machine::stats`] count from the reset.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn reset(&mut self) -> Result<()> {
        let findings = self.findings();
        let AfterReset { ram_kept, power_on_bit_kept } = self.config.after_reset;
        let before: &mut State = self.engine.get_data_mut();
        let elapsed_ns = before.now_ns();
        let mut board = self.config.board.clone();
        board.reset_status = before.board.status_after_reset(power_on_bit_kept);
        let ram = before.ram.after_reset((!ram_kept).then_some(board.seed));
        let left_ns = self.config.limit_ns.saturating_sub(self.earlier_ns + elapsed_ns);
        let mut state = load(Board::with_default_host(board), ram, &self.config, &self.image, left_ns)?;
        state.take_over(before);
        self.engine = start(state, &self.config, &self.image)?;
        self.secondaries.clear();
        self.earlier_ns += elapsed_ns;
        self.earlier_findings = findings;
        Ok(())
    }

    /// Runs until the firmware has said `bye`, or something else ends it.
    pub fn run(&mut self) -> Stop {
        loop {
            match self.turn() {
                None => {}
                Some(Stop::Reset) if self.reboots_left > 0 => {
                    self.reboots_left -= 1;
                    if let Err(error) = self.reset() {
                        return Stop::Dead(format!("the board did not come back from its reset: {error:#}"));
                    }
                }
                Some(stop) => return stop,
            }
        }
    }

    /// Runs until `text` has been printed from now on.
    pub fn run_until_text(&mut self, text: &str) -> Stop {
        self.engine.get_data_mut().want_text(text);
        self.run()
    }

    /// Another limit of virtual time than the configuration's, ns.
    pub fn set_limit(&mut self, limit_ns: u64) {
        let state = self.engine.get_data_mut();
        state.limit = state.base.cycles(limit_ns);
        state.settle();
    }

    /// Runs until `at_ns` of virtual time, which is the limit from then on: [`Stop::Limit`].
    pub fn run_until(&mut self, at_ns: u64) -> Stop {
        self.set_limit(at_ns);
        self.run()
    }

    /// Changes GENET or what is on its cable between two runs: a fault for tests.
    pub fn with_genet<T>(&mut self, change: impl FnOnce(&mut Genet, u64, &mut Env<'_>) -> T) -> T {
        let state = self.state_mut();
        let now = state.device_now();
        let result = state.board.with_genet(now, &mut state.ram, change);
        state.settle();
        result
    }

    /// What all cores share.
    pub(crate) fn state(&self) -> &State {
        self.engine.get_data()
    }

    /// What all cores share.
    pub(crate) fn state_mut(&mut self) -> &mut State {
        self.engine.get_data_mut()
    }

    /// An engine for a core that was released to `pc`, its caches off.
    pub(crate) fn another_engine(&self, pc: u64) -> Result<Secondary, uc_error> {
        let mut engine = start_core(self.engine.get_data().another(), &self.config, &self.image, pc, 0)?;
        let uncached = cpu::watch_uncached_reads(&mut engine, self.image.bytes.clone(), self.config.load_address)?;
        Ok(Secondary { engine, uncached: Some(uncached) })
    }

    /// The engine of the core whose turn it is.
    fn current(&mut self) -> &mut Engine {
        let number = self.engine.get_data().cpu.number;
        match self.secondaries.iter_mut().find(|(core, _)| *core == number) {
            Some((_, secondary)) => &mut secondary.engine,
            None => &mut self.engine,
        }
    }

    /// One stay in the engine of the core whose turn it is, and what came of it.
    fn turn(&mut self) -> Option<Stop> {
        if let Some(stop) = self.next_turn() {
            return Some(stop);
        }
        let uc = self.current();
        let pc = uc.get_data_mut().cpu.resume_at.take().unwrap_or_else(|| uc.pc_read().unwrap_or(0));
        let outcome = uc.emu_start(pc, 0, 0, 0);
        if let Some(halt) = uc.get_data_mut().halt.take() {
            return if halt == Halt::Turn { None } else { Some(self.stop(halt)) };
        }
        if let Err(error) = outcome {
            let pc = uc.pc_read().unwrap_or(0);
            return Some(self.dead(format!("the engine stopped at {pc:#x}: {error:?}")));
        }
        if std::mem::take(&mut uc.get_data_mut().cpu.want_irq) {
            return match cpu::take_irq(uc) {
                Ok(()) => None,
                Err(error) => Some(self.dead(format!("an interrupt could not be delivered: {error:?}"))),
            };
        }
        let state = self.state_mut();
        if state.others.is_empty() {
            return self.sleep();
        }
        state.cpu.rest = Rest::Interrupt; // unless its line is high already, which `sleep` or another core's turn shows
        None
    }

    /// The core executed WFI: time passes until the interrupt line rises, masked or not, or another core wakes.
    pub(crate) fn sleep(&mut self) -> Option<Stop> {
        let state = self.state_mut();
        state.run_events();
        while !state.cpu.line && state.halt.is_none() {
            if state.cpu.next_event == u64::MAX {
                return Some(self.dead("WFI with no event to come: it sleeps for ever".to_owned()));
            }
            state.sleep_until(state.cpu.next_event);
            state.run_events();
        }
        if state.cpu.line {
            state.cpu.rest = Rest::Awake;
        }
        match state.halt.take()? {
            Halt::Turn => None,
            halt => Some(self.stop(halt)),
        }
    }

    fn stop(&mut self, halt: Halt) -> Stop {
        match halt {
            Halt::Limit => Stop::Limit,
            Halt::Reset => Stop::Reset,
            Halt::Text => Stop::Text,
            Halt::Turn | Halt::Finished => Stop::Bye(self.engine.get_data().bye.clone().unwrap_or_default()),
            Halt::Dead(why) => self.dead(why),
        }
    }

    /// The report on a guest that cannot go on.
    pub(crate) fn dead(&mut self, why: String) -> Stop {
        use std::fmt::Write;
        let mut text = why;
        let engine = &*self.current();
        let read = |register| engine.reg_read(register).unwrap_or(0);
        if engine.get_data().cpu.number != 0 {
            let _ = write!(text, "\n  core {}", engine.get_data().cpu.number);
        }
        let _ = write!(text, "\n  pc {:#x}  sp {:#x}  pstate {:#x}", read(R::PC), read(R::SP), read(R::PSTATE));
        if let Some(profile) = &engine.get_data().profile
            && let Some((name, offset)) = profile.symbol(read(R::PC))
        {
            let _ = write!(text, "  in {name}+{offset:#x}");
        }
        for (index, register) in cpu::GENERAL.into_iter().enumerate() {
            let start = if index % 4 == 0 { "\n  " } else { "  " };
            let _ = write!(text, "{start}x{index:<2} {:#018x}", read(register));
        }
        let _ = write!(text, "\n  last device accesses:");
        for access in &engine.get_data().history {
            let _ = write!(text, "\n    {access}");
        }
        Stop::Dead(text)
    }

    /// Where console output goes while the machine runs, besides [`Machine::uart`].
    pub fn set_uart_sink(&mut self, sink: UartSink) {
        self.engine.get_data_mut().uart_sink = Some(sink);
    }

    /// Where device accesses go.
    pub fn set_trace(&mut self, sink: TraceSink) {
        self.engine.get_data_mut().trace = Some(sink);
    }

    /// Counts instructions by function from now on.
    pub fn set_profile(&mut self, profile: Profile) {
        self.engine.get_data_mut().profile = Some(profile);
    }

    /// The counts by function.
    pub fn profile(&self) -> Option<&Profile> {
        self.engine.get_data().profile.as_ref()
    }

    /// All that the console printed.
    pub fn uart(&self) -> &[u8] {
        &self.engine.get_data().uart
    }

    /// Somebody types `bytes`. A session that had ended goes on.
    pub fn type_text(&mut self, bytes: &[u8]) {
        let state = self.state_mut();
        let now = state.device_now();
        state.board.uart_input(now, bytes);
        state.forget_bye();
    }

    /// Overwrites guest memory: a fault for tests. Code that has run already stays as it was translated.
    ///
    /// # Errors
    /// The range is not all RAM.
    pub fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        self.engine.mem_write(address, bytes).map_err(|error| anyhow::anyhow!("write at {address:#x}: {error:?}"))
    }

    /// Counts of the first core since the reset.
    pub fn stats(&self) -> Stats {
        self.state().snapshot(self.config.core).unwrap_or_default()
    }

    /// Address of the next instruction.
    pub fn pc(&self) -> u64 {
        self.engine.pc_read().unwrap_or(0)
    }

    /// Reads memory as the core sees it; `None` outside RAM.
    pub fn read_memory(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; bytes];
        self.engine.get_data().ram.core_read(address, &mut out).then_some(out)
    }

    /// The board.
    pub fn board(&self) -> &Board {
        &self.engine.get_data().board
    }

    /// The board, to change it between two runs.
    pub fn board_mut(&mut self) -> &mut Board {
        &mut self.engine.get_data_mut().board
    }

    /// What the firmware did wrong so far, as far as models and memory noticed.
    pub fn findings(&self) -> Vec<Finding> {
        let state = self.engine.get_data();
        let mut all = self.earlier_findings.clone();
        all.extend_from_slice(state.board.findings());
        all.extend_from_slice(state.cpu.order.findings());
        for cpu in &state.others {
            all.extend_from_slice(cpu.order.findings());
        }
        for cpu in std::iter::once(&state.cpu).chain(&state.others) {
            all.extend_from_slice(&cpu.findings);
        }
        if self.config.foreign_tree.is_none() {
            all.extend_from_slice(state.width.findings());
        }
        let (count, addresses) = state.ram.uncleaned();
        if count > 0 {
            let text = format!(
                "a device read {count} cache lines that were not cleaned since it read them last, the first at {:#x?}",
                addresses
            );
            all.push(Finding { at_ns: state.now_ns(), device: "cache", text });
        }
        all
    }
}
