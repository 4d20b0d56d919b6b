//! The driver alone: descriptor words, index jumps, registers that lie, and every call that a kernel makes.

use super::Script;
use super::hardware::{Buffers, Hardware, RX_BUS, TX_BUFFERS, TX_BUS, Window};
use genet::{Genet, LinkState, Pause, Posted, RxMode, RxRing, RxSettings, Speed, acknowledge};
use netbench::presets::PRESETS;
use smoltcp::phy::{Device, RxToken, TxToken};
use smoltcp::time::Instant;
use std::rc::Rc;

/// Most steps of a script.
const STEPS: usize = 400;

pub(super) type FuzzGenet = Genet<Window, Buffers, Window>;

/// The driver over `hardware`, or `None` if it refuses it.
pub(super) fn bring_up(hardware: &Rc<Hardware>) -> Option<FuzzGenet> {
    let rx = Buffers::new(hardware, RX_BUS, 256);
    let tx = Buffers::new(hardware, TX_BUS, TX_BUFFERS);
    let (regs, clock) = (Window(hardware.clone()), Window(hardware.clone()));
    Genet::bring_up(regs, rx, tx, clock, super::port::MAC).ok()
}

/// A gigabit link, or what `choice` makes of it.
pub(super) fn link(choice: u8) -> LinkState {
    LinkState {
        up: choice & 1 == 0,
        speed: [Speed::Mbps1000, Speed::Mbps100, Speed::Mbps10][usize::from(choice >> 1) % 3],
        full_duplex: choice & 8 == 0,
        pause_tx: choice & 16 != 0,
        pause_rx: choice & 32 != 0,
        ..LinkState::default()
    }
}

/// Runs a script against the driver.
pub(super) fn run(mut script: Script<'_>) {
    let hardware = Hardware::new();
    // What an earlier program may have left.
    for _ in 0..script.u8() % 4 {
        let (offset, value) = (script.u16(), script.u32());
        hardware.poke(offset, value);
    }
    let Some(mut genet) = bring_up(&hardware) else {
        assert!(hardware.spoilt.get(), "refuses good hardware");
        return;
    };
    genet.link_changed(&link(0));
    for _ in 0..STEPS {
        let Some(step) = script.byte() else { break };
        step_once(step, &mut script, &hardware, &mut genet);
    }
    drain(&hardware, &mut genet, u64::MAX);
    let counters = genet.counters();
    assert_eq!(counters.frame_errors, counters.errors.total());
    let _ = genet.stop();
}

fn step_once(step: u8, script: &mut Script<'_>, hardware: &Rc<Hardware>, genet: &mut FuzzGenet) {
    match step % 16 {
        0..=2 => {
            let frame = frame(script);
            hardware.deliver(&frame, (frame.len() as u32 + 2) << 16 | 0x6000);
        }
        3 => hardware.deliver(&frame(script), script.u32()),
        4 => hardware.jump(script.u16()),
        5 => hardware.discard(script.u16()),
        6 => hardware.poke(script.u16(), script.u32()),
        7 | 8 => {
            drain(hardware, genet, script.u8().into());
        }
        9 => {
            genet.end_batch();
            if genet.rearm() {
                take(hardware, genet, u64::MAX);
            }
        }
        10 => {
            let now_ns = hardware.now_ns.get() + 1000 * u64::from(script.u32());
            hardware.now_ns.set(now_ns);
            genet.rescue_overdue(now_ns);
            take(hardware, genet, u64::MAX);
        }
        11 => {
            let _ = genet.apply(&settings(script));
        }
        12 => genet.link_changed(&link(script.u8())),
        13 => {
            let bytes = usize::from(script.u16() % 2048);
            if let Some(token) = genet.transmit(Instant::ZERO) {
                token.consume(bytes, |buffer| buffer.fill(0x5a));
            }
        }
        14 => {
            acknowledge(&Window(hardware.clone()));
            genet.counters();
        }
        _ => hardware.freeze(script.u16()),
    }
}

/// A frame of any length; its content follows from two bytes.
fn frame(script: &mut Script<'_>) -> Vec<u8> {
    let bytes = usize::from(script.u16() % 2046);
    let first = script.u8();
    (0..bytes).map(|i| first.wrapping_add(i as u8)).collect()
}

fn settings(script: &mut Script<'_>) -> RxSettings {
    let choice = script.u8();
    if let Some(preset) = PRESETS.get(usize::from(choice)) {
        return preset.settings;
    }
    let some = |value: u16| (value & 0x8000 == 0).then_some(value);
    RxSettings {
        threshold: some(script.u16()),
        timeout_ticks: some(script.u16()),
        posted: if choice & 1 == 0 {
            Posted::Fixed(script.u16() % 300)
        } else {
            Posted::Growing { start: script.u16() % 300 }
        },
        xoff: script.u16(),
        xon: script.u16(),
        pause: if choice & 2 == 0 {
            Pause::Negotiated
        } else {
            Pause::Forced { send: choice & 4 == 0, obey: choice & 8 == 0 }
        },
        mode: if choice & 16 == 0 { RxMode::Interrupt } else { RxMode::Poll },
        quanta: None,
        id_mode_dis: (choice & 32 != 0).then_some(choice & 64 != 0),
        ring: RxRing::Ring16,
    }
}

/// Looks for frames and takes at most `limit` of them.
fn drain(hardware: &Rc<Hardware>, genet: &mut FuzzGenet, limit: u64) {
    let waiting = genet.poll_receive(hardware.now_ns.get());
    assert!(waiting <= 256, "a batch of {waiting}");
    take(hardware, genet, limit);
}

/// Takes the batch: on good hardware, exactly the good frames in the order in which they came.
fn take(hardware: &Rc<Hardware>, genet: &mut FuzzGenet, limit: u64) {
    for _ in 0..limit {
        let Some((frame, _)) = genet.receive(Instant::ZERO) else { return };
        let got = frame.consume(<[u8]>::to_vec);
        assert!((14..=1536).contains(&got.len()), "a frame of {} bytes", got.len());
        assert_eq!(genet.last_stamp().bytes as usize, got.len());
        if hardware.spoilt.get() {
            continue;
        }
        let expected = loop {
            let (word, frame) = hardware.expected.borrow_mut().pop_front().expect("a frame out of nowhere");
            // Start and end of a frame, no error, a length that a frame has.
            let length = (word >> 16 & 0xfff) as usize;
            if word & 0x601f == 0x6000 && (16..=1538).contains(&length) {
                break (length - 2, frame);
            }
        };
        assert_eq!(got.len(), expected.0, "length");
        let common = got.len().min(expected.1.len());
        assert_eq!(got[..common], expected.1[..common], "content");
    }
}
