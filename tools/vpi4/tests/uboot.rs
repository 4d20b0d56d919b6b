//! Debian's U-Boot, unmodified, on the virtual Pi: a GENET driver that nobody here wrote.
//!
//! Needs what `tools/trust/fetch` puts into target/trust: `make trust` runs these.

use board::board::BoardConfig;
use board::host::{Object, fill_body};
use std::ops::Range;
use std::path::PathBuf;
use vpi4::image::Image;
use vpi4::{Cost, Machine, MachineConfig, Stop};

fn third_party(name: &str) -> Vec<u8> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/trust")).join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; tools/trust/fetch brings it", path.display()))
}

const PROMPT: &str = "U-Boot> ";
/// Devices that the virtual board does not have and U-Boot looks for: both card controllers and PCIe.
const ABSENT: [Range<u64>; 3] = [0xfe30_0000..0xfe30_0100, 0xfe34_0000..0xfe34_0100, 0xfd50_0000..0xfd50_a000];
const DOWNLOAD_BYTES: u64 = 9 << 20;

fn uboot(change: impl FnOnce(&mut BoardConfig)) -> Machine {
    let bytes = third_party("u-boot.bin");
    let image = Image { memory_bytes: bytes.len() as u64 + (1 << 20), bytes };
    let mut config = MachineConfig {
        load_address: 0x8_0000,
        limit_ns: 300_000_000_000,
        cost: Cost { counter_read_ns: 1_333, ..Cost::default() },
        foreign_tree: Some(third_party("bcm2711-rpi-4-b.dtb")),
        ..MachineConfig::default()
    };
    config.board = config.board.seeded(1);
    config.board.mini_uart_on_header = true;
    change(&mut config.board);
    config.board.tolerated = ABSENT.to_vec();
    Machine::new(config, &image).unwrap()
}

/// Types `command` at the prompt; what it printed until the next prompt.
fn command(machine: &mut Machine, command: &str) -> String {
    let from = machine.uart().len();
    machine.type_text(format!("{command}\r").as_bytes());
    let stop = machine.run_until_text(PROMPT);
    let text = String::from_utf8_lossy(&machine.uart()[from..]).into_owned();
    assert_eq!(stop, Stop::Text, "{command}: {text}");
    text
}

/// At the prompt, before any network command.
fn at_the_prompt(change: impl FnOnce(&mut BoardConfig)) -> Machine {
    let mut machine = uboot(|board| {
        board.peer.objects = vec![Object { path: "/data".to_owned(), bytes: DOWNLOAD_BYTES }];
        change(board);
    });
    assert_eq!(machine.run_until_text("stop autoboot"), Stop::Text, "{}", console(&machine));
    machine.type_text(b" ");
    assert_eq!(machine.run_until_text(PROMPT), Stop::Text, "{}", console(&machine));
    machine
}

fn console(machine: &Machine) -> String {
    String::from_utf8_lossy(machine.uart()).into_owned()
}

#[test]
#[ignore = "needs Debian's U-Boot: make trust"]
fn gets_an_address_pings_and_downloads() {
    let mut machine = at_the_prompt(|_| {});
    command(&mut machine, "setenv autoload no");
    let dhcp = command(&mut machine, "dhcp");
    assert!(dhcp.contains("DHCP client bound to address 10.77.0.50"), "{dhcp}");
    let ping = command(&mut machine, "ping 10.77.0.1");
    assert!(ping.contains("host 10.77.0.1 is alive"), "{ping}");
    let download = command(&mut machine, "tftpboot 0x2000000 10.77.0.1:data");
    assert!(download.contains(&format!("Bytes transferred = {DOWNLOAD_BYTES}")), "{download}");
    let crc = command(&mut machine, "crc32 0x2000000 ${filesize}");
    eprintln!("{}\n{:#?}\n{:#?}", console(&machine), machine.findings(), machine.stats());
    let mut body = vec![0; DOWNLOAD_BYTES as usize];
    fill_body(0, &mut body);
    let expected = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&body);
    assert!(crc.contains(&format!("==> {expected:08x}")), "{crc}, not {expected:08x}");
    assert_eq!(machine.findings(), []);
}
