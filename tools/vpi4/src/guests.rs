//! Programs that nobody here wrote, set up to run on the virtual Pi: Debian's U-Boot and Debian's Linux.
//!
//! They are found in a folder that `tools/trust/fetch` fills. Nothing of them is changed; what a board's firmware would
//! hand to them (device tree, initial RAM disk) is made here.

use crate::cost::Cost;
use crate::cpu::EntryLevel;
use crate::image::Image;
use crate::machine::{Machine, MachineConfig, Stop};
use anyhow::{Context, Result, anyhow, ensure};
use board::board::BoardConfig;
use board::host::Object;
use std::ops::Range;
use std::path::Path;

/// U-Boot's prompt.
pub const UBOOT_PROMPT: &str = "U-Boot> ";
/// Size of `/small` and `/large`, the files that the peer serves to them, bytes.
pub const SMALL_BYTES: u64 = 9 << 20;
/// Size of `/large`.
pub const LARGE_BYTES: u64 = 18 << 20;
/// Devices that the virtual board does not have and U-Boot looks for: both card controllers and PCIe.
const UBOOT_LOOKS_FOR: [Range<u64>; 3] = [0xfe30_0000..0xfe30_0100, 0xfe34_0000..0xfe34_0100, 0xfd50_0000..0xfd50_a000];

fn third_party(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let path = folder.join(name);
    std::fs::read(&path).with_context(|| format!("{} (tools/trust/fetch brings it)", path.display()))
}

fn objects() -> Vec<Object> {
    [("/data", 64 << 20), ("/small", SMALL_BYTES), ("/large", LARGE_BYTES)]
        .map(|(path, bytes)| Object { path: path.to_owned(), bytes })
        .into()
}

/// Debian's U-Boot for the Pi 4 at its prompt, its port not yet used. `change` sees the board's configuration last.
///
/// # Errors
/// The folder lacks something, or the prompt does not come; the text has the console.
pub fn uboot_at_prompt(folder: &Path, change: impl FnOnce(&mut BoardConfig)) -> Result<Machine> {
    let bytes = third_party(folder, "u-boot.bin")?;
    let image = Image { memory_bytes: bytes.len() as u64 + (1 << 20), bytes };
    let mut config = MachineConfig {
        load_address: 0x8_0000,
        limit_ns: 300_000_000_000,
        // It waits by reading the counter; a dear counter keeps that short in host time.
        cost: Cost { counter_read_ns: 1_333, ..Cost::default() },
        foreign_tree: Some(third_party(folder, "bcm2711-rpi-4-b.dtb")?),
        ..MachineConfig::default()
    };
    config.board = config.board.seeded(1);
    config.board.mini_uart_on_header = true;
    config.board.tolerated = UBOOT_LOOKS_FOR.to_vec();
    config.board.peer.objects = objects();
    change(&mut config.board);
    let mut machine = Machine::new(config, &image)?;
    await_text(&mut machine, "stop autoboot")?;
    machine.type_text(b" ");
    await_text(&mut machine, UBOOT_PROMPT)?;
    Ok(machine)
}

/// Types `command` at U-Boot's prompt; what it printed until the next one.
///
/// # Errors
/// The prompt does not come back.
pub fn uboot_command(machine: &mut Machine, command: &str) -> Result<String> {
    let from = machine.uart().len();
    machine.type_text(format!("{command}\r").as_bytes());
    await_text(machine, UBOOT_PROMPT)?;
    Ok(String::from_utf8_lossy(&machine.uart()[from..]).into_owned())
}

/// Runs until `text` is printed.
///
/// # Errors
/// Something else ends the run first; the text has the end of the console.
pub fn await_text(machine: &mut Machine, text: &str) -> Result<()> {
    let stop = machine.run_until_text(text);
    let console = String::from_utf8_lossy(machine.uart()).into_owned();
    let tail = console.char_indices().rev().nth(2_000).map_or(0, |(at, _)| at);
    ensure!(stop == Stop::Text, "`{text}` did not come: {stop:?}\n{}", &console[tail..]);
    Ok(())
}

