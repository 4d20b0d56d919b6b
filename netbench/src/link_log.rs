//! A record for every change of the link, also for one that was over before anybody looked.
//!
//! Owns what was said last. Losses come from the PHY's latch, so a link that went and came back between two looks makes
//! two records: the end and the new link.

use crate::record::{Mac, Recorder};
use crate::{Console, LinkState, Port};

/// What was recorded last.
#[derive(Default)]
pub(crate) struct LinkLog {
    last: Option<LinkState>,
    losses: u64,
}

impl LinkLog {
    /// Looks at the link and records what changed. Talks to the PHY: not for use inside a window.
    pub fn follow<P: Port, C: Console>(&mut self, port: &mut P, console: &mut C, recorder: &mut Recorder) {
        let losses = port.link_losses();
        let link = port.link();
        let lost = self.last.is_some_and(|last| last.up) && losses > self.losses;
        self.losses = losses;
        if lost && link.up {
            let gone = LinkState { eee_advertised: link.eee_advertised, ..LinkState::default() };
            record(recorder, console, &gone, losses, port.mac());
        }
        if lost || self.last != Some(link) {
            record(recorder, console, &link, losses, port.mac());
        }
        self.last = Some(link);
    }
}

/// Without a link nothing but our own offer is known.
fn record<C: Console>(recorder: &mut Recorder, console: &mut C, link: &LinkState, losses: u64, mac: [u8; 6]) {
    let duplex = if link.full_duplex { "full" } else { "half" };
    if link.up {
        let _ = writeln!(console, "link: {} Mbit/s {duplex} duplex", link.speed.mbps());
    } else {
        let _ = writeln!(console, "link: none");
    }
    recorder.record(console, "link", |r| {
        r.num("up", link.up);
        if link.up {
            r.num("speed_bps", u64::from(link.speed.mbps()) * 1_000_000);
            r.word("duplex", duplex);
            r.num("tx_pause", link.pause_tx);
            r.num("rx_pause", link.pause_rx);
        }
        r.hex("eee_advertised", link.eee_advertised.into());
        if link.up {
            r.hex("eee_partner", link.eee_partner.into());
            r.num("eee_active", link.eee_active);
        }
        r.num("losses", losses);
        r.show("mac", Mac(mac));
    });
}
