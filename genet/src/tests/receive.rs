use super::fake::Event;
use super::*;
use crate::{Posted, RxMode, RxSettings, acknowledge};

const CONS: u32 = 0x300c;

/// One interrupt of `frames` frames, start to end.
fn interrupt(fake: &Rc<Fake>, genet: &mut TestGenet, frames: u16) {
    fake.deliver(frames, 1516);
    assert!(acknowledge(fake).rx);
    assert_eq!(genet.poll_receive(1), usize::from(frames));
    assert_eq!(drain(genet).len(), usize::from(frames));
    genet.end_batch();
    assert!(!genet.rearm());
}

#[test]
fn device_accesses_of_an_interrupt_with_32_frames() {
    let (fake, mut genet) = genet();
    genet.apply(&RxSettings { threshold: Some(32), timeout_ticks: Some(61), ..RxSettings::default() }).unwrap();
    for _ in 0..40 {
        fake.clear_log();
        interrupt(&fake, &mut genet, 32);
        // 32 descriptors, STAT, PROD_INDEX: with the GIC's one, 35 for 32 frames = 1.094 a frame.
        assert_eq!(fake.reads(), 34);
        // MASK_SET, CLEAR, twice CONS_INDEX, MASK_CLEAR.
        assert_eq!(fake.writes(), 5);
    }
}

#[test]
fn at_threshold_1_an_interrupt_costs_one_read_more() {
    let (fake, mut genet) = genet();
    fake.clear_log();
    interrupt(&fake, &mut genet, 1);
    assert_eq!((fake.reads(), fake.writes()), (4, 4));
}

#[test]
fn indices_wrap_at_65536() {
    let (fake, mut genet) = genet();
    for _ in 0..700 {
        interrupt(&fake, &mut genet, 100);
    }
    assert_eq!(genet.counters().rx_frames, 70_000);
    assert_eq!(fake.get(CONS), 70_000 % 65_536);
}

#[test]
fn a_frame_is_invalidated_before_it_is_read_and_only_its_lines() {
    let (fake, mut genet) = genet();
    fake.deliver(1, 66);
    genet.poll_receive(7);
    fake.clear_log();
    assert_eq!(drain(&mut genet), [64]);
    assert_eq!(*fake.log.borrow(), [Event::Read(0x2000), Event::Invalidate(0, 128)]);
    assert_eq!((genet.last_stamp().irq_ns, genet.last_stamp().bytes), (7, 64));
}

#[test]
fn no_descriptor_is_written_while_frames_flow() {
    let (fake, mut genet) = genet();
    for _ in 0..10 {
        interrupt(&fake, &mut genet, 60);
    }
    let log = fake.log.borrow();
    assert!(!log.iter().any(|e| matches!(e, Event::Write(0x2000..0x2c00, _))));
}

#[test]
fn descriptors_come_back_every_16_frames_and_at_the_end() {
    let (fake, mut genet) = genet();
    fake.deliver(40, 100);
    genet.poll_receive(0);
    drain(&mut genet);
    assert_eq!(fake.written(CONS), [16, 32], "the frame handed out last is not done with");
    genet.end_batch();
    assert_eq!(fake.written(CONS), [16, 32, 40]);
    genet.end_batch();
    assert_eq!(fake.written(CONS).len(), 3, "nothing to give back");
}

#[test]
fn few_posted_descriptors_come_back_one_by_one() {
    let (fake, mut genet) = genet();
    genet.apply(&RxSettings { posted: Posted::Fixed(2), ..RxSettings::default() }).unwrap();
    assert_eq!(fake.get(CONS) as u16, 2u16.wrapping_sub(256), "hardware sees 254 occupied");
    fake.put(0x3008, 0);
    fake.deliver(2, 100);
    genet.poll_receive(0);
    fake.clear_log();
    drain(&mut genet);
    genet.end_batch();
    let cons = |n: u16| u32::from(n.wrapping_add(2).wrapping_sub(256));
    assert_eq!(fake.written(CONS), [cons(1), cons(2)]);
}

