//! Debian's U-Boot, unmodified, on the virtual Pi: a GENET driver that nobody here wrote, and the way from it into our
//! image.
//!
//! Needs what `tools/trust/fetch` puts into target/trust: `make trust` runs these.

use board::board::BoardConfig;
use board::genet::SlotRule;
use board::host::fill_body;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use vpi4::guests::{SMALL_BYTES, await_text, uboot_at_prompt};
use vpi4::{Machine, Stop};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/trust");

fn at_the_prompt(change: impl FnOnce(&mut BoardConfig)) -> Machine {
    uboot_at_prompt(Path::new(FOLDER), change).unwrap()
}

fn command(machine: &mut Machine, command: &str) -> String {
    vpi4::guests::uboot_command(machine, command).unwrap()
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
    let download = command(&mut machine, "tftpboot 0x2000000 10.77.0.1:small");
    assert!(download.contains(&format!("Bytes transferred = {SMALL_BYTES}")), "{download}");
    let crc = command(&mut machine, "crc32 0x2000000 ${filesize}");
    let mut body = vec![0; SMALL_BYTES as usize];
    fill_body(0, &mut body);
    let expected = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&body);
    assert!(crc.contains(&format!("==> {expected:08x}")), "{crc}, not {expected:08x}");
    assert_eq!(machine.findings(), []);
}

fn kernel() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img");
    std::fs::read(path).expect("target/kernel8.img: run `make kernel`")
}

/// From U-Boot's prompt, its port used, into our image; the console from there on, and the last value that U-Boot wrote to
/// each GENET register.
fn booti(change: impl FnOnce(&mut BoardConfig)) -> (Machine, String, BTreeMap<u64, u32>) {
    let mut machine = at_the_prompt(|board| {
        board.peer.files = vec![("kernel8.img".to_owned(), kernel().into())];
        change(board);
    });
    let written = Rc::new(RefCell::new(BTreeMap::new()));
    let (seen, from_us) = (written.clone(), Rc::new(Cell::new(false)));
    let stop_noting = from_us.clone();
    machine.set_trace(Box::new(move |access| {
        if access.write && !from_us.get() && (0xfd58_0000..0xfd59_0000).contains(&access.address) {
            seen.borrow_mut().insert(access.address - 0xfd58_0000, access.value);
        }
    }));
    command(&mut machine, "setenv autoload no");
    command(&mut machine, "dhcp");
    let download = command(&mut machine, "tftpboot ${kernel_addr_r} 10.77.0.1:kernel8.img");
    assert!(download.contains("Bytes transferred"), "{download}");
    command(&mut machine, "setenv bootargs gb.presets=linux,freebsd,poll gb.warmup_ms=5 gb.window_ms=20");
    let from = machine.uart().len();
    machine.type_text(b"booti ${kernel_addr_r} - ${fdt_addr}\r");
    await_text(&mut machine, "Starting kernel").unwrap();
    stop_noting.set(true);
    let stop = machine.run();
    let text = String::from_utf8_lossy(&machine.uart()[from..]).into_owned();
    assert_eq!(stop, Stop::Bye("ok".to_owned()), "{text}");
    assert_eq!(machine.findings(), []);
    let written = written.borrow().clone();
    (machine, text, written)
}

/// Registers whose `found` value need not be what was written last: commands, status and write-one registers.
const COMMANDS: [Range<u64>; 4] = [0x200..0x270, 0x808..0x80c, 0xe14..0xe18, 0xd80..0xd84];

#[test]
#[ignore = "needs Debian's U-Boot: make trust"]
fn boots_our_image_by_booti_with_the_port_as_it_left_it() {
    // U-Boot sets its pointers to 0 and its slot to the index modulo 256: if pointers rule, it can only work from
    // an index that is a multiple of 256, as after power-on.
    for (slots, found) in [(SlotRule::Pointer, (0, 0)), (SlotRule::IndexModuloSize, (0xfff0, 0x1234))] {
        let (_, text, written) = booti(|board| {
            board.genet.switches.slots = slots;
            (board.genet.found.rx_index, board.genet.found.tx_index) = (Some(found.0), Some(found.1));
        });
        assert!(text.contains(" boot=uboot ") && text.contains(" virtual=1 "), "{text}");
        let mut compared = 0;
        for line in text.lines().filter(|line| line.contains(" found ") && !line.contains("block=phy")) {
            let number = |key: &str| {
                let word = line.split([' ', '*']).find_map(|word| word.strip_prefix(key)).unwrap();
                u64::from_str_radix(word, 16).unwrap()
            };
            let (offset, value) = (number("offset=0x"), number("value=0x"));
            if let Some(last) = written.get(&offset).filter(|_| !COMMANDS.iter().any(|range| range.contains(&offset))) {
                // A running engine moves its own pointer and index on.
                let moved = [0x3000, 0x3008, 0x5000, 0x5008].contains(&offset);
                assert!(moved || value == u64::from(*last), "{line}, U-Boot wrote {last:#x}");
                compared += u32::from(!moved);
            }
        }
        assert!(compared >= 20, "{compared} registers compared");
        assert!(text.contains("reg=ring16_mbuf_done_thresh") && text.contains("reg=ctrl offset=0x3044 value=0x20000"));
        for preset in ["linux", "freebsd", "poll"] {
            let line =
                text.lines().find(|line| line.contains(&format!("preset={preset} ")) && line.contains(" result "));
            let bps = line.and_then(|line| line.split(' ').find_map(|word| word.strip_prefix("payload_bps="))).unwrap();
            assert!(bps.parse::<u64>().unwrap() > 940_000_000, "{slots:?}: {line:?}");
        }
    }
}
