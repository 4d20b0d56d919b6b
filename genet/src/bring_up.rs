//! From whatever an earlier program left to a quiet, configured MAC; and back to quiet.
//!
//! Owns the order of the steps, which is the one that Linux, the BSDs, U-Boot and Circle agree on, with the additions
//! of those that met a running engine (OpenBSD since 1.6), stale modes that survive resets (AmiNetXDuo) or a stuck
//! RBUF (raspberrypi/linux 7304). The rings are in `rx` and `tx`. Writes may be posted: every wait that follows one
//! begins with a read from the same block.

use crate::regs::{RING, ext, hfb, mib, rbuf, rdma, sys, tbuf, tdma, umac};
use crate::settings::RING_SIZE;
use crate::{BringUpError, Clock, Engine, Registers, RxRing, interrupt};
use tock_registers::LocalRegisterCopy;

/// The MAC stops at a frame's end: 1.2 ms at 10 Mbit/s. Linux and Circle wait 1 to 2 ms.
pub(crate) const FRAME_END_US: u32 = 2_000;
/// What Linux gives an engine to stop.
pub(crate) const ENGINE_STOP_US: u32 = 5_000;
/// From TDMA's stop to RDMA's, for what is in the FIFOs (Linux).
const DRAIN_US: u32 = 10_000;
/// Length of reset pulses and pauses after them.
const RESET_US: u32 = 10;
/// Time between two looks at an engine.
const POLL_US: u32 = 10;
/// 8 on the BCM2711, 16 elsewhere (Linux `bcm2711_plat_data`).
const SCB_BURST: u32 = 8;

/// Stops both engines and the MAC.
///
/// # Errors
/// An engine that was enabled does not report that it stopped. (One that was off and does not report it is let pass:
/// the bit has not been measured in every state.)
pub(crate) fn quiesce<R: Registers, C: Clock>(regs: &R, clock: &C) -> Result<(), BringUpError> {
    let was_receiving = umac::CMD.read(regs).is_set(umac::CMD::RX_EN);
    umac::CMD.modify(regs, umac::CMD::RX_EN::CLEAR);
    let was_sending = tdma::CTRL.read(regs).is_set(rdma::CTRL::EN);
    if was_receiving {
        clock.delay_us(FRAME_END_US);
    }
    stop_engine(regs, clock, Engine::Transmit)?;
    if was_sending {
        clock.delay_us(DRAIN_US);
    }
    stop_engine(regs, clock, Engine::Receive)?;
    flush_transmit(regs, clock);
    umac::CMD.modify(regs, umac::CMD::TX_EN::CLEAR);
    Ok(())
}

/// Stops the MAC in both directions at a frame's end. Engines and their rings stay as they are.
pub(crate) fn stop_mac<R: Registers, C: Clock>(regs: &R, clock: &C) {
    umac::CMD.modify(regs, umac::CMD::RX_EN::CLEAR + umac::CMD::TX_EN::CLEAR);
    umac::CMD.get(regs);
    clock.delay_us(FRAME_END_US);
}

/// Empties the transmit FIFO.
pub(crate) fn flush_transmit<R: Registers, C: Clock>(regs: &R, clock: &C) {
    umac::TX_FLUSH.write(regs, umac::TX_FLUSH::FLUSH::SET);
    umac::TX_FLUSH.get(regs);
    clock.delay_us(RESET_US);
    umac::TX_FLUSH.write(regs, umac::TX_FLUSH::FLUSH::CLEAR);
}

/// Clears DMA_EN, waits for the engine, then clears the ring bits: hardware's index and pointer take writes only then.
pub(crate) fn stop_engine<R: Registers, C: Clock>(regs: &R, clock: &C, engine: Engine) -> Result<(), BringUpError> {
    let (ctrl, status) = match engine {
        Engine::Receive => (&rdma::CTRL, &rdma::STATUS),
        Engine::Transmit => (&tdma::CTRL, &tdma::STATUS),
    };
    let was_enabled = ctrl.read(regs).is_set(rdma::CTRL::EN);
    ctrl.modify(regs, rdma::CTRL::EN::CLEAR);
    let mut waited_us = 0;
    while !status.read(regs).is_set(rdma::STATUS::DISABLED) {
        if waited_us >= ENGINE_STOP_US {
            if was_enabled {
                return Err(BringUpError::DmaStuck { engine, waited_us });
            }
            log::warn!("{engine:?} DMA is off but does not say so (status {:#x})", status.get(regs));
            break;
        }
        clock.delay_us(POLL_US);
        waited_us += POLL_US;
    }
    ctrl.set(regs, 0);
    ctrl.get(regs);
    Ok(())
}

/// Starts receiving into `ring`, whose indices and pointers are set, and into no other.
pub(crate) fn start_receive<R: Registers>(regs: &R, ring: RxRing) {
    steer(regs, ring);
    rdma::RING_CFG.set(regs, 1 << ring.number());
    rdma::CTRL.write(regs, rdma::CTRL::RINGS.val(1 << ring.number()) + rdma::CTRL::EN::SET);
}

