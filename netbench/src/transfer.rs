//! Downloads over HTTP on one or more connections, and the loop that a window measures.
//!
//! Owns connections, requests, response heads and the counting of body bytes. What is done with
//! the counts is a [`Sink`]'s business. Nothing here allocates once a [`Transfer`] exists.

use crate::Port;
use crate::failure::Failure;
use crate::http::{self, HeadError, MAX_HEAD_BYTES};
use crate::net::{Net, instant};
use alloc::vec::Vec;
use genet::FrameStamp;
use smoltcp::iface::PollIngressSingleResult;
use smoltcp::socket::tcp;
use smoltcp::wire::Ipv4Address;

mod probe;

/// How long a peer may take to answer a connection request, ms. Three SYNs of smoltcp's.
const CONNECT_WAIT_MS: u64 = 5_000;
/// How long a server may take from the request to the body, ms.
const ANSWER_WAIT_MS: u64 = 10_000;
/// Frames after which acknowledgements go out in the middle of a batch.
const EGRESS_FRAMES: u32 = 8;

/// Where the numbers of the hot loop go.
pub(crate) trait Sink {
    /// `bytes` of payload reached the reader of `flow` at `now_ns`, brought by the frame of `stamp`.
    fn payload(&mut self, flow: usize, bytes: usize, stamp: FrameStamp, now_ns: u64);

    /// The payload itself, in order, before it is dropped. A window does not look at it.
    #[inline]
    fn body(&mut self, _flow: usize, _bytes: &[u8]) {}

    /// All frames of a batch are done. Called at least once in every turn of the loop.
    fn batch_end<P: Port>(&mut self, now_ns: u64, port: &mut P);
}

/// A sink for what is not measured.
pub(crate) struct Ignore;

impl Sink for Ignore {
    fn payload(&mut self, _: usize, _: usize, _: FrameStamp, _: u64) {}
    fn batch_end<P: Port>(&mut self, _: u64, _: &mut P) {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Connecting, or nothing asked for.
    Idle,
    /// A response head is due.
    Head,
    /// A body is due.
    Body,
    /// The server will send no more.
    Done,
}

#[derive(Debug)]
struct Flow {
    stage: Stage,
    /// Body bytes still to come; `u64::MAX` at first if the body lasts to the connection's end.
    due_b: u64,
    promised_b: Option<u64>,
    keep_alive: bool,
    /// Bodies that came whole.
    bodies: u64,
    head: Vec<u8>,
}

impl Flow {
    fn restart(&mut self) {
        self.stage = Stage::Idle;
        self.due_b = 0;
        self.promised_b = None;
        self.bodies = 0;
        self.head.clear();
    }
}

/// Why the hot loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The time is over.
    Deadline,
    /// Every server is done and will not send more on its connection.
    Done,
    /// It cannot go on.
    Failed(Failure),
}

/// All connections of a point.
pub(crate) struct Transfer {
    remote: (Ipv4Address, u16),
    request: Vec<u8>,
    probe_request: Vec<u8>,
    flows: Vec<Flow>,
    active: usize,
    /// The flow that the last frame was for.
    last: usize,
    /// Ask again on the same connection when a body has ended.
    again: bool,
    /// Time spent on each frame in addition, ns.
    burden_ns: u64,
    failure: Option<Failure>,
}

impl Transfer {
    /// Allocates everything for up to `flows` connections to `remote`.
    pub fn new(remote: (Ipv4Address, u16), flows: u16, url: &http::Url, range_b: Option<u64>) -> Transfer {
        let flow = || Flow {
            stage: Stage::Idle,
            due_b: 0,
            promised_b: None,
            keep_alive: false,
            bodies: 0,
            head: Vec::with_capacity(MAX_HEAD_BYTES),
        };
        Transfer {
            remote,
            request: http::request(url, range_b),
            probe_request: http::request(url, Some(1)),
            flows: (0..flows).map(|_| flow()).collect(),
            active: 0,
            last: 0,
            again: true,
            burden_ns: 0,
            failure: None,
        }
    }