/// A cpio archive in the "newc" format of Linux' initramfs (Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        let number = self.0.len() as u32;
        let fields = [number, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.0.extend_from_slice(b"070701");
        for field in fields {
            self.0.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(0);
        self.pad();
        self.0.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

fn initramfs(root: &Path, init: &str) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for name in ["bin", "lib", "modules", "proc", "sys", "dev", "tmp"] {
        archive.add(name, DIRECTORY, &[]);
    }
    for folder in ["bin", "lib", "modules"] {
        let from = root.join(folder);
        let entries = std::fs::read_dir(&from).with_context(|| format!("{} (tools/trust/fetch)", from.display()))?;
        let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.sort();
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).context("a file name in UTF-8")?;
            let name = format!("{folder}/{name}");
            archive.add(&name, PROGRAM, &std::fs::read(&file)?);
        }
    }
    archive.add("init", PROGRAM, init.as_bytes());
    archive.add("TRAILER!!!", 0, &[]);
    Ok(archive.0)
}

/// Every line that starts with `<3>` reaches the console whatever the log level is.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox --install /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
exec >/dev/kmsg 2>&1
say() { echo "<3>SAID $*"; }
tell() { "$@" 2>&1 | while read -r line; do say "$line"; done; }
irqs() { grep eth0 /proc/interrupts | while read -r _ count _; do echo -n "$count "; done; }
for module in /modules/*.ko; do insmod $module || say "$module did not load"; done
ip link set eth0 up
while [ "$(cat /sys/class/net/eth0/carrier)" != 1 ]; do usleep 10000; done
ip addr add 10.77.0.50/24 dev eth0
tell ethtool -c eth0
ping -c 1 10.77.0.1 >/dev/null && say ping answered
for setting in $SETTINGS; do
    ethtool -C eth0 rx-frames ${setting%/*} rx-usecs ${setting#*/} || say "$setting refused"
    for file in small large; do
        say before $file $setting $(irqs)
        wget -q -O /dev/null http://10.77.0.1/$file || say download failed
        say after $file $setting $(irqs)
    done
done
tell ethtool -S eth0
say end
reboot -f
"#;

/// Debian's arm64 Linux with a small initramfs, about to be entered at EL1. It brings the port up, tells its coalescing
/// settings, then downloads `/small` and `/large` under each of `settings` (`FRAMES/MICROSECONDS` as `ethtool -C` takes
/// them) and prints `SAID before FILE SETTING IRQS` and `SAID after ...` around each download; `SAID end` comes last.
///
/// # Errors
/// The folder lacks something.
pub fn linux(folder: &Path, settings: &[&str], change: impl FnOnce(&mut BoardConfig)) -> Result<Machine> {
    let image = Image::parse(third_party(folder, "linux")?)?;
    // The console is the mini UART as the board's firmware left it: the kernel's own driver would take its pins away.
    let tree = board::dtb::disable(&third_party(folder, "bcm2711-rpi-4-b.dtb")?, "/soc/serial@7e215040");
    let init = INIT.replace("$SETTINGS", &settings.join(" "));
    let mut config = MachineConfig {
        level: EntryLevel::El1,
        limit_ns: 200_000_000_000,
        cost: Cost { counter_read_ns: 1_000, ..Cost::default() },
        foreign_tree: Some(tree.map_err(|error| anyhow!(error))?),
        check_caches: false, // Linux maps its coherent buffers uncached
        initrd: Some(initramfs(&folder.join("root"), &init)?),
        ..MachineConfig::default()
    };
    config.board = config.board.seeded(1);
    config.board.memory_mib = 1024;
    config.board.mini_uart_on_header = true;
    config.board.peer.objects = objects();
    config.board.tolerated = vec![board::board::WINDOW];
    config.board.bootargs =
        "earlycon=bcm2835aux,mmio32,0xfe215040 keep_bootcon nosmp loglevel=4 nokaslr printk.devkmsg=on".to_owned();
    change(&mut config.board);
    Machine::new(config, &image)
}
