//! Where frames went, layer by layer, in numbers that must add up.

use super::rig::Rig;
use genet::Counters;
use std::ops::{Add, Sub};

macro_rules! ledger {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Frames towards the board, by what became of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Ledger { $($(#[$doc])* pub $name: u64,)* }

        impl Ledger {
            fn each(&self, other: &Ledger, f: fn(u64, u64) -> u64) -> Ledger {
                Ledger { $($name: f(self.$name, other.$name),)* }
            }
        }
    };
}

ledger! {
    /// Sent by host and source.
    sent,
    /// Copies made on the way.
    duplicated,
    /// Put into the MAC without having been on the cable.
    injected,
    /// Lost on the path.
    lost_path,
    /// Dropped by the switch for lack of room.
    lost_queue,
    /// Lost because the link was down.
    lost_link,
    /// Lost on the cable.
    lost_cable,
    /// Reached a MAC whose receiver was off.
    off,
    /// Control frames that end in the MAC.
    control,
    /// For other stations.
    filtered,
    /// Dropped by the MAC for an error.
    bad,
    /// Lost in the receive FIFO.
    fifo,
    /// Dropped by the ring for lack of a descriptor.
    discarded,
    /// Written to memory with an error, and dropped by the driver.
    errored,
    /// Dropped by the driver when the ring was restarted.
    flushed,
    /// Handed out by the driver.
    delivered,
}

impl Ledger {
    /// What happened since `before`.
    pub fn since(&self, before: &Ledger) -> Ledger {
        self.each(before, u64::sub)
    }

    /// Adds another one.
    pub fn add(&mut self, other: &Ledger) {
        *self = self.each(other, u64::add);
    }

    /// Frames that there were.
    pub fn all(&self) -> u64 {
        self.sent + self.duplicated + self.injected
    }

    /// Frames lost before the MAC, or at one that was off.
    pub fn lost(&self) -> u64 {
        self.lost_path + self.lost_queue + self.lost_link + self.lost_cable + self.off
    }

    /// Frames with errors, dropped by MAC or driver.
    pub fn with_errors(&self) -> u64 {
        self.bad + self.errored
    }

    /// Frames that the MAC keeps for itself or that are for others.
    pub fn not_for_us(&self) -> u64 {
        self.control + self.filtered
    }

    /// Frames that are accounted for.
    pub fn accounted(&self) -> u64 {
        self.lost()
            + self.with_errors()
            + self.not_for_us()
            + self.fifo
            + self.discarded
            + self.flushed
            + self.delivered
    }
}

/// How often counters passed their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wraps {
    /// 32-bit count of received bytes.
    pub mib_bytes: u64,
    /// 32-bit count of received frames (it starts just below its end).
    pub mib_frames: u64,
    /// 16-bit producer index.
    pub index: u64,
    /// 16-bit discard counter.
    pub discards: u64,
}

/// Compares what two parties say of one thing.
fn same(what: &str, driver: u64, truth: u64) -> Result<(), String> {
    if driver == truth {
        return Ok(());
    }
    Err(format!(
        "{what}: the driver's total is {driver}, the truth is {truth} (difference {})",
        driver as i128 - truth as i128
    ))
}

impl Rig {
    /// Everything as it is now. The driver's part is what it knows, not what the model knows.
    pub(super) fn ledger(&mut self) -> Ledger {
        let path = self.path.borrow().stats();
        let (link, mac) = self.desk.handle().world(|world| (world.model().link().stats(), world.model().stats()));
        let counters = self.desk.counters();
        let (errored, flushed, delivered) = (counters.frame_errors, counters.flushed, counters.rx_frames);
        Ledger {
            sent: path.to_board,
            duplicated: path.duplicated,
            injected: self.injected,
            lost_path: path.lost_to_board,
            lost_queue: link.queue_drops,
            lost_link: link.no_link_to_board,
            lost_cable: link.lost_to_board,
            off: mac.receiver_off,
            control: mac.control,
            filtered: mac.filtered,
            bad: mac.bad,
            fifo: mac.rbuf,
            discarded: mac.discarded,
            errored,
            flushed,
            delivered,
        }
    }

    /// Nothing is under way: every layer's numbers must agree with those of its neighbours.
    pub(super) fn check_books(&mut self) -> Result<(), String> {
        let books = self.ledger();
        if books.all() != books.accounted() {
            return Err(format!("{} frames came, {} are accounted for: {books:?}", books.all(), books.accounted()));
        }
        let (mac, transmitted) = self.desk.handle().world(|world| {
            let stats = world.model().stats();
            (stats, stats.transmitted)
        });
        same("frames in memory", books.errored + books.flushed + books.delivered, mac.delivered)?;
        let (handed_out, skipped, strange) = self.desk.handle().world(|world| {
            let trail = world.trail();
            (trail.handed_out, trail.skipped, trail.strange)
        });
        if let Some(number) = strange {
            return Err(format!("frame {number} of those handed out is not what the device wrote next"));
        }
        same("frames handed out", books.delivered, handed_out)?;
        same("frames passed over", books.errored + books.flushed, skipped)?;
        let counters = self.desk.counters();
        same("discards", counters.discards, mac.discarded)?;
        same("FIFO overflows", counters.rbuf_overflow, mac.rbuf)?;
        same("frames sent", counters.tx_frames, transmitted)?;
        same("times that the index made no sense", counters.ring_resets, 0)?;
        check_mib(counters, mac.mib_frames, mac.mib_bytes)?;
        let finding = self.desk.handle().world(|world| world.findings.first().cloned());
        finding.map_or(Ok(()), |finding| Err(format!("the {} model complains: {}", finding.device, finding.text)))
    }
}

fn check_mib(counters: &Counters, frames: u64, bytes: u64) -> Result<(), String> {
    let mib = |name: &str| counters.mib(name).unwrap_or(0);
    same("MIB rx_packets", mib("rx_packets"), frames)?;
    same("MIB rx_bytes", mib("rx_bytes"), bytes)?;
    let sizes = ["rx_64", "rx_65_127", "rx_128_255", "rx_256_511", "rx_512_1023", "rx_1024_1518", "rx_1522_2047"];
    same("MIB frames by size", sizes.iter().map(|name| mib(name)).sum(), frames)
}
