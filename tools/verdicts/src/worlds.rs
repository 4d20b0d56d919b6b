//! The worlds. Each is a driver under suspicion and what lies at its network port.
//!
//! `causes` is what the world was made for, under [`Variant::BASE`](crate::variant::Variant::BASE); what is true is
//! measured all the same (`truth`).

use crate::removal::Setting;
use crate::session::WINDOW_B;
use crate::variant::Variant;
use board::genet::XoffTrigger;
use board::host::Congestion;
use board::link::{Modes, ObeyPause, PauseFlood, Speed};
use board::path::{Bottleneck, PathConfig};
use board::storm::{StormConfig, StormKind};
use netbench::verdict::Hypothesis as H;
use netbench::{RxSettings, presets};
use vpi4::{Cost, MachineConfig};

/// A world whose truth is known.
pub struct World {
    /// Its name.
    pub name: &'static str,
    /// What there is, for people.
    pub about: &'static str,
    /// The driver under suspicion: a preset of the firmware.
    pub driver: &'static str,
    /// What was put in.
    pub causes: &'static [H],
    shape: fn(&mut Setting),
}

impl World {
    /// The world of that name.
    pub fn named(name: &str) -> Option<&'static World> {
        WORLDS.iter().find(|world| world.name == name)
    }

    /// All of it under one reading of the hardware.
    pub fn setting(&self, variant: &Variant, seed: u64) -> Setting {
        let mut machine = MachineConfig::default();
        machine.board = machine.board.seeded(seed);
        let mut setting = Setting { machine, window_b: WINDOW_B, words: "" };
        (self.shape)(&mut setting);
        variant.apply(&mut setting.machine.board);
        setting
    }

    /// Receive settings of the driver under suspicion.
    pub fn settings(&self) -> &'static RxSettings {
        presets::find(self.driver).map_or(&presets::PRESETS[0].settings, |preset| &preset.settings)
    }
}

const fn world(
    name: &'static str,
    about: &'static str,
    driver: &'static str,
    causes: &'static [H],
    shape: fn(&mut Setting),
) -> World {
    World { name, about, driver, causes, shape }
}

/// All worlds.
pub static WORLDS: &[World] = &[
    world("clean1000", "1000 Mbit/s, nothing wrong", "freebsd", &[H::Nothing], |_| {}),
    world("clean100", "100 Mbit/s, nothing wrong", "freebsd", &[H::Nothing], |s| offers(s, Modes::FAST)),
    world("clean10", "10 Mbit/s, nothing wrong", "netbsd", &[H::Nothing], |s| {
        offers(s, Modes::T10_FULL.or(Modes::T10_HALF));
    }),
    world("clean_poll", "1000 Mbit/s, nothing wrong, a driver that polls", "uboot", &[H::Nothing], |_| {}),
    world("coalescing", "a threshold that is never reached and 33.554 ms", "ticks4096", &[H::Coalescing], |_| {}),
    world("pause_sent", "two buffers posted, the other end obeys PAUSE", "openbsd", &[H::PauseSent], obeying),
    world("two_buffers", "two buffers posted, PAUSE obeyed, asked for once a fall", "openbsd", &[H::Nothing], |s| {
        s.machine.board.link.partner.obeys_pause = ObeyPause::Always;
    }),
    world("pause_received", "the other end sends PAUSE without end", "freebsd", &[H::PauseReceived], flooded),
    world("eee", "the other end wakes the link too early", "linux", &[H::Eee], |s| {
        bad_wake(s);
        round_trip(s, 2);
    }),
    world("duplex", "the other end is forced to 100 full duplex", "linux", &[H::Duplex], |s| {
        forced_full(s);
        careful(s);
        round_trip(s, 2);
    }),
    world("duplex10", "the other end is forced to 10 full duplex", "freebsd", &[H::Duplex], |s| {
        s.machine.board.link.partner.forced = (Speed::Mbps10, true);
        s.machine.board.link.partner.autonegotiates = false;
        careful(s);
        round_trip(s, 2);
    }),
    world("lossy", "a bad cable: two frames in a thousand are damaged", "linux", &[H::Lossy], damaged),
    world("window", "80 ms away", "linux", &[H::Window], |s| round_trip(s, 80)),
    world("path", "a server that sends 50 Mbit/s", "freebsd", &[H::Path], |s| {
        s.machine.board.peer.pace_bps = Some(50_000_000);
    }),
    world("access", "an access line of 100 Mbit/s, 20 ms away", "linux", &[H::Path], |s| {
        access(s, 100_000_000);
        round_trip(s, 20);
    }),
    world("overrun", "two buffers posted, bursts of others, PAUSE is ignored", "openbsd", &[H::Overrun], |s| {
        bursts(s);
        careful(s);
        round_trip(s, 4);
    }),
    world("cpu", "a slow core", "linux", &[H::Cpu], slow_core),
    world(
        "report",
        "a gateway that obeys PAUSE unasked, 100 Mbit/s access, 40 ms",
        "openbsd",
        &[H::PauseSent, H::Path],
        |s| {
            obeying(s);
            access(s, 100_000_000);
            round_trip(s, 40);
        },
    ),
    world(
        "coalescing+path",
        "33.554 ms, and a server that sends 400 Mbit/s",
        "ticks4096",
        &[H::Coalescing, H::Path],
        |s| {
            s.machine.board.peer.pace_bps = Some(400_000_000);
        },
    ),
    world("pause_sent+window", "two buffers, PAUSE obeyed, 80 ms away", "openbsd", &[H::PauseSent, H::Window], |s| {
        obeying(s);
        round_trip(s, 80);
    }),
    world("pause_sent+lossy", "two buffers, PAUSE obeyed, a bad cable", "openbsd", &[H::PauseSent, H::Lossy], |s| {
        damaged(s);
        obeying(s);
    }),
    world("pause_received+path", "PAUSE without end, and 400 Mbit/s", "freebsd", &[H::PauseReceived, H::Path], |s| {
        flooded(s);
        s.machine.board.peer.pace_bps = Some(400_000_000);
    }),
    world("overrun+path", "two buffers, bursts, PAUSE ignored, 400 Mbit/s", "openbsd", &[H::Path, H::Overrun], |s| {
        bursts(s);
        access(s, 400_000_000);
        round_trip(s, 4);
    }),
    world("eee+window", "a link woken too early, 40 ms away", "linux", &[H::Eee, H::Window], |s| {
        bad_wake(s);
        round_trip(s, 40);
    }),
];

