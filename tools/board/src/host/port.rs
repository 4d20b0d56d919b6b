//! The host's network card as smoltcp sees it.

use std::collections::VecDeque;

use smoltcp::phy::{Checksum, ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

use super::MAX_FRAME_BYTES;

/// One frame in, any number out. Room is the business of whoever polls for output.
#[derive(Debug, Default)]
pub(super) struct Port {
    inbox: Vec<u8>,
    waiting: bool,
    /// Frames to be sent.
    pub(super) outbox: VecDeque<Vec<u8>>,
}

impl Port {
    /// The frame that the next ingress takes.
    pub(super) fn incoming(&mut self, frame: &[u8]) {
        self.inbox.clear();
        self.inbox.extend_from_slice(frame);
        self.waiting = true;
    }
}

pub(super) struct In<'a>(&'a [u8]);

pub(super) struct Out<'a>(&'a mut VecDeque<Vec<u8>>);

impl RxToken for In<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl TxToken for Out<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Port {
    type RxToken<'a> = In<'a>;
    type TxToken<'a> = Out<'a>;

    fn receive(&mut self, _: Instant) -> Option<(In<'_>, Out<'_>)> {
        std::mem::take(&mut self.waiting).then_some((In(&self.inbox), Out(&mut self.outbox)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Out<'_>> {
        Some(Out(&mut self.outbox))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        // Received checksums were right, or the frame would not be here; loss recovery also edits headers.
        let mut checksum = ChecksumCapabilities::default();
        checksum.ipv4 = Checksum::Tx;
        checksum.udp = Checksum::Tx;
        checksum.tcp = Checksum::Tx;
        checksum.icmpv4 = Checksum::Tx;
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MAX_FRAME_BYTES;
        capabilities.checksum = checksum;
        capabilities
    }
}
