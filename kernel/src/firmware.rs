//! Start-up: from the first line on the console to a port that the console can use.

use boot::layout::{Span, layout};
use boot::page_table::Rights;
use core::fmt::Write;
use genet::Genet;
use kernel::arch::{cache, counter};
use kernel::board::identity::Revision;
use kernel::board::mailbox::Mailbox;
use kernel::board::property::{Clock, Tag, mac_of};
use kernel::board::tree::{BoardTree, BootPath};
use kernel::board::uart::{self, Console};
use kernel::board::{gic, gpio, watchdog};
use kernel::console::Desk;
use kernel::found::Found;
use kernel::irq::{self, GenetRegisters};
use kernel::kept::{Kept, ResetReason, reset_reason};
use kernel::mem::{dma, heap, kept};
use kernel::port::{BoardClock, BoardGenet, BoardPort};
use netbench::Hello;
use netbench::record::Recorder;
use phy::Bcm54210e;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const COMMIT: &str = env!("GENETBENCH_COMMIT");
/// UART clock of a Pi 4 if the firmware does not tell, Hz (`init_uart_clock`, documentation).
const DEFAULT_UART_HZ: u32 = 48_000_000;
/// Largest device tree that is taken, bytes. A Pi 4's is about 60 KiB.
const MAX_TREE_BYTES: u64 = 2 << 20;
/// How long the core clock is measured, us.
const CALIBRATE_US: u32 = 2_000;

/// Called by boot.s with MMU and caches on and interrupts masked.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(dtb: usize, entry_el: u64, _image_base: usize) -> ! {
    // SAFETY: first statement of the program, called once.
    unsafe { heap::init() };
    counter::start_cycle_counter();
    let mut mailbox = dma::mailbox_buffer().map(Mailbox::new);
    let uart_hz = mailbox.as_mut().and_then(|m| m.clock_hz(Clock::Uart).ok()).filter(|&hz| hz >= 16 * uart::BAUD);
    gpio::route_uart0_to_header();
    uart::init(uart_hz.unwrap_or(DEFAULT_UART_HZ));
    let mut out = Console;
    let _ = writeln!(out, "\ngenetbench {VERSION} ({COMMIT}): why does this Raspberry Pi 4 receive slowly?");
    kernel::logger::init(log::LevelFilter::Info);
    if uart_hz.is_none() {
        log::warn!("the firmware did not tell the UART clock; {DEFAULT_UART_HZ} Hz assumed");
    }
    let blob = map_tree(dtb as u64);
    let tree = blob.and_then(BoardTree::parse);
    let before = open_kept(blob, tree.as_ref());
    kept::note(format_args!("starting up"));
    let facts = Facts::gather(mailbox.as_mut(), tree.as_ref(), entry_el, before);
    facts.print(&mut out);
    let bootargs = tree.as_ref().map_or("", |t| t.bootargs);
    session(&facts, mailbox, bootargs, &mut out)
}

/// Maps the device tree that x0 points at, read-only. `None` if there is none that can be used.
fn map_tree(address: u64) -> Option<&'static [u8]> {
    const HEADER_BYTES: u64 = 40;
    let usable = address != 0 && address.is_multiple_of(4) && address < 0xfc00_0000;
    if !usable {
        log::warn!(
            "no device tree at x0 = {address:#x}: put bcm2711-rpi-4-b.dtb on the card; MAC and plan are defaults"
        );
        return None;
    }
    let map = |bytes: u64| {
        let start = address & !4095;
        let end = (address + bytes).next_multiple_of(4096);
        if layout().image.overlaps(Span { start, end }) {
            return false;
        }
        // SAFETY: x0 points at the tree in RAM (every loader's promise, and the magic is checked
        // next); nobody else maps it, and this is the only core.
        unsafe { boot::mmu::extend(start, end - start, Rights::Constant) }.is_ok()
    };
    if !map(HEADER_BYTES) {
        log::warn!("the device tree at {address:#x} overlaps the image or cannot be mapped; it is ignored");
        return None;
    }
    let word = |offset: u64| {
        // SAFETY: inside the header that was just mapped, 4-byte aligned.
        u32::from_be(unsafe { ((address + offset) as *const u32).read_volatile() })
    };
    let (magic, bytes) = (word(0), word(4) as u64);
    if magic != 0xd00d_feed || !(HEADER_BYTES..=MAX_TREE_BYTES).contains(&bytes) || !map(bytes) {
        log::warn!("no device tree at {address:#x} (magic {magic:#x}, {bytes} bytes); MAC and plan are defaults");
        return None;
    }
    // SAFETY: mapped read-only for good, never written by anybody from here on, length checked.
    Some(unsafe { core::slice::from_raw_parts(address as *const u8, bytes as usize) })
}

