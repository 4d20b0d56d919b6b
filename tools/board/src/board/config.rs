//! What a board is made from.

use std::ops::Range;

use crate::dtb::TreeConfig;
use crate::genet::GenetConfig;
use crate::host::HostConfig;
use crate::link::LinkConfig;
use crate::mailbox::MailboxConfig;
use crate::mangle::MangleConfig;
use crate::path::PathConfig;
use crate::storm::StormConfig;

/// Configuration of a board and of the world at its network port. The default world: gigabit link, 0.2 ms round trip,
/// a host with DHCP, DNS and HTTP.
#[derive(Clone, Debug)]
pub struct BoardConfig {
    /// Seed of everything that chance decides; see [`BoardConfig::seeded`].
    pub seed: u64,
    /// Memory of the board, MiB.
    pub memory_mib: u32,
    /// The words of cmdline.txt.
    pub bootargs: String,
    /// Board serial number.
    pub serial: u64,
    /// GENET and PHY; the board's MAC address is there.
    pub genet: GenetConfig,
    /// Cable and partner port.
    pub link: LinkConfig,
    /// Between the partner port and the host.
    pub path: PathConfig,
    /// The host.
    pub peer: HostConfig,
    /// What is done to the host's segments before they reach the switch.
    pub mangle: MangleConfig,
    /// What others send to the board through the switch.
    pub storm: StormConfig,
    /// The mailbox's behaviour.
    pub mailbox: MailboxConfig,
    /// Clock of UART0.
    pub uart_clock_hz: u32,
    /// What the terminal listens at.
    pub terminal_baud: u64,
    /// UART0 is on the header's pins at entry (the disable-bt overlay); otherwise Bluetooth has it.
    pub uart_on_header: bool,
    /// Otherwise the mini UART is on the header's pins (enable_uart=1 without that overlay).
    pub mini_uart_on_header: bool,
    /// ARM clock at entry.
    pub arm_clock_hz: u32,
    /// Its limits.
    pub arm_clock_range_hz: (u32, u32),
    /// Temperature, milli-degrees.
    pub temperature_milli_c: u32,
    /// Throttling flags.
    pub throttled: u32,
    /// Reset-status register as the bootloader found it; also in the tree.
    pub reset_status: u32,
    /// The bootloader's read has cleared the register (raspberrypi/linux 932 says that reading does).
    pub reset_status_cleared: bool,
    /// Addresses without a model that may be touched without complaint.
    pub tolerated: Vec<Range<u64>>,
    /// Two size cells in the tree's `scb` node, as shipped; one as in mainline.
    pub scb_two_size_cells: bool,
    /// Mainline's name of the `scb` node.
    pub mainline_names: bool,
    /// The BOOT_ORDER digit that led here.
    pub boot_mode: u32,
    /// Leave U-Boot's mark in the tree.
    pub uboot: bool,
    /// Mark the tree as a virtual board's.
    pub marked_virtual: bool,
}

impl Default for BoardConfig {
    fn default() -> Self {
        BoardConfig {
            seed: 1,
            memory_mib: 2048,
            bootargs: String::new(),
            serial: 0x1000_0000_6E70_0001,
            genet: GenetConfig::default(),
            link: LinkConfig::default(),
            path: PathConfig::default(),
            peer: HostConfig::default(),
            mangle: MangleConfig::default(),
            storm: StormConfig::default(),
            mailbox: MailboxConfig::default(),
            uart_clock_hz: 48_000_000,
            terminal_baud: 115_200,
            uart_on_header: false,
            mini_uart_on_header: false,
            arm_clock_hz: 600_000_000,
            arm_clock_range_hz: (600_000_000, 1_500_000_000),
            temperature_milli_c: 48_312,
            throttled: 0,
            reset_status: 0x1000,
            reset_status_cleared: false,
            tolerated: Vec::new(),
            scb_two_size_cells: true,
            mainline_names: false,
            boot_mode: 1,
            uboot: false,
            marked_virtual: true,
        }
    }
}

impl BoardConfig {
    /// The same world with every seed derived from `seed`.
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.genet.seed = seed;
        self.link.seed = seed.wrapping_add(0x1000);
        self.path.seed = seed.wrapping_add(0x2000);
        self.peer.seed = seed.wrapping_add(0x3000);
        self.mangle.seed = seed.wrapping_add(0x4000);
        self.storm.seed = seed.wrapping_add(0x5000);
        self
    }

    /// What goes into the device tree.
    pub fn tree(&self) -> TreeConfig {
        TreeConfig {
            memory_mib: self.memory_mib,
            command_line: self.bootargs.clone(),
            serial: self.serial,
            mac: self.genet.mac,
            uart_clock_hz: self.uart_clock_hz,
            scb_two_size_cells: self.scb_two_size_cells,
            mainline_names: self.mainline_names,
            boot_mode: self.boot_mode,
            reset_status: self.reset_status,
            uboot: self.uboot,
            marked_virtual: self.marked_virtual,
        }
    }
}
