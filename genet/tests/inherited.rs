//! Bring-up from whatever an earlier program left: every boot path, either reading of the hardware's index, odd
//! indices, stale modes. Each time the MAC must come up, receive into our buffers only and send.

mod common;

use board::genet::{Faults, Found, GenetConfig, Inherited, MdioFault, SlotRule, Switches};
use board::link::LinkConfig;
use board::phy::PhyConfig;
use common::{Bench, MS, START_NS, World, paced};
use genet::{BringUpError, Engine, Pause, RxSettings};

const FRAMES: u64 = 700;

/// Frames received and sent in order and undamaged, nothing the model complains about.
fn works(genet: GenetConfig, link: LinkConfig) -> Bench {
    let what = format!("{:?} {:?} seed {}", genet.inherited, genet.switches.slots, genet.seed);
    let mut source = paced(20_000, FRAMES);
    source.keep = true;
    let mut bench = World::new(genet, link, source).start();
    assert!(bench.link.up, "{what}: link");
    let stale = bench.stale_writes();
    bench.apply(RxSettings { threshold: Some(10), timeout_ticks: Some(7), ..RxSettings::default() });
    let mut received = Vec::new();
    for part in 0..20 {
        for batch in bench.receive_until(START_NS + part * MS) {
            received.extend(batch.frames);
        }
        assert!(bench.send(100 + part as usize, &part.to_be_bytes()), "{what}");
    }
    bench.pass(10 * MS);
    assert!(received.iter().copied().eq(0..FRAMES), "{what}: {} frames", received.len());
    assert_eq!(bench.stale_writes(), stale, "{what}: the device wrote to the earlier program's buffers");
    let sent: Vec<u64> = bench.world.source.borrow().received.iter().map(|(_, f)| head(f)).collect();
    assert!(sent.iter().copied().eq(0..20), "{what}: sent {sent:?}");
    assert_eq!(bench.findings(), [], "{what}");
    let counters = bench.driver.counters();
    assert_eq!((counters.frame_errors, counters.discards, counters.ring_resets), (0, 0, 0), "{what}");
    bench
}

fn head(frame: &[u8]) -> u64 {
    u64::from_be_bytes(frame[..8].try_into().unwrap())
}

#[test]
fn every_boot_path_under_both_readings_of_the_index() {
    for inherited in [Inherited::SdCard, Inherited::UBoot, Inherited::NetworkBoot] {
        for slots in [SlotRule::Pointer, SlotRule::IndexModuloSize] {
            for seed in 1..6 {
                works(
                    GenetConfig {
                        seed,
                        inherited,
                        switches: Switches { slots, ..Switches::default() },
                        ..GenetConfig::default()
                    },
                    LinkConfig::default(),
                );
            }
        }
    }
}

#[test]
fn an_index_and_a_pointer_that_never_belonged_together() {
    // As met after a ring of 128 was taken over as one of 256 (AmiNetXDuo).
    for inherited in [Inherited::UBoot, Inherited::NetworkBoot] {
        for slots in [SlotRule::Pointer, SlotRule::IndexModuloSize] {
            works(
                GenetConfig {
                    inherited,
                    switches: Switches { slots, ..Switches::default() },
                    found: Found {
                        rx_index: Some(0xCDCD),
                        tx_index: Some(0x8001),
                        rx_slot: Some(63),
                        rbuf_ctrl: 0xC047,
                        ..Found::default()
                    },
                    ..GenetConfig::default()
                },
                LinkConfig::default(),
            );
        }
    }
}

#[test]
fn engines_that_take_their_time_to_stop() {
    works(
        GenetConfig {
            inherited: Inherited::NetworkBoot,
            faults: Faults { dma_stop_ns: 3 * MS, ..Faults::default() },
            ..GenetConfig::default()
        },
        LinkConfig::default(),
    );
}

#[test]
fn an_engine_that_never_stops_is_named() {
    let genet = GenetConfig {
        inherited: Inherited::NetworkBoot,
        faults: Faults { dma_never_stops: true, ..Faults::default() },
        ..GenetConfig::default()
    };
    let world = World::new(genet, LinkConfig::default(), paced(1_000, 0));
    let error = world.try_bring_up().err();
    assert_eq!(error, Some(BringUpError::DmaStuck { engine: Engine::Transmit, waited_us: 5_000 }));
}

#[test]
fn no_genet_and_another_generation() {
    for (absent, revision, found) in [(Some(0), 0, 0), (Some(u32::MAX), 0, u32::MAX), (None, 0x0500_0000, 0x0500_0000)]
    {
        let genet = GenetConfig { absent, revision, ..GenetConfig::default() };
        let world = World::new(genet, LinkConfig::default(), paced(1_000, 0));
        assert_eq!(world.try_bring_up().err(), Some(BringUpError::WrongRevision { found }));
    }
}

