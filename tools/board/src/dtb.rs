//! The device tree that the firmware would hand to a kernel on this board.
//!
//! Owns its content: the nodes that a GENET program can need, laid out like the tree that Raspberry Pi's firmware ships
//! (raspberrypi/linux bcm2711-rpi-4-b.dts and bcm2711-rpi-ds.dtsi), with the values the firmware fills in. The blob is
//! written by the `dtoolkit` crate. Does not carry the hundreds of nodes and overlays symbols of the shipped file.

use dtoolkit::error::FdtErrorKind;
use dtoolkit::fdt::Fdt;
use dtoolkit::memreserve::MemoryReservation;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use dtoolkit::{Node, Property as _, ToPropertyValue};
use std::ops::Range;

/// What varies from board to board.
#[derive(Clone, Debug)]
pub struct TreeConfig {
    /// 1024, 2048, 4096 or 8192; other sizes get banks cut to fit.
    pub memory_mib: u32,
    /// The words of cmdline.txt.
    pub command_line: String,
    /// Board serial number.
    pub serial: u64,
    /// The Ethernet address.
    pub mac: [u8; 6],
    /// Clock of UART0.
    pub uart_clock_hz: u32,
    /// Two size cells in `scb`, as in the shipped tree; one as in mainline.
    pub scb_two_size_cells: bool,
    /// Mainline's node name `scb-bus@fc000000` instead of `scb`.
    pub mainline_names: bool,
    /// `/chosen/bootloader/boot-mode`: the BOOT_ORDER digit that led here (1 card, 2 network).
    pub boot_mode: u32,
    /// `/chosen/bootloader/pm_rsts`: the reset-status register as the bootloader found it.
    pub reset_status: u32,
    /// Adds `/chosen/u-boot,version`, as U-Boot does.
    pub uboot: bool,
    /// Adds the root property that tells the virtual board from a real one.
    pub marked_virtual: bool,
}

/// End of the first bank with the default `gpu_mem=76` (seL4 overlays, firmware issue 1191).
pub const FIRST_BANK_END: u64 = 0x3B40_0000;
/// RAM from here on is hidden by the peripherals.
const PERIPHERALS: u64 = 0xFC00_0000;

/// The DTB's own words before the firmware's and cmdline.txt's.
const OWN_BOOTARGS: &str = "coherent_pool=1M 8250.nr_uarts=0 snd_bcm2835.enable_headphones=0";

/// Memory banks (start, length) the firmware reports for a board of `memory_mib`.
pub fn memory_banks(memory_mib: u32) -> Vec<(u64, u64)> {
    let end = u64::from(memory_mib) << 20;
    let mut banks = vec![(0, FIRST_BANK_END.min(end))];
    if end > 0x4000_0000 {
        banks.push((0x4000_0000, end.min(PERIPHERALS) - 0x4000_0000));
    }
    let mut start = 0x1_0000_0000;
    while start < end {
        let length = (end - start).min(0x8000_0000); // one size cell cannot say more
        banks.push((start, length));
        start += length;
    }
    banks
}

/// Board revision code of a Pi 4B with `memory_mib` of memory.
pub fn revision_code(memory_mib: u32) -> u32 {
    match memory_mib {
        ..=1024 => 0xA0_3111, // the last 1 GiB board was 1.1
        1025..=2048 => 0xB0_3115,
        2049..=4096 => 0xC0_3115,
        _ => 0xD0_3115,
    }
}

/// The composed `/chosen/bootargs`: the tree's own words, the firmware's, two spaces, cmdline.txt.
pub fn compose_bootargs(config: &TreeConfig) -> String {
    let [a, b, c, d, e, f] = config.mac;
    format!(
        "{OWN_BOOTARGS} smsc95xx.macaddr={a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{f:02X} \
         vc_mem.mem_base=0x3ec00000 vc_mem.mem_size=0x40000000  {}",
        config.command_line
    )
}

/// The blob.
pub fn build(config: &TreeConfig) -> Vec<u8> {
    let mut tree = DeviceTree::new();
    tree.memory_reservations.push(MemoryReservation::new(0, 0x1000));
    tree.root = root(config);
    tree.to_dtb()
}

