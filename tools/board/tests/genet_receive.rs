//! Receive path of the model: descriptors, indices, discards, filters, errors, counters.

mod common;

use board::genet::{Arriving, DefaultRing, DiscardEnd, EmptyFilter, GenetConfig, Ideal, Inherited, SlotRule, Switches};
use board::link::LinkConfig;
use board::source::{PacedSource, Silent};
use common::*;

fn quiet(switches: Switches) -> Bench {
    let cfg = GenetConfig { switches, ..GenetConfig::default() };
    Bench::up(&cfg, &LinkConfig::default(), Silent).0
}

fn inject(bench: &mut Bench, arriving: &Arriving) {
    bench.with(|genet, now, env| genet.inject(now, arriving, env));
}

fn good(destination: [u8; 6], len: usize) -> Arriving {
    Arriving { bytes: frame(destination, len), ..Arriving::default() }
}

#[test]
fn a_frame_lands_behind_two_pad_bytes_with_its_word() {
    let mut bench = quiet(Switches::default());
    inject(&mut bench, &good(MAC, 100));
    inject(&mut bench, &good([0xFF; 6], 60));
    inject(&mut bench, &good([1, 0, 0x5E, 0, 0, 1], 60));
    assert_eq!(bench.read(PROD), 3);
    assert_eq!(bench.read(0x3000), 9, "WRITE_PTR counts words");
    assert_eq!(bench.read(0x2000), 102 << 16 | 0x6000);
    assert_eq!(bench.read(0x200C), 62 << 16 | 0x6000 | 1 << 6);
    assert_eq!(bench.read(0x2018), 62 << 16 | 0x6000 | 1 << 5);
    assert_eq!(&bench.buffer(0)[2..102], &frame(MAC, 100)[..]);
    bench.assert_clean();
}

#[test]
fn crc_forward_and_status_block_change_the_layout() {
    let mut bench = quiet(Switches::default());
    bench.write(CMD, 0x0B | 1 << 6);
    bench.write(0x300, 0xC043);
    inject(&mut bench, &good(MAC, 100));
    assert_eq!(bench.read(0x2000), (64 + 2 + 100 + 4) << 16 | 0x6000);
    let buffer = bench.buffer(0);
    assert_eq!(&buffer[66..166], &frame(MAC, 100)[..]);
    assert_eq!(buffer[166..170], board::genet::fcs(&frame(MAC, 100)).to_le_bytes());
    assert_eq!(buffer[0..4], (170 << 16 | 0x6000u32).to_le_bytes());
}

#[test]
fn a_full_ring_discards_and_counts_to_its_switch() {
    for (discards, end) in [(DiscardEnd::Saturates, 0xFFFF), (DiscardEnd::Wraps, 0x0005)] {
        let mut bench = quiet(Switches { discards, ..Switches::default() });
        for _ in 0..256 {
            inject(&mut bench, &good(MAC, 60));
        }
        assert_eq!(bench.read(PROD), 256);
        for _ in 0..3 {
            inject(&mut bench, &good(MAC, 60));
        }
        assert_eq!(bench.read(PROD), 3 << 16 | 256);
        // The discard half takes writes always, the index half only while the ring is off.
        bench.write(PROD, 0);
        assert_eq!(bench.read(PROD), 256);
        bench.write(PROD, 0xFFFE << 16);
        for _ in 0..7 {
            inject(&mut bench, &good(MAC, 60));
        }
        assert_eq!(bench.read(PROD), end << 16 | 256);
        bench.write(CONS, 1);
        inject(&mut bench, &good(MAC, 60));
        assert_eq!(bench.prod(), 257);
        bench.assert_clean();
    }
}

#[test]
fn posting_fewer_descriptors_by_the_consumer_index() {
    let mut bench = quiet(Switches::default());
    // Ring off, PROD 256 and CONS 0 say "full", then two are posted: OpenBSD's way.
    bench.write(RX_CTRL, 0);
    bench.write(PROD, 256);
    bench.write(CONS, 2);
    bench.write(RX_CTRL, 1 << 17 | 1);
    for _ in 0..3 {
        inject(&mut bench, &good(MAC, 60));
    }
    assert_eq!(bench.read(PROD), 1 << 16 | 258);
    // The same without touching PROD: CONS behind by what is not posted.
    let mut bench = quiet(Switches::default());
    bench.write(CONS, 4u32.wrapping_sub(256) & 0xFFFF);
    for _ in 0..6 {
        inject(&mut bench, &good(MAC, 60));
    }
    assert_eq!(bench.read(PROD), 2 << 16 | 4);
    bench.assert_clean();
}

