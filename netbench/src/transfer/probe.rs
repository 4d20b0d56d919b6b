//! Round trips of small requests, under the settings of the point.
//!
//! A trip lasts from handing the request to the stack to having read the head of its answer. The
//! connection is kept; it is opened anew, outside the time taken, when the server closed it or
//! answers with more than was asked for.

use super::{Ignore, Stage, Transfer};
use crate::Port;
use crate::failure::Failure;
use crate::net::Net;
use crate::stats::Histogram;

/// How long an answer may take, ms.
const PROBE_WAIT_MS: u64 = 3_000;
/// A longer rest of a body than this is not waited for.
const MAX_REST_BYTES: u64 = 16 << 10;

impl Transfer {
    /// Adds `count` round trips to `times`. What came before a failure stays in it.
    pub fn probe<P: Port>(
        &mut self,
        net: &mut Net,
        port: &mut P,
        count: u32,
        times: &mut Histogram,
    ) -> Result<(), Failure> {
        self.again = false;
        let mut open = false;
        for _ in 0..count {
            if !open {
                self.connect(net, port, 1)?;
            }
            let sent_ns = port.now_ns();
            self.send(net, 0, true);
            self.until(net, port, |stage| stage != Stage::Head)?;
            times.add(port.now_ns() - sent_ns);
            let flow = &self.flows[0];
            if flow.stage == Stage::Body && flow.keep_alive && flow.due_b <= MAX_REST_BYTES {
                self.until(net, port, |stage| stage != Stage::Body)?;
            }
            open = self.flows[0].stage == Stage::Idle && net.socket(0).may_recv() && net.socket(0).may_send();
            if !open {
                self.close(net, port);
            }
        }
        Ok(())
    }

    fn until<P: Port>(&mut self, net: &mut Net, port: &mut P, reached: fn(Stage) -> bool) -> Result<(), Failure> {
        let deadline_ns = port.now_ns() + PROBE_WAIT_MS * 1_000_000;
        loop {
            net.poll(port);
            self.collect_all(net, port, &mut Ignore);
            self.check(net)?;
            if reached(self.flows[0].stage) {
                return Ok(());
            }
            self.wait(net, port, deadline_ns, "answer to a small request", PROBE_WAIT_MS)?;
        }
    }
}