/// A tree that somebody else wrote (Debian's kernel package, say) with what the firmware fills in: memory, command line,
/// serial number, revision, Ethernet address, the reserved first page.
///
/// # Errors
/// `base` is no device tree, or it has no Ethernet node under the alias `ethernet0`.
pub fn adapt(base: &[u8], config: &TreeConfig) -> Result<Vec<u8>, String> {
    // The long property name of the timer node is why the checks of names must be off.
    Fdt::new(base).map(drop).or_else(|error| match error.kind {
        FdtErrorKind::InvalidPropertyName => Ok(()),
        _ => Err(format!("not a device tree: {error}")),
    })?;
    let mut tree = DeviceTree::from_fdt(&Fdt::new_unchecked(base));
    if tree.memory_reservations.is_empty() {
        tree.memory_reservations.push(MemoryReservation::new(0, 0x1000));
    }
    let path = tree.find_node("/aliases").and_then(|aliases| aliases.property("ethernet0"));
    let path = path.map(|path| String::from_utf8_lossy(path.value()).trim_end_matches('\0').to_owned());
    let path = path.ok_or("no alias ethernet0")?;
    let ethernet = tree.find_node_mut(&path).ok_or_else(|| format!("no node {path}"))?;
    set(ethernet, "local-mac-address", config.mac);
    let root = &mut tree.root;
    set(root, "serial-number", format!("{:016x}", config.serial).as_str());
    if config.marked_virtual {
        set(root, "genetbench,virtual", 1u32);
    }
    for child in [memory(config.memory_mib), system(config.memory_mib)] {
        root.add_child(child);
    }
    if root.child("chosen").is_none() {
        root.add_child(node("chosen"));
    }
    if let Some(own) = root.child_mut("chosen") {
        set(own, "bootargs", compose_bootargs(config).as_str());
        for child in Node::children(&chosen(config)) {
            own.add_child(child.clone());
        }
    }
    Ok(tree.to_dtb())
}

/// `tree` with the place of an initial RAM disk, as a loader tells a Linux kernel.
///
/// # Errors
/// `tree` is not one of ours: it cannot be read or has no `/chosen`.
pub fn with_initrd(tree: &[u8], place: Range<u64>) -> Result<Vec<u8>, String> {
    let mut tree = DeviceTree::from_fdt(&Fdt::new_unchecked(tree));
    let chosen = tree.root.child_mut("chosen").ok_or("no /chosen")?;
    set(chosen, "linux,initrd-start", place.start);
    set(chosen, "linux,initrd-end", place.end);
    Ok(tree.to_dtb())
}

/// `tree` with the node at `path` switched off.
///
/// # Errors
/// No such node.
pub fn disable(tree: &[u8], path: &str) -> Result<Vec<u8>, String> {
    let mut tree = DeviceTree::from_fdt(&Fdt::new_unchecked(tree));
    set(tree.find_node_mut(path).ok_or_else(|| format!("no node {path}"))?, "status", "disabled");
    Ok(tree.to_dtb())
}

fn set(node: &mut DeviceTreeNode, name: &str, value: impl ToPropertyValue) {
    node.remove_property(name);
    node.add_property(DeviceTreeProperty::new_unchecked(name, value));
}

fn node(name: &str) -> DeviceTreeNode {
    DeviceTreeNode::new_unchecked(name)
}

/// A property added to a node, in the order of the calls.
trait With {
    fn with(self, name: &str, value: impl ToPropertyValue) -> Self;
    fn cells(self, name: &str, cells: &[u32]) -> Self;
    fn strings(self, name: &str, strings: &[&str]) -> Self;
    fn holding(self, child: DeviceTreeNode) -> Self;
}

impl With for DeviceTreeNode {
    fn with(mut self, name: &str, value: impl ToPropertyValue) -> Self {
        self.add_property(DeviceTreeProperty::new_unchecked(name, value));
        self
    }
    fn cells(self, name: &str, cells: &[u32]) -> Self {
        self.with(name, cells.iter().flat_map(|cell| cell.to_be_bytes()).collect::<Vec<u8>>())
    }
    fn strings(self, name: &str, strings: &[&str]) -> Self {
        self.with(name, strings.iter().flat_map(|text| text.bytes().chain([0])).collect::<Vec<u8>>())
    }
    fn holding(mut self, child: DeviceTreeNode) -> Self {
        self.add_child(child);
        self
    }
}

