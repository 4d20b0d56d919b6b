//! The rig: a desk, the path, host and source at its other end, and what every kind of phase needs.

use super::Report;
use super::http::Streams;
use super::ledger::Wraps;
use super::phase::{Kind, Phase};
use crate::desk::{Desk, DeskConfig, Transcript};
use crate::heap;
use crate::source::{Checker, Peers, Source};
use board::genet::DiscardEnd;
use board::host::{Host, HostConfig};
use board::link::ObeyPause;
use board::path::{Path, PathConfig};
use board::rng::SplitMix64;
use netbench::{Port, Session, plan};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const MS: u64 = 1_000_000;
/// MIB counters start this far below 2^32.
const MIB_BELOW_END: u32 = 5_000;
/// How long a link may take, ns.
const LINK_WAIT_NS: u64 = 20_000 * MS;
/// Longer than any frame may lie in the ring: an interrupt that does not come is noticed after a second.
const RING_REST_NS: u64 = 1_500 * MS;
/// Connections of the HTTP phases.
pub(super) const FLOWS: u16 = 4;
/// The source's side is this much faster than the cable, so that the cable is what limits.
const PORT_BPS: u64 = 1_010_000_000;

pub(super) type Tell<'a> = dyn FnMut(u64, u64) + 'a;

pub(super) struct Rig {
    pub(super) desk: Desk,
    pub(super) path: Rc<RefCell<Path<Peers>>>,
    pub(super) rng: SplitMix64,
    pub(super) checker: Checker,
    pub(super) streams: Streams,
    pub(super) session: Session,
    pub(super) injected: u64,
    pub(super) flaps: u64,
    pub(super) discard_wraps: u64,
    pub(super) raw_allocations: u64,
    pub(super) discards: DiscardEnd,
    heap_limit_bytes: Option<i64>,
}

impl Rig {
    /// A board with a link, an address and a server.
    pub(super) fn new(seed: u64, discards: DiscardEnd) -> Result<Rig, String> {
        let mut rng = SplitMix64::new(seed);
        let mut config = DeskConfig::default();
        config.genet.seed = rng.next_u64();
        config.genet.found.mib_start = u32::MAX - MIB_BELOW_END;
        config.genet.switches.discards = discards;
        config.link.seed = rng.next_u64();
        let (host, _) = Host::shared(HostConfig { seed: rng.next_u64(), ..HostConfig::default() });
        let object_bytes = HostConfig::default().objects[0].bytes;
        let path = PathConfig { seed: rng.next_u64(), port_bps: PORT_BPS, ..PathConfig::default() };
        let mac = config.genet.mac;
        let path = Rc::new(RefCell::new(Path::new(path, Peers::new(host, Source::new(mac)))));
        let peer = Box::new(path.clone());
        let mut desk = heap::firmware(|| Desk::new(&config, peer)).map_err(|error| error.to_string())?;
        let (plan, _) = plan::parse(&format!("gb.flows={FLOWS} gb.seed={}", rng.next_u64()));
        let mut console = Transcript::default();
        let session = heap::firmware(|| Session::start(&mut desk, &mut console, &plan));
        let session = session.map_err(|failure| failure.to_string())?;
        Ok(Rig {
            desk,
            path,
            rng,
            checker: Checker::new(mac),
            streams: Streams::new(FLOWS.into(), object_bytes),
            session,
            injected: 0,
            flaps: 0,
            discard_wraps: 0,
            raw_allocations: 0,
            discards,
            heap_limit_bytes: None,
        })
    }

    /// Frames handed out so far.
    pub(super) fn received(&self) -> u64 {
        self.desk.handle().world(|world| world.trail().handed_out)
    }

    /// Runs a phase to the end: when it returns, nothing is under way.
    pub(super) fn phase(&mut self, phase: &Phase, tell: &mut Tell<'_>) -> Result<(), String> {
        self.set_partner(phase.kind != Kind::Stalls)?;
        let settings = &phase.preset.settings;
        let got = heap::firmware(|| self.desk.apply(settings)).map_err(|error| error.to_string())?;
        if let Some(key) = got.ignored(settings) {
            return Err(format!("the hardware did not take {key}: {got:?}"));
        }
        self.set_faults(phase.kind.has_faults());
        match phase.kind {
            Kind::Http | Kind::HttpFaults => self.http(phase, tell)?,
            _ => self.raw(phase, tell)?,
        }
        self.set_faults(false);
        self.rest()?;
        let live = heap::of_firmware().live_bytes;
        let limit = *self.heap_limit_bytes.get_or_insert(live);
        if live > limit {
            return Err(format!(
                "the firmware's heap holds {live} bytes, {} more than after the first phase",
                live - limit
            ));
        }
        Ok(())
    }

