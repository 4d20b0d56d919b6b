//! One TCP connection of the host: its socket, its HTTP conversation, its loss recovery.

use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::wire::{IpAddress, IpListenEndpoint};

use super::http::Conversation;
use super::recovery::LossRecovery;
use super::{Congestion, HostConfig, HostStats, Tuple};

const RECEIVE_BUFFER_BYTES: usize = 64 * 1024;
/// A full segment on Ethernet.
const SEGMENT_BYTES: u64 = 1460;

/// A connection.
pub(super) struct Connection {
    pub(super) tuple: Tuple,
    /// Holds this connection's socket alone.
    pub(super) sockets: SocketSet<'static>,
    handle: SocketHandle,
    pub(super) recovery: LossRecovery,
    conversation: Conversation,
    /// When a timer wants attention.
    pub(super) due: Option<u64>,
    /// It is in the host's list of those that send.
    pub(super) queued: bool,
}

impl Connection {
    /// A socket that listens for `tuple`; none when it cannot (port 0).
    pub(super) fn listening(config: &HostConfig, tuple: Tuple) -> Option<Self> {
        // Zeroed memory costs nothing until it is used.
        let receive = SocketBuffer::new(vec![0; RECEIVE_BUFFER_BYTES]);
        // Whole segments, so that none is cut where the ring buffer wraps.
        let send_bytes = config.send_buffer_bytes.max(4096).next_multiple_of(SEGMENT_BYTES as usize);
        let send = SocketBuffer::new(vec![0; send_bytes]);
        let mut socket = Socket::new(receive, send);
        socket.set_congestion_control(match config.congestion {
            Congestion::None => CongestionControl::None,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Cubic => CongestionControl::Cubic,
        });
        socket.set_ack_delay(None);
        let [a, b, c, d] = config.ip;
        socket.listen(IpListenEndpoint { addr: Some(IpAddress::v4(a, b, c, d)), port: tuple.2 }).ok()?;
        let mut sockets = SocketSet::new(Vec::with_capacity(1));
        let handle = sockets.add(socket);
        Some(Connection {
            tuple,
            sockets,
            handle,
            recovery: LossRecovery::default(),
            conversation: Conversation::default(),
            due: None,
            queued: false,
        })
    }

    fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.handle)
    }

    /// Both sides are done; only the stack's memory of it is left.
    pub(super) fn lingers(&self) -> bool {
        matches!(self.socket().state(), State::TimeWait | State::Closed)
    }

    /// Nothing is left, not even a reset to be sent.
    pub(super) fn is_over(&self) -> bool {
        match self.socket().state() {
            State::Listen => true, // the SYN was no good, or a reset took it back
            State::Closed => self.socket().remote_endpoint().is_none(),
            _ => false,
        }
    }

    /// Reads, answers, fills the send buffer.
    pub(super) fn work(&mut self, now: u64, config: &HostConfig, stats: &mut HostStats) {
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        if matches!(socket.state(), State::SynReceived | State::Listen) {
            return;
        }
        self.conversation.advance(now, config, stats, socket);
    }

    /// When the conversation goes on by itself.
    pub(super) fn work_due(&self) -> Option<u64> {
        self.conversation.due()
    }

    /// Only full segments while more than one is waiting, the rest at once: what a server gets by corking its socket.
    pub(super) fn hold_small_segments(&mut self) {
        let unsent = self.conversation.queued_bytes().saturating_sub(self.recovery.sent_bytes());
        let socket = self.sockets.get_mut::<Socket>(self.handle);
        let hold_small = unsent >= SEGMENT_BYTES;
        if socket.nagle_enabled() != hold_small {
            socket.set_nagle_enabled(hold_small);
        }
    }
}
