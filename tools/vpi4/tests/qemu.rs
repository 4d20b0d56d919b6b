//! The real image on an unmodified QEMU (machine raspi4b): a second CPU, and devices that somebody else modelled.
//!
//! QEMU has no GENET: the firmware must say so and stay usable. Run by `tools/trust/qemu`, which gets the emulator.
//! Times here are the host's: the tests wait for text, and give up after a time that is long for any machine.

mod entry;

use board::board::BoardConfig;
use entry::{Code, JUNK_AT_EL1, JUNK_AT_EL2, SCTLR_EL1};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const GIVE_UP: Duration = Duration::from_secs(90);
/// Where the tests put the loader's code and the device tree.
const LOADER: u64 = 0x1000_0000;
const TREE: u64 = 0x2e00_0000;

fn top() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into()
}

struct Qemu {
    child: Child,
    input: ChildStdin,
    output: Receiver<Vec<u8>>,
    text: String,
}

impl Qemu {
    fn new(args: &[String]) -> Self {
        let mut child = Command::new(top().join("tools/trust/qemu"))
            .args(["exec", "-M", "raspi4b", "-display", "none", "-monitor", "none", "-serial", "stdio"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("tools/trust/qemu");
        let (input, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Qemu { child, input, output, text: String::new() }
    }

    /// Waits until `words` come after what was awaited before; returns what came up to them.
    fn wait_for(&mut self, words: &str) -> String {
        let end = Instant::now() + GIVE_UP;
        loop {
            if let Some(at) = self.text.find(words) {
                let rest = self.text.split_off(at + words.len());
                return std::mem::replace(&mut self.text, rest);
            }
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.text.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("no `{words}` in {}", self.text),
            }
        }
    }

    fn type_text(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn image() -> String {
    top().join("target/kernel8.img").display().to_string()
}

/// The console answers, and says that there is no GENET. By way of input and transmit interrupts, so GIC and UART work.
fn is_usable(qemu: &mut Qemu) {
    let start = qemu.wait_for("Commands: help");
    assert!(start.contains("no GENET v5 answers at 0xfd580000"), "{start}");
    assert!(start.contains("rc=genet.absent"), "{start}");
    qemu.type_text("help\r");
    qemu.wait_for("resets the board");
    qemu.type_text("hepl\r");
    qemu.wait_for("no such command. Try: help");
    qemu.type_text("run\r");
    qemu.wait_for("No network port (genet.absent, see above): the plan cannot run.");
}

#[test]
#[ignore = "needs QEMU: tools/trust/qemu"]
fn boots_as_qemu_loads_a_kernel_and_tells_faults_from_reboots() {
    let mut qemu = Qemu::new(&["-kernel".to_owned(), image()]);
    // Its watchdog does not wait: the firmware starts it once, and not again.
    qemu.wait_for("reset=power");
    qemu.wait_for("reset=watchdog");
    let start = qemu.wait_for("the watchdog resets this machine at once");
    assert!(start.contains("last=starting%20up"), "{start}");
    is_usable(&mut qemu);
    qemu.type_text("crash wedge\r");
    qemu.wait_for("the main loop is not watched on this machine");
    qemu.type_text("crash abort\r");
    let report = qemu.wait_for("The board resets in 10 s");
    assert!(report.contains("*** EXCEPTION: data abort") && report.contains("called from image"), "{report}");
    let hello = qemu.wait_for("Commands: help");
    assert!(hello.contains("reset=fault") && hello.contains("data%20abort"), "{hello}");
    qemu.type_text("reboot\r");
    let hello = qemu.wait_for("last=console:%20reboot");
    assert!(hello.contains("reset=reboot"), "{hello}");
    is_usable(&mut qemu);
}

/// What the board's stub does at EL3 (armstub8.S), then down to `level` at `image` with junk where nothing is promised.
/// All four cores run it. QEMU's GIC has no security extensions, so unlike on the board there are no groups to open.
fn loader(level: u32, image: u64) -> Code {
    const SCR_EL3: entry::Register = (3, 6, 1, 1, 0);
    const CPTR_EL3: entry::Register = (3, 6, 1, 1, 2);
    const SPSR_EL3: entry::Register = (3, 6, 4, 0, 0);
    const ELR_EL3: entry::Register = (3, 6, 4, 0, 1);
    let mut code = Code::default().set_all(&[(SCR_EL3, 0x5b1), (CPTR_EL3, 0)]);
    if level == 2 {
        code = code.set_all(&JUNK_AT_EL2).set(SPSR_EL3, 0x3c9);
    } else {
        code = code.set_all(&[
            (entry::HCR_EL2, 1 << 31),
            (entry::CPTR_EL2, 0x33ff),
            (entry::CNTHCTL_EL2, 3),
            (entry::CNTVOFF_EL2, 0),
            (entry::MDCR_EL2, 6),
        ]);
        // VMPIDR_EL2 and VPIDR_EL2 as MPIDR_EL1 and MIDR_EL1, or every core would think it is core 0.
        code.0.extend([0xd538_00a9, 0xd51c_00a9, 0xd538_0009, 0xd51c_0009]);
        code = code.set_all(&JUNK_AT_EL1).set(SCTLR_EL1, 0x30d0_1804).set(SPSR_EL3, 0x3c5);
    }
    code = code.set(ELR_EL3, image).load(0, TREE).load(1, 0).load(2, 0).load(3, 0);
    code.0.extend([0xd503_3fdf, 0xd69f_03e0]); // isb, eret
    code
}

#[test]
#[ignore = "needs QEMU: tools/trust/qemu"]
fn boots_at_both_levels_and_places_with_all_cores_in_the_image() {
    let folder = std::env::temp_dir().join(format!("genetbench-qemu-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).unwrap();
        folder.join(name).display().to_string()
    };
    let config = BoardConfig { marked_virtual: false, ..BoardConfig::default() };
    let tree = file("tree.dtb", &board::dtb::build(&config.tree()));
    for level in [2, 1] {
        for at in [0x8_0000u64, 0x20_0000] {
            let words = loader(level, at).0;
            let code = file("loader.bin", &words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>());
            let mut args = Vec::new();
            for (name, address) in [(image(), at), (tree.clone(), TREE), (code, LOADER)] {
                args.extend(["-device".to_owned(), format!("loader,file={name},addr={address:#x},force-raw=on")]);
            }
            for core in 0..4 {
                args.extend(["-device".to_owned(), format!("loader,addr={LOADER:#x},cpu-num={core}")]);
            }
            let mut qemu = Qemu::new(&args);
            let start = qemu.wait_for("at once whatever its time");
            assert!(start.contains(&format!("entered at EL{level}, ")), "{start}");
            assert!(start.contains("(device tree)"), "the MAC comes from the tree: {start}");
            assert_eq!(start.matches("genetbench 0").count(), 2, "one core, and one reset by the watchdog: {start}");
            is_usable(&mut qemu);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
