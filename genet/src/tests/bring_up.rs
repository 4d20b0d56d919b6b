use super::fake::Event;
use super::*;
use crate::{BringUpError, Engine};

fn try_bring_up(fake: &Rc<Fake>) -> Result<TestGenet, BringUpError> {
    let rx = FakeMemory::new(fake, 0x10_0000, 256);
    let tx = FakeMemory::new(fake, 0x20_0000, 8);
    Genet::bring_up(fake.clone(), rx, tx, FakeClock(fake.clone()), MAC)
}

fn error(result: Result<TestGenet, BringUpError>) -> BringUpError {
    match result {
        Ok(_) => panic!("brought up"),
        Err(error) => error,
    }
}

#[test]
fn nothing_is_written_to_what_is_no_genet_v5() {
    for found in [0, u32::MAX, 0x0500_0000] {
        let fake = Fake::new();
        fake.put(0, found);
        assert_eq!(error(try_bring_up(&fake)), BringUpError::WrongRevision { found });
        assert_eq!(fake.writes(), 0);
    }
}

#[test]
fn memory_out_of_reach_is_refused() {
    let fake = Fake::new();
    for (address, buffers) in [(0x3fff_0000, 256), (0x10_0020, 256), (0x10_0000, 255)] {
        let rx = FakeMemory::new(&fake, address, buffers);
        let tx = FakeMemory::new(&fake, 0x20_0000, 8);
        let result = Genet::bring_up(fake.clone(), rx, tx, FakeClock(fake.clone()), MAC);
        assert!(matches!(error(result), BringUpError::Memory { engine: Engine::Receive, .. }));
    }
    assert_eq!(fake.writes(), 0);
}

#[test]
fn the_steps_come_in_order() {
    let fake = Fake::new();
    fake.put(0x808, 0x0b);
    fake.put(0x3044, 0x2_0001);
    fake.put(0x5044, 0x2_0001);
    let mut genet = try_bring_up(&fake).unwrap();
    genet.link_changed(&GIGABIT);
    let order = [
        Event::Read(0x000),
        Event::Write(0x808, 0x09),      // receiver off
        Event::Write(0x5044, 0x2_0000), // engines off, then rings
        Event::Write(0x5044, 0),
        Event::Write(0x3044, 0x2_0000),
        Event::Write(0x3044, 0),
        Event::Write(0xb34, 1),
        Event::Write(0x008, 2), // resets
        Event::Write(0x808, 1 << 13 | 1 << 15),
        Event::Write(0xd80, 7),
        Event::Write(0x814, 1536),
        Event::Write(0x300, 0xc042),
        Event::Write(0x3b4, 1),
        Event::Write(0x210, u32::MAX),
        Event::Write(0x004, 3),
        Event::Write(0x80c, 0xdca6_3211),
        Event::Write(0xfc00, 0),
        Event::Write(0x008, 1), // RBUF flush
        Event::Write(0x304c, 8),
        Event::Write(0x2004, 0x10_0000),
        Event::Write(0x3010, 256 << 16 | 2048),
        Event::Write(0x301c, 767),
        Event::Write(0x5010, 256 << 16 | 2048),
        Event::Write(0x3040, 1 << 16),
        Event::Write(0x3044, 0x2_0001),
        Event::Write(0x5044, 0x2_0001),
        Event::Write(0x08c, 0x50),
        Event::Write(0x808, 0x1000_0108), // gigabit; no PAUSE before the link said so
        Event::Write(0x808, 0x0b),
    ];
    let mut from = 0;
    for event in order {
        let log = fake.log.borrow();
        let at = log[from..].iter().position(|e| *e == event).unwrap_or_else(|| panic!("{event:x?} out of order"));
        from += at + 1;
    }
    assert_eq!(fake.get(0xe50), 0x1_8000);
    assert_eq!((fake.get(0xe54), fake.get(0xe58)), (0xffff, 0xffff_ffff));
    assert_eq!((fake.get(0xe5c), fake.get(0xe60)), (0xdca6, 0x3211_2233));
    assert_eq!(fake.get(0x810), 0x2233);
    assert_eq!((fake.get(0x2bf8), fake.get(0x2bfc)), (0x10_0000 + 255 * 2048, 0));
}