/// Takes the page that outlives a reset, unless the device tree says that it is not free, and what was left in it.
fn open_kept(blob: Option<&[u8]>, tree: Option<&BoardTree<'_>>) -> Option<Kept> {
    let page = kept::PAGE;
    if tree.is_some_and(|tree| !tree.is_free(page.start, page.bytes())) {
        log::warn!("memory at {:#x} is not free: nothing outlives a reset", page.start);
        return None;
    }
    let in_use = blob.map_or(Span { start: 0, end: 0 }, |blob| {
        let start = blob.as_ptr() as u64;
        Span { start: start & !4095, end: (start + blob.len() as u64).next_multiple_of(4096) }
    });
    // SAFETY: called once, before interrupts. A bank of the tree holds the page; without a tree, the first bank of every
    // Pi 4 does (948 MiB and less only with hundreds of MiB for the VideoCore).
    unsafe { kept::open(&[in_use]) }
}

/// What is known of the board before its Ethernet is touched.
struct Facts<'a> {
    model: &'a str,
    revision: Option<Revision>,
    serial: Option<u64>,
    mac: [u8; 6],
    mac_source: &'static str,
    boot: BootPath,
    is_virtual: bool,
    entry_el: u64,
    memory_mib: u64,
    core_hz: u64,
    temperature_milli_c: Option<u32>,
    throttled: Option<u32>,
    reset: ResetReason,
    reset_status: u32,
    before: Option<Kept>,
}

/// A locally administered address for a board that tells none.
const FALLBACK_MAC: [u8; 6] = [0x02, 0x67, 0x65, 0x6e, 0x65, 0x74];

impl<'a> Facts<'a> {
    fn gather(
        mut mailbox: Option<&mut Mailbox>,
        tree: Option<&BoardTree<'a>>,
        entry_el: u64,
        before: Option<Kept>,
    ) -> Self {
        // What the bootloader saw and what the register still holds: whoever read it first may have cleared it.
        let reset_status = watchdog::reset_status() | tree.and_then(|t| t.reset_status).unwrap_or(0);
        let mut ask = |tag, value| mailbox.as_mut().and_then(|m| m.ask(tag, value).ok());
        let revision = ask(Tag::BoardRevision, [0; 2]).map(|v| Revision(v[0]));
        let serial = ask(Tag::BoardSerial, [0; 2]).map(|v| v[0] as u64 | (v[1] as u64) << 32);
        let firmware_mac = ask(Tag::MacAddress, [0; 2]).map(mac_of).filter(|mac| *mac != [0; 6]);
        let temperature_milli_c = ask(Tag::Temperature, [0; 2]).map(|v| v[1]);
        let throttled = ask(Tag::Throttled, [0; 2]).map(|v| v[0]);
        // The ARM clock may stand at its minimum until somebody asks for more.
        if let Some(m) = mailbox.as_mut()
            && let Err(error) = m.set_to_maximum(Clock::Arm)
        {
            log::warn!("the ARM clock stays as it is: {error}");
        }
        let (mac, mac_source) = match (tree.and_then(|t| t.mac), firmware_mac) {
            (Some(mac), _) => (mac, "device tree"),
            (None, Some(mac)) => (mac, "firmware"),
            (None, None) => (FALLBACK_MAC, "made up: neither device tree nor firmware tells one"),
        };
        Facts {
            model: tree.map_or("unknown model (no device tree)", |t| t.model),
            revision,
            serial,
            mac,
            mac_source,
            boot: tree.map_or(BootPath::Card, |t| t.boot),
            is_virtual: tree.is_some_and(|t| t.is_virtual),
            entry_el,
            memory_mib: tree.map_or(0, |t| t.memory_mib()),
            core_hz: counter::calibrate(CALIBRATE_US),
            temperature_milli_c,
            throttled,
            reset: reset_reason(reset_status, before.as_ref()),
            reset_status,
            before,
        }
    }

    fn print(&self, out: &mut Console) {
        let mac = netbench::record::Mac(self.mac);
        let virtually = if self.is_virtual { "  ** virtual: every figure is the virtual Pi's **" } else { "" };
        let _ = writeln!(out, "  board   {}{virtually}", self.model);
        if let Some(revision) = self.revision {
            let _ = writeln!(out, "          {revision}, serial {:x}", self.serial.unwrap_or(0));
        }
        let _ =
            writeln!(out, "  boot    {}, entered at EL{}, {} MiB", self.boot.word(), self.entry_el, self.memory_mib);
        let _ = writeln!(out, "  reset   {} (PM_RSTS {:#x})", self.reset.about(), self.reset_status);
        if let Some(before) = &self.before {
            let s = before.at_ns / 1_000_000_000;
            let _ = writeln!(out, "          last event before, {s} s after the start: {}", before.event.as_str());
            if self.reset == ResetReason::Power {
                let _ = writeln!(out, "          (memory was kept: the power was away for a moment only)");
            }
        }
        let _ = write!(out, "  core    {} MHz", (self.core_hz + 500_000) / 1_000_000);
        if let Some(t) = self.temperature_milli_c {
            let _ = write!(out, ", {}.{} C", t / 1000, t % 1000 / 100);
        }
        if let Some(flags) = self.throttled.filter(|&flags| flags != 0) {
            let _ = write!(out, ", throttled flags {flags:#x}: check the power supply");
        }
        let _ = writeln!(out, "\n  MAC     {mac} ({})", self.mac_source);
        if self.revision.is_some_and(|r| !r.is_bcm2711()) {
            log::warn!("this is no BCM2711 board: expect nothing to work");
        }
        if counter::announced_hz() != counter::COUNTER_HZ {
            log::warn!(
                "the counter runs at {} Hz, not 54 MHz: all times are wrong by that ratio",
                counter::announced_hz()
            );
        }
        if !cache::line_is_as_expected() {
            log::warn!("cache lines are not 64 bytes long: received data may be damaged");
        }
    }

