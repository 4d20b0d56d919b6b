//! The bench's own cache: that it punishes what silicon punishes, and that the driver is not punished.

mod common;

use board::genet::GenetConfig;
use board::link::LinkConfig;
use common::{MS, START_NS, World, bench, frames, paced};
use genet::DmaMemory;

fn world() -> World {
    World::new(GenetConfig::default(), LinkConfig::default(), paced(MS, 0))
}

#[test]
fn what_a_device_wrote_is_not_seen_before_the_line_is_invalidated() {
    let world = world();
    let mut memory = world.memory(256);
    memory.clean(0..256);
    assert_eq!(world.device_writes(64, &[7; 64]), [""; 0]);
    assert_eq!(memory.bytes(64..65), [0xA5]);
    memory.invalidate(64..65);
    assert_eq!((memory.bytes(127..128), memory.bytes(128..129)), (&[7][..], &[0xA5][..]));
}

#[test]
fn a_store_that_is_not_cleaned_is_lost_by_invalidation_and_noted() {
    let world = world();
    let mut memory = world.memory(128);
    memory.clean(0..128);
    memory.bytes_mut(3..4)[0] = 1;
    memory.invalidate(0..1);
    assert_eq!(memory.bytes(3..4), [0xA5]);
    let faults = world.device_writes(64, &[0]);
    assert!(faults.len() == 1 && faults[0].contains("invalidated with a store in it"), "{faults:?}");
}

#[test]
fn a_clean_takes_its_whole_line_and_destroys_what_a_device_wrote_beside_the_store() {
    let world = world();
    let mut memory = world.memory(128);
    memory.clean(0..128);
    memory.bytes_mut(0..1)[0] = 1;
    let faults = world.device_writes(32, &[7; 4]);
    assert!(faults.len() == 1 && faults[0].contains("dirty in the cache"), "{faults:?}");
    memory.clean(0..1);
    memory.invalidate(0..64);
    assert_eq!((memory.bytes(0..1), memory.bytes(32..33)), (&[1][..], &[0xA5][..]), "the device's bytes are gone");
}

#[test]
fn a_clean_of_a_line_without_stores_writes_nothing() {
    let world = world();
    let mut memory = world.memory(64);
    memory.clean(0..64);
    world.device_writes(0, &[7; 64]);
    memory.clean(0..64);
    memory.invalidate(0..64);
    assert_eq!(memory.bytes(0..1), [7]);
}

#[test]
fn the_driver_keeps_every_rule() {
    let mut bench = bench(paced(20_000, 1_000));
    let mut received = 0;
    for part in 0..20 {
        received += frames(&bench.receive_until(START_NS + part * MS)).len();
        assert!(bench.send(100, &[1; 14]));
    }
    received += frames(&bench.receive_until(START_NS + 100 * MS)).len();
    assert_eq!(received, 1_000);
    assert_eq!(bench.findings(), []);
}
