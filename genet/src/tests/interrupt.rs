use super::fake::Event;
use super::*;
use crate::{acknowledge, acknowledge_second};

#[test]
fn a_receive_interrupt_is_masked_and_then_cleared() {
    let fake = Fake::new();
    fake.put(0x200, 1 << 13 | 1 << 16);
    let pending = acknowledge(&fake);
    assert!(pending.rx);
    let expected = [Event::Read(0x200), Event::Write(0x210, 1 << 13), Event::Write(0x208, 1 << 13 | 1 << 16)];
    assert_eq!(*fake.log.borrow(), expected);
}

#[test]
fn other_events_are_cleared_and_receive_stays_as_it_is() {
    let fake = Fake::new();
    fake.put(0x200, 1 << 4);
    assert!(!acknowledge(&fake).rx);
    assert_eq!(*fake.log.borrow(), [Event::Read(0x200), Event::Write(0x208, 1 << 4)]);
}

#[test]
fn ring_0_is_masked_and_cleared_on_the_second_line() {
    let fake = Fake::new();
    fake.put(0x240, 1 << 16);
    let pending = acknowledge_second(&fake);
    assert!(pending.rx);
    assert_eq!(fake.reads(), 1);
    assert_eq!((fake.get(0x240), fake.get(0x24c)), (0, u32::MAX));
}

#[test]
fn what_is_not_ours_on_the_second_line_is_silenced_and_ring_0_stays_as_it_is() {
    let fake = Fake::new();
    fake.put(0x24c, 0);
    fake.put(0x240, 1 << 3);
    assert!(!acknowledge_second(&fake).rx);
    assert_eq!((fake.get(0x240), fake.get(0x24c)), (0, !(1 << 16)));
}
