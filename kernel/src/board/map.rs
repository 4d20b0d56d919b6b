//! Addresses and interrupt numbers of a Pi 4 in low-peripheral mode (Linux bcm2711.dtsi and
//! bcm283x.dtsi, Circle bcm2711.h).

/// GPIO controller.
pub const GPIO: usize = 0xfe20_0000;
/// PL011 UART0.
pub const UART0: usize = 0xfe20_1000;
/// VideoCore mailbox.
pub const MAILBOX: usize = 0xfe00_b880;
/// Power management block with the watchdog.
pub const PM: usize = 0xfe10_0000;
/// GIC-400 distributor.
pub const GICD: usize = 0xff84_1000;
/// GIC-400 CPU interface.
pub const GICC: usize = 0xff84_2000;
/// GENET v5 Ethernet MAC, 64 KiB.
pub const GENET: usize = 0xfd58_0000;

/// EL1 physical timer of each core (PPI 14).
pub const INTID_TIMER: u32 = 30;
/// All PL011 UARTs (SPI 121).
pub const INTID_UART: u32 = 153;
/// GENET, everything in INTRL2_0 (SPI 157).
pub const INTID_GENET_0: u32 = 189;
/// GENET, everything in INTRL2_1 (SPI 158).
pub const INTID_GENET_1: u32 = 190;