    /// From now on the processor does something else for this long with each frame, ns.
    pub fn set_burden_ns(&mut self, burden_ns: u32) {
        self.burden_ns = burden_ns.into();
    }

    /// Connects `flows` flows and asks on each; returns when every body has begun.
    pub fn open<P: Port, S: Sink>(
        &mut self,
        net: &mut Net,
        port: &mut P,
        flows: u16,
        sink: &mut S,
    ) -> Result<(), Failure> {
        self.again = true;
        self.connect(net, port, flows)?;
        for index in 0..self.active {
            self.send(net, index, false);
        }
        let started_ns = port.now_ns();
        let deadline_ns = started_ns + ANSWER_WAIT_MS * 1_000_000;
        loop {
            net.poll(port);
            self.collect_all(net, port, sink);
            self.check(net)?;
            if self.flows[..self.active].iter().all(|f| f.stage == Stage::Body || f.bodies > 0) {
                return Ok(());
            }
            let unsent = (0..self.active).any(|index| net.socket(index).send_queue() > 0);
            let during = if unsent { "acknowledgement of the request" } else { "answer to the request" };
            self.wait(net, port, deadline_ns, during, ANSWER_WAIT_MS)?;
        }
    }

    /// Breaks all connections off. The peer is told.
    pub fn close<P: Port>(&mut self, net: &mut Net, port: &mut P) {
        for index in 0..self.active {
            net.socket(index).abort();
            self.flows[index].restart();
        }
        self.active = 0;
        self.failure = None;
        net.poll(port);
    }

    fn connect<P: Port>(&mut self, net: &mut Net, port: &mut P, flows: u16) -> Result<(), Failure> {
        self.active = (flows as usize).min(self.flows.len());
        self.last = 0;
        self.failure = None;
        if let Some(failure) = net.no_lease() {
            return Err(failure); // not `tcp.refused`, as the stack would have it
        }
        for index in 0..self.active {
            self.flows[index].restart();
            net.connect(index, self.remote)?;
        }
        let deadline_ns = port.now_ns() + CONNECT_WAIT_MS * 1_000_000;
        loop {
            net.poll(port);
            let states = (0..self.active).map(|i| net.socket(i).state());
            let mut waiting = 0;
            for state in states {
                match state {
                    tcp::State::SynSent | tcp::State::SynReceived => waiting += 1,
                    tcp::State::Closed => return Err(Failure::TcpRefused),
                    _ => {}
                }
            }
            if waiting == 0 {
                return Ok(());
            }
            self.wait(net, port, deadline_ns, "answer to the connection request", CONNECT_WAIT_MS)?;
        }
    }

    /// Sleeps, or fails when `deadline_ns` has passed.
    fn wait<P: Port>(
        &self,
        net: &mut Net,
        port: &mut P,
        deadline_ns: u64,
        during: &'static str,
        waited_ms: u64,
    ) -> Result<(), Failure> {
        if let Some(failure) = net.no_lease() {
            return Err(failure);
        }
        if port.stop_wanted(port.now_ns()) {
            return Err(Failure::Stopped);
        }
        if port.now_ns() >= deadline_ns {
            return Err(Failure::TcpTimeout { during, waited_ms });
        }
        net.wait(port, deadline_ns);
        Ok(())
    }

    fn send(&mut self, net: &mut Net, index: usize, probe: bool) {
        let bytes = if probe { &self.probe_request } else { &self.request };
        let flow = &mut self.flows[index];
        flow.stage = Stage::Head;
        flow.due_b = 0;
        flow.head.clear();
        // The buffer is larger than any request. A connection that cannot send is found by `check`.
        let _ = net.socket(index).send_slice(bytes);
    }

