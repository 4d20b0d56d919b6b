//! A million frames through every preset and under faults, each of them accounted for.

use soak::heap;
use soak::soak::{SoakConfig, run};

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

#[test]
fn a_million_frames_add_up() {
    let report = run(&SoakConfig { frames: 1_000_000, seed: 7 }, &mut |_| {}).unwrap_or_else(|what| panic!("{what}"));
    assert!(report.frames >= 1_000_000, "{report:?}");
    assert!(report.rows.iter().all(|row| row.delivered > 0), "every kind of phase: {report:?}");
    assert!(report.wraps.mib_bytes > 0 && report.wraps.mib_frames > 0 && report.wraps.index > 0, "{report:?}");
    assert!(report.flaps > 10 && report.body_bytes > 100_000_000, "{report:?}");
    assert_eq!((report.heap.raw_allocations, report.heap.last_bytes), (0, report.heap.first_bytes), "flat memory");
}

#[test]
fn one_seed_gives_the_same_totals_and_another_does_not() {
    let totals = |seed| run(&SoakConfig { frames: 50_000, seed }, &mut |_| {}).unwrap_or_else(|what| panic!("{what}"));
    let first = totals(1);
    assert_eq!(first, totals(1));
    assert!(first.frame_hash != totals(2).frame_hash);
}
