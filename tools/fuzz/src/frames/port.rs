//! The benchmark's port over a peer whose frames a script damages, with the driver between them or without.

use super::Script;
use super::hardware::Hardware;
use super::peer::{Peer, ResponseChoice};
use super::ring::{FuzzGenet, bring_up, link};
use genet::{ApplyError, FrameStamp, LinkState, RxMode, RxReadback, RxSettings};
use netbench::{LinkSettings, Load, PhyError, Port, Totals};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Our address.
pub(super) const MAC: [u8; 6] = [0xdc, 0xa6, 0x32, 1, 2, 3];
/// Frames that the peer still answers when the script is at its end.
const HONEST_FRAMES: u32 = 96;
/// Most frames of the peer in all.
const MAX_FRAMES: u32 = 600;
/// A session that sleeps more often than this does not end.
const MAX_WAITS: u32 = 20_000;

/// A port that cannot be trusted.
pub(super) struct HostilePort<'a> {
    script: Script<'a>,
    peer: Peer,
    hardware: Rc<Hardware>,
    genet: Option<FuzzGenet>,
    mode: RxMode,
    link: LinkState,
    /// Without a driver: frames to be handed out, and frames that were sent.
    inbox: VecDeque<Vec<u8>>,
    held: Option<Vec<u8>>,
    honest_left: u32,
    frames: u32,
    waits: u32,
    stamp: FrameStamp,
    totals: Cell<Totals>,
}

impl<'a> HostilePort<'a> {
    /// With a driver, `None` if it refuses the hardware.
    pub fn new(script: Script<'a>, over_driver: bool) -> Option<Self> {
        let hardware = Hardware::new();
        let mut genet = None;
        if over_driver {
            let mut driver = bring_up(&hardware)?;
            driver.link_changed(&link(0));
            genet = Some(driver);
        }
        Some(HostilePort {
            script,
            peer: Peer::default(),
            hardware,
            genet,
            mode: RxMode::Interrupt,
            link: link(0),
            inbox: VecDeque::new(),
            held: None,
            honest_left: HONEST_FRAMES,
            frames: 0,
            waits: 0,
            stamp: FrameStamp::default(),
            totals: Cell::default(),
        })
    }

    fn advance(&self, ns: u64) {
        self.hardware.now_ns.set(self.hardware.now_ns.get() + ns);
    }

    /// The peer sees what was sent, and the script what the peer answers. True if something came.
    fn exchange(&mut self) -> bool {
        let before = self.frames;
        let sent: Vec<Vec<u8>> = self.hardware.sent.borrow_mut().drain(..).collect();
        for frame in sent {
            let response = match self.peer.wants_response(&frame) {
                true => ResponseChoice::from_script(&mut self.script),
                false => ResponseChoice::default(),
            };
            for answer in self.peer.answer(&frame, &response) {
                self.pass_on(answer);
            }
        }
        self.frames > before
    }

    /// One frame of the peer, and what becomes of it.
    fn pass_on(&mut self, mut frame: Vec<u8>) {
        let Some(choice) = self.script.byte() else {
            if self.honest_left > 0 {
                self.honest_left -= 1;
                self.deliver(&frame, None);
            }
            return;
        };
        match choice {
            0..=127 => self.deliver(&frame, None),
            128..=143 => {} // lost
            144..=183 => {
                let at = usize::from(self.script.u16()) % frame.len();
                frame[at] ^= self.script.u8();
                self.deliver(&frame, None);
            }
            184..=195 => {
                frame.truncate(usize::from(self.script.u16()) % frame.len());
                self.deliver(&frame, None);
            }
            196..=203 => {
                self.deliver(&frame, None);
                self.deliver(&frame, None);
            }
            204..=215 => {
                if let Some(earlier) = self.held.replace(frame) {
                    self.deliver(&earlier, None);
                }
            }
            216..=227 => {
                let word = self.script.u32();
                self.deliver(&frame, Some(word));
            }
            228..=239 => {
                // Headers stay, the rest is the script's.
                let at = usize::from(self.script.u8()) % frame.len();
                let bytes = self.script.bytes(200);
                frame.truncate(at);
                frame.extend_from_slice(bytes);
                self.deliver(&frame, None);
            }
            240..=243 => {
                self.hardware.poke(self.script.u16(), self.script.u32());
                self.deliver(&frame, None);
            }
            244..=247 => {
                self.hardware.jump(self.script.u16());
                self.deliver(&frame, None);
            }
            248..=251 => self.link = link(self.script.u8()),
            _ => {
                frame.resize(frame.len() + usize::from(self.script.u16() % 1500), 0xa5);
                self.deliver(&frame, None);
            }
        }
    }

    fn deliver(&mut self, frame: &[u8], word: Option<u32>) {
        if self.frames >= MAX_FRAMES {
            return;
        }
        self.frames += 1;
        match self.genet {
            Some(_) => {
                let good = (frame.len() as u32 + 2) << 16 | 0x6000;
                self.hardware.deliver(frame, word.unwrap_or(good));
            }
            None => self.inbox.push_back(frame.into()),
        }
    }

    fn look(&mut self) -> bool {
        let now_ns = self.hardware.now_ns.get();
        self.genet.as_mut().is_some_and(|genet| genet.poll_receive(now_ns) > 0)
    }
}