    /// The hot loop: one frame after the other until `deadline_ns`.
    pub fn pump<P: Port, S: Sink>(&mut self, net: &mut Net, port: &mut P, deadline_ns: u64, sink: &mut S) -> Ended {
        let mut poll_at_ns = 0;
        let mut now_ns = port.now_ns();
        loop {
            let mut frames = 0u32;
            while net.iface.poll_ingress_single(instant(now_ns), port, &mut net.sockets)
                != PollIngressSingleResult::None
            {
                now_ns = port.now_ns();
                self.collect(net, port, now_ns, sink);
                frames += 1;
                if frames.is_multiple_of(EGRESS_FRAMES) {
                    net.iface.poll_egress(instant(now_ns), port, &mut net.sockets);
                }
            }
            if frames > 0 && self.burden_ns > 0 {
                port.spend(u64::from(frames) * self.burden_ns);
                now_ns = port.now_ns();
            }
            if frames > 0 || now_ns >= poll_at_ns {
                net.follow_lease(port);
                if let Some(failure) = net.no_lease() {
                    return Ended::Failed(failure);
                }
                net.iface.poll_egress(instant(now_ns), port, &mut net.sockets);
                poll_at_ns = net.poll_at_ns(now_ns);
                if let Err(failure) = self.check(net) {
                    return Ended::Failed(failure);
                }
                if self.flows[..self.active].iter().all(|f| f.stage == Stage::Done) {
                    return Ended::Done;
                }
            }
            sink.batch_end(now_ns, port);
            if now_ns >= deadline_ns {
                return Ended::Deadline;
            }
            if port.stop_wanted(now_ns) {
                return Ended::Failed(Failure::Stopped);
            }
            port.wait(poll_at_ns.min(deadline_ns));
            now_ns = port.now_ns();
        }
    }

    /// Finds the flow that the last frame was for and consumes what it brought.
    #[inline]
    fn collect<P: Port, S: Sink>(&mut self, net: &mut Net, port: &mut P, now_ns: u64, sink: &mut S) {
        // A frame is for one flow, and mostly for the same as the one before.
        let last = self.last;
        if self.collect_from(last, net, port, now_ns, sink) {
            return;
        }
        for index in 0..self.active {
            if index != last && self.collect_from(index, net, port, now_ns, sink) {
                self.last = index;
                return;
            }
        }
    }

    #[inline]
    fn collect_from<P: Port, S: Sink>(
        &mut self,
        index: usize,
        net: &mut Net,
        port: &mut P,
        now_ns: u64,
        sink: &mut S,
    ) -> bool {
        let socket = net.socket(index);
        let queued = socket.recv_queue();
        if queued == 0 {
            return false;
        }
        let flow = &mut self.flows[index];
        let payload = if (queued as u64) < flow.due_b {
            take_bytes(socket, queued, |bytes| sink.body(index, bytes));
            flow.due_b -= queued as u64;
            queued
        } else {
            self.collect_boundary(index, net, sink)
        };
        if payload > 0 {
            sink.payload(index, payload, port.last_stamp(), now_ns);
        }
        true
    }

    /// Consumes what is queued without measuring it.
    fn collect_all<P: Port, S: Sink>(&mut self, net: &mut Net, port: &mut P, sink: &mut S) {
        for index in 0..self.active {
            self.collect_from(index, net, port, 0, sink);
        }
    }

    /// The rare case: a head, or the end of a body. Returns the body bytes consumed.
    #[inline(never)]
    fn collect_boundary<S: Sink>(&mut self, index: usize, net: &mut Net, sink: &mut S) -> usize {
        let mut payload = 0;
        while self.failure.is_none() {
            let queued = net.socket(index).recv_queue();
            if queued == 0 {
                break;
            }
            match self.flows[index].stage {
                Stage::Body => payload += self.body_bytes(index, net, queued, sink),
                Stage::Head => self.head_bytes(index, net),
                // More than was promised, and nothing was asked for.
                Stage::Idle | Stage::Done => take_bytes(net.socket(index), queued, |_| {}),
            }
        }
        payload
    }

