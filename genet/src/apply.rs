//! Receive settings: written, read back, compared.
//!
//! Owns what [`Genet::apply`] does. A setting counts as set only when its register says so.

use crate::bring_up::FRAME_END_US;
use crate::driver::Genet;
use crate::found::Coalescing;
use crate::regs::{ext, rdma, umac};
use crate::settings::{ApplyError, MAX_THRESHOLD, Pause, RING_SIZE, RxMode, RxReadback, RxRing, RxSettings};
use crate::{BringUpError, Clock, DmaMemory, Registers};

impl<R: Registers, D: DmaMemory, C: Clock> Genet<R, D, C> {
    /// Applies receive settings and reads all of them back from the hardware. Compare with
    /// [`RxReadback::ignored`]: what it did not take is not an error here.
    ///
    /// A ring with fewer descriptors than now, or another ring, is restarted for it, which drops what lies in it (counted as flushed)
    /// and stops receiving for some milliseconds.
    ///
    /// # Errors
    /// A value out of range (nothing was written), receive DMA that does not stop, or a value found at boot or
    /// negotiated that does not stay when written back.
    pub fn apply(&mut self, want: &RxSettings) -> Result<RxReadback, ApplyError> {
        check_ranges(want)?;
        self.end_batch();
        self.irq.mask(&self.regs);
        // PAUSE before the ring: fewer descriptors may be below XOFF at once, and whether that asks for a PAUSE is for the
        // new settings to say. So are the watermarks, unless the ring is another: one that is not set up yet has indices
        // that say nothing, and may ask by them.
        self.pause = want.pause;
        self.write_pause();
        umac::PAUSE_QUANTA.set(&self.regs, want.quanta.unwrap_or(self.found.quanta).into());
        self.id_mode_dis = want.id_mode_dis.unwrap_or(false);
        let id_mode_dis = ext::RGMII_OOB_CTRL::ID_MODE_DIS.val(self.id_mode_dis.into());
        ext::RGMII_OOB_CTRL.modify(&self.regs, id_mode_dis);
        let ring = rdma::Ring::at(want.ring.number());
        self.write_coalescing(want, ring);
        let moves = want.ring != self.ring;
        if moves {
            self.restart_receive(want)?;
        }
        ring.xon_xoff_thresh()
            .write(&self.regs, rdma::XON_XOFF::XOFF.val(want.xoff.into()) + rdma::XON_XOFF::XON.val(want.xon.into()));
        if want.posted.at_start() < self.rx.posted() && !moves {
            self.restart_receive(want)?;
        } else {
            self.rx.set_policy(&self.regs, want.posted);
        }
        self.mode = want.mode;
        self.settings = *want;
        self.announce_waiting();
        self.armed = want.mode == RxMode::Interrupt;
        if self.armed {
            self.irq.unmask(&self.regs);
        }
        let got = self.read_back();
        self.threshold = got.threshold;
        self.timeout_ticks = got.timeout_ticks;
        self.check_restored(want, &got)?;
        Ok(got)
    }

    /// THRESH before TIMEOUT: the pair may be looked at when the timer's register is written.
    fn write_coalescing(&self, want: &RxSettings, ring: rdma::Ring) {
        let found = self.found.coalescing(want.ring);
        let threshold = want.threshold.unwrap_or(found.threshold);
        let ticks = want.timeout_ticks.unwrap_or(found.timeout_ticks);
        ring.mbuf_done_thresh().write(&self.regs, rdma::THRESHOLD::FRAMES.val(threshold.into()));
        ring.timeout().modify(&self.regs, rdma::TIMEOUT::TICKS.val(ticks.into()));
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
        self.irq.clear(&self.regs);
        if self.look() > 0 {
            self.irq.raise(&self.regs);
        }
    }

    /// Stops RDMA between two frames and starts it with other settings.
    pub(crate) fn restart_receive(&mut self, want: &RxSettings) -> Result<(), ApplyError> {
        let was_receiving = umac::CMD.read(&self.regs).is_set(umac::CMD::RX_EN);
        umac::CMD.modify(&self.regs, umac::CMD::RX_EN::CLEAR);
        umac::CMD.get(&self.regs);
        self.clock.delay_us(FRAME_END_US);
        let waiting = self.look();
        let restarted = self.restart_ring(want.ring, want.posted);
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

    /// Receive settings as the hardware holds them now: nine register reads.
    pub fn read_back(&self) -> RxReadback {
        let ring = self.rx.ring();
        let watermarks = ring.xon_xoff_thresh().read(&self.regs);
        let coalescing = Coalescing::read(&self.regs, ring);
        let runs = rdma::CTRL.read(&self.regs).read(rdma::CTRL::RINGS);
        let command = umac::CMD.read(&self.regs);
        RxReadback {
            threshold: coalescing.threshold,
            timeout_ticks: coalescing.timeout_ticks,
            posted: self.rx.posted_by(ring.cons_index().get(&self.regs) as u16),
            xoff: watermarks.read(rdma::XON_XOFF::XOFF) as u16,
            xon: watermarks.read(rdma::XON_XOFF::XON) as u16,
            send_pause: !command.is_set(umac::CMD::TX_PAUSE_IGNORE),
            obey_pause: !command.is_set(umac::CMD::RX_PAUSE_IGNORE),
            mode: if self.irq.is_unmasked(&self.regs) { RxMode::Interrupt } else { RxMode::Poll },
            quanta: umac::PAUSE_QUANTA.get(&self.regs) as u16,
            id_mode_dis: ext::RGMII_OOB_CTRL.read(&self.regs).is_set(ext::RGMII_OOB_CTRL::ID_MODE_DIS),
            ring: if runs & 1 != 0 { RxRing::Ring0 } else { RxRing::Ring16 },
        }
    }

    /// What [`RxReadback::ignored`] cannot compare.
    fn check_restored(&self, want: &RxSettings, got: &RxReadback) -> Result<(), ApplyError> {
        let pause = match want.pause {
            Pause::Negotiated => Some((self.link.pause_tx, self.link.pause_rx)),
            Pause::Forced { .. } => None,
        };
        let found = self.found.coalescing(want.ring);
        let checks = [
            ("thr", want.threshold.is_none().then_some(found.threshold), got.threshold),
            ("tmo_ticks", want.timeout_ticks.is_none().then_some(found.timeout_ticks), got.timeout_ticks),
            ("quanta", want.quanta.is_none().then_some(self.found.quanta), got.quanta),
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