impl Port for HostilePort<'_> {
    fn now_ns(&self) -> u64 {
        self.advance(100);
        self.hardware.now_ns.get()
    }

    fn wait(&mut self, deadline_ns: u64) {
        self.waits += 1;
        assert!(self.waits < MAX_WAITS, "does not end, at {} ns", self.hardware.now_ns.get());
        if let Some(genet) = &mut self.genet {
            genet.end_batch();
            if self.mode == RxMode::Interrupt && genet.rearm() {
                return;
            }
        }
        if self.exchange() {
            self.advance(20_000);
        } else {
            // Nothing can come: to the deadline, and in poll mode a bit of the way.
            let now_ns = self.hardware.now_ns.get();
            let nap_ns = if self.mode == RxMode::Poll { 5_000_000 } else { 60_000_000 };
            self.hardware.now_ns.set(deadline_ns.clamp(now_ns + 5_000_000, now_ns + nap_ns));
        }
        if !self.look()
            && let Some(genet) = &mut self.genet
        {
            genet.rescue_overdue(self.hardware.now_ns.get());
        }
    }

    fn last_stamp(&mut self) -> FrameStamp {
        self.genet.as_ref().map_or(self.stamp, |genet| genet.last_stamp())
    }

    fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        let got = match &mut self.genet {
            Some(genet) => genet.apply(want)?,
            None => RxReadback {
                threshold: want.threshold.unwrap_or(1),
                timeout_ticks: want.timeout_ticks.unwrap_or(0),
                posted: want.posted.at_start(),
                xoff: want.xoff,
                xon: want.xon,
                send_pause: !matches!(want.pause, genet::Pause::Forced { send: false, .. }),
                obey_pause: !matches!(want.pause, genet::Pause::Forced { obey: false, .. }),
                mode: want.mode,
                quanta: want.quanta.unwrap_or(u16::MAX),
                id_mode_dis: want.id_mode_dis.unwrap_or(false),
                ring: want.ring,
            },
        };
        self.mode = want.mode;
        Ok(got)
    }

    fn set_link(&mut self, _: &LinkSettings) -> Result<bool, PhyError> {
        Ok(false) // this link never changes
    }

    fn spend(&mut self, ns: u64) {
        self.advance(ns);
    }

    fn totals(&mut self) -> Totals {
        let mut totals = self.totals.get();
        if let Some(genet) = &mut self.genet {
            let counters = genet.counters();
            totals.frames = counters.rx_frames;
            totals.discards = counters.discards;
            totals.discards_capped = counters.discards_capped;
            totals.frame_errors = counters.frame_errors;
            totals.rescues = counters.rescues;
            totals.rbuf_overflow = counters.rbuf_overflow;
            totals.rbuf_errors = counters.rbuf_errors;
            totals.tx_frames = counters.tx_frames;
            totals.pause_sent = counters.pause_sent();
            totals.pause_received = counters.pause_received();
        }
        totals.busy_ns = self.hardware.now_ns.get();
        totals
    }

    fn load(&self) -> Load {
        Load { irqs: self.waits.into(), busy_ns: self.hardware.now_ns.get() }
    }

    fn for_each_mib(&mut self, f: &mut dyn FnMut(&'static str, u64)) {
        if let Some(genet) = &mut self.genet {
            genet.counters().for_each_mib(f);
        }
    }

    fn link(&mut self) -> LinkState {
        if let Some(genet) = &mut self.genet {
            genet.link_changed(&self.link);
        }
        self.link
    }

    fn link_losses(&mut self) -> u64 {
        0 // this link never changes
    }

    fn mac(&self) -> [u8; 6] {
        MAC
    }
}

/// A received frame, from the driver or not.
pub(super) enum Received<'a> {
    Driver(<FuzzGenet as Device>::RxToken<'a>),
    Direct(Vec<u8>),
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        match self {
            Received::Driver(token) => token.consume(f),
            Received::Direct(frame) => f(&frame),
        }
    }
}

/// Room for a frame to send.
pub(super) enum ToSend<'a> {
    Driver(<FuzzGenet as Device>::TxToken<'a>),
    Direct(&'a Hardware),
}

impl TxToken for ToSend<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        match self {
            ToSend::Driver(token) => token.consume(len, f),
            ToSend::Direct(hardware) => {
                let mut frame = vec![0; len];
                let result = f(&mut frame);
                hardware.sent.borrow_mut().push_back(frame);
                result
            }
        }
    }
}

impl Device for HostilePort<'_> {
    type RxToken<'t>
        = Received<'t>
    where
        Self: 't;
    type TxToken<'t>
        = ToSend<'t>
    where
        Self: 't;

    fn receive(&mut self, timestamp: Instant) -> Option<(Received<'_>, ToSend<'_>)> {
        match &mut self.genet {
            Some(genet) => {
                let (rx, tx) = genet.receive(timestamp)?;
                Some((Received::Driver(rx), ToSend::Driver(tx)))
            }
            None => {
                let frame = self.inbox.pop_front()?;
                self.stamp = FrameStamp {
                    irq_ns: self.hardware.now_ns.get(),
                    bytes: frame.len() as u32,
                    ..FrameStamp::default()
                };
                Some((Received::Direct(frame), ToSend::Direct(&self.hardware)))
            }
        }
    }

    fn transmit(&mut self, timestamp: Instant) -> Option<ToSend<'_>> {
        match &mut self.genet {
            Some(genet) => genet.transmit(timestamp).map(ToSend::Driver),
            None => Some(ToSend::Direct(&self.hardware)),
        }
    }

    fn capabilities(&self) -> DeviceCapabilities {
        match &self.genet {
            Some(genet) => genet.capabilities(),
            None => {
                let mut capabilities = DeviceCapabilities::default();
                capabilities.medium = Medium::Ethernet;
                capabilities.max_transmission_unit = 1514;
                capabilities
            }
        }
    }
}
