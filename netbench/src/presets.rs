//! Receive settings of known drivers, by name.
//!
//! Owns the table of presets. Values were read in the drivers' sources (Linux bcmgenet 2018 to
//! 2024 on ring 16, NetBSD bcmgenet 1.20, FreeBSD if_genet, OpenBSD bcmgenet 1.3 to 1.8, U-Boot
//! bcmgenet, 9front ethergenet, AmiNetXDuo genet). `None` for a register that the driver never
//! writes: the value found at boot stays. A preset reproduces the receive settings and nothing
//! else of a driver; what is known to be missing is said in each.

use genet::{LinkMode, LinkSettings, Pause, Posted, RxMode, RxRing, RxSettings};

/// One driver's receive settings.
#[derive(Debug)]
pub struct Preset {
    /// As in the plan and in the table.
    pub name: &'static str,
    /// What it stands for.
    pub about: &'static str,
    /// What of that driver it does not reproduce.
    pub missing: &'static str,
    /// What is asked of the hardware.
    pub settings: RxSettings,
    /// What is asked of the link.
    pub link: LinkSettings,
}

/// Descriptors of the receive ring.
const RING: u16 = 256;
/// PAUSE is generated and obeyed without having been negotiated: both ignore bits stay 0.
const PAUSE_ALWAYS: Pause = Pause::Forced { send: true, obey: true };

/// What most presets share: ring 16, 256 buffers, XOFF below 5, XON above 16.
const USUAL: RxSettings = RxSettings {
    threshold: Some(1),
    timeout_ticks: Some(0),
    posted: Posted::Fixed(RING),
    xoff: 5,
    xon: 16,
    pause: Pause::Negotiated,
    mode: RxMode::Interrupt,
    quanta: None,
    id_mode_dis: None,
    ring: RxRing::Ring16,
};

/// Linux: everything offered, EEE as the PHY has it at boot.
const LINUX_LINK: LinkSettings = LinkSettings {
    mode: LinkMode::Auto,
    pause: true,
    asymmetric_pause: true,
    eee: None,
    rxc_skew: true,
    gtxclk_delay: false,
};
/// The BSDs, U-Boot: PAUSE is not offered (no MIIF_DOPAUSE; no pause in U-Boot's feature mask), EEE left alone.
const NO_PAUSE_LINK: LinkSettings = LinkSettings { pause: false, asymmetric_pause: false, ..LINUX_LINK };
/// Controls and drivers whose offer was not read: nothing that could get into the way.
const PLAIN_LINK: LinkSettings = LinkSettings { eee: Some(0), ..LINUX_LINK };

/// All presets, in the order of the table.
pub static PRESETS: [Preset; 9] = [
    Preset {
        name: "linux",
        about: "Linux bcmgenet: an interrupt per frame, 256 buffers",
        missing: "ring 0 of newer versions, adaptive moderation (off by default), NAPI's polling under load",
        settings: USUAL,
        link: LINUX_LINK,
    },
    Preset {
        name: "netbsd",
        about: "NetBSD bcmgenet: 10 frames or 57 us, PAUSE whether negotiated or not",
        missing: "softint scheduling",
        settings: RxSettings { threshold: Some(10), timeout_ticks: Some(7), pause: PAUSE_ALWAYS, ..USUAL },
        link: NO_PAUSE_LINK,
    },
    Preset {
        name: "freebsd",
        about: "FreeBSD if_genet: coalescing registers as found, 256 buffers",
        missing: "64-byte status blocks and hardware check sums",
        settings: RxSettings { threshold: None, timeout_ticks: None, pause: PAUSE_ALWAYS, ..USUAL },
        link: NO_PAUSE_LINK,
    },
    Preset {
        name: "openbsd",
        about: "OpenBSD bse: coalescing registers as found, 2 buffers posted, growing by need",
        missing: "read up to revision 1.8 only",
        settings: RxSettings {
            threshold: None,
            timeout_ticks: None,
            posted: Posted::Growing { start: 2 },
            pause: PAUSE_ALWAYS,
            ..USUAL
        },
        link: NO_PAUSE_LINK,
    },
    Preset {
        name: "uboot",
        about: "U-Boot bcmgenet: polled, coalescing registers as found",
        missing: "its one frame a poll",
        settings: RxSettings { threshold: None, timeout_ticks: None, pause: PAUSE_ALWAYS, mode: RxMode::Poll, ..USUAL },
        link: NO_PAUSE_LINK,
    },
    Preset {
        name: "9front",
        about: "9front ethergenet: 1 frame or 57 us, 256 buffers",
        missing: "its PAUSE policy was not read: as negotiated here",
        settings: RxSettings { threshold: Some(1), timeout_ticks: Some(7), ..USUAL },
        link: PLAIN_LINK,
    },
    Preset {
        name: "amiga",
        about: "AmiNetXDuo: 32 frames or 500 us, 128 buffers",
        missing: "its look at the ring between interrupts; its ring has 128 entries, ours posts 128 of 256",
        settings: RxSettings {
            threshold: Some(32),
            timeout_ticks: Some(61),
            posted: Posted::Fixed(128),
            xon: 8,
            ..USUAL
        },
        link: PLAIN_LINK,
    },
    Preset {
        name: "ticks4096",
        about: "suspect: 33.554 ms of timeout and a threshold that is never reached",
        missing: "no driver asks for this; a register left alone might",
        settings: RxSettings { threshold: Some(511), timeout_ticks: Some(4096), ..USUAL },
        link: PLAIN_LINK,
    },
    Preset {
        name: "poll",
        about: "control: no interrupts, the ring is read all the time",
        missing: "nothing",
        settings: RxSettings { mode: RxMode::Poll, ..USUAL },
        link: PLAIN_LINK,
    },
];

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_words_of_a_record() {
        for (i, preset) in PRESETS.iter().enumerate() {
            assert!(preset.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
            assert!(preset.name.len() <= 9, "the table's first column");
            assert!(core::ptr::eq(find(preset.name).unwrap(), &PRESETS[i]));
        }
        assert!(find("windows").is_none());
    }
}
