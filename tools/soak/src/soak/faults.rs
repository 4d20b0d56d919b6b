//! What goes wrong on purpose: on the path, on the cable, in the MAC, at the plug.

use super::rig::Rig;
use board::genet::Arriving;

/// EtherType of injected frames (IEEE local experimental 1).
const INJECTED_ETHERTYPE: [u8; 2] = [0x88, 0xB5];

impl Rig {
    /// Loss, duplicates, reordering and bit errors on or off.
    pub(super) fn set_faults(&mut self, on: bool) {
        let ppm = |ppm| if on { ppm } else { 0 };
        let mut path = self.path.borrow_mut();
        let config = path.config_mut();
        config.to_board_loss_ppm = ppm(1_000);
        config.from_board_loss_ppm = ppm(500);
        config.to_board_duplicate_ppm = ppm(500);
        config.to_board_reorder_ppm = ppm(1_000);
        config.back_pressure = !on;
        drop(path);
        self.desk.handle().model(|model, _, _| model.link_mut().set_errors(ppm(200), ppm(200), ppm(500)));
    }

    /// Puts a frame that is damaged, or not for us, into the MAC.
    pub(super) fn inject(&mut self) {
        let kind = self.below(7);
        let mac = netbench::Port::mac(&self.desk);
        let mut frame = Arriving { bytes: vec![0x5A; 60 + self.below(1_400) as usize], ..Arriving::default() };
        frame.bytes[..6].copy_from_slice(&mac);
        frame.bytes[12..14].copy_from_slice(&INJECTED_ETHERTYPE);
        match kind {
            0 => frame.overrun = true,
            1 => frame.alignment_error = true,
            2 => frame.code_error = true,
            3 => frame.fcs_error = true,
            4 => frame.bytes.resize(1_600, 0x5A),
            5 => frame.bytes.truncate(40),
            _ => frame.bytes[5] ^= 1,
        }
        self.injected += 1;
        self.desk.handle().model(|model, now, env| model.inject(now, &frame, env));
    }

    /// Pulls the cable or puts it back.
    pub(super) fn plug(&mut self, plugged: bool) {
        self.flaps += u64::from(!plugged);
        self.desk.handle().model(|model, now, env| model.set_plugged(now, plugged, env));
    }
}