    /// Whether the partner stops for PAUSE. A change lets the link negotiate anew.
    fn set_partner(&mut self, obeys: bool) -> Result<(), String> {
        let wanted = if obeys { ObeyPause::IfNegotiated } else { ObeyPause::Never };
        let handle = self.desk.handle().clone();
        let changed = handle.model(|model, now, env| {
            let mut changed = false;
            if model.link().partner_obeys() != wanted {
                model.change_partner(now, |link| link.partner.obeys_pause = wanted, env);
                changed = true;
            }
            changed
        });
        if changed { self.wait_for_link() } else { Ok(()) }
    }

    /// Waits until driver and model agree that there is a link.
    pub(super) fn wait_for_link(&mut self) -> Result<(), String> {
        let give_up_ns = self.desk.now_ns() + LINK_WAIT_NS;
        // First the driver has to see that it went.
        let mut went = false;
        loop {
            let link = self.turn(10 * MS);
            let real = self.desk.handle().world(|world| world.model().link().mode().is_some());
            went |= !link || !real;
            if went && link && real {
                return Ok(());
            }
            if self.desk.now_ns() >= give_up_ns {
                return Err(format!("no link within {} s", LINK_WAIT_NS / 1_000 / MS));
            }
        }
    }

    /// Lets the firmware wait for `ns` at most, look at the link, and drop what came. True with a link.
    pub(super) fn turn(&mut self, ns: u64) -> bool {
        let Rig { desk, .. } = self;
        heap::firmware(|| {
            let deadline_ns = desk.now_ns() + ns;
            desk.wait(deadline_ns);
            while let Some((frame, _)) = smoltcp::phy::Device::receive(desk, smoltcp::time::Instant::ZERO) {
                smoltcp::phy::RxToken::consume(frame, |_| {});
            }
            desk.link().up
        })
    }

    /// Lets everything that is under way arrive, and takes it out of the ring.
    pub(super) fn rest(&mut self) -> Result<(), String> {
        let mut until_ns = self.desk.now_ns() + RING_REST_NS;
        let give_up_ns = self.desk.now_ns() + LINK_WAIT_NS;
        loop {
            self.turn(50 * MS);
            let now_ns = self.desk.now_ns();
            if self.under_way() > 0 {
                until_ns = now_ns + RING_REST_NS;
            } else if now_ns >= until_ns {
                break;
            }
            if now_ns >= give_up_ns {
                return Err(format!("{} frames are still under way", self.under_way()));
            }
        }
        self.desk.handle().world(|world| world.trail().skip_rest());
        Ok(())
    }

    /// Frames of the source and on their way to the board.
    pub(super) fn under_way(&mut self) -> u64 {
        let mut path = self.path.borrow_mut();
        let on_path = path.under_way_to_board() as u64 + path.inner_mut().source.left();
        on_path + self.desk.handle().world(|world| world.model().link().under_way_to_board()) as u64
    }

    /// Random number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.rng.next_u64() % end.max(1)
    }

    /// What the board did, for the report.
    pub(super) fn add_to(&mut self, report: &mut Report) {
        let (mac, trail_hash, irqs) = self.desk.handle().world(|world| {
            let stats = world.model().stats();
            (stats, world.trail().hash, world.rx_irqs)
        });
        let start = u64::from(u32::MAX - MIB_BELOW_END);
        let wraps = Wraps {
            mib_bytes: (start + mac.mib_bytes) >> 32,
            mib_frames: (start + mac.mib_frames) >> 32,
            index: mac.delivered >> 16,
            discards: self.discard_wraps,
        };
        report.wraps.mib_bytes += wraps.mib_bytes;
        report.wraps.mib_frames += wraps.mib_frames;
        report.wraps.index += wraps.index;
        report.wraps.discards += wraps.discards;
        report.frame_hash = report.frame_hash.rotate_left(7) ^ trail_hash;
        report.body_hash = report.body_hash.rotate_left(7) ^ self.streams.hash;
        report.body_bytes += self.streams.bytes;
        report.flaps += self.flaps;
        report.irqs += irqs;
        report.rescues += self.desk.counters().rescues;
        report.heap.raw_allocations += self.raw_allocations;
    }
}
