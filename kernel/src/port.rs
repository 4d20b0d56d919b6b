//! The benchmark's view of the network port: GENET, its interrupt, the timer and the idle state.

use crate::arch::{counter, interrupts};
use crate::board::{uart, watchdog};
use crate::irq::{self, GenetRegisters};
use crate::mem::dma::DmaRegion;
use crate::watch::clock::ArrivalClock;
use genet::calibrate::{Audience, Outcome};
use genet::{ApplyError, FrameStamp, Genet, LinkState, RxMode, RxReadback, RxSettings};
use netbench::{Load, Port, Totals, Watched};
use phy::{Advertise, Bcm54210e, Clock, LinkSettings, PhyError, StartAction};
use smoltcp::phy::{Device, DeviceCapabilities};
use smoltcp::time::Instant;

/// Time for the drivers, from the generic timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoardClock;

impl phy::Clock for BoardClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        counter::now_ns()
    }

    fn delay_us(&self, us: u32) {
        counter::delay_us(us);
    }
}

/// The MAC as this board has it.
pub type BoardGenet = Genet<GenetRegisters, DmaRegion, BoardClock>;

/// Time between two looks at the PHY, ns. MDIO costs some 50 us a register.
const LINK_POLL_NS: u64 = 100_000_000;
/// Time between two looks for frames whose interrupt never came, ns.
const OVERDUE_POLL_NS: u64 = 100_000_000;

/// GENET, PHY and idle time in one.
pub struct BoardPort {
    genet: BoardGenet,
    phy: Bcm54210e,
    mac: [u8; 6],
    mode: RxMode,
    link: LinkState,
    /// What the PHY was told last, if it took it.
    asked: Option<LinkSettings>,
    link_due_ns: u64,
    overdue_due_ns: u64,
    /// MDIO transactions that failed since bring-up.
    mdio_errors: u64,
    /// Interrupt lines whose failure was told.
    told_lines: u32,
    idle_cycles: u64,
    arrivals: ArrivalClock,
}

impl BoardPort {
    /// Starts the PHY and takes the MAC over. The link may come later.
    pub fn new(mut genet: BoardGenet, mut phy: Bcm54210e, mac: [u8; 6]) -> Result<Self, PhyError> {
        phy.start(&mut genet.mdio(), &BoardClock, Advertise::default())?;
        Ok(BoardPort {
            genet,
            phy,
            mac,
            mode: RxMode::Interrupt,
            link: LinkState::default(),
            asked: None,
            link_due_ns: 0,
            overdue_due_ns: 0,
            mdio_errors: 0,
            told_lines: 0,
            idle_cycles: 0,
            arrivals: ArrivalClock::default(),
        })
    }

    /// Receive settings as the hardware holds them now.
    pub fn settings(&self) -> RxReadback {
        unmasked_by_event(self.genet.read_back(), self.mode)
    }

    /// Makes the core that watches fail, to see what comes of it.
    pub fn fail_watcher(&mut self) {
        self.arrivals.fail_on_purpose();
    }

    /// MDIO transactions that failed since bring-up.
    pub fn mdio_errors(&self) -> u64 {
        self.mdio_errors
    }