/// Phandles.
const GIC: u32 = 1;
const CLK_UART: u32 = 2;
const PHY: u32 = 3;
const GPIO: u32 = 4;

fn root(config: &TreeConfig) -> DeviceTreeNode {
    let mut root = node("")
        .strings("compatible", &["raspberrypi,4-model-b", "brcm,bcm2711"])
        .with("model", model(config.memory_mib))
        .with("#address-cells", 2u32)
        .with("#size-cells", 1u32)
        .with("interrupt-parent", GIC)
        .with("serial-number", format!("{:016x}", config.serial).as_str());
    if config.marked_virtual {
        root = root.with("genetbench,virtual", 1u32);
    }
    let scb = if config.mainline_names { "/scb-bus@fc000000" } else { "/scb" };
    root.holding(
        node("aliases")
            .with("serial0", "/soc/serial@7e201000")
            .with("ethernet0", format!("{scb}/ethernet@7d580000").as_str()),
    )
    .holding(chosen(config))
    .holding(reserved_memory())
    .holding(system(config.memory_mib))
    .holding(memory(config.memory_mib))
    .holding(clocks(config.uart_clock_hz))
    .holding(cpus())
    .holding(timer())
    .holding(soc())
    .holding(bus(config, scb))
}

fn model(memory_mib: u32) -> &'static str {
    if memory_mib <= 1024 { "Raspberry Pi 4 Model B Rev 1.1" } else { "Raspberry Pi 4 Model B Rev 1.5" }
}

fn chosen(config: &TreeConfig) -> DeviceTreeNode {
    let mut chosen = node("chosen").with("bootargs", compose_bootargs(config).as_str());
    if config.uboot {
        chosen = chosen.with("u-boot,version", "2025.01");
    }
    chosen.holding(node("bootloader").with("boot-mode", config.boot_mode).with("pm_rsts", config.reset_status))
}

fn reserved_memory() -> DeviceTreeNode {
    node("reserved-memory")
        .with("#address-cells", 2u32)
        .with("#size-cells", 1u32)
        .cells("ranges", &[])
        .holding(
            node("linux,cma")
                .with("compatible", "shared-dma-pool")
                .cells("size", &[0x400_0000])
                .cells("reusable", &[])
                .cells("linux,cma-default", &[]),
        )
        .holding(
            node("nvram@0")
                .with("compatible", "raspberrypi,bootloader-config")
                .cells("reg", &[0, 0x3EE6_2B00, 0x51])
                .cells("no-map", &[]),
        )
}

fn system(memory_mib: u32) -> DeviceTreeNode {
    node("system").with("linux,revision", revision_code(memory_mib))
}

fn memory(memory_mib: u32) -> DeviceTreeNode {
    let cells: Vec<u32> = memory_banks(memory_mib)
        .into_iter()
        .flat_map(|(start, length)| [(start >> 32) as u32, start as u32, length as u32])
        .collect();
    node("memory@0").with("device_type", "memory").cells("reg", &cells)
}

fn clocks(uart_clock_hz: u32) -> DeviceTreeNode {
    node("clocks").holding(
        node("clk-uart")
            .with("compatible", "fixed-clock")
            .with("#clock-cells", 0u32)
            .with("clock-output-names", "uart0_pclk")
            .with("clock-frequency", uart_clock_hz)
            .with("phandle", CLK_UART),
    )
}

fn cpus() -> DeviceTreeNode {
    (0..4u32).fold(
        node("cpus").with("#address-cells", 1u32).with("#size-cells", 0u32).with("enable-method", "brcm,bcm2836-smp"),
        |cpus, core| {
            cpus.holding(
                node(&format!("cpu@{core}"))
                    .with("device_type", "cpu")
                    .with("compatible", "arm,cortex-a72")
                    .with("reg", core)
                    .with("enable-method", "spin-table")
                    .with("cpu-release-addr", 0xD8 + 8 * u64::from(core)),
            )
        },
    )
}

fn timer() -> DeviceTreeNode {
    // PPIs 13, 14, 11, 10; active low, mask of four cores.
    let cells: Vec<u32> = [13, 14, 11, 10].into_iter().flat_map(|ppi| [1, ppi, 0xF08]).collect();
    node("timer")
        .with("compatible", "arm,armv8-timer")
        .cells("interrupts", &cells)
        .cells("arm,cpu-registers-not-fw-configured", &[])
}

