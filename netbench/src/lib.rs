//! genetbench's benchmark: what is measured, in which order, and what is said about it.
//!
//! Owns the plan, the presets, the HTTP download, the statistics, the table and the GB1 records.
//! Knows no hardware: a [`Port`] carries frames and settings, a [`Console`] carries text. Only
//! plain data is taken from the driver crate: its settings and its counters.
//!
//! ```text
//! bootargs -> plan -> run -> sweep -> transfer (sockets) -> meter -> result -> records, table
//! ```

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod bench;
mod clocks;
pub mod fact;
pub mod failure;
mod found;
pub mod http;
mod link_log;
mod meter;
mod net;
pub mod plan;
pub mod point;
pub mod presets;
pub mod record;
pub mod result;
mod rng;
mod run;
mod session;
pub mod stats;
mod sweep;
mod table;
mod transfer;
pub mod verdict;

pub use found::FoundSummary;
pub use genet::{ApplyError, FrameStamp, LinkSettings, LinkState, PhyError, RxMode, RxReadback, RxSettings};
pub use run::{Outcome, report_problems, run};
pub use session::Session;

/// The network port, as the benchmark needs it. Frames go through [`smoltcp::phy::Device`].
pub trait Port: smoltcp::phy::Device {
    /// Time since reset, ns.
    fn now_ns(&self) -> u64;

    /// Ends the batch of frames, then sleeps until frames come, console input comes, the console
    /// has drained, or `deadline_ns`; opens the next batch. In poll mode: looks once and returns.
    fn wait(&mut self, deadline_ns: u64);

    /// Of the frame that was handed out last. Asked once for a frame, in the order in which they came.
    fn last_stamp(&mut self) -> FrameStamp;

    /// Gets the arrival clock ready, which may take a while and print: not for use inside a window. Without this there is
    /// none.
    fn prepare_watch(&mut self) {}

    /// Starts the arrival clock, a core that watches the receive ring, or parks it. True: it runs, and stamps have the
    /// arrival until it is parked. Parked it reads no device; before anything else that touches the ring it must be. Prints nothing.
    /// In poll mode stamps have the arrival without it: whoever polls sees the frames come.
    fn watch(&mut self, on: bool) -> bool {
        let _ = on;
        false
    }

    /// What the arrival clock saw since it was started.
    fn watched(&self) -> Watched {
        Watched::default()
    }

    /// Writes receive settings and reads them back.
    fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError>;

    /// Asks for another link. True: it is being made anew, which takes seconds; [`Self::link`] says when it is there.
    /// A link given up for this is not a lost one.
    fn set_link(&mut self, want: &LinkSettings) -> Result<bool, PhyError>;

    /// The processor does something else for this long, ns, and takes interrupts meanwhile.
    fn spend(&mut self, ns: u64);

    /// Counters since reset. May read many registers: not for use inside a window.
    fn totals(&mut self) -> Totals;

    /// What an interval inside a window needs to know. Must be cheap: no device reads.
    fn load(&self) -> Load;

