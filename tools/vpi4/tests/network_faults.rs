//! The image on a hostile network: every fault ends in a right result, a counted loss or a clear error; records stay
//! whole.
//!
//! Needs target/kernel8.img: `make test` builds it first.

mod common;

use board::storm::StormKind;
use common::{boot, number, result};
use std::time::Instant;
use vpi4::Stop;

const SECOND: u64 = 1_000_000_000;

#[test]
#[ignore]
fn storm_cost() {
    for kind in [StormKind::ArpForOthers, StormKind::ArpForBoard, StormKind::Broadcast, StormKind::Mixed] {
        let t = Instant::now();
        let (stop, text, machine) = boot("gb.presets=linux gb.warmup_ms=100 gb.window_ms=300", |board| {
            board.storm.frames_per_s = 100_000;
            board.storm.during_ns = 0..60 * SECOND;
            board.storm.kind = kind;
            board.storm.board_ip = [10, 77, 0, 50];
        });
        let wall = t.elapsed();
        println!(
            "{kind:?} {stop:?} wall {wall:?} virtual {} storm {} {:?}",
            machine.stats().now_ns,
            machine.board().storm_frames(),
            machine.findings()
        );
        println!("{:?}", if stop == Stop::Bye("ok".into()) { result(&text, "linux") } else { vec![] });
        println!("{:?}", machine.board().genet().link().stats());
        if stop != Stop::Bye("ok".into()) {
            println!("{}", &text[text.len().saturating_sub(1500)..]);
        }
        let _ = number;
    }
}