/// A shared interrupt, level high.
fn spi(number: u32) -> [u32; 3] {
    [0, number, 4]
}

fn soc() -> DeviceTreeNode {
    let ranges = [
        [0x7E00_0000, 0, 0xFE00_0000, 0x0180_0000],
        [0x7C00_0000, 0, 0xFC00_0000, 0x0200_0000],
        [0x4000_0000, 0, 0xFF80_0000, 0x0080_0000],
    ];
    node("soc")
        .with("compatible", "simple-bus")
        .with("#address-cells", 1u32)
        .with("#size-cells", 1u32)
        .cells("ranges", ranges.as_flattened())
        .cells("dma-ranges", &[0xC000_0000, 0, 0, 0x4000_0000])
        .holding(
            node("interrupt-controller@40041000")
                .with("compatible", "arm,gic-400")
                .cells("interrupt-controller", &[])
                .with("#interrupt-cells", 3u32)
                .cells("reg", &[0x4004_1000, 0x1000, 0x4004_2000, 0x2000, 0x4004_4000, 0x2000, 0x4004_6000, 0x2000])
                .cells("interrupts", &[1, 9, 0xF04])
                .with("phandle", GIC),
        )
        .holding(
            node("timer@7e003000")
                .with("compatible", "brcm,bcm2835-system-timer")
                .cells("reg", &[0x7E00_3000, 0x1000])
                .with("status", "disabled"),
        )
        .holding(
            node("mailbox@7e00b880")
                .with("compatible", "brcm,bcm2835-mbox")
                .cells("reg", &[0x7E00_B880, 0x40])
                .cells("interrupts", &spi(33))
                .with("#mbox-cells", 0u32),
        )
        .holding(
            node("watchdog@7e100000")
                .strings("compatible", &["brcm,bcm2711-pm", "brcm,bcm2835-pm-wdt"])
                .cells("reg", &[0x7E10_0000, 0x114, 0x7E00_A000, 0x24, 0x7EC1_1000, 0x20]),
        )
        .holding(
            node("gpio@7e200000")
                .with("compatible", "brcm,bcm2711-gpio")
                .cells("reg", &[0x7E20_0000, 0xB4])
                .cells("gpio-controller", &[])
                .with("#gpio-cells", 2u32)
                .with("phandle", GPIO),
        )
        .holding(
            node("serial@7e201000")
                .strings("compatible", &["arm,pl011", "arm,primecell"])
                .cells("reg", &[0x7E20_1000, 0x200])
                .cells("interrupts", &spi(121))
                .cells("clocks", &[CLK_UART, CLK_UART])
                .strings("clock-names", &["uartclk", "apb_pclk"])
                .cells("arm,primecell-periphid", &[0x0034_1011])
                .with("status", "okay"),
        )
}

fn bus(config: &TreeConfig, path: &str) -> DeviceTreeNode {
    let two = config.scb_two_size_cells;
    let size = |bytes: u32| if two { vec![0, bytes] } else { vec![bytes] };
    let ranges = [vec![0, 0x7C00_0000, 0, 0xFC00_0000], size(0x0380_0000)].concat();
    node(&path[1..])
        .with("compatible", "simple-bus")
        .with("#address-cells", 2u32)
        .with("#size-cells", if two { 2u32 } else { 1 })
        .cells("ranges", &ranges)
        .holding(ethernet(config, &[vec![0, 0x7D58_0000], size(0x1_0000)].concat()))
}

