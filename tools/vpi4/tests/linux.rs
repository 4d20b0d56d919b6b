//! Debian's arm64 Linux kernel, unmodified, on the virtual Pi: its bcmgenet driver on our models.
//!
//! Needs what `tools/trust/fetch` puts into target/trust: `make trust` runs these.

use board::host::Object;
use std::path::{Path, PathBuf};
use vpi4::cpu::EntryLevel;
use vpi4::image::Image;
use vpi4::{Cost, Machine, MachineConfig, Stop};

fn top() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/trust"))
}

fn third_party(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}; tools/trust/fetch brings it", path.display()))
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

fn initramfs(init: &str) -> Vec<u8> {
    let mut archive = Archive::default();
    for name in ["bin", "lib", "modules", "proc", "sys", "dev", "tmp"] {
        archive.add(name, DIRECTORY, &[]);
    }
    for folder in ["bin", "lib", "modules"] {
        let mut files: Vec<_> = std::fs::read_dir(top().join("root").join(folder))
            .expect("target/trust/root: tools/trust/fetch makes it")
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            let name = format!("{folder}/{}", file.file_name().unwrap().to_str().unwrap());
            archive.add(&name, PROGRAM, &third_party(&file));
        }
    }
    archive.add("init", PROGRAM, init.as_bytes());
    archive.add("TRAILER!!!", 0, &[]);
    archive.0
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
    say before $setting $(irqs)
    wget -q -O /dev/null http://10.77.0.1/data || say download failed
    say after $setting $(irqs)
done
tell ethtool -S eth0
say end
reboot -f
"#;

fn linux(settings: &str) -> Machine {
    let image = Image::parse(third_party(&top().join("linux"))).unwrap();
    // The console is the mini UART as the board's firmware left it: the kernel's own driver for it would take over.
    let tree = board::dtb::disable(&third_party(&top().join("bcm2711-rpi-4-b.dtb")), "/soc/serial@7e215040").unwrap();
    let mut config = MachineConfig {
        level: EntryLevel::El1,
        limit_ns: 100_000_000_000,
        cost: Cost { counter_read_ns: 1_000, ..Cost::default() },
        foreign_tree: Some(tree),
        check_caches: false, // Linux maps its coherent buffers uncached
        initrd: Some(initramfs(&INIT.replace("$SETTINGS", settings))),
        ..MachineConfig::default()
    };
    config.board = config.board.seeded(1);
    config.board.memory_mib = 1024;
    config.board.mini_uart_on_header = true;
    config.board.peer.objects = vec![Object { path: "/data".to_owned(), bytes: DOWNLOAD_BYTES }];
    config.board.tolerated = vec![0xfc00_0000..0x1_0000_0000];
    config.board.bootargs =
        "earlycon=bcm2835aux,mmio32,0xfe215040 keep_bootcon nosmp loglevel=4 nokaslr printk.devkmsg=on panic=1"
            .to_owned();
    Machine::new(config, &image).unwrap()
}

const DOWNLOAD_BYTES: u64 = 8 << 20;

#[test]
#[ignore = "needs Debian's kernel: make trust"]
fn boots() {
    let mut machine = linux("1/0 32/57");
    machine.set_uart_sink(Box::new(|bytes| {
        use std::io::Write;
        std::io::stderr().write_all(bytes).unwrap()
    }));
    let stop = machine.run_until_text("SAID end");
    eprintln!("{stop:?} {:#?}", machine.stats());
    for f in machine.findings().iter().take(20) {
        eprintln!("{f:?}");
    }
    assert_eq!(stop, Stop::Text);
}