#[test]
fn openbsds_ring_settles_at_what_a_batch_takes_plus_two() {
    for batch in 1..20 {
        let (fake, mut genet) = genet();
        genet.apply(&RxSettings { posted: Posted::Growing { start: 2 }, ..RxSettings::default() }).unwrap();
        fake.put(0x3008, 0);
        for tick in 1..60 {
            fake.now_ns.set(tick * 10_000_000);
            let posted = fake.get(CONS) as u16;
            let free = posted.wrapping_sub(fake.get(0x3008) as u16).wrapping_add(256);
            fake.deliver(batch.min(free), 100);
            genet.poll_receive(0);
            drain(&mut genet);
            genet.end_batch();
        }
        let free = (fake.get(CONS) as u16).wrapping_sub(fake.get(0x3008) as u16).wrapping_add(256);
        assert_eq!(free, batch + 2);
    }
}

#[test]
fn openbsds_ring_grows_once_in_a_tick() {
    let (fake, mut genet) = genet();
    genet.apply(&RxSettings { posted: Posted::Growing { start: 2 }, ..RxSettings::default() }).unwrap();
    fake.put(0x3008, 0);
    fake.now_ns.set(50_000_000);
    for _ in 0..10 {
        fake.deliver(2, 100);
        genet.poll_receive(0);
        drain(&mut genet);
        genet.end_batch();
    }
    let free = (fake.get(CONS) as u16).wrapping_sub(fake.get(0x3008) as u16).wrapping_add(256);
    assert_eq!(free, 3);
}

#[test]
fn bad_frames_are_counted_and_their_descriptors_come_back() {
    let (fake, mut genet) = genet();
    let good = 100 << 16 | 0x6000;
    fake.deliver_words([good, good | 2, good & !0x4000, 5 << 16 | 0x6000, good]);
    assert_eq!(genet.poll_receive(0), 5);
    assert_eq!(drain(&mut genet), [98, 98]);
    genet.end_batch();
    assert_eq!(fake.get(CONS), 5);
    let counters = genet.counters();
    assert_eq!((counters.rx_frames, counters.frame_errors), (2, 3));
    assert_eq!((counters.errors.crc, counters.errors.fragment, counters.errors.length), (1, 1, 1));
}

#[test]
fn discards_are_totalled_over_a_counter_that_wraps() {
    let (fake, mut genet) = genet();
    fake.frozen.borrow_mut().insert(0x3008); // clearing does not work either
    for _ in 0..10 {
        fake.discard(30_000);
        genet.poll_receive(0);
    }
    assert_eq!(genet.counters().discards, 300_000);
}

#[test]
fn discards_are_cleared_before_the_counter_ends() {
    let (fake, mut genet) = genet();
    let (mut clears, mut index) = (0, 0);
    for _ in 0..10 {
        assert!(fake.get(0x3008) >> 16 < 0xc000);
        fake.deliver(1, 100);
        index += 1;
        fake.discard(0x3fff);
        fake.clear_log();
        genet.poll_receive(0);
        assert_eq!(fake.written(0x3008), [], "not while the ring is full");
        drain(&mut genet);
        genet.end_batch();
        if let [cleared] = fake.written(0x3008)[..] {
            assert_eq!(cleared, 0);
            fake.put(0x3008, index); // hardware keeps its half of the register
            clears += 1;
        }
    }
    assert_eq!((genet.counters().discards, clears), (10 * 0x3fff, 2));
}

#[test]
fn an_impossible_index_restarts_the_ring() {
    let (fake, mut genet) = genet();
    fake.put(0x3008, 0x4000);
    assert_eq!(genet.poll_receive(0), 0);
    assert_eq!(genet.counters().ring_resets, 1);
    interrupt(&fake, &mut genet, 3);
}