fn offers(s: &mut Setting, modes: Modes) {
    s.machine.board.link.partner.modes = modes;
}

fn round_trip(s: &mut Setting, ms: u64) {
    let there = PathConfig::round_trip(ms * 1_000_000);
    let path = &mut s.machine.board.path;
    (path.to_board_ns, path.from_board_ns) = (there.to_board_ns, there.from_board_ns);
}

/// A line with a queue of a quarter of a second, and a server that looks after it.
fn access(s: &mut Setting, bps: u64) {
    s.machine.board.path.to_board_bottleneck = Some(Bottleneck { bps, queue_bytes: (bps / 8 / 4) as usize });
    careful(s);
}

/// The server's TCP slows down when frames are lost.
fn careful(s: &mut Setting) {
    s.machine.board.peer.congestion = Congestion::Cubic;
}

/// The other end stops for every PAUSE; and a ring below its watermark asks for one with each frame, the reading under
/// which the report's one frame in 33.554 ms comes about.
fn obeying(s: &mut Setting) {
    s.machine.board.genet.switches.xoff = XoffTrigger::EachFrame;
    s.machine.board.link.partner.obeys_pause = ObeyPause::Always;
}

/// 19.5 of 20 ms of silence at 1000 Mbit/s: our acknowledgements wait.
fn flooded(s: &mut Setting) {
    s.machine.board.link.partner.pause_flood =
        Some(PauseFlood { from_ns: 0, until_ns: u64::MAX, interval_ns: 20_000_000, quanta: 38_000 });
}

fn bad_wake(s: &mut Setting) {
    let partner = &mut s.machine.board.link.partner;
    (partner.eee, partner.eee_early_ns, partner.eee_bad_wakes_ppm) = (0x6, 15_000, 300_000);
    careful(s);
}

fn forced_full(s: &mut Setting) {
    let partner = &mut s.machine.board.link.partner;
    (partner.autonegotiates, partner.forced) = (false, (Speed::Mbps100, true));
}

fn damaged(s: &mut Setting) {
    s.machine.board.link.to_board_fcs_ppm = 2_000;
    careful(s);
    round_trip(s, 4);
}

/// 220 small frames of others at once, two hundred times a second, and a core that needs a while for them.
fn bursts(s: &mut Setting) {
    let board = &mut s.machine.board;
    board.storm = StormConfig {
        frames_per_s: 44_000,
        burst_frames: 220,
        during_ns: 0..u64::MAX,
        kind: StormKind::Broadcast,
        board_ip: board.peer.board_ip,
        ..board.storm.clone()
    };
    s.machine.cost.cpu_hz = 400_000_000;
}

fn slow_core(s: &mut Setting) {
    s.machine.cost = Cost { cpu_hz: 100_000_000, device_read_ns: 1_000, ..s.machine.cost };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_drivers_exist() {
        let names: BTreeSet<&str> = WORLDS.iter().map(|world| world.name).collect();
        assert_eq!(names.len(), WORLDS.len());
        assert!(WORLDS.iter().all(|world| presets::find(world.driver).is_some()));
    }

    #[test]
    fn every_hypothesis_has_a_world_of_its_own() {
        for hypothesis in H::ALL {
            assert!(WORLDS.iter().any(|world| world.causes == [hypothesis]), "{}", hypothesis.word());
        }
    }
}