    fn body_bytes<S: Sink>(&mut self, index: usize, net: &mut Net, queued: usize, sink: &mut S) -> usize {
        let flow = &mut self.flows[index];
        let bytes = (queued as u64).min(flow.due_b) as usize;
        take_bytes(net.socket(index), bytes, |bytes| sink.body(index, bytes));
        flow.due_b -= bytes as u64;
        if flow.due_b == 0 {
            flow.bodies += 1;
            if !flow.keep_alive {
                flow.stage = Stage::Done;
                net.socket(index).close();
            } else if self.again {
                self.send(net, index, false);
            } else {
                flow.stage = Stage::Idle;
            }
        }
        bytes
    }

    fn head_bytes(&mut self, index: usize, net: &mut Net) {
        let flow = &mut self.flows[index];
        let head = &mut flow.head;
        let taken = net.socket(index).recv(|bytes| {
            let before = head.len();
            let take = bytes.len().min(MAX_HEAD_BYTES - before);
            head.extend_from_slice(&bytes[..take]);
            match http::parse_head(head) {
                // What follows the head stays in the socket. The head cannot have ended before.
                Ok(Some((parsed, length))) => (length.saturating_sub(before), Ok(Some(parsed))),
                Ok(None) => (take, Ok(None)),
                Err(error) => (bytes.len(), Err(error)),
            }
        });
        let parsed = match taken {
            Ok(Ok(Some(parsed))) => parsed,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => return self.fail(Failure::HttpHead(error)),
            // `check` finds out why.
            Err(_) => return,
        };
        flow.head.clear();
        match parsed.status {
            100 | 102..=199 => return,
            200 | 206 => {}
            code if parsed.to_https => return self.fail(Failure::HttpsOnly { code }),
            code => return self.fail(Failure::HttpStatus { code }),
        }
        if parsed.content_length == Some(0) {
            return self.fail(Failure::HttpHead(HeadError::Empty));
        }
        flow.stage = Stage::Body;
        flow.promised_b = parsed.content_length;
        flow.due_b = parsed.content_length.unwrap_or(u64::MAX);
        flow.keep_alive = parsed.keep_alive && parsed.content_length.is_some();
    }

    fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Looks for connections that ended, and for failures noted on the way.
    fn check(&mut self, net: &mut Net) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        for index in 0..self.active {
            let socket = net.socket(index);
            if socket.may_recv() || self.flows[index].stage == Stage::Done {
                continue;
            }
            let was_reset = socket.state() == tcp::State::Closed;
            let flow = &mut self.flows[index];
            match (flow.stage, flow.promised_b) {
                // Between two answers a server may close when it likes.
                (Stage::Head, _) if flow.bodies > 0 => flow.stage = Stage::Done,
                (Stage::Idle, _) if !was_reset => flow.stage = Stage::Done,
                _ if was_reset => return Err(Failure::TcpReset),
                (Stage::Body, None) => {
                    flow.stage = Stage::Done;
                    flow.bodies += 1;
                }
                (Stage::Body, Some(promised)) => {
                    return Err(Failure::HttpShort { got: promised - flow.due_b, promised });
                }
                _ => return Err(Failure::HttpHead(HeadError::Cut)),
            }
        }
        Ok(())
    }
}

/// Takes `bytes` out of the socket and shows them to `look`.
#[inline]
fn take_bytes(socket: &mut tcp::Socket<'_>, bytes: usize, mut look: impl FnMut(&[u8])) {
    let mut left = bytes;
    // Twice at most: the buffer is a ring.
    while left > 0 {
        let taken = socket.recv(|slice| {
            let take = slice.len().min(left);
            look(&slice[..take]);
            (take, take)
        });
        match taken {
            Ok(taken) if taken > 0 => left -= taken,
            _ => return,
        }
    }
}
