//! Unit tests of single steps over fake registers. Whole behaviour is tested over the board model in `tests/`.

mod bring_up;
mod counters;
mod fake;
mod interrupt;
mod receive;
mod settings;
mod transmit;

use crate::{Genet, LinkState, Speed};
use fake::{Fake, FakeClock, FakeMemory, MAC};
use smoltcp::phy::{Device, RxToken};
use smoltcp::time::Instant;
use std::rc::Rc;

type TestGenet = Genet<Rc<Fake>, FakeMemory, FakeClock>;

const GIGABIT: LinkState = LinkState {
    up: true,
    speed: Speed::Mbps1000,
    full_duplex: true,
    pause_tx: true,
    pause_rx: true,
    eee_advertised: 0,
    eee_partner: 0,
    eee_active: false,
};

/// Brought up, with link, log empty, in a register file that a test may prepare.
fn genet_over(fake: &Rc<Fake>) -> TestGenet {
    let rx = FakeMemory::new(fake, 0x10_0000, 256);
    let tx = FakeMemory::new(fake, 0x20_0000, 8);
    let mut genet = Genet::bring_up(fake.clone(), rx, tx, FakeClock(fake.clone()), MAC).unwrap();
    genet.link_changed(&GIGABIT);
    fake.clear_log();
    genet
}

fn genet() -> (Rc<Fake>, TestGenet) {
    let fake = Fake::new();
    let genet = genet_over(&fake);
    (fake, genet)
}

/// Takes the batch; lengths of its frames.
fn drain(genet: &mut TestGenet) -> Vec<usize> {
    let mut lengths = Vec::new();
    while let Some((frame, _)) = genet.receive(Instant::ZERO) {
        lengths.push(frame.consume(|bytes| bytes.len()));
    }
    lengths
}