/// Starts sending from ring 16, whose indices and pointers are set.
pub(crate) fn start_transmit<R: Registers>(regs: &R) {
    tdma::RING_CFG.set(regs, 1 << RING);
    tdma::CTRL.write(regs, rdma::CTRL::RINGS.val(1 << RING) + rdma::CTRL::EN::SET);
}

pub(crate) fn switch_filters_off<R: Registers>(regs: &R) {
    hfb::CTRL.set(regs, 0);
    hfb::FLT_ENABLE_HIGH.set(regs, 0);
    hfb::FLT_ENABLE_LOW.set(regs, 0);
}

/// Sends all frames to `ring`, the only one that runs.
///
/// Without a filter they go to the default ring, and no source says whether that is ring 16 for good or follows the
/// rings that run. Linux, since it moved to ring 0 in 2025, has a filter 0 that any frame matches, mapped there
/// (rusty-pi/pimu notes it as well); with it either reading is right.
fn steer<R: Registers>(regs: &R, ring: RxRing) {
    /// A filter must have a length. This one compares no nibble of these bytes, the Ethernet header.
    const ANY_BYTES: u32 = 14;
    switch_filters_off(regs);
    if ring == RxRing::Ring0 {
        (0..ANY_BYTES / 2).for_each(|index| hfb::filter_0_word(index).set(regs, 0));
        hfb::FLT_LEN_LAST.set(regs, ANY_BYTES);
        rdma::INDEX2RING_0.set(regs, 0);
        hfb::FLT_ENABLE_LOW.set(regs, 1);
        hfb::CTRL.write(regs, hfb::CTRL::ENABLE::SET);
    }
}

/// Resets the UniMAC and configures everything but the rings. Both engines are off.
pub(crate) fn configure<R: Registers, C: Clock>(regs: &R, clock: &C, mac: [u8; 6]) {
    reset_umac(regs, clock);
    umac::MAX_FRAME_LEN.set(regs, crate::descriptor::MAX_FRAME_BYTES as u32);
    configure_buffers(regs);
    interrupt::silence(regs);
    sys::PORT_CTRL.write(regs, sys::PORT_CTRL::MODE::ExternalGphy);
    set_address(regs, mac);
    switch_filters_off(regs);
    flush_rbuf(regs, clock);
    // Rings of an earlier program: should levels count for a ring that is not enabled, it must not ask for a PAUSE.
    (0..=crate::regs::RING).for_each(|ring| rdma::Ring::at(ring).xon_xoff_thresh().set(regs, 0));
    rdma::SCB_BURST_SIZE.set(regs, SCB_BURST);
    tdma::SCB_BURST_SIZE.set(regs, SCB_BURST);
}

/// Block reset, then soft reset with the local loop as its clock, then the counters.
fn reset_umac<R: Registers, C: Clock>(regs: &R, clock: &C) {
    let pause = || {
        sys::RBUF_FLUSH_CTRL.get(regs);
        clock.delay_us(RESET_US);
    };
    sys::RBUF_FLUSH_CTRL.modify(regs, sys::RBUF_FLUSH_CTRL::UMAC_RESET::SET);
    pause();
    sys::RBUF_FLUSH_CTRL.modify(regs, sys::RBUF_FLUSH_CTRL::UMAC_RESET::CLEAR);
    pause();
    sys::RBUF_FLUSH_CTRL.set(regs, 0);
    pause();
    umac::CMD.set(regs, 0);
    umac::CMD.write(regs, umac::CMD::SW_RESET::SET + umac::CMD::LCL_LOOP_EN::SET);
    umac::CMD.get(regs);
    clock.delay_us(RESET_US);
    umac::CMD.set(regs, 0);
    umac::CMD.get(regs);
    clock.delay_us(RESET_US);
    mib::CTRL.write(regs, mib::CTRL::RESET_RX::SET + mib::CTRL::RESET_RUNT::SET + mib::CTRL::RESET_TX::SET);
    mib::CTRL.set(regs, 0);
}

