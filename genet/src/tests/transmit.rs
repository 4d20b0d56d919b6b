use super::fake::Event;
use super::*;
use smoltcp::phy::TxToken;

const PROD: u32 = 0x500c;
const CONS: u32 = 0x5008;

fn send(genet: &mut TestGenet, bytes: usize, byte: u8) -> bool {
    let Some(token) = genet.transmit(Instant::ZERO) else { return false };
    token.consume(bytes, |room| {
        assert_eq!(room.len(), bytes);
        room.fill(byte);
    });
    true
}

#[test]
fn a_frame_is_two_writes_after_its_cache_lines() {
    let (fake, mut genet) = genet();
    assert!(send(&mut genet, 100, 7));
    let expected = [Event::Clean(0, 100), Event::Write(0x4000, 100 << 16 | 0x7fc0), Event::Write(PROD, 1)];
    assert_eq!(*fake.log.borrow(), expected);
    assert_eq!(fake.get(0x4004), 0x20_0000);
}

#[test]
fn short_frames_are_padded_with_zeros() {
    let (fake, mut genet) = genet();
    // Buffer 0 holds rests of a longer frame by the time it comes round again.
    for n in 0..8 {
        assert!(send(&mut genet, 200, 0xff));
        fake.put(CONS, n + 1);
    }
    fake.clear_log();
    assert!(send(&mut genet, 42, 1));
    assert_eq!(fake.written(0x4000 + 12 * 8), [60 << 16 | 0x7fc0]);
    let sent = genet.tx.memory().bytes[..61].to_vec();
    assert_eq!(sent[..42], [1; 42]);
    assert_eq!(sent[42..60], [0; 18]);
    assert_eq!(sent[60], 0xff);
}

#[test]
fn a_full_ring_takes_no_frame_until_the_hardware_has_sent_one() {
    let (fake, mut genet) = genet();
    for _ in 0..7 {
        assert!(send(&mut genet, 60, 0));
    }
    assert_eq!(fake.reads(), 0, "completion is looked at only when buffers run out");
    assert!(!send(&mut genet, 60, 0), "one of eight buffers stays free");
    fake.put(CONS, 3);
    assert!(send(&mut genet, 60, 0));
    fake.put(CONS, 0x8000);
    for _ in 0..2 {
        assert!(send(&mut genet, 60, 0));
    }
    assert!(!send(&mut genet, 60, 0), "an index that cannot be is not believed");
}

#[test]
fn an_answer_without_room_is_dropped_and_receiving_goes_on() {
    let (fake, mut genet) = genet();
    for _ in 0..7 {
        send(&mut genet, 60, 0);
    }
    fake.deliver(2, 100);
    genet.poll_receive(0);
    for _ in 0..2 {
        let (_, answer) = genet.receive(Instant::ZERO).unwrap();
        answer.consume(60, |room| room.fill(9));
    }
    assert_eq!(fake.get(PROD), 7);
    let counters = genet.counters();
    assert_eq!((counters.tx_frames, counters.tx_dropped, counters.rx_frames), (7, 2, 2));
}

#[test]
fn frames_that_would_hang_the_transmitter_are_dropped() {
    let (fake, mut genet) = genet();
    assert!(send(&mut genet, 1536, 0));
    assert!(send(&mut genet, 1537, 0));
    assert_eq!(fake.get(PROD), 1);
    assert_eq!(genet.counters().tx_dropped, 1);
}

#[test]
fn nothing_is_sent_without_link() {
    let (_, mut genet) = genet();
    genet.link_changed(&LinkState::default());
    assert!(!send(&mut genet, 60, 0));
}

#[test]
fn the_doorbell_wraps_with_the_index() {
    let (fake, mut genet) = genet();
    for n in 1..=70_000u32 {
        assert!(send(&mut genet, 60, 0));
        fake.put(CONS, n & 0xffff);
    }
    assert_eq!(fake.get(PROD), 70_000 & 0xffff);
}
