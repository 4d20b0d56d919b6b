//! Making a response: head, which part of the file, and what happens afterwards.

use super::super::{HostConfig, HttpFault};
use super::request::{Method, Request};

/// What happens when a response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The next request.
    KeepAlive,
    /// FIN.
    Close,
    /// RST, when all was acknowledged.
    Abort,
    /// Silence.
    Stall,
}

/// A response on its way out.
#[derive(Clone, Debug)]
pub(super) struct Response {
    head: Vec<u8>,
    head_at: usize,
    /// After so many body bytes nothing comes for so long, then the rest: body offset, how long, until when.
    pause: Option<(u64, u64, Option<u64>)>,
    /// Time between head bytes, and when the next may go.
    slow: Option<(u64, u64)>,
    /// Next body byte (an offset in the file) and the end.
    pub(super) body_at: u64,
    body_end: u64,
    pub(super) after: After,
}

impl Response {
    /// A response without a file, closing the connection.
    pub(super) fn plain(status: &str, extra_headers: &str) -> Self {
        let head =
            format!("HTTP/1.1 {status}\r\n{COMMON}{extra_headers}Content-Length: 0\r\nConnection: close\r\n\r\n");
        Response {
            head: head.into_bytes(),
            head_at: 0,
            slow: None,
            pause: None,
            body_at: 0,
            body_end: 0,
            after: After::Close,
        }
    }

    /// The response to `request` under `fault`.
    pub(super) fn to(config: &HostConfig, fault: &HttpFault, request: &Request) -> Self {
        let keep_alive = request.keep_alive && *fault != HttpFault::CloseEach;
        let object = config.objects.iter().find(|object| object.path == request.path);
        let mut response = match (request.method, fault, object) {
            (Method::Other, ..) => Response::plain("405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
            (_, HttpFault::Redirect { location }, _) => {
                Response::kept("302 Found", &format!("Location: {location}\r\n"), keep_alive)
            }
            (_, HttpFault::NotFound, _) | (_, _, None) => Response::kept("404 Not Found", "", keep_alive),
            (_, _, Some(object)) => Response::with_file(object.bytes, fault, request, keep_alive),
        };
        response.spoil(fault);
        response
    }

    /// A response without a file that may keep the connection.
    fn kept(status: &str, extra_headers: &str, keep_alive: bool) -> Self {
        let (connection, after) = ending(keep_alive);
        let head = format!(
            "HTTP/1.1 {status}\r\n{COMMON}{extra_headers}Content-Length: 0\r\nConnection: {connection}\r\n\r\n"
        );
        Response { after, head: head.into_bytes(), ..Response::plain("", "") }
    }

    fn with_file(bytes: u64, fault: &HttpFault, request: &Request, keep_alive: bool) -> Self {
        let (first, end) = match request.range.map(|range| range.within(bytes)) {
            None => (0, bytes),
            Some(Some(part)) => part,
            Some(None) => {
                let range = format!("Content-Range: bytes */{bytes}\r\n");
                return Response::kept("416 Range Not Satisfiable", &range, keep_alive);
            }
        };
        let shift = u64::from(*fault == HttpFault::WrongRange);
        let (status, range) = match request.range {
            None => ("200 OK", String::new()),
            Some(_) => (
                "206 Partial Content",
                format!("Content-Range: bytes {}-{}/{bytes}\r\n", first + shift, end - 1 + shift),
            ),
        };
        let (connection, after) = ending(keep_alive);
        let head = format!(
            "HTTP/1.1 {status}\r\n{COMMON}Accept-Ranges: bytes\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {}\r\n{range}Connection: {connection}\r\n\r\n",
            end - first
        );
        let body_end = if request.method == Method::Head { first } else { end };
        Response { head: head.into_bytes(), head_at: 0, slow: None, pause: None, body_at: first, body_end, after }
    }

    /// Applies the faults that concern the way a response is sent.
    fn spoil(&mut self, fault: &HttpFault) {
        let mut cut = |after_bytes: u64, after: After| {
            self.body_end = self.body_end.min(self.body_at.saturating_add(after_bytes));
            self.after = after;
        };
        match *fault {
            HttpFault::ShortBody { after_bytes } => cut(after_bytes, After::Close),
            HttpFault::Reset { after_bytes } => cut(after_bytes, After::Abort),
            HttpFault::Stall { after_bytes } => cut(after_bytes, After::Stall),
            HttpFault::SlowHead { interval_ns } => self.slow = Some((interval_ns.max(1), 0)),
            HttpFault::GarbageHead => {
                self.head = b"\x16\x03\x01 this is no HTTP \xFF\xFE\r\n\r\n".to_vec();
                self.body_end = self.body_at;
                self.after = After::Close;
            }
            HttpFault::Pause { after_bytes, pause_ns } => {
                self.pause = Some((self.body_at.saturating_add(after_bytes), pause_ns, None));
            }
            HttpFault::Raw { ref head, body_bytes, close } => {
                self.head = head.clone();
                self.body_at = 0;
                self.body_end = body_bytes;
                self.after = if close { After::Close } else { After::KeepAlive };
            }
            HttpFault::LongBody { extra_bytes } => self.body_end = self.body_end.saturating_add(extra_bytes),
            HttpFault::Mute => {
                self.head.clear();
                self.body_end = self.body_at;
                self.after = After::Stall;
            }
            _ => {}
        }
    }

    /// The part of the head that may go now.
    pub(super) fn head_part(&self, now: u64) -> Option<&[u8]> {
        let rest = self.head.get(self.head_at..).filter(|rest| !rest.is_empty())?;
        match self.slow {
            None => Some(rest),
            Some((_, next_at)) => (next_at <= now).then_some(&rest[..1]),
        }
    }

    /// `sent` bytes of it went.
    pub(super) fn head_sent(&mut self, now: u64, sent: usize) {
        self.head_at += sent;
        if let Some((interval, next_at)) = &mut self.slow {
            *next_at = now + *interval;
        }
    }

    /// When the next byte of a slow head may go.
    pub(super) fn head_due(&self) -> Option<u64> {
        self.slow.filter(|_| self.head_at < self.head.len()).map(|(_, next_at)| next_at)
    }

    /// Body bytes to come.
    pub(super) fn body_left(&self) -> u64 {
        self.body_end - self.body_at
    }

    /// Body bytes that may go now. A pause begins when all before it went.
    pub(super) fn body_allowed(&mut self, now: u64) -> u64 {
        let left = self.body_left();
        let Some((at, pause_ns, until)) = &mut self.pause else { return left };
        if self.body_at < *at {
            return left.min(*at - self.body_at);
        }
        if *until.get_or_insert(now + *pause_ns) <= now {
            self.pause = None;
            return left;
        }
        0
    }

    /// When a pause ends.
    pub(super) fn pause_due(&self) -> Option<u64> {
        self.pause.and_then(|(_, _, until)| until)
    }
}

const COMMON: &str = "Server: board\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n";

fn ending(keep_alive: bool) -> (&'static str, After) {
    if keep_alive { ("keep-alive", After::KeepAlive) } else { ("close", After::Close) }
}