    fn hello(&self) -> Hello<'_> {
        Hello {
            version: VERSION,
            commit: COMMIT,
            model: self.model,
            board_revision: self.revision.map(|r| r.code()),
            serial: self.serial,
            boot: self.boot.word(),
            entry_el: self.entry_el as u8,
            core_hz: self.core_hz,
            memory_mib: self.memory_mib as u32,
            temperature_milli_c: self.temperature_milli_c,
            throttled: self.throttled,
            mac: self.mac,
            is_virtual: self.is_virtual,
            reset: self.reset.word(),
            reset_status: self.reset_status,
            last: self.before.as_ref().map(|kept| (kept.event.as_str(), kept.at_ns)),
        }
    }
}

/// Brings the port up and hands everything to the console.
fn session(facts: &Facts<'_>, mailbox: Option<Mailbox>, bootargs: &str, out: &mut Console) -> ! {
    let mut recorder = Recorder::new();
    recorder.hello(&mut Console, &facts.hello());
    if gic::init().is_none() {
        // Without interrupts nothing wakes a loop that waits: a watchdog would only reset it again and again.
        log::warn!("no GIC answers: is enable_gic=1 in config.txt? The console will not work without interrupts");
    } else if !watchdog::watch_main_loop() {
        log::warn!("the watchdog resets this machine at once whatever its time: the main loop is not watched");
    }
    kept::note(format_args!("bringing GENET up"));
    let mut found = Found::default();
    let port = bring_up(facts, &mut recorder, &mut found, out);
    irq::enable(port.is_ok());
    let port = port.inspect_err(|reason| recorder.bye_without_runs(&mut Console, reason));
    Desk::new(port, recorder, found, mailbox, bootargs).serve()
}

/// Records what is found, then takes GENET and its PHY over. The error is the `rc` of the session.
fn bring_up(
    facts: &Facts<'_>,
    recorder: &mut Recorder,
    found: &mut Found,
    out: &mut Console,
) -> Result<BoardPort, &'static str> {
    let registers = GenetRegisters::new();
    // The first access may be to a block that is not there, or that is not clocked.
    if registers.probe(0).is_none() {
        let _ = writeln!(
            out,
            "GENET: no GENET v5 answers at {:#x}: the bus gives an error. Nothing can be measured; the console stays usable.",
            kernel::board::map::GENET
        );
        return Err("genet.absent");
    }
    let revision = match genet::check_revision(&registers) {
        Ok(revision) => revision,
        Err(error) => {
            let _ = writeln!(out, "GENET: {error}. Nothing can be measured; the console stays usable.");
            return Err("genet.absent");
        }
    };
    genet::found(&registers, |block, name, offset, value| {
        found.note(block, name, offset, value);
        record_found(recorder, block, name, offset, value);
    });
    let (Some(rx), Some(tx)) = (dma::receive_buffers(), dma::transmit_buffers()) else { return Err("dma.taken") };
    let mut genet: BoardGenet = match Genet::bring_up(registers, rx, tx, BoardClock, facts.mac) {
        Ok(genet) => genet,
        Err(error) => {
            let _ = writeln!(out, "GENET: {error}");
            return Err("genet.failed");
        }
    };
    let phy = match Bcm54210e::find(&mut genet.mdio()) {
        Ok(phy) => phy,
        Err(error) => {
            let _ = writeln!(out, "PHY: {error}");
            return Err("phy.failed");
        }
    };
    let _ =
        writeln!(out, "  GENET   revision {revision:#010x}, PHY {:#010x} at MDIO address {}", phy.id(), phy.address());
    let address = phy.address();
    Bcm54210e::found(&mut genet.mdio(), address, |name, offset, value| {
        found.note("phy", name, offset, value.into());
        record_found(recorder, "phy", name, offset, value.into());
    });
    let _ = found.summary.write(out);
    BoardPort::new(genet, phy, facts.mac).map_err(|error| {
        let _ = writeln!(out, "PHY: {error}");
        "phy.failed"
    })
}

fn record_found(recorder: &mut Recorder, block: &str, name: &str, offset: u32, value: u32) {
    recorder.record(&mut Console, "found", |r| {
        r.word("block", block);
        r.word("reg", name);
        r.hex("offset", offset.into());
        r.hex("value", value.into());
    });
}