#[test]
fn index_and_pointer_ignore_writes_while_the_ring_bit_is_set() {
    let mut bench = quiet(Switches::default());
    inject(&mut bench, &good(MAC, 60));
    // U-Boot: DMA_EN off, ring bit left set.
    bench.write(RX_CTRL, 1 << 17);
    bench.write(PROD, 0);
    bench.write(0x3000, 0);
    assert_eq!((bench.read(PROD), bench.read(0x3000)), (1, 3));
    bench.write(RX_CTRL, 0);
    bench.write(PROD, 0);
    bench.write(0x3000, 0);
    assert_eq!((bench.read(PROD), bench.read(0x3000)), (0, 0));
}

#[test]
fn uboot_starts_twice_under_both_slot_rules() {
    for slots in [SlotRule::Pointer, SlotRule::IndexModuloSize] {
        let mut bench = quiet(Switches { slots, ..Switches::default() });
        for k in 0..300u32 {
            inject(&mut bench, &good(MAC, 60));
            bench.write(CONS, k + 1);
        }
        bench.write(RX_CTRL, 1 << 17);
        // Adopt the index, zero the pointers, start again, expect frames at index & 0xFF.
        let adopted = bench.prod();
        bench.write(CONS, u32::from(adopted));
        bench.write(0x3000, 0);
        bench.write(RX_CTRL, 1 << 17 | 1);
        let slot = u32::from(adopted) & 0xFF;
        bench.write(0x2000 + slot * 12, 0);
        inject(&mut bench, &good(MAC, 77));
        assert_eq!(bench.read(0x2000 + slot * 12), 79 << 16 | 0x6000, "{slots:?}");
    }
}

#[test]
fn index_and_pointer_are_two_states() {
    let mut cfg = GenetConfig { inherited: Inherited::UBoot, ..GenetConfig::default() };
    cfg.found.rx_index = Some(0xCDCD);
    cfg.found.rx_slot = Some(63);
    let mut bench = Bench::new(&cfg, &LinkConfig::default(), Silent);
    assert_eq!((bench.read(PROD), bench.read(0x3000)), (0xCDCD, 63 * 3));
    bench.write(0x08C, 0x00F0_0050);
    bench.write(CMD, 0x0B);
    bench.write(RX_CTRL, 1 << 17 | 1);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.read(0x2000 + 63 * 12), 62 << 16 | 0x6000);
}

#[test]
fn filters() {
    let other = [2, 1, 2, 3, 4, 5];
    let mut bench = quiet(Switches::default());
    inject(&mut bench, &good(other, 60));
    assert_eq!(bench.prod(), 1, "no filter at all lets everything pass");
    // Filter 0 broadcast (bit 16), filter 1 own address (bit 15).
    for (offset, value) in [
        (0xE54, 0xFFFF),
        (0xE58, 0xFFFF_FFFF),
        (0xE5C, u32::from_be_bytes([0, 0, MAC[0], MAC[1]])),
        (0xE60, u32::from_be_bytes([MAC[2], MAC[3], MAC[4], MAC[5]])),
        (0xE50, 0x18000),
    ] {
        bench.write(offset, value);
    }
    for destination in [other, MAC, [0xFF; 6], [1, 0, 0x5E, 0, 0, 1]] {
        inject(&mut bench, &good(destination, 60));
    }
    assert_eq!(bench.prod(), 3);
    assert_eq!(bench.read(0xE38), 2, "MDF_ERR_CNT");
    bench.write(CMD, 0x1B);
    inject(&mut bench, &good(other, 60));
    assert_eq!(bench.prod(), 4, "PROMISC");
    bench.assert_clean();

    let mut bench = quiet(Switches { empty_filter: EmptyFilter::AcceptsOwn, ..Switches::default() });
    for destination in [other, MAC, [0xFF; 6]] {
        inject(&mut bench, &good(destination, 60));
    }
    assert_eq!(bench.prod(), 2);
}