    /// Every MIB counter by its name, since reset.
    fn for_each_mib(&mut self, f: &mut dyn FnMut(&'static str, u64));

    /// The link, supervised: may talk to the PHY, but not more often than every 100 ms.
    fn link(&mut self) -> LinkState;

    /// How often the link was lost so far, even if it is back. Talks to the PHY: not for use inside a window.
    fn link_losses(&mut self) -> u64;

    /// Received frames are announced by interrupts. False: the line has a fault, and frames are looked for in any mode.
    fn has_interrupts(&self) -> bool {
        true
    }

    /// Somebody wants what is going on to end (Ctrl-C), and the run under way has not ended since. Asked at every turn
    /// of a loop that waits or measures: no device reads. `now_ns` is the time now.
    fn stop_wanted(&self, now_ns: u64) -> bool {
        let _ = now_ns;
        false
    }

    /// Memory in use, bytes, if there is a heap of our own.
    fn heap_b(&self) -> Option<u64> {
        None
    }

    /// The port's address.
    fn mac(&self) -> [u8; 6];
}

/// The console: text goes out by a queue and never blocks for long.
pub trait Console: core::fmt::Write {
    /// Bytes that have not left yet. Zero before a window opens.
    fn pending(&self) -> usize;

    /// Next byte that somebody typed.
    fn read_byte(&mut self) -> Option<u8>;

    /// What the benchmark does from now on, for a report on its end. Not called inside a window.
    fn note(&mut self, event: core::fmt::Arguments<'_>) {
        let _ = event;
    }
}

/// Counters of the port since reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Receive interrupts.
    pub irqs: u64,
    /// Frames received.
    pub frames: u64,
    /// Frames that the ring had no descriptor for.
    pub discards: u64,
    /// Looks that found the counter of these at its end: with any, `discards` is a lower bound.
    pub discards_capped: u64,
    /// Frames that the receive FIFO had no room for.
    pub rbuf_overflow: u64,
    /// Frames that the receive FIFO found damaged.
    pub rbuf_errors: u64,
    /// Frames that were found after unmasking.
    pub rescues: u64,
    /// Frames with an error in their descriptor.
    pub frame_errors: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// PAUSE frames sent by the MAC.
    pub pause_sent: u64,
    /// PAUSE frames received.
    pub pause_received: u64,
    /// Frames that arrived damaged: FCS, code, alignment, length, runts.
    pub link_errors: u64,
    /// Collisions of our frames.
    pub collisions: u64,
    /// Of these, late ones.
    pub late_collisions: u64,
    /// Core time not spent asleep, ns.
    pub busy_ns: u64,
}

/// MIB counters of frames that the cable or the other end damaged. A frame may be in two of them.
const LINK_ERRORS: [&str; 5] = ["rx_fcs", "rx_alignment", "rx_code", "rx_length", "rx_runt"];

fn sum(counters: &genet::Counters, names: &[&str]) -> u64 {
    names.iter().filter_map(|name| counters.mib(name)).sum()
}

impl Totals {
    /// From the driver's counters and the processor's load.
    pub fn new(counters: &genet::Counters, load: Load) -> Totals {
        Totals {
            irqs: load.irqs,
            frames: counters.rx_frames,
            discards: counters.discards,
            discards_capped: counters.discards_capped,
            rbuf_overflow: counters.rbuf_overflow,
            rbuf_errors: counters.rbuf_errors,
            rescues: counters.rescues,
            frame_errors: counters.frame_errors,
            tx_frames: counters.tx_frames,
            pause_sent: counters.pause_sent(),
            pause_received: counters.pause_received(),
            link_errors: sum(counters, &LINK_ERRORS),
            collisions: sum(counters, &["tx_collisions"]),
            late_collisions: sum(counters, &["tx_late_collision"]),
            busy_ns: load.busy_ns,
        }
    }
}

/// What the arrival clock saw of a window, beside the arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// Frames whose arrival is not known, those before watching began not counted.
    pub missed: u64,
    /// Changes that there was no room for.
    pub lost: u64,
    /// Times that the receive interrupt was latched.
    pub latches: u64,
    /// How long the first frame of each had waited for it, on average, ns.
    pub latch_mean_ns: Option<u64>,
    /// Longest of these times, ns.
    pub latch_max_ns: Option<u64>,
}

/// The part of [`Totals`] that costs nothing to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Receive interrupts since reset.
    pub irqs: u64,
    /// Core time not spent asleep, ns.
    pub busy_ns: u64,
}

/// What the firmware knows about the board, for the `hello` record.
#[derive(Clone, Copy, Debug)]
pub struct Hello<'a> {
    /// Version of the build.
    pub version: &'a str,
    /// Commit of the build.
    pub commit: &'a str,
    /// Model, from the device tree.
    pub model: &'a str,
    /// Revision code, from the board's firmware.
    pub board_revision: Option<u32>,
    /// Serial number, from the board's firmware.
    pub serial: Option<u64>,
    /// Boot path: `sd`, `uboot`, `net`, `virtual`.
    pub boot: &'a str,
    /// Exception level at entry.
    pub entry_el: u8,
    /// Core clock, Hz.
    pub core_hz: u64,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// Temperature, thousandths of a degree.
    pub temperature_milli_c: Option<u32>,
    /// The board's firmware's throttling flags.
    pub throttled: Option<u32>,
    /// Ethernet address.
    pub mac: [u8; 6],
    /// This is the virtual Pi.
    pub is_virtual: bool,
    /// Why the board was reset: `power`, `watchdog`, `reboot`, `fault`, `unknown`.
    pub reset: &'a str,
    /// PM_RSTS.
    pub reset_status: u32,
    /// The last event before the reset and its time since the reset before, ns, if memory kept it.
    pub last: Option<(&'a str, u64)>,
}