fn ethernet(config: &TreeConfig, reg: &[u32]) -> DeviceTreeNode {
    node("ethernet@7d580000")
        .strings("compatible", &["brcm,bcm2711-genet-v5"])
        .cells("reg", reg)
        .with("#address-cells", 1u32)
        .with("#size-cells", 1u32)
        .cells("interrupts", &[spi(157), spi(158)].concat())
        .with("status", "okay")
        .with("phy-handle", PHY)
        .with("phy-mode", "rgmii-rxid")
        .with("local-mac-address", config.mac)
        .holding(
            node("mdio@e14")
                .with("compatible", "brcm,genet-mdio-v5")
                .cells("reg", &[0xE14, 8])
                .with("reg-names", "mdio")
                .with("#address-cells", 1u32)
                .with("#size-cells", 0u32)
                .holding(node("ethernet-phy@1").with("reg", 1u32).with("phandle", PHY)),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(memory_mib: u32) -> TreeConfig {
        TreeConfig {
            memory_mib,
            command_line: "gb.presets=linux console=ttyAMA0".into(),
            serial: 0x1000_0000_ABCD_0001,
            mac: [0xDC, 0xA6, 0x32, 1, 2, 3],
            uart_clock_hz: 48_000_000,
            scb_two_size_cells: true,
            mainline_names: false,
            boot_mode: 1,
            reset_status: 0x1000,
            uboot: false,
            marked_virtual: true,
        }
    }

    #[test]
    fn banks_follow_the_board_size() {
        assert_eq!(memory_banks(1024), [(0, 0x3B40_0000)]);
        assert_eq!(memory_banks(2048), [(0, 0x3B40_0000), (0x4000_0000, 0x4000_0000)]);
        assert_eq!(memory_banks(4096), [(0, 0x3B40_0000), (0x4000_0000, 0xBC00_0000)]);
        assert_eq!(
            memory_banks(8192),
            [(0, 0x3B40_0000), (0x4000_0000, 0xBC00_0000), (0x1_0000_0000, 0x8000_0000), (0x1_8000_0000, 0x8000_0000)]
        );
        assert_eq!(memory_banks(128), [(0, 128 << 20)]);
    }

    #[test]
    fn a_parser_finds_what_the_firmware_needs() {
        for (two, mainline) in [(true, false), (false, true)] {
            let blob = build(&TreeConfig { scb_two_size_cells: two, mainline_names: mainline, ..config(8192) });
            // The timer node's long property name is in the shipped tree too; the parser refuses it by default.
            let error = Fdt::new(&blob).expect_err("a name of 35 characters");
            assert_eq!(error.kind, FdtErrorKind::InvalidPropertyName);
            let fdt = Fdt::new_unchecked(&blob);
            let genet = format!("/{}/ethernet@7d580000", if mainline { "scb-bus@fc000000" } else { "scb" });
            let genet = fdt.find_node(&genet).expect("GENET node");
            assert_eq!(genet.property("local-mac-address").map(|p| p.value().to_vec()), Some(config(1).mac.to_vec()));
            let reg = genet.reg().expect("reg").expect("present").next().expect("one entry");
            assert_eq!(reg.address::<u64>().expect("address"), 0x7D58_0000);
            assert_eq!(reg.size::<u64>().expect("size"), 0x1_0000);
            let chosen = fdt.find_node("/chosen").expect("chosen");
            let bootargs = chosen.property("bootargs").expect("bootargs").value().to_vec();
            assert!(bootargs.ends_with(b"  gb.presets=linux console=ttyAMA0\0"));
            let banks = fdt.find_node("/memory@0").expect("memory").reg().expect("reg").expect("present").count();
            assert_eq!(banks, 4);
            assert!(fdt.root().property("genetbench,virtual").is_some());
            assert_eq!(fdt.memory_reservations().next().map(|r| (r.address(), r.size())), Some((0, 0x1000)));
        }
    }

    #[test]
    fn a_foreign_tree_keeps_its_nodes_and_gets_the_boards_facts() {
        let foreign = build(&TreeConfig { mainline_names: true, marked_virtual: false, ..config(1024) });
        let adapted = adapt(&foreign, &TreeConfig { mac: [2, 3, 4, 5, 6, 7], ..config(8192) }).unwrap();
        let fdt = Fdt::new_unchecked(&adapted);
        let genet = fdt.find_node("/scb-bus@fc000000/ethernet@7d580000").expect("GENET node");
        assert_eq!(genet.property("local-mac-address").map(|p| p.value().to_vec()), Some(vec![2, 3, 4, 5, 6, 7]));
        assert_eq!(fdt.find_node("/memory@0").unwrap().reg().unwrap().unwrap().count(), 4);
        assert!(fdt.root().property("genetbench,virtual").is_some());
        assert!(fdt.find_node("/timer").is_some(), "kept");
        assert!(adapt(b"no tree", &config(1024)).is_err());
        assert!(adapt(&DeviceTree::new().to_dtb(), &config(1024)).is_err());
    }
}
