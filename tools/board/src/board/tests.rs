//! Tests of decoding, wiring and event order.

use super::*;
use crate::env::FlatMemory;
use crate::source::Silent;

fn board(config: BoardConfig) -> (Board, FlatMemory) {
    (Board::new(config, Box::new(Silent)), FlatMemory::new(0, 0x10_0000))
}

const UART: u64 = 0xFE20_1000;

/// Puts the UART on the header and starts it.
fn start_uart(board: &mut Board, mem: &mut FlatMemory) {
    for (pa, value) in [
        (0xFE20_0004, 4 << 12 | 4 << 15),
        (UART + 0x30, 0),
        (UART + 0x24, 26),
        (UART + 0x28, 3),
        (UART + 0x2C, 0x70),
        (UART + 0x30, 0x301),
    ] {
        board.write(0, pa, 4, value, mem);
    }
}

#[test]
fn text_comes_out_of_the_uart_with_its_times() {
    let (mut board, mut mem) = board(BoardConfig::default());
    start_uart(&mut board, &mut mem);
    for byte in b"hello" {
        board.write(0, UART, 4, u32::from(*byte), &mut mem);
    }
    while let Some(at) = board.next_event().filter(|at| *at < 1_000_000) {
        board.run(at, &mut mem);
    }
    let sent = board.take_uart_timed();
    assert_eq!(sent.iter().map(|sent| sent.byte).collect::<Vec<_>>(), b"hello");
    assert!(sent.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns >= 86_822));
    assert!(board.findings().is_empty(), "{:?}", board.findings());
}

#[test]
fn typed_bytes_interrupt_a_core() {
    let (mut board, mut mem) = board(BoardConfig::default());
    start_uart(&mut board, &mut mem);
    for (pa, size, value) in [
        (UART + 0x38, 4, 0x50),
        (0xFF84_1000, 4, 1),
        (0xFF84_1800 + 153, 1, 1),
        (0xFF84_1100 + 16, 4, 1 << 25),
        (0xFF84_2004, 4, 0xF0),
        (0xFF84_2000, 4, 1),
    ] {
        board.write(0, pa, size, value, &mut mem);
    }
    board.uart_input(0, b"x");
    board.run(10_000_000, &mut mem);
    assert!(board.irq(0));
    assert_eq!(board.read(10_000_000, 0xFF84_200C, 4, &mut mem), 153);
    assert_eq!(board.read(10_000_000, UART, 4, &mut mem), u32::from(b'x'));
    board.write(10_000_000, 0xFF84_2010, 4, 153, &mut mem);
    assert!(!board.irq(0));
    assert!(board.findings().is_empty(), "{:?}", board.findings());
}

#[test]
fn genet_answers_and_rejects_other_widths() {
    let (mut board, mut mem) = board(BoardConfig::default());
    assert_eq!(board.read(0, 0xFD58_0000, 4, &mut mem), 0x0600_0000);
    board.read(0, 0xFD58_0000, 1, &mut mem);
    board.write(0, 0xFD58_0002, 4, 0, &mut mem);
    assert_eq!(board.findings().len(), 2);
}

#[test]
fn strangers_are_reported_once_for_each_direction() {
    let tolerated = std::iter::once(0xFE34_0000..0xFE34_0100).collect();
    let (mut board, mut mem) = board(BoardConfig { tolerated, ..BoardConfig::default() });
    for _ in 0..3 {
        assert_eq!(board.read(0, 0xFE98_0040, 4, &mut mem), 0);
        board.write(0, 0xFE98_0040, 4, 1, &mut mem);
        board.read(0, 0xFE34_0004, 4, &mut mem);
    }
    let texts: Vec<_> = board.findings().iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(texts, ["unmodelled device at 0xfe980040, read", "unmodelled device at 0xfe980040, write of 0x1"]);
}

#[test]
fn the_watchdog_resets_at_its_time() {
    let (mut board, mut mem) = board(BoardConfig::default());
    board.write(0, 0xFE10_0024, 4, 0x5A00_0000 | 655, &mut mem);
    board.write(0, 0xFE10_001C, 4, 0x5A00_0000 | 0x122, &mut mem);
    board.run(9_000_000, &mut mem);
    assert_eq!(board.reset_requested(), None);
    board.run(20_000_000, &mut mem);
    assert_eq!(board.reset_requested(), Some(9_994_507));
}

#[test]
fn the_mailbox_reads_and_writes_memory() {
    let (mut board, mut mem) = board(BoardConfig { memory_mib: 4096, ..BoardConfig::default() });
    let request: Vec<u8> = [28u32, 0, 0x1_0002, 4, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    mem.bytes_mut()[0x1000..0x1000 + 28].copy_from_slice(&request);
    board.write(0, 0xFE00_B8A0, 4, 0xC000_1008, &mut mem);
    board.run(100_000, &mut mem);
    assert_eq!(board.read(100_000, 0xFE00_B880, 4, &mut mem), 0xC000_1008);
    assert_eq!(mem.bytes()[0x1014..0x1018], 0xC0_3115_u32.to_le_bytes());
}

#[test]
fn a_world_follows_from_its_seed() {
    let config = BoardConfig::default().seeded(9);
    assert_eq!((config.seed, config.genet.seed), (9, 9));
    assert_ne!(config.link.seed, config.path.seed);
    let run = || {
        let mut board = Board::with_default_host(config.clone());
        let mut mem = FlatMemory::new(0, 0x1000);
        let mut times = Vec::new();
        while let Some(at) = board.next_event().filter(|at| *at < 5_000_000_000) {
            board.run(at, &mut mem);
            times.push(at);
        }
        times
    };
    assert_eq!(run(), run());
}