#[test]
fn every_timed_wait_follows_a_read() {
    let fake = Fake::new();
    try_bring_up(&fake).unwrap();
    let log = fake.log.borrow();
    for pair in log.windows(2) {
        if matches!(pair[1], Event::DelayUs(_)) {
            assert!(matches!(pair[0], Event::Read(_)), "{:x?} then a wait: the write may be posted", pair[0]);
        }
    }
}

#[test]
fn stale_modes_are_cleared() {
    let fake = Fake::new();
    fake.put(0x300, 0xffff_ffff);
    for offset in [0x314, 0x600, 0x39c, 0x614] {
        fake.put(offset, 0x33);
    }
    fake.put(0x864, 0x4f);
    try_bring_up(&fake).unwrap();
    assert_eq!(fake.get(0x300), 0xc042);
    assert_eq!((fake.get(0x314), fake.get(0x600)), (0, 0));
    assert_eq!((fake.get(0x39c) & 3, fake.get(0x614) & 3, fake.get(0x864)), (0, 0, 0x40));
}

#[test]
fn an_engine_that_runs_on_is_an_error() {
    for (ctrl, status, engine) in [(0x3044, 0x3048, Engine::Receive), (0x5044, 0x5048, Engine::Transmit)] {
        let fake = Fake::new();
        fake.put(ctrl, 0x2_0001);
        fake.put(status, 0);
        assert_eq!(error(try_bring_up(&fake)), BringUpError::DmaStuck { engine, waited_us: 5_000 });
    }
}

#[test]
fn an_engine_that_was_off_need_not_say_so() {
    let fake = Fake::new();
    fake.put(0x3048, 0);
    fake.put(0x5048, 0);
    try_bring_up(&fake).unwrap();
}

#[test]
fn indices_that_take_a_write_start_at_zero() {
    let fake = Fake::new();
    for (offset, value) in
        [(0x3008, 0xcdcd), (0x300c, 0x1111), (0x3000, 189), (0x5008, 0x1234), (0x500c, 1), (0x5000, 9)]
    {
        fake.put(offset, value);
    }
    genet_over(&fake);
    for offset in [0x3008, 0x300c, 0x3000, 0x302c, 0x5008, 0x500c, 0x5000, 0x502c] {
        assert_eq!(fake.get(offset), 0, "{offset:#x}");
    }
}

#[test]
fn an_index_that_stays_is_adopted_with_its_pointer() {
    let fake = Fake::new();
    fake.put(0x3008, 0xcdcd);
    fake.put(0x5008, 0x1234);
    fake.frozen.borrow_mut().extend([0x3008, 0x5008]);
    let mut genet = genet_over(&fake);
    assert_eq!(fake.get(0x3000), 3 * 0xcd, "the pointer matches the index");
    assert_eq!(fake.get(0x300c), 0xcdcd);
    assert_eq!((fake.get(0x5000), fake.get(0x500c)), (3 * 0x34, 0x1234));
    fake.deliver(3, 100);
    assert_eq!(genet.poll_receive(0), 3);
    assert_eq!(drain(&mut genet), [98; 3]);
}

#[test]
fn if_index_and_pointer_disagree_the_first_frame_tells_which_counts() {
    for (slot, name) in [(0xcd_u32, "index"), (63, "pointer")] {
        let fake = Fake::new();
        fake.put(0x3008, 0xcdcd);
        fake.put(0x3000, 3 * 63);
        fake.frozen.borrow_mut().extend([0x3008, 0x3000]);
        (0..256).for_each(|n| fake.put(0x2000 + 12 * n, 90 << 16 | 0x6000)); // an earlier program's frames
        let mut genet = genet_over(&fake);
        for (n, bytes) in [(0, 100), (1, 200)] {
            fake.put(0x2000 + 12 * (slot + n), bytes << 16 | 0x6000);
        }
        fake.put(0x3008, 0xcdcf);
        assert_eq!(genet.poll_receive(0), 2, "{name}");
        assert_eq!(drain(&mut genet), [98, 198], "{name}");
    }
}
