//! The bench that points are measured on: link, address and server, kept up from one point to the next.
//!
//! Owns what has to hold before a window: the link that the point wants, a lease, a quiet console. Which points are
//! measured, and what comes of them, is the caller's.

use crate::failure::Failure;
use crate::http::Url;
use crate::link_log::LinkLog;
use crate::net::{Lease, Net};
use crate::plan::Plan;
use crate::point::{Point, link_word};
use crate::record::Recorder;
use crate::result::{self, RunResult};
use crate::run::{DHCP_WAIT_MS, blame_link, keep_lease, wait_for_lease, wait_for_link};
use crate::sweep::{Sweep, drain};
use crate::transfer::Transfer;
use crate::{Console, LinkState, Port};
use alloc::vec::Vec;
use genet::LinkSettings;
use smoltcp::wire::Ipv4Address;

/// Port, console and records, with a stack that has an address.
pub(crate) struct Bench<'a, P, C> {
    pub port: &'a mut P,
    pub console: &'a mut C,
    pub recorder: &'a mut Recorder,
    pub plan: &'a Plan,
    pub url: Url,
    /// The server's.
    pub address: Ipv4Address,
    sweep: Sweep,
    links: LinkLog,
    /// What the PHY was asked for last.
    asked: LinkSettings,
    lease: Lease,
    link_ns: u64,
}

impl<'a, P: Port, C: Console> Bench<'a, P, C> {
    /// Gets the arrival clock ready, asks for the link `asked`, waits for it, asks for an address and looks the server up. With the link of the first
    /// point it need not be made twice.
    ///
    /// # Errors
    /// What failed.
    pub fn start(
        port: &'a mut P,
        console: &'a mut C,
        recorder: &'a mut Recorder,
        plan: &'a Plan,
        asked: LinkSettings,
        flows: u16,
        window_b: u64,
    ) -> Result<Self, Failure> {
        let url = Url::parse(&plan.url).map_err(Failure::Url)?;
        if plan.watches() {
            port.prepare_watch();
        }
        // After an earlier plan the port may be set to something else.
        let _ = port.set_link(&asked).map_err(Failure::Phy)?;
        let mut links = LinkLog::default();
        let found = wait_for_link(port, console, plan.link_wait_ms);
        links.follow(port, console, recorder);
        found?;
        let losses = port.link_losses();
        let link_ns = port.now_ns();
        let mut net = Net::new(port, flows, window_b, plan.seed);
        console.note(format_args!("asking for an address by DHCP"));
        let _ = writeln!(console, "DHCP: asking for an address (at most {} s)", DHCP_WAIT_MS / 1000);
        let lease = wait_for_lease(port, &mut net).map_err(|failure| blame_link(port, losses, failure))?;
        record_lease(recorder, console, &lease);
        console.note(format_args!("looking up {}", url.host));
        let _ = writeln!(console, "DHCP: {} from {}; looking up {}", lease.address, lease.server, url.host);
        let address = net.resolve(port, &url.host).map_err(|failure| blame_link(port, losses, failure))?;
        let range_b = (plan.range_b > 0).then_some(plan.range_b);
        let transfer = Transfer::new((address, url.port), flows, &url, range_b);
        Ok(Bench {
            port,
            console,
            recorder,
            plan,
            url,
            address,
            sweep: Sweep::new(net, transfer),
            links,
            asked,
            lease,
            link_ns,
        })
    }

    /// From the first link to the first byte of a body, us.
    pub fn link_to_first_byte_us(&self) -> Option<u64> {
        self.sweep.first_body_ns.map(|ns| (ns - self.link_ns) / 1000)
    }

    /// Gives `points` their run ids and writes their `plan` records.
    pub fn announce(&mut self, points: &[Point]) -> Vec<u32> {
        let ids: Vec<u32> = points.iter().map(|_| self.recorder.take_run_id()).collect();
        for (id, point) in ids.iter().zip(points) {
            result::record_plan(self.recorder, self.console, *id, point, self.plan);
        }
        ids
    }

    /// Measures a point and writes its records. A point that fails is a result, too.
    ///
    /// # Errors
    /// Nothing more can be measured: there is no address any more.
    pub fn measure(&mut self, id: u32, point: &Point) -> Result<RunResult, Failure> {
        let lease = keep_lease(self.port, self.console, self.sweep.net())?;
        if lease != self.lease {
            record_lease(self.recorder, self.console, &lease);
            self.lease = lease;
        }
        self.console.note(format_args!("run {id}: {}, {} flows", point.name(), point.setup.flows));
        drain(self.port, self.console);
        let link = self.make_link(point);
        self.links.follow(self.port, self.console, self.recorder);
        self.stopped()?;
        let run = self.sweep.point(self.port, self.console, self.recorder, self.plan, (id, point), link);
        self.links.follow(self.port, self.console, self.recorder);
        Ok(run)
    }

    /// Somebody wants it all to end.
    pub fn stopped(&self) -> Result<(), Failure> {
        if self.port.stop_wanted(self.port.now_ns()) { Err(Failure::Stopped) } else { Ok(()) }
    }

    /// The link that the point wants, and how often it was lost before.
    fn make_link(&mut self, point: &Point) -> Result<(LinkState, u64), Failure> {
        let want = point.setup.link;
        if want != self.asked {
            self.asked = want;
            if self.port.set_link(&want).map_err(Failure::Phy)? {
                let _ = writeln!(self.console, "      link: made anew as {}", link_word(want.mode));
            }
        }
        let losses = self.port.link_losses(); // looks now, however short ago it did
        Ok((wait_for_link(self.port, self.console, self.plan.link_wait_ms)?, losses))
    }
}

fn record_lease<C: Console>(recorder: &mut Recorder, console: &mut C, lease: &Lease) {
    recorder.record(console, "addr", |r| {
        r.word("family", "ipv4");
        r.show("address", lease.address);
        r.word("source", "dhcp");
        if let Some(router) = lease.router {
            r.show("gateway", router);
        }
        if let Some(dns) = lease.dns {
            r.show("dns", dns);
        }
    });
}
