//! GENET as a whole: bring-up, link, batches of received frames, totals.
//!
//! Owns the registers and both rings. The interrupt handler works beside it through
//! [`acknowledge`](crate::acknowledge) and a second register handle.

use crate::bring_up::{configure, quiesce, set_rgmii, start_receive, start_transmit, stop_engine, stop_mac};
use crate::found::FoundSettings;
use crate::interrupt::RxSource;
use crate::mdio::Mdio;
use crate::regs::umac;
use crate::rx::{IndexLost, RxQueue};
use crate::settings::{FrameStamp, Pause, Posted, RING_SIZE, RxMode, RxRing, RxSettings};
use crate::tx::TxQueue;
use crate::{
    BringUpError, Clock, Counters, DmaMemory, Engine, LinkState, Registers, Speed, WatchPoints, check_revision,
    descriptor, interrupt,
};
use phy::MdioBus;

/// A timeout tick: 1024 cycles of GENET's 125 MHz.
const TICK_NS: u64 = 8_192;
/// How much later than its limit an interrupt may be before its frames are taken without it.
const LATE_NS: u64 = 50_000_000;
/// The same where neither a timer nor the next frame is bound to raise one.
const LATE_UNBOUNDED_NS: u64 = 1_000_000_000;
/// Time between two refreshes of hardware counters while frames flow; the byte counts wrap in 34 s.
const REFRESH_NS: u64 = 16_000_000_000;

/// GENET with its rings and buffers.
pub struct Genet<R, D, C> {
    pub(crate) regs: R,
    pub(crate) clock: C,
    pub(crate) rx: RxQueue<D>,
    pub(crate) tx: TxQueue<D>,
    /// Registers before we wrote any.
    pub(crate) found: FoundSettings,
    pub(crate) link: LinkState,
    pub(crate) pause: Pause,
    /// As asked for last, and taken.
    pub(crate) settings: RxSettings,
    pub(crate) mode: RxMode,
    /// Where frames are received.
    pub(crate) ring: RxRing,
    /// Where they are announced.
    pub(crate) irq: RxSource,
    pub(crate) id_mode_dis: bool,
    /// As read back.
    pub(crate) threshold: u16,
    pub(crate) timeout_ticks: u16,
    pub(crate) totals: Counters,
    /// Nobody has looked for frames since the interrupt was let through.
    pub(crate) armed: bool,
    refresh_due_ns: u64,
}

impl<R: Registers, D: DmaMemory, C: Clock> Genet<R, D, C> {
    /// Takes the MAC over from whatever ran before and leaves it with both engines on, [`RxSettings::default`], and
    /// the MAC itself off until [`Self::link_changed`] says that there is a link.
    ///
    /// `rx` holds 256 buffers of 2048 bytes, `tx` at least two (a power of two of them is used, 256 at most).
    ///
    /// # Errors
    /// No GENET v5, memory that does not fit, or an engine of an earlier program that does not stop. Nothing is
    /// written before the revision is known.
    pub fn bring_up(regs: R, rx: D, tx: D, clock: C, mac: [u8; 6]) -> Result<Self, BringUpError> {
        check_revision(&regs)?;
        check_memory(&rx, Engine::Receive, usize::from(RING_SIZE))?;
        check_memory(&tx, Engine::Transmit, 2)?;
        let mut found = FoundSettings::read(&regs);
        quiesce(&regs, &clock)?;
        configure(&regs, &clock, mac);
        found.quanta = umac::PAUSE_QUANTA.get(&regs) as u16;
        let totals = Counters::start(&regs);
        let mut genet = Genet {
            rx: RxQueue::new(rx),
            tx: TxQueue::new(tx),
            found,
            link: LinkState::default(),
            pause: Pause::Negotiated,
            settings: RxSettings::default(),
            mode: RxMode::Interrupt,
            ring: RxRing::Ring16,
            irq: RxSource::of(RxRing::Ring16),
            id_mode_dis: false,
            threshold: 0,
            timeout_ticks: 0,
            totals,
            armed: false,
            refresh_due_ns: clock.now_ns() + REFRESH_NS,
            regs,
            clock,
        };
        let settings = RxSettings::default();
        genet.rx.attach_buffers(&genet.regs);
        genet.rx.start(&genet.regs, settings.ring, settings.posted);
        genet.tx.start(&genet.regs);
        start_receive(&genet.regs, settings.ring);
        start_transmit(&genet.regs);
        if let Err(error) = genet.apply(&settings) {
            log::warn!("default receive settings: {error}");
        }
        Ok(genet)
    }

