use super::fake::Event;
use super::*;
use crate::acknowledge;

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
fn with_nothing_in_the_first_block_the_second_is_silenced() {
    let fake = Fake::new();
    assert!(!acknowledge(&fake).rx);
    assert_eq!((fake.get(0x250), fake.get(0x248)), (u32::MAX, u32::MAX));
    assert_eq!(fake.reads(), 1);
}
