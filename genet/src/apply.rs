//! Receive settings: written, read back, compared.
//!
//! Owns what [`Genet::apply`] does. A setting counts as set only when its register says so.

use crate::driver::Genet;
use crate::regs::{rdma, umac};
use crate::settings::{ApplyError, MAX_THRESHOLD, Pause, RING_SIZE, RxMode, RxReadback, RxSettings};
use crate::{BringUpError, Clock, DmaMemory, Registers, interrupt};

/// The MAC stops at a frame's end.
const FRAME_END_US: u32 = 2_000;

impl<R: Registers, D: DmaMemory, C: Clock> Genet<R, D, C> {
    /// Applies receive settings and reads all of them back from the hardware. Compare with
    /// [`RxReadback::ignored`]: what it did not take is not an error here.
    ///
    /// A ring with fewer descriptors than now is restarted for it, which drops what lies in it (counted as flushed)
    /// and stops receiving for some milliseconds.
    ///
    /// # Errors
    /// A value out of range (nothing was written), receive DMA that does not stop, or a value found at boot or
    /// negotiated that does not stay when written back.
    pub fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        check_ranges(want)?;
        self.end_batch();
        interrupt::mask_rx(&self.regs);
        // PAUSE and watermarks before the ring they are for: fewer descriptors may be below XOFF at once, and whether
        // that asks for a PAUSE is for the new settings to say.
        self.pause = want.pause;
        self.write_pause();
        rdma::XON_XOFF_THRESH
            .write(&self.regs, rdma::XON_XOFF::XOFF.val(want.xoff.into()) + rdma::XON_XOFF::XON.val(want.xon.into()));
        self.write_coalescing(want);
        if want.posted.at_start() < self.rx.posted() {
            self.restart_receive(want)?;
        } else {
            self.rx.set_policy(&self.regs, want.posted);
        }
        self.mode = want.mode;
        self.announce_waiting();
        self.armed = want.mode == RxMode::Interrupt;
        if self.armed {
            interrupt::unmask_rx(&self.regs);
        }
        let got = self.read_back();
        self.threshold = got.threshold;
        self.timeout_ticks = got.timeout_ticks;
        self.check_restored(want, &got)?;
        Ok(got)
    }

    /// THRESH before TIMEOUT: the pair may be looked at when the timer's register is written.
    fn write_coalescing(&self, want: &RxSettings) {
        let threshold = want.threshold.unwrap_or(self.found.threshold);
        let ticks = want.timeout_ticks.unwrap_or(self.found.timeout_ticks);
        rdma::MBUF_DONE_THRESH.write(&self.regs, rdma::THRESHOLD::FRAMES.val(threshold.into()));
        rdma::RING16_TIMEOUT.modify(&self.regs, rdma::TIMEOUT::TICKS.val(ticks.into()));
    }

    /// UMAC_CMD's two PAUSE bits, from the setting and, if that says so, the link.
    pub(crate) fn write_pause(&self) {
        let (send, obey) = self.wanted_pause();
        umac::CMD.modify(
            &self.regs,
            umac::CMD::TX_PAUSE_IGNORE.val((!send).into()) + umac::CMD::RX_PAUSE_IGNORE.val((!obey).into()),
        );
    }

    fn wanted_pause(&self) -> (bool, bool) {
        match self.pause {
            Pause::Negotiated => (self.link.pause_tx, self.link.pause_rx),
            Pause::Forced { send, obey } => (send, obey),
        }
    }

    /// Forgets an interrupt for frames that are gone, and raises one for frames that are there.
    fn announce_waiting(&mut self) {
        interrupt::clear_rx(&self.regs);
        if self.look() > 0 {
            interrupt::raise_rx(&self.regs);
        }
    }

    /// Stops RDMA between two frames and starts it with other settings.
    pub(crate) fn restart_receive(&mut self, want: &RxSettings) -> Result<(), ApplyError> {
        let was_receiving = umac::CMD.read(&self.regs).is_set(umac::CMD::RX_EN);
        umac::CMD.modify(&self.regs, umac::CMD::RX_EN::CLEAR);
        umac::CMD.get(&self.regs);
        self.clock.delay_us(FRAME_END_US);
        let waiting = self.look();
        let restarted = self.restart_ring(want.posted);
        if restarted.is_ok() {
            self.totals.flushed += u64::from(waiting);
        }
        if was_receiving {
            umac::CMD.modify(&self.regs, umac::CMD::RX_EN::SET);
        }
        restarted.map_err(|error| match error {
            BringUpError::DmaStuck { waited_us, .. } => ApplyError::DmaStuck { waited_us },
            _ => ApplyError::DmaStuck { waited_us: 0 },
        })
    }

    /// Receive settings as the hardware holds them now: six register reads.
    pub fn read_back(&self) -> RxReadback {
        let watermarks = rdma::XON_XOFF_THRESH.read(&self.regs);
        let command = umac::CMD.read(&self.regs);
        RxReadback {
            threshold: rdma::MBUF_DONE_THRESH.read(&self.regs).get() as u16,
            timeout_ticks: rdma::RING16_TIMEOUT.read(&self.regs).read(rdma::TIMEOUT::TICKS) as u16,
            posted: self.rx.posted_by(rdma::CONS_INDEX.get(&self.regs) as u16),
            xoff: watermarks.read(rdma::XON_XOFF::XOFF) as u16,
            xon: watermarks.read(rdma::XON_XOFF::XON) as u16,
            send_pause: !command.is_set(umac::CMD::TX_PAUSE_IGNORE),
            obey_pause: !command.is_set(umac::CMD::RX_PAUSE_IGNORE),
            mode: if interrupt::rx_is_unmasked(&self.regs) { RxMode::Interrupt } else { RxMode::Poll },
        }
    }

    /// What [`RxReadback::ignored`] cannot compare.
    fn check_restored(&self, want: &RxSettings, got: &RxReadback) -> Result<(), ApplyError> {
        let pause = match want.pause {
            Pause::Negotiated => Some((self.link.pause_tx, self.link.pause_rx)),
            Pause::Forced { .. } => None,
        };
        let checks = [
            ("thr", want.threshold.is_none().then_some(self.found.threshold), got.threshold),
            ("tmo_ticks", want.timeout_ticks.is_none().then_some(self.found.timeout_ticks), got.timeout_ticks),
            ("tx_pause", pause.map(|p| p.0.into()), got.send_pause.into()),
            ("rx_pause", pause.map(|p| p.1.into()), got.obey_pause.into()),
        ];
        for (key, want, got) in checks {
            if let Some(want) = want
                && want != got
            {
                return Err(ApplyError::NotRestored { key, want, got });
            }
        }
        Ok(())
    }
}

/// Values that a register cannot hold are refused before anything is written.
fn check_ranges(want: &RxSettings) -> Result<(), ApplyError> {
    let ranges =
        [("thr", want.threshold.unwrap_or(0), 0, MAX_THRESHOLD), ("posted", want.posted.at_start(), 1, RING_SIZE)];
    for (key, value, min, max) in ranges {
        if !(min..=max).contains(&value) {
            return Err(ApplyError::OutOfRange { key, value, min, max });
        }
    }
    Ok(())
}