/// RBUF and TBUF modes, written outright: they survive both resets and a warm reboot, and a stale status block made
/// every frame unreadable (AmiNetXDuo).
fn configure_buffers<R: Registers>(regs: &R) {
    let found = rbuf::CTRL.read(regs);
    let kept = rbuf::CTRL::FIRMWARE_15_14.val(found.read(rbuf::CTRL::FIRMWARE_15_14))
        + rbuf::CTRL::FIRMWARE_6.val(found.read(rbuf::CTRL::FIRMWARE_6));
    rbuf::CTRL.write(regs, kept + rbuf::CTRL::ALIGN_2B::SET);
    rbuf::CHK_CTRL.set(regs, 0);
    rbuf::TBUF_SIZE_CTRL.set(regs, 1);
    tbuf::CTRL.set(regs, 0);
    rbuf::ENERGY_CTRL.modify(regs, rbuf::ENERGY_CTRL::EEE_EN::CLEAR + rbuf::ENERGY_CTRL::PM_EN::CLEAR);
    tbuf::ENERGY_CTRL.modify(regs, tbuf::ENERGY_CTRL::EEE_EN::CLEAR + tbuf::ENERGY_CTRL::PM_EN::CLEAR);
    umac::EEE_CTRL.modify(
        regs,
        umac::EEE_CTRL::EEE_EN::CLEAR
            + umac::EEE_CTRL::EN_LPI_RX_PAUSE::CLEAR
            + umac::EEE_CTRL::EN_LPI_TX_PFC::CLEAR
            + umac::EEE_CTRL::EN_LPI_TX_PAUSE::CLEAR,
    );
}

pub(crate) fn flush_rbuf<R: Registers, C: Clock>(regs: &R, clock: &C) {
    for flush in [sys::RBUF_FLUSH_CTRL::FLUSH::SET, sys::RBUF_FLUSH_CTRL::FLUSH::CLEAR] {
        sys::RBUF_FLUSH_CTRL.modify(regs, flush);
        sys::RBUF_FLUSH_CTRL.get(regs);
        clock.delay_us(RESET_US);
    }
}

/// Own address, and the receive filter: 0 is broadcast, 1 is us.
fn set_address<R: Registers>(regs: &R, mac: [u8; 6]) {
    let [a, b, c, d, e, f] = mac;
    umac::MAC0.set(regs, u32::from_be_bytes([a, b, c, d]));
    umac::MAC1.set(regs, u32::from_be_bytes([0, 0, e, f]));
    umac::mdf_addr0(0).set(regs, 0xffff);
    umac::mdf_addr1(0).set(regs, 0xffff_ffff);
    umac::mdf_addr0(1).set(regs, u32::from_be_bytes([0, 0, a, b]));
    umac::mdf_addr1(1).set(regs, u32::from_be_bytes([c, d, e, f]));
    umac::MDF_CTRL.write(regs, umac::MDF_CTRL::ENABLE_0::SET + umac::MDF_CTRL::ENABLE_1::SET);
}

/// Switches the MAC's side of RGMII for a link, or off.
pub(crate) fn set_rgmii<R: Registers>(regs: &R, up: bool, id_mode_dis: bool) {
    if up {
        ext::RGMII_OOB_CTRL.modify(
            regs,
            ext::RGMII_OOB_CTRL::OOB_DISABLE::CLEAR
                + ext::RGMII_OOB_CTRL::ID_MODE_DIS.val(id_mode_dis.into())
                + ext::RGMII_OOB_CTRL::RGMII_MODE_EN::SET
                + ext::RGMII_OOB_CTRL::RGMII_LINK::SET,
        );
    } else {
        ext::RGMII_OOB_CTRL.modify(regs, ext::RGMII_OOB_CTRL::RGMII_LINK::CLEAR);
    }
}

/// Where a ring starts after its hardware index and pointer were set to 0 and read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The index that the hardware goes on from.
    pub index: u16,
    /// The slot of the next frame if the slot follows the index.
    pub slot_by_index: u8,
    /// The slot of the next frame if the pointer decides.
    pub slot_by_pointer: u8,
}

impl Start {
    /// Sources disagree on whether hardware's index and pointer take writes and on which of the two says where the
    /// next frame goes (U-Boot against Linux, the BSDs and AmiNetXDuo). `set_pointer` and `read_pointer` reach the
    /// pointer; an index that did not become 0 is adopted and the pointer made to match, which is right either way.
    pub(crate) fn settle(index: u16, mut set_pointer: impl FnMut(u32), read_pointer: impl FnOnce() -> u32) -> Self {
        let slot_by_index = (index % RING_SIZE) as u8;
        let wanted = 3 * u32::from(slot_by_index);
        set_pointer(wanted);
        let pointer = read_pointer();
        // Linux masks nine bits, too few for 256 descriptors of three words; a pointer that agrees in these agrees.
        let slot_by_pointer = match pointer & 0x1ff == wanted & 0x1ff {
            true => slot_by_index,
            false => (pointer / 3 % u32::from(RING_SIZE)) as u8,
        };
        if index != 0 || slot_by_pointer != slot_by_index {
            log::warn!("ring does not start at 0: index {index:#x}, pointer at slot {slot_by_pointer}");
        }
        Start { index, slot_by_index, slot_by_pointer }
    }

    /// The two readings differ.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.slot_by_index != self.slot_by_pointer
    }
}

/// A hardware index register without its upper half.
pub(crate) fn index_of(register: LocalRegisterCopy<u32, rdma::PROD_INDEX::Register>) -> u16 {
    register.read(rdma::PROD_INDEX::INDEX) as u16
}
