use super::*;

const RX_BYTES: u32 = 0xc2c;
const RBUF_OVFL: u32 = 0x394;

#[test]
fn hardware_counters_are_totalled_over_their_end() {
    let fake = Fake::new();
    fake.put(RX_BYTES, 0xffff_ff00); // the reset of the counters does not work
    let mut genet = genet_over(&fake);
    assert_eq!(genet.counters().mib("rx_bytes"), Some(0));
    for n in 1..=10u64 {
        fake.put(RX_BYTES, fake.get(RX_BYTES).wrapping_add(0xe000_0000));
        assert_eq!(genet.counters().mib("rx_bytes"), Some(n * 0xe000_0000));
    }
    assert_eq!(genet.counters().mib("rx_bites"), None);
}

#[test]
fn byte_counters_are_read_in_time_while_frames_flow() {
    let (fake, mut genet) = genet();
    // 125 MB/s for two minutes, nobody asking for totals: the counter wraps three times.
    for second in 1..=120u64 {
        fake.put(RX_BYTES, fake.get(RX_BYTES).wrapping_add(125_000_000));
        fake.deliver(1, 100);
        genet.poll_receive(second * 1_000_000_000);
        drain(&mut genet);
        genet.end_batch();
    }
    assert_eq!(genet.counters().mib("rx_bytes"), Some(120 * 125_000_000));
}

#[test]
fn a_saturated_rbuf_counter_is_cleared_and_goes_on() {
    let fake = Fake::new();
    fake.put(RBUF_OVFL, 100);
    let mut genet = genet_over(&fake);
    assert_eq!(genet.counters().rbuf_overflow, 0);
    fake.put(RBUF_OVFL, 150);
    assert_eq!(genet.counters().rbuf_overflow, 50);
    fake.put(RBUF_OVFL, u32::MAX);
    let total = u64::from(u32::MAX) - 100;
    assert_eq!(genet.counters().rbuf_overflow, total);
    assert_eq!(fake.get(RBUF_OVFL), 0);
    fake.put(RBUF_OVFL, 7);
    assert_eq!(genet.counters().rbuf_overflow, total + 7);
}