#[test]
fn frames_with_errors_are_marked_or_dropped() {
    let bad = Arriving { fcs_error: true, ..good(MAC, 100) };
    let mut bench = quiet(Switches::default());
    inject(&mut bench, &bad);
    assert_eq!(bench.read(0x2000) & 0x7F, 0b110, "CRC and receive error");
    inject(&mut bench, &Arriving { overrun: true, ..good(MAC, 100) });
    assert_eq!(bench.read(0x200C) & 0x7F, 0b101);
    inject(&mut bench, &Arriving { alignment_error: true, ..good(MAC, 100) });
    assert_eq!(bench.read(0x2018) & 0x7F, 0b1110);
    inject(&mut bench, &good(MAC, 9000));
    assert_eq!(bench.read(0x2024) & 0x7F, 0b10100, "too long");
    assert_eq!(bench.read(0x2024) >> 16, 1532 + 2, "cut at MAX_FRAME_LEN");
    assert_eq!(bench.read(0xC38), 1, "FCS errors");
    assert_eq!(bench.read(0xC48), 1, "alignment errors");
    assert_eq!(bench.read(0xC58), 1, "oversize");

    bench.write(0x300, 0xC046);
    inject(&mut bench, &bad);
    assert_eq!(bench.prod(), 4);
    assert_eq!(bench.read(0x398), 1, "RBUF_ERR_CNT");
    bench.write(0x398, 0);
    assert_eq!(bench.read(0x398), 0);
    // A fragment never gets as far as RBUF.
    inject(&mut bench, &Arriving { fcs_error: true, ..good(MAC, 30) });
    assert_eq!((bench.read(0xD00), bench.read(0xD08), bench.read(0xD0C)), (1, 1, 34));
    assert_eq!(bench.read(0x398), 0);
    bench.assert_clean();
}

#[test]
fn counters_count_every_frame_and_clear_through_mib_ctrl() {
    let mut bench = quiet(Switches::default());
    for len in [60, 61, 123, 124, 252, 508, 1020, 1514] {
        inject(&mut bench, &good(MAC, len));
    }
    let buckets: Vec<u32> = (0..7).map(|k| bench.read(0xC00 + 4 * k)).collect();
    assert_eq!(buckets, [1, 2, 1, 1, 1, 2, 0]);
    assert_eq!(bench.read(0xC28), 8, "packets");
    assert_eq!(bench.read(0xC64), 8, "good");
    assert_eq!(bench.read(0xC68), 8, "unicast");
    assert_eq!(bench.read(0xC2C), 60 + 61 + 123 + 124 + 252 + 508 + 1020 + 1514 + 8 * 4);
    bench.write(0xD80, 1);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.read(0xC28), 0, "held");
    bench.write(0xD80, 0);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.read(0xC28), 1);
}

#[test]
fn engine_off_and_stuck_rbuf_overflow() {
    let mut bench = quiet(Switches::default());
    bench.write(RX_CTRL, 1 << 17);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.read(0x394), 1, "RBUF_OVFL_CNT");
    assert_ne!(bench.read(STAT) & 1 << 9, 0);
    assert_eq!(bench.genet.stats().rbuf, 1);
}

#[test]
fn eee_sticks_rbuf_until_it_is_flushed() {
    let mut link = LinkConfig::default();
    link.partner.eee = 6;
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &link, Silent);
    bench.write(0x864, 0x48);
    bench.write(0x39C, 3);
    inject(&mut bench, &good(MAC, 60));
    bench.write(0x39C, 0);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!((bench.prod(), bench.read(0x394)), (0, 2));
    assert_eq!(bench.read(0xC28), 2, "the MAC still counts");
    bench.write(0x008, 1);
    bench.write(0x008, 0);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.prod(), 1);
}

#[test]
fn long_frames_come_in_pieces() {
    let mut bench = quiet(Switches::default());
    bench.write(0x814, 9216);
    inject(&mut bench, &good(MAC, 5000));
    assert_eq!(bench.read(PROD), 3);
    let words: Vec<u32> = (0..3).map(|k| bench.read(0x2000 + 12 * k)).collect();
    assert_eq!(words, [2048 << 16 | 0x2000, 2048 << 16, 906 << 16 | 0x4000]);
}

#[test]
fn rings_0_to_15_report_in_the_other_controller() {
    let mut bench = quiet(Switches::default());
    bench.write(RX_CTRL, 0);
    for (register, value) in [(0x10, 256 << 16 | 2048), (0x14, 0), (0x1C, 767), (0x24, 1), (0x28, 0), (0x0C, 0)] {
        bench.write(0x2C00 + register, value);
    }
    bench.write(0x2C08, 0);
    bench.write(0x2C00, 0);
    bench.write(0x3040, 1);
    bench.write(RX_CTRL, 3);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.read(0x2C08), 1);
    assert_eq!(bench.read(0x240), 1 << 16);
    assert_eq!(bench.read(STAT) & (MBDONE | PDONE | BDONE), 0);
    bench.assert_clean();
}

