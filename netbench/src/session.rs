//! A download whose bytes somebody looks at, on the stack and the transfer loop that a sweep uses.
//!
//! Owns nothing that a sweep does not: link, lease and name come about the same way. What is checked is the caller's
//! business, and so is how often the link is looked at.

use crate::failure::Failure;
use crate::http::Url;
use crate::net::Net;
use crate::plan::Plan;
use crate::run::{wait_for_lease, wait_for_link};
use crate::transfer::{Ended, Sink, Transfer};
use crate::{Console, FrameStamp, Port};

/// The stack with an address and a server to fetch from.
pub struct Session {
    net: Net,
    transfer: Transfer,
}

/// Shows bodies to a closure: flow, next bytes of its bodies.
struct Show<'a, F>(&'a mut F);

impl<F: FnMut(usize, &[u8])> Sink for Show<'_, F> {
    fn payload(&mut self, _: usize, _: usize, _: FrameStamp, _: u64) {}

    fn batch_end<P: Port>(&mut self, _: u64, _: &mut P) {}

    fn body(&mut self, flow: usize, bytes: &[u8]) {
        (self.0)(flow, bytes);
    }
}

impl Session {
    /// Waits for the link, asks for an address and looks the server of `plan` up. Of the plan it uses URL, flows,
    /// window, seed and the time for the link.
    ///
    /// # Errors
    /// What failed.
    pub fn start<P: Port, C: Console>(port: &mut P, console: &mut C, plan: &Plan) -> Result<Session, Failure> {
        let url = Url::parse(&plan.url).map_err(Failure::Url)?;
        wait_for_link(port, console, plan.link_wait_ms)?;
        let mut net = Net::new(port, plan.max_flows(), plan.max_window_b(), plan.seed);
        wait_for_lease(port, &mut net)?;
        let address = net.resolve(port, &url.host)?;
        let range_b = (plan.range_b > 0).then_some(plan.range_b);
        let transfer = Transfer::new((address, url.port), plan.max_flows(), &url, range_b);
        Ok(Session { net, transfer })
    }

    /// Asks on `flows` connections; `read` is shown what comes before all of them have begun.
    ///
    /// # Errors
    /// What failed.
    pub fn open<P: Port>(
        &mut self,
        port: &mut P,
        flows: u16,
        read: &mut impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        self.transfer.open(&mut self.net, port, flows, &mut Show(read))
    }

    /// Receives until `until_ns`; bodies that end are asked for again. `read` is shown the bytes of each flow in their
    /// order. True when the servers will send no more.
    ///
    /// # Errors
    /// What failed.
    pub fn receive<P: Port>(
        &mut self,
        port: &mut P,
        until_ns: u64,
        read: &mut impl FnMut(usize, &[u8]),
    ) -> Result<bool, Failure> {
        match self.transfer.pump(&mut self.net, port, until_ns, &mut Show(read)) {
            Ended::Deadline => Ok(false),
            Ended::Done => Ok(true),
            Ended::Failed(failure) => Err(failure),
        }
    }

    /// Breaks the connections off.
    pub fn close<P: Port>(&mut self, port: &mut P) {
        self.transfer.close(&mut self.net, port);
    }
}