#[test]
fn a_frame_without_event_is_rescued_at_threshold_1() {
    let (fake, mut genet) = genet();
    interrupt(&fake, &mut genet, 1);
    genet.poll_receive(0);
    fake.deliver(2, 100);
    fake.put(0x200, 0);
    fake.now_ns.set(123);
    assert!(genet.rearm());
    assert_eq!(drain(&mut genet).len(), 2);
    assert_eq!(genet.last_stamp().irq_ns, 123);
    assert_eq!(genet.counters().rescues, 2);
}

#[test]
fn a_frame_with_its_event_pending_is_left_to_its_interrupt() {
    let (fake, mut genet) = genet();
    interrupt(&fake, &mut genet, 1);
    genet.poll_receive(0);
    fake.deliver(2, 100);
    assert!(!genet.rearm());
    assert_eq!(fake.get(0x20c) & 1 << 13, 0, "unmasked");
    assert_eq!(drain(&mut genet).len(), 0, "no batch is open");
    assert_eq!(genet.counters().rescues, 0);
}

#[test]
fn an_interrupt_that_was_taken_but_not_served_yet_is_no_rescue() {
    let (fake, mut genet) = genet();
    interrupt(&fake, &mut genet, 1);
    fake.deliver(2, 100);
    assert!(acknowledge(&fake).rx); // the handler ran; the main loop was woken by something else and goes to sleep
    assert!(!genet.rearm());
    assert_eq!(genet.poll_receive(77), 2);
    assert_eq!(drain(&mut genet).len(), 2);
    assert_eq!((genet.last_stamp().irq_ns, genet.counters().rescues), (77, 0));
}

#[test]
fn above_threshold_1_frames_may_wait_for_the_timer() {
    let (fake, mut genet) = genet();
    genet.apply(&RxSettings { threshold: Some(10), timeout_ticks: Some(7), ..RxSettings::default() }).unwrap();
    fake.deliver(2, 100);
    fake.put(0x200, 0);
    fake.clear_log();
    assert!(!genet.rearm());
    assert_eq!(fake.reads(), 0);
}

#[test]
fn overdue_frames_are_rescued_by_their_limit() {
    const MS: u64 = 1_000_000;
    for (threshold, ticks, limit_ms) in [(1, 0, 50), (0, 0, 50), (0, 4096, 83), (10, 7, 50), (300, 0, 1000)] {
        let (fake, mut genet) = genet();
        let settings = RxSettings { threshold: Some(threshold), timeout_ticks: Some(ticks), ..RxSettings::default() };
        genet.apply(&settings).unwrap();
        fake.deliver(3, 100);
        assert_eq!(genet.rescue_overdue(10 * MS), 0, "first seen");
        assert_eq!(drain(&mut genet).len(), 0);
        assert_eq!(genet.rescue_overdue((10 + limit_ms) * MS - MS), 0, "{threshold} {ticks}: too early");
        assert_eq!(genet.rescue_overdue((10 + limit_ms) * MS + MS), 3, "{threshold} {ticks}: due");
        assert_eq!(drain(&mut genet).len(), 3);
        assert_eq!(genet.counters().rescues, 3);
    }
}

#[test]
fn frames_that_were_taken_meanwhile_start_the_clock_anew() {
    const MS: u64 = 1_000_000;
    let (fake, mut genet) = genet();
    fake.deliver(1, 100);
    assert_eq!(genet.rescue_overdue(0), 0);
    genet.poll_receive(0);
    drain(&mut genet);
    fake.deliver(1, 100);
    assert_eq!(genet.rescue_overdue(500 * MS), 0);
    assert_eq!(genet.counters().rescues, 0);
}

#[test]
fn poll_mode_never_unmasks() {
    let (fake, mut genet) = genet();
    let got = genet.apply(&RxSettings { mode: RxMode::Poll, ..RxSettings::default() }).unwrap();
    assert_eq!(got.mode, RxMode::Poll);
    fake.deliver(1, 100);
    fake.clear_log();
    assert!(!genet.rearm());
    assert_eq!((fake.reads(), fake.writes()), (0, 0));
    assert_ne!(fake.get(0x20c) & 1 << 13, 0);
}
