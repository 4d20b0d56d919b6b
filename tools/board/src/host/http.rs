//! HTTP/1.1 server side of one connection: requests in, heads and bodies out, faults on the way.
//!
//! Parsing is the `httparse` crate's work. Ranges and keep-alive as in RFC 9110 and 9112, one range only. Bodies are
//! made while they are sent.

use smoltcp::socket::tcp::Socket;

use super::{HostConfig, HostStats, HttpFault, fill_body};

mod request;
mod response;

use request::Request;
use response::{After, Response};

const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The send buffer is refilled when this much of it is free.
const REFILL_BYTES: usize = 64 * 1024;

/// Where the conversation is.
#[derive(Debug, Default)]
enum Phase {
    /// Waiting for a request.
    #[default]
    Reading,
    /// Thinking.
    Waiting { until: u64, response: Response },
    /// Sending.
    Sending(Response),
    /// A fault: nothing more is said.
    Stalled,
    /// Our side is closed or reset.
    Closed,
}

/// One connection's conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    phase: Phase,
    inbox: Vec<u8>,
    queued_bytes: u64,
}

impl Conversation {
    /// Bytes handed to TCP so far.
    pub(super) fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// When it goes on by itself.
    pub(super) fn due(&self) -> Option<u64> {
        match &self.phase {
            Phase::Waiting { until, .. } => Some(*until),
            Phase::Sending(response) => response.head_due().or(response.pause_due()),
            _ => None,
        }
    }

    /// Goes on as far as it can at `now`.
    pub(super) fn advance(&mut self, now: u64, config: &HostConfig, stats: &mut HostStats, socket: &mut Socket) {
        self.receive(socket);
        loop {
            match std::mem::take(&mut self.phase) {
                Phase::Reading => {
                    let Some(response) = self.read(config, stats, socket) else { return };
                    self.phase = Phase::Waiting { until: now + config.response_latency_ns, response };
                }
                Phase::Waiting { until, response } if until <= now => self.phase = Phase::Sending(response),
                Phase::Sending(mut response) => {
                    if !self.send(now, stats, socket, &mut response) {
                        self.phase = Phase::Sending(response);
                        return;
                    }
                    self.phase = after(response.after, socket);
                }
                Phase::Stalled | Phase::Closed if !socket.may_recv() => {
                    socket.close();
                    self.phase = Phase::Closed;
                    return;
                }
                other => {
                    self.phase = other;
                    return;
                }
            }
        }
    }

    fn receive(&mut self, socket: &mut Socket) {
        while socket.can_recv() {
            let keep = !matches!(self.phase, Phase::Stalled | Phase::Closed) && self.inbox.len() <= MAX_HEAD_BYTES;
            let inbox = &mut self.inbox;
            let taken = socket.recv(|data| {
                if keep {
                    inbox.extend_from_slice(data);
                }
                (data.len(), ())
            });
            if taken.is_err() {
                return;
            }
        }
    }

    /// The response to the next complete request. Without one, closes when none can come any more.
    fn read(&mut self, config: &HostConfig, stats: &mut HostStats, socket: &mut Socket) -> Option<Response> {
        let mut response = match Request::parse(&self.inbox) {
            Ok(Some((request, length))) => {
                self.inbox.drain(..length);
                let fault = match config.fault_requests.contains(&stats.requests) {
                    true => &config.fault,
                    false => &HttpFault::None,
                };
                stats.requests += 1;
                Response::to(config, fault, &request)
            }
            Ok(None) if self.inbox.len() <= MAX_HEAD_BYTES => {
                if !socket.may_recv() {
                    socket.close();
                    self.phase = Phase::Closed;
                }
                return None;
            }
            Ok(None) => Response::plain("431 Request Header Fields Too Large", ""),
            Err(status) => Response::plain(status, ""),
        };
        if response.after == After::KeepAlive && !socket.may_recv() {
            response.after = After::Close;
        }
        Some(response)
    }

    /// Hands over what fits; true when the response is complete.
    fn send(&mut self, now: u64, stats: &mut HostStats, socket: &mut Socket, response: &mut Response) -> bool {
        if !socket.may_send() {
            response.after = After::Close;
            return true;
        }
        while let Some(head) = response.head_part(now) {
            let Ok(sent) = socket.send_slice(head) else { return false };
            if sent == 0 {
                return false;
            }
            self.queued_bytes += sent as u64;
            response.head_sent(now, sent);
        }
        if response.head_due().is_some() {
            return false;
        }
        let free = socket.send_capacity() - socket.send_queue();
        let allowed = response.body_allowed(now);
        let wanted = allowed.min(REFILL_BYTES.min(socket.send_capacity() / 4) as u64);
        if (free as u64) < wanted {
            return false;
        }
        let end = response.body_at + allowed;
        while response.body_at < end && socket.can_send() {
            let (offset, left) = (response.body_at, end - response.body_at);
            let filled = socket.send(|space| {
                let length = (space.len() as u64).min(left) as usize;
                fill_body(offset, &mut space[..length]);
                (length, length as u64)
            });
            let Ok(length) = filled else { return false };
            response.body_at += length;
            self.queued_bytes += length;
            stats.body_bytes += length;
        }
        if response.body_left() > 0 && response.body_allowed(now) == 0 {
            return false; // a pause; it may have begun just now
        }
        // A reset throws away what is unacknowledged: wait until everything has arrived.
        response.body_left() == 0 && (response.after != After::Abort || socket.send_queue() == 0)
    }
}

/// What follows a complete response.
fn after(after: After, socket: &mut Socket) -> Phase {
    match after {
        After::KeepAlive => Phase::Reading,
        After::Stall => Phase::Stalled,
        After::Close => {
            socket.close();
            Phase::Closed
        }
        After::Abort => {
            socket.abort();
            Phase::Closed
        }
    }
}