#[test]
fn frames_without_a_filter_go_to_ring_16_or_by_its_switch_to_whatever_runs() {
    for (default_ring, arrives) in [(DefaultRing::Running, 1), (DefaultRing::Ring16, 0)] {
        let mut bench = quiet(Switches { default_ring, ..Switches::default() });
        bench.write(0x3044, 0);
        for (offset, value) in [(0x2C10, 256 << 16 | 2048), (0x2C14, 0), (0x2C1C, 767)] {
            bench.write(offset, value);
        }
        bench.write(0x3044, 3);
        inject(&mut bench, &good(MAC, 60));
        assert_eq!(bench.read(0x2C08), arrives, "{default_ring:?}");
        // A filter that compares nothing sends everything to ring 0.
        (0..7).for_each(|word| bench.write(0x8000 + 4 * word, 0));
        for (offset, value) in [(0x30B0, 0), (0xFC48, 14), (0xFC08, 1), (0xFC00, 1)] {
            bench.write(offset, value);
        }
        inject(&mut bench, &good([0xFF; 6], 60));
        assert_eq!(bench.read(0x2C08), arrives + 1, "{default_ring:?}");
        assert_eq!(bench.read(PROD), 0);
    }
}

#[test]
fn a_hardware_filter_sends_its_frames_to_its_ring() {
    let mut bench = quiet(Switches::default());
    for (register, value) in [(0x10, 16 << 16 | 2048), (0x14, 0), (0x1C, 47), (0x24, 1), (0x28, 0), (0x0C, 0)] {
        bench.write(0x2C40 + register, value);
    }
    bench.write(0x3044, 1 | 1 << 17 | 1 << 2);
    // Filter 3: EtherType 0x88B5 in words 6 (bytes 12 and 13); ring 1.
    for word in 0..7 {
        bench.write(0x8000 + 3 * 0x200 + word * 4, if word == 6 { 0xF << 16 | 0x88B5 } else { 0 });
    }
    bench.write(0xFC1C + 11 * 4, 14 << 24);
    bench.write(0xFC08, 1 << 3);
    bench.write(0xFC00, 1);
    bench.write(0x30B0, 1 << 12);
    let before = bench.read(0x2C48) as u16;
    inject(&mut bench, &good(MAC, 60));
    assert_eq!((bench.read(0x2C48) as u16).wrapping_sub(before), 1);
    assert_eq!(bench.read(0x2000) >> 7 & 0x1F, 3, "filter index in the word");
    assert_eq!(bench.prod(), 0);
}

#[test]
fn dma_to_nowhere_is_the_firmwares_fault() {
    let mut bench = quiet(Switches::default());
    bench.write(0x2004, 0xC000_0000);
    inject(&mut bench, &good(MAC, 60));
    assert_eq!(bench.findings.len(), 1);
    assert!(bench.findings[0].text.contains("0xc0000000"), "{}", bench.findings[0].text);
    bench.write(CONS, 2);
    assert!(bench.findings[1].text.contains("CONS_INDEX"), "{}", bench.findings[1].text);
}

#[test]
fn wire_time_of_full_frames_is_12304_ns() {
    let source = PacedSource::new(LINK_NS, 0, 100, 1514, MAC);
    let (mut bench, peer) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), source);
    let mut times = Vec::new();
    for k in 1..=100u16 {
        times.push(bench.run_until(u64::MAX, |genet| genet.peek(PROD) as u16 == k).unwrap());
    }
    assert_eq!(times[0], LINK_NS + (8 + 1514 + 4) * 8 + 50);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 12_304));
    assert_eq!(bench.buffer(99)[2..1516], peer.borrow().frame(99)[..]);
    assert_eq!(bench.genet.stats().delivered, 100);
    bench.assert_clean();
}

#[test]
fn an_ideal_ring_keeps_frames_and_tells_at_once() {
    let ideal = Ideal { prompt: true, patient: true };
    let cfg = GenetConfig { ideal, ..GenetConfig::default() };
    let mut bench = Bench::up(&cfg, &LinkConfig::default(), Silent).0;
    bench.write(0x3024, 511); // MBUF_DONE_THRESH
    for len in 100..360 {
        inject(&mut bench, &good(MAC, len));
    }
    assert_eq!(bench.read(PROD), 256, "nothing discarded");
    assert_eq!(bench.read(0x200) >> 13 & 1, 1, "MBDONE after each");
    // Four wait, and take descriptors in their order as these become free.
    bench.write(CONS, 1);
    assert_eq!((bench.read(PROD), bench.read(0x2000) >> 16), (257, 356 + 2));
    bench.write(CONS, 10);
    assert_eq!((bench.read(PROD), bench.read(0x200C) >> 16, bench.read(0x2024) >> 16), (260, 357 + 2, 359 + 2));
    inject(&mut bench, &good(MAC, 500));
    assert_eq!(bench.read(PROD), 261);
    bench.assert_clean();
}
