//! Tests of the UART.

use super::*;

const CLOCK_HZ: u64 = 48_000_000;
/// 10 bits at 48 MHz / (26 + 3/64) / 16: 86,822.92 ns.
const BYTE_NS: u64 = 86_822;

fn started() -> (Pl011, Vec<Finding>) {
    let (mut uart, mut findings) = (Pl011::new(CLOCK_HZ, 115_200), Vec::new());
    uart.set_pins(true);
    for (offset, value) in [(0x30, 0), (0x24, 26), (0x28, 3), (0x2C, 0x70), (0x30, 0x301)] {
        uart.write(0, offset, 4, value, &mut findings);
    }
    (uart, findings)
}

fn flags(uart: &mut Pl011, now: u64) -> u32 {
    uart.read(now, 0x18, 4, &mut Vec::new())
}

#[test]
fn bytes_take_their_time_exactly() {
    let (mut uart, mut findings) = started();
    for byte in 0..30 {
        uart.write(0, 0, 4, byte, &mut findings);
    }
    while let Some(due) = uart.next_event() {
        uart.run(due, &mut findings);
    }
    let output = uart.take_output();
    assert!(output.iter().enumerate().all(|(at, sent)| sent.byte == at as u8));
    // No rounding adds up: the thirtieth byte ends where thirty exact bytes end.
    assert_eq!(output[0].at_ns, BYTE_NS + 1);
    assert_eq!(output[29].at_ns, (30 * 10 * 1667 * 1_000_000_000_u64).div_ceil(CLOCK_HZ * 4));
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn fifo_holds_32_besides_the_shift_register() {
    let (mut uart, mut findings) = started();
    for byte in 0..33 {
        assert_eq!(flags(&mut uart, 0) & 0x20, 0, "{byte}");
        uart.write(0, 0, 4, byte, &mut findings);
    }
    assert_eq!(flags(&mut uart, 0) & 0xA8, 0x28, "full, not empty, busy");
    uart.write(0, 0, 4, 99, &mut findings);
    assert_eq!(findings.len(), 1);
    assert_eq!(flags(&mut uart, BYTE_NS + 1) & 0x20, 0);
    assert_eq!(flags(&mut uart, 40 * BYTE_NS) & 0x88, 0x80);
    assert_eq!(uart.take_output().len(), 33);
}

#[test]
fn transmit_interrupt_comes_when_the_fifo_falls_to_its_level() {
    let (mut uart, mut findings) = started();
    uart.write(0, 0x34, 4, 0, &mut findings); // one eighth: 4 bytes
    uart.write(0, 0x38, 4, TX, &mut findings);
    for byte in 0..9 {
        uart.write(0, 0, 4, byte, &mut findings); // one in the shift register, eight in the FIFO
    }
    assert!(!uart.irq());
    uart.run(4 * (BYTE_NS + 1) - 1000, &mut findings);
    assert!(!uart.irq(), "five left");
    uart.run(4 * (BYTE_NS + 1), &mut findings);
    assert!(uart.irq(), "four left");
    uart.write(4 * (BYTE_NS + 1), 0, 4, 9, &mut findings);
    assert!(!uart.irq(), "above the level again");
    uart.run(6 * (BYTE_NS + 1), &mut findings);
    assert!(uart.irq());
    uart.write(6 * (BYTE_NS + 1), 0x44, 4, TX, &mut findings);
    assert!(!uart.irq(), "cleared");
}

#[test]
fn receive_interrupt_by_level_and_by_timeout() {
    let (mut uart, mut findings) = started();
    uart.write(0, 0x38, 4, RX | RX_TIMEOUT, &mut findings); // level one half: 16 bytes
    uart.type_bytes(0, &[7; 17]);
    let byte_ns = 10_000_000_000_u64.div_ceil(115_200);
    uart.run(15 * byte_ns, &mut findings);
    assert!(!uart.irq());
    uart.run(16 * byte_ns, &mut findings);
    assert_eq!(uart.read(16 * byte_ns, 0x40, 4, &mut findings), RX);
    for _ in 0..16 {
        assert_eq!(uart.read(16 * byte_ns, 0, 4, &mut findings), 7);
    }
    assert!(!uart.irq());
    // The seventeenth waits alone: 32 bit times later the timeout tells.
    uart.run(17 * byte_ns + 277_000, &mut findings);
    assert!(!uart.irq());
    uart.run(17 * byte_ns + 279_000, &mut findings);
    assert_eq!(uart.read(18 * byte_ns + 279_000, 0x40, 4, &mut findings), RX_TIMEOUT);
    uart.read(18 * byte_ns + 279_000, 0, 4, &mut findings);
    assert!(!uart.irq());
    assert_ne!(flags(&mut uart, 19 * byte_ns + 279_000) & 0x10, 0, "empty");
}

#[test]
fn too_many_typed_bytes_overrun() {
    let (mut uart, mut findings) = started();
    uart.type_bytes(0, &[1; 40]);
    uart.run(SECOND, &mut findings);
    assert_ne!(uart.read(SECOND, 0x3C, 4, &mut findings) & OVERRUN, 0);
    let mut count = 0;
    while flags(&mut uart, SECOND) & 0x10 == 0 {
        uart.read(SECOND, 0, 4, &mut findings);
        count += 1;
    }
    assert_eq!(count, FIFO_BYTES);
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn output_is_lost_or_garbled_with_one_complaint() {
    let (mut uart, mut findings) = started();
    uart.set_pins(false);
    for _ in 0..3 {
        uart.write(0, 0, 4, 65, &mut findings);
    }
    uart.run(SECOND, &mut findings);
    assert_eq!((uart.take_output().len(), findings.len()), (0, 1));

    let (mut uart, mut findings) = started();
    for (offset, value) in [(0x30, 0), (0x24, 13), (0x2C, 0x70), (0x30, 0x301), (0, 65), (0, 65)] {
        uart.write(SECOND, offset, 4, value, &mut findings);
    }
    uart.run(2 * SECOND, &mut findings);
    let output = uart.take_output();
    assert_eq!((output.len(), findings.len()), (2, 1));
    assert_ne!(output[0].byte, 65);

    let mut uart = Pl011::new(CLOCK_HZ, 115_200);
    let mut findings = Vec::new();
    uart.write(0, 0, 4, 65, &mut findings);
    assert_eq!(findings.len(), 1, "disabled");
}

#[test]
fn a_clock_that_is_not_the_assumed_one_garbles() {
    // init_uart_clock says 64 MHz, the divisors are those for 48 MHz.
    let (mut uart, mut findings) = (Pl011::new(64_000_000, 115_200), Vec::new());
    uart.set_pins(true);
    for (offset, value) in [(0x24, 26), (0x28, 3), (0x2C, 0x70), (0x30, 0x301), (0, 65)] {
        uart.write(0, offset, 4, value, &mut findings);
    }
    uart.run(SECOND, &mut findings);
    assert_ne!(uart.take_output()[0].byte, 65);
    assert_eq!(findings.len(), 1);
}

#[test]
fn divisors_count_from_the_next_write_of_lcrh() {
    let (mut uart, mut findings) = started();
    uart.write(0, 0x24, 4, 1, &mut findings);
    assert_eq!(findings.len(), 1, "changed while enabled");
    uart.write(0, 0, 4, 65, &mut findings);
    uart.run(BYTE_NS + 1, &mut findings);
    assert_eq!(uart.take_output()[0].byte, 65);
}
