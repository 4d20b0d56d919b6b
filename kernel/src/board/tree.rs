//! What we take from the device tree. Parsing is the `dtoolkit` crate's work; nodes are found by
//! compatible string, since their names and cell sizes differ between Linux's tree and the one
//! that the firmware ships.

mod walk;

use core::ffi::CStr;
use dtoolkit::error::FdtErrorKind;
use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::{Node, Property};

/// A memory bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// First byte, physical.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// Most banks that any Pi 4 has, with room to spare.
pub const MAX_BANKS: usize = 6;

/// How the board was booted, as far as the tree tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootPath {
    /// On the virtual Pi.
    Virtual,
    /// U-Boot handed over.
    Uboot,
    /// The firmware loaded us over the network.
    Network,
    /// The firmware loaded us from a card (or does not say).
    Card,
}

impl BootPath {
    /// The word of the `hello` record.
    pub const fn word(self) -> &'static str {
        match self {
            BootPath::Virtual => "virtual",
            BootPath::Uboot => "uboot",
            BootPath::Network => "net",
            BootPath::Card => "sd",
        }
    }
}

/// The facts, borrowed from the tree's memory.
#[derive(Clone, Debug)]
pub struct BoardTree<'a> {
    /// `/model`.
    pub model: &'a str,
    /// `/chosen/bootargs`: cmdline.txt with the firmware's own words around it.
    pub bootargs: &'a str,
    /// `local-mac-address` of the GENET node, if it is not all zero.
    pub mac: Option<[u8; 6]>,
    /// Memory banks; only the first `bank_count` are filled.
    pub banks: [Bank; MAX_BANKS],
    /// Number of banks.
    pub bank_count: usize,
    /// How we came here.
    pub boot: BootPath,
    /// The tree is the virtual Pi's.
    pub is_virtual: bool,
    /// PM_RSTS as the bootloader found it (`/chosen/bootloader/pm_rsts`): reading the register may clear it.
    pub reset_status: Option<u32>,
    fdt: Fdt<'a>,
    blob: &'a [u8],
}

/// Property of the root node that only the virtual Pi's tree has.
const VIRTUAL: &str = "genetbench,virtual";
/// Value of `/chosen/bootloader/boot-mode` for a network boot (BOOT_ORDER digit).
const BOOT_MODE_NETWORK: u32 = 2;

impl<'a> BoardTree<'a> {
    /// Reads the tree in `blob`. `None` if it is not a valid tree.
    pub fn parse(blob: &'a [u8]) -> Option<Self> {
        let fdt = match Fdt::new(blob) {
            Ok(fdt) => fdt,
            // The shipped tree breaks the specification's limit of 31 characters for names (bcm2711.dtsi:
            // arm,cpu-registers-not-fw-configured). The parser stopped checking there; everything else must hold.
            Err(error)
                if matches!(error.kind, FdtErrorKind::InvalidPropertyName | FdtErrorKind::InvalidNodeName)
                    && walk::is_whole(blob) =>
            {
                Fdt::new_unchecked(blob)
            }
            Err(_) => return None,
        };
        let root = fdt.root();
        let is_virtual = root.property(VIRTUAL).is_some();
        let mut tree = BoardTree {
            model: string(&root, "model").unwrap_or("unknown model"),
            bootargs: "",
            mac: None,
            banks: [Bank { start: 0, bytes: 0 }; MAX_BANKS],
            bank_count: 0,
            boot: BootPath::Card,
            is_virtual,
            reset_status: None,
            fdt,
            blob,
        };
        if let Some(chosen) = fdt.find_node("/chosen") {
            tree.bootargs = string(&chosen, "bootargs").unwrap_or("");
            tree.reset_status = chosen.child("bootloader").and_then(|b| word(&b, "pm_rsts"));
            if chosen.property("u-boot,version").is_some() {
                tree.boot = BootPath::Uboot;
            } else if is_virtual {
                tree.boot = BootPath::Virtual;
            } else if chosen.child("bootloader").and_then(|b| word(&b, "boot-mode")) == Some(BOOT_MODE_NETWORK) {
                tree.boot = BootPath::Network;
            }
        }
        for node in root.children().filter(|n| string(n, "device_type") == Some("memory")) {
            tree.add_banks(&node);
        }
        if let Some(genet) = find_compatible(root, &["brcm,bcm2711-genet-v5", "brcm,genet-v5"], 0) {
            tree.mac = genet
                .property("local-mac-address")
                .and_then(|p| p.value().try_into().ok())
                .filter(|mac| *mac != [0; 6]);
        }
        Some(tree)
    }

