//! The firmware's network port on the desk: real driver, real PHY code, modelled hardware, virtual time.
//!
//! Owns what `kernel` owns on the board: bringing the port up, and being [`netbench::Port`]. How waiting and link
//! supervision work is `Attendant`'s: the same rules as the board's port has.

use crate::attendant::Attendant;
use crate::world::{CachedMemory, Cost, Handle, RX_PA, TX_PA, World};
use board::genet::{Genet as Model, GenetConfig};
use board::link::{LinkConfig, Peer};
use genet::{
    ApplyError, BringUpError, Clock, Counters, FrameStamp, Genet, LinkState, RxFrame, RxMode, RxReadback, RxSettings,
    TxSlot,
};
use netbench::{Hello, Load, Port, Totals};
use phy::{Bcm54210e, LinkSettings, PhyError};
use smoltcp::phy::{Device, DeviceCapabilities, RxToken};
use smoltcp::time::Instant;
use std::fmt;

const BUFFER_BYTES: usize = 2048;
const BUFFERS: usize = 256;

/// What a desk is made from.
#[derive(Clone, Debug, Default)]
pub struct DeskConfig {
    /// GENET and its PHY; its `mac` is the port's address.
    pub genet: GenetConfig,
    /// The cable and the partner's port.
    pub link: LinkConfig,
    /// What things cost.
    pub cost: Cost,
}

/// Why there is no port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeskError {
    /// The MAC did not come up.
    Genet(BringUpError),
    /// The PHY did not.
    Phy(PhyError),
}

impl fmt::Display for DeskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeskError::Genet(error) => write!(f, "GENET: {error}"),
            DeskError::Phy(error) => write!(f, "PHY: {error}"),
        }
    }
}

impl std::error::Error for DeskError {}

/// The port.
pub struct Desk {
    attendant: Attendant<Handle, CachedMemory, Handle>,
    handle: Handle,
    mac: [u8; 6],
}

impl Desk {
    /// A port whose cable leads to `peer`. The link comes up later, by [`Port::link`].
    ///
    /// # Errors
    /// What the drivers say.
    pub fn new(config: &DeskConfig, peer: Box<dyn Peer>) -> Result<Desk, DeskError> {
        let model = Model::new(&config.genet, &config.link, peer);
        let bytes = BUFFER_BYTES * BUFFERS;
        let handle = World::start(model, config.cost, (TX_PA - RX_PA) as usize + bytes);
        let rx = CachedMemory::new(&handle, RX_PA, bytes);
        let tx = CachedMemory::new(&handle, TX_PA, bytes);
        let mac = config.genet.mac;
        let mut genet = Genet::bring_up(handle.clone(), rx, tx, handle.clone(), mac).map_err(DeskError::Genet)?;
        let phy = Bcm54210e::find(&mut genet.mdio()).map_err(DeskError::Phy)?;
        let attendant = Attendant::new(genet, phy, handle.clone()).map_err(DeskError::Phy)?;
        Ok(Desk { attendant, handle, mac })
    }

    /// The hardware behind it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The driver's counters, refreshed.
    pub fn counters(&mut self) -> &Counters {
        self.attendant.genet_mut().counters()
    }

    /// The software does something else for `ns`; interrupts are taken meanwhile.
    pub fn busy(&mut self, ns: u64) {
        self.handle.spend(ns);
    }

    /// A `hello` record for it.
    pub fn hello(&self) -> Hello<'static> {
        Hello {
            version: env!("CARGO_PKG_VERSION"),
            commit: "desk",
            model: "models on the host",
            board_revision: None,
            serial: None,
            boot: "virtual",
            entry_el: 0,
            core_hz: 1_000_000_000,
            memory_mib: 0,
            temperature_milli_c: None,
            throttled: None,
            reset: "power",
            reset_status: 0x1000,
            last: None,
            mac: self.mac,
            is_virtual: true,
        }
    }
}

impl Port for Desk {
    fn now_ns(&self) -> u64 {
        self.handle.now_ns()
    }

    fn wait(&mut self, deadline_ns: u64) {
        let wait_ns = self.handle.0.borrow().cost.wait_ns;
        self.handle.spend(wait_ns);
        if !self.attendant.wait(&mut self.handle, deadline_ns) && self.attendant.mode() == RxMode::Poll {
            self.handle.skip_empty_turns(deadline_ns);
        }
    }

    fn last_stamp(&mut self) -> FrameStamp {
        self.attendant.genet().last_stamp()
    }

    fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        self.attendant.apply(want)
    }

    fn set_link(&mut self, want: &LinkSettings) -> Result<bool, PhyError> {
        self.attendant.set_link(want)
    }

    fn spend(&mut self, ns: u64) {
        self.handle.spend(ns);
    }

    fn totals(&mut self) -> Totals {
        let load = self.load();
        Totals::new(self.counters(), load)
    }

    fn load(&self) -> Load {
        let world = self.handle.0.borrow();
        Load { irqs: world.rx_irqs, busy_ns: self.handle.now_ns() - world.idle_ns }
    }

    fn for_each_mib(&mut self, f: &mut dyn FnMut(&'static str, u64)) {
        self.counters().for_each_mib(f);
    }

    fn link(&mut self) -> LinkState {
        self.attendant.link()
    }

    fn link_losses(&mut self) -> u64 {
        self.attendant.link_losses()
    }

    fn mac(&self) -> [u8; 6] {
        self.mac
    }
}

/// A received frame. Reading it costs time and leaves its mark on the trail.
pub struct DeskFrame<'a> {
    frame: RxFrame<'a>,
    handle: &'a Handle,
}

impl RxToken for DeskFrame<'_> {
    fn consume<T, F: FnOnce(&[u8]) -> T>(self, f: F) -> T {
        let result = self.frame.consume(|bytes| {
            self.handle.world(|world| world.trail().hand_out(bytes));
            f(bytes)
        });
        let frame_ns = self.handle.0.borrow().cost.frame_ns;
        self.handle.spend(frame_ns);
        result
    }
}

impl Device for Desk {
    type RxToken<'a> = DeskFrame<'a>;
    type TxToken<'a> = TxSlot<'a, Handle, CachedMemory>;

    fn receive(&mut self, timestamp: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let (frame, slot) = self.attendant.genet_mut().receive(timestamp)?;
        Some((DeskFrame { frame, handle: &self.handle }, slot))
    }

    fn transmit(&mut self, timestamp: Instant) -> Option<Self::TxToken<'_>> {
        self.attendant.genet_mut().transmit(timestamp)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.attendant.genet().capabilities()
    }
}

/// A console that keeps all it is told and that nobody types at.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// What was written.
    pub text: String,
}

impl fmt::Write for Transcript {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text.push_str(text);
        Ok(())
    }
}

impl netbench::Console for Transcript {
    fn pending(&self) -> usize {
        0
    }

    fn read_byte(&mut self) -> Option<u8> {
        None
    }
}
