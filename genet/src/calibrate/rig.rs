//! The test rig: one ring, frames to ourselves, and a close look at what they set off.
//!
//! Owns sending and watching. It leaves the driver's receive queue alone and works on the ring's registers: frames
//! are counted, not read. Everything waits for a limited time only, and nothing is printed or allocated here. While
//! an answer is worth microseconds registers are read back to back; a long wait for something that should not come
//! looks now and then.
//!
//! Its small steps are functions of their own (`inline(never)`): calibration runs once, and a copy of each at every
//! place that uses it would make the image a good deal larger.

use super::Audience;
use super::fact::{Ask, Fact, QUESTIONS, Value, Votes, Why};
use super::modes::Mode;
use crate::bring_up::index_of;
use crate::driver::Genet;
use crate::interrupt::RxSource;
use crate::regs::{rdma, umac};
use crate::settings::{Posted, RING_SIZE, RxRing};
use crate::{Clock, DmaMemory, Registers};

/// Somebody asked for an end.
pub(super) const STOPPED: Why = "stopped";
/// Frames to ourselves: shortest Ethernet frame.
pub(super) const FRAME_BYTES: usize = 60;
/// How long a frame may take to come back. A whole one takes 1.2 ms at 10 Mbit/s.
const RETURN_US: u64 = 3_000;
/// From a frame's delivery to what it sets off at once.
const AT_ONCE_US: u64 = 10;
/// How long a wait is close.
const CLOSE_NS: u64 = 3_000_000;
/// Time between two looks after that, us.
const LOOK_US: u32 = 100;
/// Local experimental EtherType (IEEE 802).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

pub(super) struct Rig<'a, R, D, C> {
    pub(super) genet: &'a mut Genet<R, D, C>,
    audience: &'a mut dyn Audience,
    pub(super) ring: rdma::Ring,
    pub(super) irq: RxSource,
    /// PROD_INDEX as seen last.
    pub(super) prod: u16,
    /// Our address.
    pub(super) own: [u8; 6],
    pub(super) mode: Mode,
    /// Frames that came back since they were counted last.
    pub(super) sent: u32,
    /// MASK that lets a ring ask for PAUSE, once that is known.
    pub(super) open_mask: Option<u32>,
    /// A timeout that comes at fixed times.
    pub(super) free_running: bool,
    answered: u64,
    stopped: bool,
}

impl<'a, R: Registers, D: DmaMemory, C: Clock> Rig<'a, R, D, C> {
    pub(super) fn new(genet: &'a mut Genet<R, D, C>, audience: &'a mut dyn Audience) -> Self {
        const { assert!(QUESTIONS.len() <= u64::BITS as usize) };
        let [a, b, c, d] = umac::MAC0.get(&genet.regs).to_be_bytes();
        let [_, _, e, f] = umac::MAC1.get(&genet.regs).to_be_bytes();
        let ring = genet.rx.ring();
        let irq = genet.irq;
        Rig {
            genet,
            audience,
            ring,
            irq,
            prod: 0,
            own: [a, b, c, d, e, f],
            mode: Mode::NONE,
            sent: 0,
            open_mask: None,
            free_running: false,
            answered: 0,
            stopped: false,
        }
    }

    // ---- questions ----

    /// Asks, and tells the answer. `None`: it is open.
    pub(super) fn ask(&mut self, ask: Ask, measure: &mut dyn FnMut(&mut Self) -> Result<Votes, Why>) -> Option<Value> {
        if self.go_on().is_err() {
            return None;
        }
        let fact = match measure(self) {
            Ok(votes) => votes.fact(ask, self.mode.word),
            Err(STOPPED) => return None,
            Err(why) => self.open(ask, why),
        };
        self.tell(ask, &fact);
        fact.answer.ok()
    }

    #[inline(never)]
    fn open(&self, ask: Ask, why: Why) -> Fact {
        Fact { question: ask.question(), answer: Err(why), via: self.mode.word, runs: 0, same: 0 }
    }

