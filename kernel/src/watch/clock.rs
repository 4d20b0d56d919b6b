//! The first of the three clocks, as the port uses it: when each frame came.

use super::matcher::Matcher;
use super::watcher::Watcher;
use crate::arch::counter::ticks_to_ns;
use genet::{FrameStamp, WatchPoints};
use netbench::Watched;

/// The arrival clock.
#[derive(Default)]
pub struct ArrivalClock {
    watcher: Watcher,
    matcher: Matcher,
    runs: bool,
    lost_before: u64,
}

impl ArrivalClock {
    /// Gets the core that watches ready, and tells if there is none. Not for use inside a window.
    pub fn prepare(&mut self) {
        self.watcher.prepare();
        self.watcher.tell();
    }

    /// Tells once if the core that watches is not used any more. Not for use inside a window.
    #[inline]
    pub fn tell(&mut self) {
        self.watcher.tell();
    }

    /// Starts it; prints nothing. False: there is no watcher.
    pub fn start(&mut self, points: WatchPoints) -> bool {
        self.park();
        self.matcher = Matcher::default();
        self.lost_before = Watcher::lost();
        self.runs = self.watcher.start(points);
        self.runs
    }

    /// Stops it: from the return on nobody but the caller reads devices. What was seen stays.
    pub fn park(&mut self) {
        if core::mem::take(&mut self.runs) {
            self.watcher.park();
        }
    }

    /// Puts the arrival into a frame's stamp.
    #[inline]
    pub fn stamp(&mut self, stamp: &mut FrameStamp) {
        if self.runs {
            let watcher = &mut self.watcher;
            stamp.arrival_ns = self.matcher.arrival(stamp.index, || watcher.take_event()).map(ticks_to_ns);
        }
    }

    /// Frames before `index` are done with.
    #[inline]
    pub fn forget(&mut self, index: u16) {
        if self.runs {
            let watcher = &mut self.watcher;
            self.matcher.forget(index, || watcher.take_event());
        }
    }

    /// What came of it since it was started.
    pub fn report(&self) -> Watched {
        let latch = self.matcher.latch;
        Watched {
            missed: self.matcher.missed,
            lost: Watcher::lost() - self.lost_before,
            latches: latch.rises,
            latch_mean_ns: latch.sum_ticks.checked_div(latch.rises).map(ticks_to_ns),
            latch_max_ns: Some(ticks_to_ns(latch.max_ticks)).filter(|_| latch.rises > 0),
        }
    }

    /// Makes core 1 fail, to see what comes of it.
    pub fn fail_on_purpose(&mut self) {
        self.park();
        self.watcher.fail_on_purpose();
        self.watcher.tell();
    }
}