    /// Reads the PHY's registers: name, number, value. Clears what reading clears; a loss of the link is counted.
    pub fn phy_registers(&mut self, f: &mut dyn FnMut(&'static str, u32, u16)) {
        self.phy.registers(&mut self.genet.mdio(), f);
    }

    /// Lets the hardware measure itself; see [`Genet::calibrate`]. The link is gone afterwards, and comes back.
    pub fn calibrate(&mut self, audience: &mut dyn Audience) -> Outcome {
        self.arrivals.park(); // nobody else may hold the bus up while microseconds count
        let outcome = self.genet.calibrate(&mut self.phy, audience);
        self.link = LinkState::default();
        self.link_due_ns = counter::now_ns() + LINK_POLL_NS;
        outcome
    }

    /// One look for frames, `irq_ns` being when their interrupt came. True if there are any.
    fn look(&mut self, irq_ns: u64) -> bool {
        self.genet.poll_receive(irq_ns) > 0
    }

    /// Frames that lie in the ring though their interrupt is long due: taken, and counted as rescues.
    fn rescue_overdue(&mut self, now_ns: u64) -> bool {
        if now_ns < self.overdue_due_ns {
            return false;
        }
        self.overdue_due_ns = now_ns + OVERDUE_POLL_NS;
        self.genet.rescue_overdue(now_ns) > 0
    }

    /// Tells of interrupt lines that were blocked.
    #[cold]
    fn tell_lines(&mut self) {
        self.told_lines = irq::blocked_lines();
        let what = if irq::receive_is_blocked() {
            "frames are looked for instead, and no point that wants interrupts can be measured"
        } else {
            "nothing is announced on it, so nothing is lost"
        };
        log::warn!("a GENET interrupt line (mask {:#x}) does not fall and is blocked: {what}", self.told_lines);
    }

    /// WFI with the timer armed; time asleep does not count as busy.
    fn sleep(&mut self, deadline_ns: u64) {
        counter::arm_timer(deadline_ns);
        let before = counter::cycles();
        interrupts::wait();
        self.idle_cycles += counter::cycles() - before;
    }
}

/// The handler masks the interrupt that it serves until the loop has taken the frames: while interrupts are wanted, a masked
/// one whose event still waits for the loop is let through.
fn unmasked_by_event(got: RxReadback, wanted: RxMode) -> RxReadback {
    let waits = wanted == RxMode::Interrupt && irq::rx_event_waits();
    if waits { RxReadback { mode: RxMode::Interrupt, ..got } } else { got }
}

impl Port for BoardPort {
    #[inline]
    fn now_ns(&self) -> u64 {
        counter::now_ns()
    }

    fn wait(&mut self, deadline_ns: u64) {
        self.genet.end_batch();
        self.arrivals.forget(self.genet.next_index());
        irq::turn();
        let now = counter::now_ns();
        watchdog::feed(now);
        if self.mode == RxMode::Poll || irq::receive_is_blocked() {
            self.look(now);
            return;
        }
        if self.genet.rearm() {
            return;
        }
        let deadline_ns = uart::before_stop(now, deadline_ns);
        loop {
            irq::turn();
            interrupts::mask();
            if let Some(irq_ns) = irq::take_rx_event() {
                interrupts::unmask();
                if self.look(irq_ns) {
                    return;
                }
                if irq::receive_is_blocked() {
                    return;
                }
                // An interrupt whose frames were taken with the batch before.
                if self.genet.rearm() {
                    return;
                }
                continue;
            }
            let now = counter::now_ns();
            watchdog::feed(now);
            if now >= deadline_ns || uart::take_event() || self.rescue_overdue(now) {
                interrupts::unmask();
                return;
            }
            self.sleep(deadline_ns.min(self.overdue_due_ns));
            interrupts::unmask(); // the handler runs here
        }
    }

    #[inline]
    fn last_stamp(&mut self) -> FrameStamp {
        let mut stamp = self.genet.last_stamp();
        match self.mode {
            RxMode::Interrupt => self.arrivals.stamp(&mut stamp),
            RxMode::Poll => stamp.arrival_ns = Some(stamp.irq_ns), // the loop sees them come
        }
        stamp
    }

    fn prepare_watch(&mut self) {
        self.arrivals.prepare();
    }

    fn watch(&mut self, on: bool) -> bool {
        if !on {
            self.arrivals.park();
            return false;
        }
        // Two cores that poll one register would disturb each other for nothing.
        self.mode == RxMode::Interrupt && self.arrivals.start(self.genet.watch_points())
    }

    fn watched(&self) -> Watched {
        self.arrivals.report()
    }

    fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        irq::take_rx_event(); // of the settings before
        let got = self.genet.apply(want)?;
        self.mode = want.mode;
        irq::receive_through(got.ring);
        if want.mode == RxMode::Interrupt && irq::receive_is_blocked() {
            return Err(ApplyError::NoInterrupt);
        }
        Ok(unmasked_by_event(got, want.mode))
    }

    fn set_link(&mut self, want: &LinkSettings) -> Result<bool, PhyError> {
        let stays = self.link.up && self.asked == Some(*want);
        if !stays {
            self.genet.leave_link();
        }
        self.asked = None;
        let action = self.phy.set(&mut self.genet.mdio(), &BoardClock, want);
        if matches!(action, Ok(StartAction::Restarted)) {
            self.link = LinkState::default();
            // The old link may still show for a moment.
            self.link_due_ns = counter::now_ns() + LINK_POLL_NS;
        }
        self.genet.link_changed(&self.link);
        self.asked = Some(*want).filter(|_| action.is_ok());
        Ok(action? == StartAction::Restarted)
    }

    fn spend(&mut self, ns: u64) {
        BoardClock.delay_us((ns / 1_000) as u32);
        let end_ns = counter::now_ns() + ns % 1_000;
        while counter::now_ns() < end_ns {
            core::hint::spin_loop();
        }
    }

    fn totals(&mut self) -> Totals {
        let load = self.load();
        Totals::new(self.genet.counters(), load)
    }

    fn load(&self) -> Load {
        Load { irqs: irq::totals().rx, busy_ns: counter::cycles_to_ns(counter::cycles() - self.idle_cycles) }
    }

    fn for_each_mib(&mut self, f: &mut dyn FnMut(&'static str, u64)) {
        self.genet.counters().for_each_mib(f);
    }

    fn link(&mut self) -> LinkState {
        let now = counter::now_ns();
        if irq::blocked_lines() != self.told_lines {
            self.tell_lines();
        }
        self.arrivals.tell();
        if now >= self.link_due_ns {
            self.link_due_ns = now + LINK_POLL_NS;
            let polled = self.phy.poll_link(&mut self.genet.mdio());
            match polled {
                Ok(link) if link != self.link => {
                    self.link = link;
                    self.genet.link_changed(&link);
                }
                Ok(_) => {}
                Err(error) => {
                    self.mdio_errors += 1;
                    if self.mdio_errors == 1 {
                        log::warn!("the PHY does not answer: {error}; the link state stays as last seen");
                    }
                }
            }
        }
        self.link
    }

    fn link_losses(&mut self) -> u64 {
        self.link_due_ns = 0;
        self.link();
        self.phy.losses()
    }

    #[inline(always)]
    fn stop_wanted(&self, now_ns: u64) -> bool {
        uart::stop_wanted(now_ns)
    }

    fn has_interrupts(&self) -> bool {
        !irq::receive_is_blocked()
    }

    fn heap_b(&self) -> Option<u64> {
        Some(crate::mem::heap::used_bytes() as u64)
    }

    fn mac(&self) -> [u8; 6] {
        self.mac
    }
}

impl netbench::Console for uart::Console {
    fn pending(&self) -> usize {
        uart::pending()
    }

    fn read_byte(&mut self) -> Option<u8> {
        uart::read_byte()
    }

    fn note(&mut self, event: core::fmt::Arguments<'_>) {
        crate::mem::kept::note(event);
    }
}

impl Device for BoardPort {
    type RxToken<'a> = <BoardGenet as Device>::RxToken<'a>;
    type TxToken<'a> = <BoardGenet as Device>::TxToken<'a>;

    #[inline]
    fn receive(&mut self, timestamp: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.genet.receive(timestamp)
    }

    #[inline]
    fn transmit(&mut self, timestamp: Instant) -> Option<Self::TxToken<'_>> {
        self.genet.transmit(timestamp)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.genet.capabilities()
    }
}
