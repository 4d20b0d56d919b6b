//! Downloads through the stack: every byte of every body compared, every stream hashed.

use super::phase::{Kind, Phase};
use super::rig::{FLOWS, MS, Rig, Tell};
use crate::heap;
use board::host::fill_body;
use netbench::Port;
use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// Between two looks at link and progress, ns.
const SLICE_NS: u64 = 10 * MS;
/// Longest phase, ns; slow presets need not reach their number of frames.
const LONGEST_NS: u64 = 60_000 * MS;
/// Longest silence, ns: a link that comes back, and retransmission timers that have grown meanwhile.
const LONGEST_SILENCE_NS: u64 = 30_000 * MS;
/// How long the cable is out, ns.
const UNPLUGGED_NS: u64 = 300 * MS;

/// One connection's bodies.
struct Stream {
    bytes: u64,
    got: XxHash3_64,
    expected: XxHash3_64,
    /// First byte that was not right.
    wrong_at: Option<u64>,
}

impl Stream {
    fn new() -> Stream {
        Stream { bytes: 0, got: XxHash3_64::new(), expected: XxHash3_64::new(), wrong_at: None }
    }
}

/// The streams of a phase, and sums over all phases.
pub(super) struct Streams {
    streams: Vec<Stream>,
    object_bytes: u64,
    scratch: Vec<u8>,
    /// Over the hashes of all streams.
    pub(super) hash: u64,
    /// Body bytes.
    pub(super) bytes: u64,
}

impl Streams {
    pub(super) fn new(flows: usize, object_bytes: u64) -> Streams {
        Streams {
            streams: (0..flows).map(|_| Stream::new()).collect(),
            object_bytes,
            scratch: vec![0; 1 << 20],
            hash: 0,
            bytes: 0,
        }
    }

    fn take(&mut self, flow: usize, mut bytes: &[u8]) {
        let stream = &mut self.streams[flow];
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let offset = stream.bytes % self.object_bytes;
            let take = (self.object_bytes - offset).min(bytes.len() as u64).min(self.scratch.len() as u64) as usize;
            let (now, later) = bytes.split_at(take);
            let expected = &mut self.scratch[..take];
            fill_body(offset, expected);
            if now != expected && stream.wrong_at.is_none() {
                let same = now.iter().zip(expected.iter()).take_while(|(a, b)| a == b).count();
                stream.wrong_at = Some(stream.bytes + same as u64);
            }
            stream.got.write(now);
            stream.expected.write(expected);
            stream.bytes += take as u64;
            bytes = later;
        }
    }

    /// Ends the phase's streams; the first one that is not what the server's files are.
    fn finish(&mut self) -> Result<(), String> {
        for (flow, stream) in self.streams.iter_mut().enumerate() {
            let stream = std::mem::replace(stream, Stream::new());
            let (got, expected) = (stream.got.finish(), stream.expected.finish());
            if got != expected || stream.wrong_at.is_some() {
                return Err(format!(
                    "flow {flow}: hash {got:016x} of {} body bytes, expected {expected:016x}; first difference {:?}",
                    stream.bytes, stream.wrong_at
                ));
            }
            self.hash = self.hash.rotate_left(1) ^ got;
        }
        Ok(())
    }
}

impl Rig {
    /// Downloads until the phase has received its frames.
    pub(super) fn http(&mut self, phase: &Phase, tell: &mut Tell<'_>) -> Result<(), String> {
        let until = self.received() + phase.frames;
        let pull_at = match phase.kind {
            Kind::HttpFaults => self.received() + 1 + self.below(phase.frames),
            _ => u64::MAX,
        };
        self.open()?;
        let start_ns = self.desk.now_ns();
        let mut last_ns = start_ns;
        let mut pulled = false;
        while self.received() < until && self.desk.now_ns() < start_ns + LONGEST_NS {
            let before = self.streams.bytes;
            if !pulled && self.received() >= pull_at {
                pulled = true;
                self.plug(false);
                self.slice(UNPLUGGED_NS)?;
                self.plug(true);
            }
            self.slice(SLICE_NS)?;
            let now_ns = self.desk.now_ns();
            if self.streams.bytes > before {
                last_ns = now_ns;
            } else if now_ns > last_ns + LONGEST_SILENCE_NS {
                return Err(format!("no byte of any body for {} s", LONGEST_SILENCE_NS / 1_000 / MS));
            }
            tell(self.received(), now_ns);
        }
        let Rig { session, desk, .. } = self;
        heap::firmware(|| session.close(desk));
        self.streams.finish()
    }

    fn open(&mut self) -> Result<(), String> {
        let Rig { session, desk, streams, .. } = self;
        let mut read = |flow: usize, bytes: &[u8]| heap::rest(|| streams.take(flow, bytes));
        heap::firmware(|| session.open(desk, FLOWS, &mut read)).map_err(|failure| failure.to_string())
    }

    fn slice(&mut self, ns: u64) -> Result<(), String> {
        let Rig { session, desk, streams, .. } = self;
        let mut read = |flow: usize, bytes: &[u8]| heap::rest(|| streams.take(flow, bytes));
        let until_ns = desk.now_ns() + ns;
        let ended = heap::firmware(|| {
            let ended = session.receive(desk, until_ns, &mut read);
            desk.link();
            ended
        });
        match ended {
            Ok(false) => Ok(()),
            Ok(true) => Err("the server ended its connections".into()),
            Err(failure) => Err(failure.to_string()),
        }
    }
}
