//! Taking one cause out of a world, at the models: the driver and its settings stay as they are.

use board::host::HostConfig;
use board::link::{ObeyPause, Partner};
use board::path::PathConfig;
use netbench::verdict::Hypothesis;
use vpi4::MachineConfig;

/// Causes that driver or link make, in the order of reports.
pub const OURS: [Hypothesis; 6] = [
    Hypothesis::Coalescing,
    Hypothesis::PauseSent,
    Hypothesis::PauseReceived,
    Hypothesis::Eee,
    Hypothesis::Duplex,
    Hypothesis::Overrun,
];
/// Causes that lie behind them.
pub const NETWORK: [Hypothesis; 4] = [Hypothesis::Lossy, Hypothesis::Window, Hypothesis::Path, Hypothesis::Cpu];

/// What a world is made from: the machine, and plan words of the workload.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Board, network, costs.
    pub machine: MachineConfig,
    /// Receive window, bytes.
    pub window_b: u64,
    /// Further words of the plan, for rates only.
    pub words: &'static str,
}

/// Of several ways one is enough. The ring is such a cause: frames that wait at a ring of two still come two to an
/// interrupt, so the model without discards shows less than a ring that is not small.
pub fn one_way_is_enough(cause: Hypothesis) -> bool {
    cause == Hypothesis::Overrun
}

/// How many times the window it gets that is not to be the limit.
const LARGER: u64 = 2;
/// And how many times shorter the round trip then is.
const SHORTER: u64 = 4;
/// How many times faster core and device accesses are that are not to be the limit. More costs time on the host only.
const FASTER: u64 = 3;

/// The settings without `cause`. More than one if a cause has several halves that each must matter (for a window over a
/// round trip, both the window and the round trip), unless [`one_way_is_enough`]. Empty if there is nothing to take away.
pub fn remove(cause: Hypothesis, setting: &Setting) -> Vec<Setting> {
    let before = format!("{setting:?}");
    let with = |change: &dyn Fn(&mut Setting)| {
        let mut changed = setting.clone();
        change(&mut changed);
        changed
    };
    let ways = match cause {
        Hypothesis::Coalescing => vec![with(&|s| s.machine.board.genet.ideal.prompt = true)],
        Hypothesis::Overrun => {
            vec![with(&|s| s.machine.board.genet.ideal.patient = true), with(&|s| s.words = "gb.posted=256")]
        }
        Hypothesis::PauseSent => vec![with(&|s| partner(s).obeys_pause = ObeyPause::Never)],
        Hypothesis::PauseReceived => vec![with(&|s| partner(s).pause_flood = None)],
        Hypothesis::Eee => vec![with(&|s| partner(s).eee = 0)],
        Hypothesis::Duplex => vec![with(&|s| partner(s).autonegotiates = true)],
        Hypothesis::Lossy => vec![with(&|s| {
            let link = &mut s.machine.board.link;
            (link.to_board_fcs_ppm, link.from_board_fcs_ppm) = (0, 0);
            (link.to_board_loss_ppm, link.from_board_loss_ppm) = (0, 0);
        })],
        Hypothesis::Window => vec![
            with(&|s| s.window_b *= LARGER),
            with(&|s| {
                path(s).to_board_ns /= SHORTER;
                path(s).from_board_ns /= SHORTER;
            }),
        ],
        Hypothesis::Path => vec![with(&|s| {
            let usual = PathConfig::default();
            let path = path(s);
            path.port_bps = usual.port_bps;
            (path.to_board_bottleneck, path.from_board_bottleneck) = (None, None);
            (path.to_board_loss_ppm, path.from_board_loss_ppm) = (0, 0);
            host(s).pace_bps = None;
        })],
        Hypothesis::Cpu => vec![with(&|s| {
            let cost = &mut s.machine.cost;
            cost.cpu_hz *= FASTER;
            cost.device_read_ns /= FASTER;
            cost.device_write_ns /= FASTER;
        })],
        Hypothesis::Nothing => Vec::new(),
    };
    ways.into_iter().filter(|way| format!("{way:?}") != before).collect()
}

fn partner(setting: &mut Setting) -> &mut Partner {
    &mut setting.machine.board.link.partner
}

fn path(setting: &mut Setting) -> &mut PathConfig {
    &mut setting.machine.board.path
}

fn host(setting: &mut Setting) -> &mut HostConfig {
    &mut setting.machine.board.peer
}