    /// The management bus.
    pub fn mdio(&mut self) -> impl MdioBus + '_ {
        Mdio::new(&self.regs, &self.clock)
    }

    /// Takes the MAC off the link, at a frame's end: before the PHY is told of another mode, which may stop the receive clock
    /// or change its frequency under the MAC. [`Self::link_changed`] with a link that is up puts it back.
    pub fn leave_link(&self) {
        stop_mac(&self.regs, &self.clock);
    }

    /// Programs the MAC for the link as it is now. With the first link, sending and receiving begin.
    pub fn link_changed(&mut self, link: &LinkState) {
        self.link = *link;
        if !link.up {
            set_rgmii(&self.regs, false, self.id_mode_dis);
            return;
        }
        set_rgmii(&self.regs, true, self.id_mode_dis);
        let speed = match link.speed {
            Speed::Mbps10 => umac::CMD::SPEED::Mbps10,
            Speed::Mbps100 => umac::CMD::SPEED::Mbps100,
            Speed::Mbps1000 => umac::CMD::SPEED::Mbps1000,
        };
        umac::CMD.modify(&self.regs, speed + umac::CMD::HD_EN.val((!link.full_duplex).into()));
        self.write_pause();
        umac::CMD.modify(&self.regs, umac::CMD::TX_EN::SET + umac::CMD::RX_EN::SET);
    }

    /// Looks for frames: one register read. Returns how many are in the batch that
    /// [`receive`](smoltcp::phy::Device::receive) hands out; `irq_ns` is when their interrupt came.
    #[inline]
    pub fn poll_receive(&mut self, irq_ns: u64) -> usize {
        let count = self.look();
        self.armed = false;
        if count > 0 {
            self.rx.open_batch(count, irq_ns);
            if irq_ns >= self.refresh_due_ns {
                self.refresh(irq_ns);
            }
        }
        count.into()
    }

    /// The frames handed out are done with: their descriptors go back to the hardware.
    #[inline]
    pub fn end_batch(&mut self) {
        self.rx.end_batch(&self.regs, || self.clock.now_ns());
    }

    /// Lets the receive interrupt through again; nothing in poll mode. Whatever came since it was cleared raises it
    /// at once.
    ///
    /// At threshold 1 every frame has its event, so a frame without one is stranded until the next: there, and only
    /// there, the ring is looked at once more first. True: it held frames with no event pending. They are the batch
    /// now, counted as rescues, and the interrupt stays masked. (The look comes before the unmasking and not after
    /// it, because after it the handler may have run and cleared the evidence.)
    #[inline]
    pub fn rearm(&mut self) -> bool {
        if self.mode == RxMode::Poll {
            return false;
        }
        // Without a look since the last time, an interrupt may have been taken that the caller has not served yet: its
        // frames are announced.
        if self.threshold == 1 && !self.armed && self.rescue_unannounced() {
            return true;
        }
        self.armed = true;
        self.irq.unmask(&self.regs);
        false
    }

    fn rescue_unannounced(&mut self) -> bool {
        let count = self.look();
        if count == 0 || self.irq.is_pending(&self.regs) {
            return false;
        }
        self.totals.rescues += u64::from(count);
        self.rx.open_batch(count, self.clock.now_ns());
        true
    }

    /// To be called every 100 ms or so while waiting for an interrupt: takes frames whose interrupt is long due, and
    /// returns how many, all counted as rescues. A threshold above 1 without a timer promises no interrupt for the
    /// last few frames; these are fetched after a second.
    pub fn rescue_overdue(&mut self, now_ns: u64) -> usize {
        let timeout_ns = u64::from(self.timeout_ticks) * TICK_NS;
        let unbounded = self.timeout_ticks == 0 && self.threshold > 1;
        let limit_ns = if unbounded { LATE_UNBOUNDED_NS } else { timeout_ns + LATE_NS };
        let count = match self.rx.look_overdue(&self.regs, now_ns, limit_ns) {
            Ok(count) => count,
            Err(IndexLost) => {
                self.recover();
                0
            }
        };
        if count > 0 {
            self.totals.rescues += u64::from(count);
            self.rx.open_batch(count, now_ns);
        }
        count.into()
    }

    /// What tells somebody else of frames in the ring that is in use.
    pub fn watch_points(&self) -> WatchPoints {
        WatchPoints::of(self.ring)
    }

    /// Free-running index, modulo 65536, of the frame that comes next.
    #[inline]
    pub fn next_index(&self) -> u16 {
        self.rx.next_index()
    }

    /// Of the frame handed out last.
    #[inline]
    pub fn last_stamp(&self) -> FrameStamp {
        self.rx.stamp()
    }

    /// Frames given to the hardware that it is not known to have sent; exact only when few buffers are left.
    pub fn tx_in_flight(&self) -> u16 {
        self.tx.in_flight()
    }

    /// Refreshes and returns all totals: some 65 register reads.
    pub fn counters(&mut self) -> &Counters {
        self.refresh(self.clock.now_ns());
        self.totals.rx_frames = self.rx.frames;
        self.totals.discards = self.rx.discards;
        self.totals.discards_capped = self.rx.discards_capped;
        self.totals.errors = self.rx.errors;
        self.totals.frame_errors = self.rx.errors.total();
        self.totals.tx_frames = self.tx.frames;
        self.totals.tx_dropped = self.tx.dropped;
        &self.totals
    }

    /// Stops the MAC and both engines and masks all interrupts. The buffers are ours alone after that.
    ///
    /// # Errors
    /// An engine that does not stop: the buffers must not be used for anything else.
    pub fn stop(&mut self) -> Result<(), BringUpError> {
        interrupt::silence(&self.regs);
        quiesce(&self.regs, &self.clock)?;
        interrupt::silence(&self.regs);
        Ok(())
    }

    #[cold]
    fn refresh(&mut self, now_ns: u64) {
        self.refresh_due_ns = now_ns + REFRESH_NS;
        self.totals.refresh(&self.regs);
        self.rx.note_discards(&self.regs);
    }

    /// Frames in the ring; one register read.
    #[inline]
    pub(crate) fn look(&mut self) -> u16 {
        match self.rx.look(&self.regs) {
            Ok(count) => count,
            Err(IndexLost) => {
                self.recover();
                0
            }
        }
    }

    /// PROD_INDEX makes no sense: the ring starts anew with the settings that it has.
    #[cold]
    fn recover(&mut self) {
        self.totals.ring_resets += 1;
        if self.totals.ring_resets == 1 {
            log::warn!("PROD_INDEX reads {:#010x}; receive is restarted", self.rx.ring().prod_index().get(&self.regs));
        }
        let _ = self.restart_ring(self.ring, self.rx.policy());
    }

    /// Stops RDMA and starts it with `ring`, empty.
    ///
    /// # Errors
    /// The engine does not stop. It runs on with the ring as it was: one that only stops late must not stay off.
    pub(crate) fn restart_ring(&mut self, ring: RxRing, policy: Posted) -> Result<(), BringUpError> {
        if let Err(error) = stop_engine(&self.regs, &self.clock, Engine::Receive) {
            start_receive(&self.regs, self.ring);
            return Err(error);
        }
        self.irq.mask(&self.regs);
        self.irq.clear(&self.regs);
        if ring != self.ring {
            self.rx.leave(&self.regs);
        }
        (self.ring, self.irq) = (ring, RxSource::of(ring));
        self.rx.start(&self.regs, ring, policy);
        start_receive(&self.regs, ring);
        Ok(())
    }
}

/// `memory` holds `buffers` buffers where the device can reach them.
fn check_memory<D: DmaMemory>(memory: &D, engine: Engine, buffers: usize) -> Result<(), BringUpError> {
    const REACH: u64 = 1 << 30;
    let (address, bytes) = (memory.bus_address(), memory.len());
    let fits = bytes >= buffers * descriptor::BUFFER_BYTES;
    if fits && address.is_multiple_of(64) && address + bytes as u64 <= REACH {
        Ok(())
    } else {
        Err(BringUpError::Memory { engine, address, bytes })
    }
}
