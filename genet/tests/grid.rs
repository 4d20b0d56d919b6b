//! Interrupt moderation, driver against model: frames per interrupt and interrupt delay over a grid of settings and
//! rates must follow the closed form `min(threshold x interval, timeout)`.

mod common;

use common::{MS, START_NS, bench, paced};
use genet::RxSettings;

const TICK_NS: u64 = 8_192;

/// Mean frames per interrupt, and mean delay of the first frame of each batch, ns; first and last batch left out.
fn measure(threshold: u16, ticks: u16, interval_ns: u64, count: u64) -> (f64, f64) {
    let mut bench = bench(paced(interval_ns, count));
    bench.apply(RxSettings { threshold: Some(threshold), timeout_ticks: Some(ticks), ..RxSettings::default() });
    let batches = bench.receive_until(START_NS + count * interval_ns + 600 * MS);
    let received: Vec<u64> = batches.iter().flat_map(|b| b.frames.clone()).collect();
    assert!(received.iter().copied().eq(0..received.len() as u64), "frames in order, none lost");
    assert!(received.len() as u64 + u64::from(threshold) > count, "at most a last batch without a timer waits");
    assert_eq!(bench.findings(), []);
    assert_eq!(bench.driver.counters().rescues, 0, "threshold {threshold}, {ticks} ticks, {interval_ns} ns");
    let arrivals = bench.world.arrivals.borrow();
    let steady = &batches[1..batches.len() - 1];
    assert!(steady.len() >= 4, "threshold {threshold}, {ticks} ticks, {interval_ns} ns: {} batches", batches.len());
    let frames: usize = steady.iter().map(|b| b.frames.len()).sum();
    let delay: u64 = steady.iter().map(|b| b.irq_ns - arrivals[b.frames[0] as usize]).sum();
    (frames as f64 / steady.len() as f64, delay as f64 / steady.len() as f64)
}

#[test]
fn frames_per_interrupt_and_delay_follow_the_closed_form() {
    let (mut points, mut sharp) = (0, 0);
    for interval_ns in [12_304, 50_000, 123_000, 1_000_000] {
        for threshold in [1, 2, 8, 10, 32, 100] {
            for ticks in [0, 1, 7, 61, 244] {
                let timeout_ns = if ticks == 0 { u64::MAX } else { u64::from(ticks) * TICK_NS };
                let per_irq = u64::from(threshold).min(timeout_ns / interval_ns + 1);
                let (frames, delay_ns) = measure(threshold, ticks, interval_ns, 6 * per_irq + 2);
                let what =
                    format!("threshold {threshold}, {ticks} ticks, {interval_ns} ns: {frames} frames, {delay_ns} ns");
                let period = (u64::from(threshold) * interval_ns).min(timeout_ns) as f64;
                let interval = interval_ns as f64;
                assert!((frames - period / interval).abs() <= 1.0, "{what}");
                assert!((delay_ns - period).abs() <= interval + 1_000.0, "{what}");
                points += 1;
                // Sharper, for a timer that starts at the first frame, unless the next frame comes so soon after the
                // event that it is taken along: one frame is one frame, not nearly one.
                let first_to_event = (u64::from(threshold - 1) * interval_ns).min(timeout_ns);
                if interval_ns - first_to_event % interval_ns > 2_000 {
                    assert!((frames - per_irq as f64).abs() < 0.001, "{what}, expected {per_irq} frames");
                    assert!((delay_ns - first_to_event as f64).abs() <= 200.0, "{what}, expected {first_to_event} ns");
                    sharp += 1;
                }
            }
        }
    }
    assert!(points >= 60 && sharp >= 100, "{points} points, {sharp} of them sharp");
}

#[test]
fn a_timeout_of_4096_ticks_is_33_554_us() {
    let (frames, delay_ns) = measure(300, 4096, 200_000, 1_200);
    assert!((delay_ns - 33_554_432.0).abs() < 3_000.0, "{delay_ns}");
    assert!((frames - 168.0).abs() <= 1.0, "{frames}");
}
