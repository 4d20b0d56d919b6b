//! RX interrupt coalescing against its closed form, through arrival over the wire.

mod common;

use board::genet::{CountMode, GenetConfig, Switches, TICK_NS, ThresholdZero, TimerStart};
use board::link::LinkConfig;
use board::source::PacedSource;
use common::*;

/// Receives paced frames at one setting and clears each event at once. For each event: (time, frames it covers,
/// arrival of the first of them).
fn events(switches: Switches, threshold: u32, ticks: u32, interval_ns: u64, frames: u64) -> Vec<(u64, u16, u64)> {
    let cfg = GenetConfig { switches, ..GenetConfig::default() };
    let source = PacedSource::new(LINK_NS + 1_000_000, interval_ns, frames, 1514, MAC);
    let (mut bench, _) = Bench::up(&cfg, &LinkConfig::default(), source);
    bench.write(THRESH, threshold);
    bench.write(TIMEOUT, ticks);
    let mut out = Vec::new();
    let (mut seen, mut first, mut last_prod) = (0u16, 0, 0u16);
    while let Some(at) = bench.genet.next_event() {
        bench.run_to(at);
        let prod = bench.prod();
        if prod != last_prod {
            if last_prod == seen {
                first = at;
            }
            last_prod = prod;
            bench.write(CONS, u32::from(prod));
        }
        if bench.read(STAT) & MBDONE != 0 {
            bench.write(CLEAR, MBDONE);
            out.push((at, prod.wrapping_sub(seen), first));
            seen = prod;
        }
    }
    bench.assert_clean();
    out
}

/// min(threshold x interval, timeout), in frames and in delay of the first frame.
fn closed_form(threshold: u32, ticks: u32, interval_ns: u64) -> (u64, u64) {
    let timeout_ns = u64::from(ticks) * TICK_NS;
    let by_count_ns = u64::from(threshold - 1) * interval_ns;
    if ticks == 0 || by_count_ns <= timeout_ns {
        (u64::from(threshold), by_count_ns)
    } else {
        (timeout_ns / interval_ns + 1, timeout_ns)
    }
}

#[test]
fn grid_equals_the_closed_form() {
    let mut points = 0;
    for threshold in [1, 2, 10, 32, 100, 255] {
        for ticks in [1, 7, 61, 244, 4096] {
            for interval_ns in [12_304, 50_000, 400_000] {
                let (frames, delay_ns) = closed_form(threshold, ticks, interval_ns);
                let count = (frames * 4).min(1100);
                let all = events(Switches::default(), threshold, ticks, interval_ns, count);
                assert!(all.len() >= 3, "threshold {threshold}, {ticks} ticks, {interval_ns} ns: {} events", all.len());
                for (at, covered, first) in &all[..all.len() - 1] {
                    let what = format!("threshold {threshold}, {ticks} ticks, every {interval_ns} ns, at {at}");
                    assert_eq!(u64::from(*covered), frames, "{what}");
                    assert_eq!(at - first, delay_ns, "{what}");
                }
                points += 1;
            }
        }
    }
    assert!(points >= 60);
}

#[test]
fn last_packet_restarts_and_free_running_keeps_its_grid() {
    let restart = Switches { timer: TimerStart::LastPacket, ..Switches::default() };
    // Packets come faster than the timer: it never expires before the last one.
    let all = events(restart, 100, 7, 50_000, 30);
    assert_eq!((all.len(), all[0].1), (1, 30));
    assert_eq!(all[0].0 - all[0].2, 29 * 50_000 + 7 * TICK_NS);

    let free = Switches { timer: TimerStart::FreeRunning, ..Switches::default() };
    let all = events(free, 100, 61, 50_000, 40);
    assert!(all.iter().all(|(at, ..)| at % (61 * TICK_NS) == 0), "{all:?}");
}

#[test]
fn threshold_zero_is_a_switch() {
    assert_eq!(events(Switches::default(), 0, 0, 50_000, 20).len(), 0);
    assert_eq!(events(Switches::default(), 0, 61, 50_000, 10).len(), 1);
    let as_one = Switches { threshold_zero: ThresholdZero::AsOne, ..Switches::default() };
    assert_eq!(events(as_one, 0, 0, 50_000, 20).len(), 20);
}

#[test]
fn counting_since_clear_forgets_frames_between_event_and_clear() {
    for (count, second) in [(CountMode::SinceEvent, 8), (CountMode::SinceClear, 10)] {
        let cfg = GenetConfig { switches: Switches { count, ..Switches::default() }, ..GenetConfig::default() };
        let source = PacedSource::new(LINK_NS + 1_000_000, 50_000, 20, 1514, MAC);
        let (mut bench, _) = Bench::up(&cfg, &LinkConfig::default(), source);
        bench.write(THRESH, 4);
        let mbdone = |genet: &board::genet::Genet| genet.peek(STAT) & MBDONE != 0;
        bench.run_until(u64::MAX, mbdone).unwrap();
        assert_eq!(bench.prod(), 4);
        // Two more arrive before the clear.
        bench.run_to(bench.now + 100_000);
        assert_eq!(bench.prod(), 6);
        bench.write(CLEAR, MBDONE);
        bench.run_until(u64::MAX, mbdone).unwrap();
        assert_eq!(bench.prod(), second, "{count:?}");
    }
}

#[test]
fn packet_and_buffer_done_latch_for_each_frame_while_masked() {
    let source = PacedSource::new(LINK_NS + 1_000_000, 50_000, 3, 1514, MAC);
    let (mut bench, _) = Bench::up(&GenetConfig::default(), &LinkConfig::default(), source);
    bench.write(THRESH, 3);
    bench.write(CLEAR, !0);
    for k in 1..=3u16 {
        bench.run_until(u64::MAX, |genet| genet.peek(PROD) as u16 == k).unwrap();
        let want = PDONE | BDONE | if k == 3 { MBDONE } else { 0 };
        assert_eq!(bench.read(STAT) & (PDONE | BDONE | MBDONE), want);
        assert!(!bench.genet.irq0(), "masked");
        if k < 3 {
            bench.write(CLEAR, PDONE | BDONE);
        }
    }
    // A bit that latched while masked raises the line at the moment of unmasking.
    bench.write(0x214, MBDONE);
    assert!(bench.genet.irq0());
    bench.write(CLEAR, MBDONE);
    assert!(!bench.genet.irq0());
    assert_eq!(bench.read(STAT) & (PDONE | BDONE), PDONE | BDONE, "only what was written clears");
    // And software can raise one.
    bench.write(0x204, MBDONE);
    assert!(bench.genet.irq0());
    bench.assert_clean();
}