    fn add_banks(&mut self, node: &FdtNode<'a>) {
        let Ok(Some(regs)) = node.reg() else { return };
        for reg in regs {
            let (Ok(start), Ok(bytes)) = (reg.address::<u64>(), reg.size::<u64>()) else { continue };
            if bytes != 0 && self.bank_count < MAX_BANKS {
                self.banks[self.bank_count] = Bank { start, bytes };
                self.bank_count += 1;
            }
        }
    }

    /// The memory banks.
    pub fn banks(&self) -> &[Bank] {
        &self.banks[..self.bank_count]
    }

    /// True if the range lies in one bank and nobody has reserved a part of it: no `/memreserve/`, no child of
    /// `/reserved-memory`.
    pub fn is_free(&self, start: u64, bytes: u64) -> bool {
        let end = start + bytes;
        let inside = |bank: &Bank| start >= bank.start && end <= bank.start.saturating_add(bank.bytes);
        let apart = |from: u64, length: u64| from >= end || from.saturating_add(length) <= start;
        let reserved = self.fdt.find_node("/reserved-memory");
        let mut children = reserved.iter().flat_map(|node| node.children());
        self.banks().iter().any(inside)
            && self.reservations().all(|(from, length)| apart(from, length))
            && children.all(|child| match child.reg() {
                Ok(Some(mut regs)) => regs.all(|reg| match (reg.address::<u64>(), reg.size::<u64>()) {
                    (Ok(from), Ok(length)) => apart(from, length),
                    _ => false,
                }),
                _ => true, // a size without a place is not placed yet
            })
    }

    /// Entries of the memory reservation block: address and length.
    fn reservations(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        const OFF_MEM_RSVMAP: usize = 16;
        let number = |bytes: &[u8]| bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let at = self.blob.get(OFF_MEM_RSVMAP..OFF_MEM_RSVMAP + 4).map_or(0, |bytes| number(bytes) as usize);
        let entries = self.blob.get(at..).unwrap_or_default().chunks_exact(16);
        entries.map(move |entry| (number(&entry[..8]), number(&entry[8..]))).take_while(|entry| *entry != (0, 0))
    }

    /// Sum of the banks, MiB; no more than 64 bits of bytes.
    pub fn memory_mib(&self) -> u64 {
        self.banks().iter().fold(0u64, |sum, bank| sum.saturating_add(bank.bytes)) >> 20
    }
}

/// The first string of a property.
fn string<'a>(node: &FdtNode<'a>, name: &str) -> Option<&'a str> {
    let value = node.property(name)?.value_as::<&'a [u8]>().ok()?;
    CStr::from_bytes_until_nul(value).ok()?.to_str().ok()
}

fn word(node: &FdtNode<'_>, name: &str) -> Option<u32> {
    Some(u32::from_be_bytes(node.property(name)?.value().get(..4)?.try_into().ok()?))
}

/// Deepest node that is looked at: GENET sits two levels below the root.
const MAX_DEPTH: usize = 4;

fn find_compatible<'a>(node: FdtNode<'a>, wanted: &[&str], depth: usize) -> Option<FdtNode<'a>> {
    let matches = |list: &[u8]| list.split(|&b| b == 0).any(|c| wanted.iter().any(|w| w.as_bytes() == c));
    if node.property("compatible").is_some_and(|p| matches(p.value())) {
        return Some(node);
    }
    if depth == MAX_DEPTH {
        return None;
    }
    node.children().find_map(|child| find_compatible(child, wanted, depth + 1))
}