    #[inline(never)]
    fn tell(&mut self, ask: Ask, fact: &Fact) {
        self.answered |= 1 << ask as u64;
        self.audience.fact(fact);
    }

    /// What was never asked is open.
    pub(super) fn close(&mut self, why: Why) {
        for (index, question) in QUESTIONS.iter().enumerate() {
            if self.answered & 1 << index == 0 && !self.stopped {
                self.audience.fact(&Fact { question, answer: Err(why), via: "", runs: 0, same: 0 });
            }
        }
    }

    #[inline(never)]
    pub(super) fn is_answered(&self, ask: Ask) -> bool {
        self.answered & 1 << ask as u64 != 0
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// `runs` repeats. A repeat that fails counts against the others.
    pub(super) fn repeat(
        &mut self,
        runs: u16,
        measure: &mut dyn FnMut(&mut Self, u16) -> Result<Value, Why>,
    ) -> Result<Votes, Why> {
        let mut votes = Votes::default();
        for run in 0..runs {
            self.go_on()?;
            let answer = measure(self, run);
            if answer == Err(STOPPED) {
                return Err(STOPPED);
            }
            votes.add(answer);
        }
        Ok(votes)
    }

    /// Not between a frame and what it sets off.
    #[inline(never)]
    pub(super) fn go_on(&mut self) -> Result<(), Why> {
        let now_ns = self.now();
        self.stopped |= self.audience.stop_wanted(now_ns);
        if self.stopped { Err(STOPPED) } else { Ok(()) }
    }

    // ---- time ----

    #[inline(never)]
    pub(super) fn now(&self) -> u64 {
        self.genet.clock.now_ns()
    }

    /// Lets time pass; long waits are made of short ones, so that Ctrl-C and the watchdog are heard.
    #[inline(never)]
    pub(super) fn pass(&mut self, us: u32) -> Result<(), Why> {
        for _ in 0..us / 10_000 {
            self.go_on()?;
            self.genet.clock.delay_us(10_000);
        }
        self.genet.clock.delay_us(us % 10_000);
        Ok(())
    }

    // ---- the ring ----

    pub(super) fn regs(&self) -> &R {
        &self.genet.regs
    }

    #[inline(never)]
    pub(super) fn read(&self, offset: u32) -> u32 {
        self.genet.regs.read(offset)
    }

    #[inline(never)]
    pub(super) fn write(&self, offset: u32, value: u32) {
        self.genet.regs.write(offset, value);
    }

    /// Starts `ring` with all descriptors posted.
    pub(super) fn start(&mut self, ring: RxRing) -> Result<(), Why> {
        self.genet.restart_ring(ring, Posted::Fixed(RING_SIZE)).map_err(|_| "dma_stuck")?;
        self.attach(ring);
        Ok(())
    }

    /// The ring was started anew.
    pub(super) fn attach(&mut self, ring: RxRing) {
        self.ring = rdma::Ring::at(ring.number());
        self.irq = RxSource::of(ring);
        self.irq.mask(&self.genet.regs);
        self.prod = self.index();
        self.watermarks(0, 0);
        self.free(RING_SIZE);
    }

    #[inline(never)]
    pub(super) fn index(&self) -> u16 {
        index_of(self.ring.prod_index().read(self.regs()))
    }

    #[inline(never)]
    pub(super) fn discards(&self) -> u32 {
        self.ring.prod_index().read(self.regs()).read(rdma::PROD_INDEX::DISCARDS)
    }

    /// Gives back what came and leaves `count` descriptors free.
    #[inline(never)]
    pub(super) fn free(&mut self, count: u16) {
        let cons = self.prod.wrapping_add(count).wrapping_sub(RING_SIZE);
        self.ring.cons_index().set(self.regs(), cons.into());
    }

    #[inline(never)]
    pub(super) fn watermarks(&self, xoff: u32, xon: u32) {
        let value = rdma::XON_XOFF::XOFF.val(xoff) + rdma::XON_XOFF::XON.val(xon);
        self.ring.xon_xoff_thresh().write(self.regs(), value);
    }

    #[inline(never)]
    fn coalesce(&self, threshold: u16, ticks: u16) {
        self.ring.mbuf_done_thresh().write(self.regs(), rdma::THRESHOLD::FRAMES.val(threshold.into()));
        self.ring.timeout().modify(self.regs(), rdma::TIMEOUT::TICKS.val(ticks.into()));
    }

    /// From an event of count 1, cleared, with no frame waiting, to these settings: count and timer stand at their
    /// start whatever starts them.
    #[inline(never)]
    pub(super) fn settle(&mut self, threshold: u16, ticks: u16) -> Result<(), Why> {
        self.coalesce(1, 0);
        self.bounce()?;
        self.genet.clock.delay_us(AT_ONCE_US as u32);
        self.irq.clear(self.regs());
        self.free(RING_SIZE);
        self.coalesce(threshold, ticks);
        Ok(())
    }

    // ---- frames ----

    /// Sends a frame to `destination`. It has not come back yet.
    #[inline(never)]
    pub(super) fn send_to(&mut self, destination: [u8; 6], bytes: usize) -> Result<(), Why> {
        let own = self.own;
        let Genet { regs, tx, clock, .. } = &mut *self.genet;
        let mut waited_us = 0;
        while !tx.has_room(regs) {
            if waited_us > RETURN_US {
                return Err("transmit_stuck");
            }
            clock.delay_us(10);
            waited_us += 10;
        }
        tx.send(regs, bytes, |room| {
            room[14..].fill(0xa5);
            room[..6].copy_from_slice(&destination);
            room[6..12].copy_from_slice(&own);
            room[12..14].copy_from_slice(&ETHER_TYPE);
        });
        Ok(())
    }

    #[inline(never)]
    pub(super) fn send(&mut self) -> Result<(), Why> {
        self.send_to(self.own, FRAME_BYTES)
    }

    /// Waits for PROD_INDEX to move; the time when it was seen.
    pub(super) fn arrival(&mut self, limit_us: u64) -> Result<u64, Why> {
        let until_ns = self.now() + 1_000 * limit_us;
        loop {
            let index = self.index();
            let now_ns = self.now();
            if index != self.prod {
                self.sent += u32::from(index.wrapping_sub(self.prod));
                self.prod = index;
                return Ok(now_ns);
            }
            if now_ns >= until_ns {
                return Err("no_frame_came");
            }
        }
    }

    /// A frame to ourselves and back: when it was there.
    #[inline(never)]
    pub(super) fn bounce(&mut self) -> Result<u64, Why> {
        self.send()?;
        self.arrival(RETURN_US)
    }

    // ---- events ----

    #[inline(never)]
    pub(super) fn event(&self) -> bool {
        self.irq.is_pending(self.regs())
    }

    /// The same, some time after a frame for what it sets off at once.
    #[inline(never)]
    pub(super) fn event_at_once(&self) -> bool {
        self.genet.clock.delay_us(AT_ONCE_US as u32);
        self.event()
    }

    #[inline(never)]
    pub(super) fn clear(&self) {
        self.irq.clear(self.regs());
    }

    /// Waits for the event: when it was seen, `None` at `until_ns`.
    pub(super) fn event_until(&mut self, until_ns: u64) -> Result<Option<u64>, Why> {
        let close_ns = self.now() + CLOSE_NS;
        loop {
            let is_there = self.event();
            let now_ns = self.now();
            if is_there {
                return Ok(Some(now_ns));
            }
            if now_ns >= until_ns {
                return Ok(None);
            }
            if now_ns >= close_ns {
                self.pass(LOOK_US)?;
                self.go_on()?;
            }
        }
    }

    /// Frames until the event comes with one, descriptors given back; 0: none did in `most`.
    pub(super) fn frames_to_event(&mut self, most: u16) -> Result<u16, Why> {
        for frames in 1..=most {
            self.bounce()?;
            if self.event_at_once() {
                return Ok(frames);
            }
            if frames % 64 == 0 {
                self.free(RING_SIZE);
                self.go_on()?;
            }
        }
        Ok(0)
    }
}
