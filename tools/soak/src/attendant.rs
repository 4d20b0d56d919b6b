//! What has to be done for GENET and its PHY besides handling frames: waiting, rescuing, watching the link.
//!
//! Owns the rules of waiting (when to look, when to let the interrupt through, when to sleep) and the times between
//! two looks at the PHY. The processor that sleeps and takes interrupts is the caller's ([`Processor`]): the firmware
//! brings the board's, host tests bring a virtual one.

use genet::{ApplyError, Clock, DmaMemory, Genet, LinkState, Registers, RxMode, RxReadback, RxSettings};
use phy::{Advertise, Bcm54210e, LinkSettings, PhyError, StartAction};

/// Time between two looks at the PHY, ns. MDIO costs some 50 us a register.
const LINK_POLL_NS: u64 = 100_000_000;
/// Time between two looks for frames whose interrupt never came, ns.
const OVERDUE_POLL_NS: u64 = 100_000_000;

/// The processor, as waiting for frames needs it.
pub trait Processor {
    /// From here on no interrupt is taken.
    fn mask(&mut self);

    /// Interrupts are taken again; what is pending is taken now.
    fn unmask(&mut self);

    /// True once after a receive interrupt: when its handler was entered, ns. The handler calls
    /// [`genet::acknowledge`].
    fn take_rx_event(&mut self) -> Option<u64>;

    /// True once after something that whoever waits wants to know of, beside frames.
    fn take_other_event(&mut self) -> bool;

    /// With interrupts masked: sleeps until one is pending or until `deadline_ns`.
    fn sleep(&mut self, deadline_ns: u64);
}

/// GENET with its PHY, attended to.
pub struct Attendant<R, D, C> {
    genet: Genet<R, D, C>,
    clock: C,
    link_losses: u64,
    phy: Bcm54210e,
    mode: RxMode,
    link: LinkState,
    link_due_ns: u64,
    overdue_due_ns: u64,
    /// MDIO transactions that failed since bring-up.
    mdio_errors: u64,
}

impl<R: Registers, D: DmaMemory, C: Clock> Attendant<R, D, C> {
    /// Starts the PHY and takes the MAC over. The link may come later.
    ///
    /// # Errors
    /// The PHY does not answer.
    pub fn new(mut genet: Genet<R, D, C>, mut phy: Bcm54210e, clock: C) -> Result<Self, PhyError> {
        phy.start(&mut genet.mdio(), &clock, Advertise::default())?;
        Ok(Attendant {
            genet,
            clock,
            link_losses: 0,
            phy,
            mode: RxMode::Interrupt,
            link: LinkState::default(),
            link_due_ns: 0,
            overdue_due_ns: 0,
            mdio_errors: 0,
        })
    }

    /// The MAC.
    #[inline]
    pub fn genet(&self) -> &Genet<R, D, C> {
        &self.genet
    }

    /// The MAC, for frames and counters. Settings go through [`Self::apply`].
    #[inline]
    pub fn genet_mut(&mut self) -> &mut Genet<R, D, C> {
        &mut self.genet
    }

    /// How it learns of frames.
    pub fn mode(&self) -> RxMode {
        self.mode
    }

    /// Applies receive settings; see [`Genet::apply`].
    ///
    /// # Errors
    /// As there.
    pub fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        let got = self.genet.apply(want)?;
        self.mode = want.mode;
        Ok(got)
    }

    /// Ends the batch of frames and returns with the next one open, at `deadline_ns`, or when `processor` has another
    /// event. In poll mode: looks once and returns. True if the batch holds frames.
    #[inline]
    pub fn wait<P: Processor>(&mut self, processor: &mut P, deadline_ns: u64) -> bool {
        self.genet.end_batch();
        if self.mode == RxMode::Poll {
            let now_ns = self.clock.now_ns();
            return self.genet.poll_receive(now_ns) > 0;
        }
        if self.genet.rearm() {
            return true;
        }
        loop {
            processor.mask();
            if let Some(irq_ns) = processor.take_rx_event() {
                processor.unmask();
                // Without frames it is an interrupt whose frames were taken with the batch before.
                if self.genet.poll_receive(irq_ns) > 0 || self.genet.rearm() {
                    return true;
                }
                continue;
            }
            let now_ns = self.clock.now_ns();
            let rescued = self.rescue_overdue(now_ns);
            if rescued || now_ns >= deadline_ns || processor.take_other_event() {
                processor.unmask();
                return rescued;
            }
            processor.sleep(deadline_ns.min(self.overdue_due_ns));
            processor.unmask(); // the handler runs here
        }
    }

    /// Frames that lie in the ring though their interrupt is long due: taken, and counted as rescues.
    fn rescue_overdue(&mut self, now_ns: u64) -> bool {
        if now_ns < self.overdue_due_ns {
            return false;
        }
        self.overdue_due_ns = now_ns + OVERDUE_POLL_NS;
        self.genet.rescue_overdue(now_ns) > 0
    }

    /// The link. Talks to the PHY every 100 ms at most, and programs the MAC for what it says.
    pub fn link(&mut self) -> LinkState {
        let now_ns = self.clock.now_ns();
        if now_ns >= self.link_due_ns {
            self.link_due_ns = now_ns + LINK_POLL_NS;
            let polled = self.phy.poll_link(&mut self.genet.mdio());
            match polled {
                Ok(link) if link != self.link => {
                    self.link_losses += u64::from(self.link.up);
                    self.link = link;
                    self.genet.link_changed(&link);
                }
                Ok(_) => {}
                Err(error) => {
                    self.mdio_errors += 1;
                    if self.mdio_errors == 1 {
                        eprintln!("the PHY does not answer: {error}; the link state stays as last seen");
                    }
                }
            }
        }
        self.link
    }

    /// Asks for another link; true if it is being made anew. One given up for this is not a lost one.
    ///
    /// # Errors
    /// The PHY does not answer.
    pub fn set_link(&mut self, want: &LinkSettings) -> Result<bool, PhyError> {
        let anew = self.phy.set(&mut self.genet.mdio(), &self.clock, want)? == StartAction::Restarted;
        if anew {
            self.link = LinkState::default();
            self.genet.link_changed(&self.link);
            self.link_due_ns = self.clock.now_ns() + LINK_POLL_NS;
        }
        Ok(anew)
    }

    /// How often the link was lost.
    pub fn link_losses(&mut self) -> u64 {
        self.link_due_ns = 0;
        self.link();
        self.link_losses
    }
}
