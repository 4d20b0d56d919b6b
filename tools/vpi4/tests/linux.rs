//! Debian's arm64 Linux kernel, unmodified, on the virtual Pi: its bcmgenet driver on our models.
//!
//! Needs what `tools/trust/fetch` puts into target/trust: `make trust` runs these.

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

const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
exec >/dev/kmsg 2>&1
b=/bin/busybox
for module in /modules/*.ko; do $b insmod $module; done
$b ip link set eth0 up
echo MARK up
"#;

fn linux() -> Machine {
    let image = Image::parse(third_party(&top().join("linux"))).unwrap();
    let mut config = MachineConfig {
        level: EntryLevel::El1,
        limit_ns: 100_000_000_000,
        cost: Cost { counter_read_ns: 100, ..Cost::default() },
        foreign_tree: Some(third_party(&top().join("bcm2711-rpi-4-b.dtb"))),
        initrd: Some(initramfs(INIT)),
        ..MachineConfig::default()
    };
    config.board = config.board.seeded(1);
    config.board.memory_mib = 1024;
    config.board.uart_on_header = true;
    config.board.tolerated = vec![0xfc00_0000..0x1_0000_0000];
    config.board.bootargs = "earlycon=pl011,mmio32,0xfe201000 keep_bootcon nosmp loglevel=8 nokaslr panic=-1".to_owned();
    Machine::new(config, &image).unwrap()
}

#[test]
#[ignore = "needs Debian's kernel: make trust"]
fn boots() {
    let mut machine = linux();
    machine.set_uart_sink(Box::new(|bytes| {
        use std::io::Write;
        std::io::stderr().write_all(bytes).unwrap()
    }));
    let stop = machine.run_until_text("MARK up");
    eprintln!("{stop:?} {:#?} {:#?}", machine.findings(), machine.stats());
    assert_eq!(stop, Stop::Text);
}
