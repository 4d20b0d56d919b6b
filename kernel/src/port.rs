//! The benchmark's view of the network port: GENET, its interrupt, the timer and the idle state.

use crate::arch::{counter, interrupts};
use crate::board::uart;
use crate::irq::{self, GenetRegisters};
use crate::mem::dma::DmaRegion;
use genet::{ApplyError, Attendant, FrameStamp, Genet, LinkState, Processor, RxReadback, RxSettings};
use netbench::{Load, Port, Totals};
use phy::{Bcm54210e, PhyError};
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

/// This core: its interrupt mask, its sleep, and what its handlers left.
#[derive(Debug, Default)]
struct Core {
    idle_cycles: u64,
}

impl Processor for Core {
    #[inline]
    fn mask(&mut self) {
        interrupts::mask();
    }

    #[inline]
    fn unmask(&mut self) {
        interrupts::unmask();
    }

    #[inline]
    fn take_rx_event(&mut self) -> Option<u64> {
        irq::take_rx_event()
    }

    #[inline]
    fn take_other_event(&mut self) -> bool {
        uart::take_event()
    }

    /// WFI with the timer armed; time asleep does not count as busy.
    #[inline]
    fn sleep(&mut self, deadline_ns: u64) {
        counter::arm_timer(deadline_ns);
        let before = counter::cycles();
        interrupts::wait();
        self.idle_cycles += counter::cycles() - before;
    }
}

/// GENET, PHY and idle time in one.
pub struct BoardPort {
    attendant: Attendant<GenetRegisters, DmaRegion, BoardClock>,
    core: Core,
    mac: [u8; 6],
}

impl BoardPort {
    /// Starts the PHY and takes the MAC over. The link may come later.
    pub fn new(genet: BoardGenet, phy: Bcm54210e, mac: [u8; 6]) -> Result<Self, PhyError> {
        Ok(BoardPort { attendant: Attendant::new(genet, phy)?, core: Core::default(), mac })
    }
}

impl Port for BoardPort {
    #[inline]
    fn now_ns(&self) -> u64 {
        counter::now_ns()
    }

    fn wait(&mut self, deadline_ns: u64) {
        self.attendant.wait(&mut self.core, deadline_ns);
    }

    #[inline]
    fn last_stamp(&self) -> FrameStamp {
        self.attendant.genet().last_stamp()
    }

    fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        self.attendant.apply(want)
    }

    fn totals(&mut self) -> Totals {
        let load = self.load();
        Totals::new(self.attendant.genet_mut().counters(), load)
    }

    fn load(&self) -> Load {
        Load { irqs: irq::totals().rx, busy_ns: counter::cycles_to_ns(counter::cycles() - self.core.idle_cycles) }
    }

    fn for_each_mib(&mut self, f: &mut dyn FnMut(&'static str, u64)) {
        self.attendant.genet_mut().counters().for_each_mib(f);
    }

    fn link(&mut self) -> LinkState {
        self.attendant.link()
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
}

impl Device for BoardPort {
    type RxToken<'a> = <BoardGenet as Device>::RxToken<'a>;
    type TxToken<'a> = <BoardGenet as Device>::TxToken<'a>;

    #[inline]
    fn receive(&mut self, timestamp: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        self.attendant.genet_mut().receive(timestamp)
    }

    #[inline]
    fn transmit(&mut self, timestamp: Instant) -> Option<Self::TxToken<'_>> {
        self.attendant.genet_mut().transmit(timestamp)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.attendant.genet().capabilities()
    }
}