#[test]
fn bring_up_again_after_stop() {
    let bench = works(GenetConfig::default(), LinkConfig::default());
    let Bench { world, mut driver, .. } = bench;
    driver.stop().unwrap();
    drop(driver);
    world.arrivals.borrow_mut().clear();
    *world.source.borrow_mut() = paced(20_000, 0);
    let mut bench = world.start();
    assert!(bench.link.up);
    for _ in 0..3 {
        bench.inject_good(200);
    }
    let until = bench.now() + MS;
    assert_eq!(common::frames(&bench.receive_until(until)), [0; 3]);
    assert_eq!(bench.findings(), []);
}

#[test]
fn a_link_that_is_up_and_offers_all_we_want_is_left_alone() {
    // The earlier stage offered PAUSE too and no EEE: nothing to change. (The model's PHY starts without PAUSE, so
    // the first start renegotiates, the second must not.)
    let mut bench = works(GenetConfig::default(), LinkConfig::default());
    let clock = bench.world.handle.clone();
    let mut phy = bench.phy.unwrap();
    let action = phy.start(&mut bench.driver.mdio(), &clock, phy::Advertise::default()).unwrap();
    assert_eq!(action, phy::StartAction::LeftAlone);
    assert!(bench.model(|model, _, _| model.phy().link().is_some()));
}

#[test]
fn the_phy_delays_the_receive_clock_and_the_mac_the_transmit_clock() {
    use board::genet::RgmiiTiming;
    // Strict: a wrong sum of delays damages a fifth of the frames in that direction.
    let genet = GenetConfig {
        switches: Switches { rgmii: RgmiiTiming::Strict, ..Switches::default() },
        ..GenetConfig::default()
    };
    let mut bench = works(genet, LinkConfig::default());
    assert_eq!(bench.model(|model, _, _| model.link().stats().partner_fcs_errors), 0);
    assert_eq!(bench.model(|model, _, _| model.phy().delays()), (true, false));
}

#[test]
fn mdio_that_fails_once_or_sits_at_another_address() {
    works(
        GenetConfig {
            faults: Faults { mdio: MdioFault::FirstReadFails, ..Faults::default() },
            ..GenetConfig::default()
        },
        LinkConfig::default(),
    );
    for address in [0, 1, 7, 31] {
        works(
            GenetConfig { phy: PhyConfig { address, ..PhyConfig::default() }, ..GenetConfig::default() },
            LinkConfig::default(),
        );
    }
}

#[test]
fn mdio_that_does_not_work_is_an_error_and_no_hang() {
    for (fault, expected) in [
        (MdioFault::Stuck, "MDIO busy for 10000 us at PHY 1 register 0x01"),
        (MdioFault::Fails, "no PHY answers at any MDIO address"),
    ] {
        let genet = GenetConfig { faults: Faults { mdio: fault, ..Faults::default() }, ..GenetConfig::default() };
        let world = World::new(genet, LinkConfig::default(), paced(1_000, 0));
        let mut driver = world.try_bring_up().unwrap();
        let error = phy::Bcm54210e::find(&mut driver.mdio()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn registers_are_recorded_before_anything_is_written() {
    let genet = GenetConfig {
        found: Found { threshold: 5, timeout: 0x7_1000, pause_ctrl: 0x2_7FFF, ..Found::default() },
        ..GenetConfig::default()
    };
    let world = World::new(genet, LinkConfig::default(), paced(1_000, 0));
    let mut seen = Vec::new();
    genet::found(&world.handle, |block, name, offset, value| seen.push((block, name, offset, value)));
    assert_eq!(world.handle.0.borrow().writes, 0);
    // What decides how a driver receives that never writes it, and what an earlier program leaves.
    for offset in [
        0x080, 0x08C, 0x300, 0x314, 0x39C, 0x600, 0x614, 0x808, 0x818, 0x844, 0x864, 0x868, 0x86C, 0x870, 0xB30, 0xE50,
        0x2C24, 0x3008, 0x300C, 0x3024, 0x3028, 0x3040, 0x3044, 0x3048, 0x3054, 0x3064, 0x306C, 0x30AC, 0x5008, 0x500C,
        0xFC00, 0xFC04, 0xFC08,
    ] {
        assert_eq!(seen.iter().filter(|(_, _, at, _)| *at == offset).count(), 1, "{offset:#x}");
    }
    let mut names: Vec<_> = seen.iter().map(|(block, name, ..)| (block, name)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), seen.len(), "a name twice in a block");
    assert!(seen.contains(&("rdma", "ring16_mbuf_done_thresh", 0x3024, 5)));
    assert!(seen.contains(&("rdma", "ring16_timeout", 0x30AC, 0x7_1000)));
    assert!(seen.contains(&("umac", "pause_ctrl", 0xB30, 0x2_7FFF)));
    assert_eq!(world.handle.0.borrow().findings, []);
    let mut bench = world.start();
    let found = RxSettings { threshold: None, timeout_ticks: None, ..RxSettings::default() };
    let got = bench.driver.apply(&found).unwrap();
    assert_eq!((got.threshold, got.timeout_ticks), (5, 0x1000));
    assert_eq!(bench.model(|model, _, _| model.peek(0x30AC)), 0x7_1000, "upper half kept");
    assert_eq!(got.ignored(&found), None);
    assert!(matches!(found.pause, Pause::Negotiated));
}
