//! Frames through driver and model: what is lost is counted, what is damaged is dropped, nothing is stranded, and the
//! device accesses stay within their budget.

mod common;

use board::genet::{
    Arriving, CountMode, DefaultRing, DiscardEnd, Faults, GenetConfig, Switches, ThresholdZero, TimerStart,
};
use board::link::LinkConfig;
use board::source::PacedSource;
use common::{Bench, MAC, MS, START_NS, World, bench, frames, paced};
use genet::{Pause, Posted, RxMode, RxRing, RxSettings};

/// A full-size frame on the wire at 1 Gbit/s, ns.
const LINE_RATE_NS: u64 = 12_304;

fn coalesced(threshold: u16, ticks: u16) -> RxSettings {
    RxSettings { threshold: Some(threshold), timeout_ticks: Some(ticks), ..RxSettings::default() }
}

/// Without PAUSE, which would hold frames back instead of losing them.
fn posted(posted: Posted) -> RxSettings {
    RxSettings { posted, pause: Pause::Forced { send: false, obey: true }, ..RxSettings::default() }
}

/// Everything that reached the MAC is accounted for.
fn assert_balance(bench: &mut Bench, received: usize) {
    let stats = bench.model(|model, _, _| model.stats());
    let counters = bench.driver.counters().clone();
    assert_eq!(counters.rx_frames, received as u64);
    assert_eq!(counters.discards, stats.discarded, "discards");
    assert_eq!(counters.rx_frames + counters.frame_errors + counters.flushed, stats.delivered, "delivered");
    assert_eq!(bench.findings(), []);
}

#[test]
fn device_accesses_a_frame_at_line_rate_and_threshold_32() {
    let mut bench = bench(paced(LINE_RATE_NS, 32_000));
    bench.apply(coalesced(32, 61));
    bench.receive_until(START_NS - MS);
    let (reads, writes, irqs) = (bench.accesses().0, bench.accesses().1, bench.irqs);
    let received = frames(&bench.receive_until(START_NS + 500 * MS));
    let irqs = bench.irqs - irqs;
    // The interrupt controller's acknowledge register is one more read an interrupt.
    let reads = (bench.accesses().0 - reads + irqs) as f64 / received.len() as f64;
    let writes = (bench.accesses().1 - writes) as f64 / received.len() as f64;
    println!("{reads:.4} reads, {writes:.4} writes a frame, {irqs} interrupts for {} frames", received.len());
    assert_eq!(received.len(), 32_000);
    assert!(reads <= 1.1, "{reads} reads a frame");
    assert!(writes <= 0.17, "{writes} writes a frame");
    assert_balance(&mut bench, 32_000);
}

#[test]
fn polling_needs_no_interrupt_and_loses_nothing() {
    let mut bench = bench(paced(LINE_RATE_NS, 5_000));
    bench.apply(RxSettings { mode: RxMode::Poll, ..RxSettings::default() });
    let mut received = Vec::new();
    while bench.now() < START_NS + 100 * MS {
        bench.pass(50_000);
        let now = bench.now();
        bench.driver.poll_receive(now);
        received.extend(bench.drain());
        bench.driver.end_batch();
    }
    assert!(received.iter().copied().eq(0..5_000));
    assert_eq!(bench.irqs, 0);
    assert!(bench.model(|model, _, _| !model.irq0()));
    assert_balance(&mut bench, 5_000);
}

#[test]
fn two_posted_descriptors_carry_line_rate_if_served_at_once() {
    let mut bench = bench(paced(LINE_RATE_NS, 2_000));
    bench.apply(posted(Posted::Fixed(2)));
    let received = frames(&bench.receive_until(START_NS + 100 * MS));
    assert!(received.iter().copied().eq(0..2_000), "{} of 2000", received.len());
    assert_balance(&mut bench, 2_000);
}

#[test]
fn the_hardware_fills_exactly_what_is_posted() {
    for count in [1, 2, 3, 4, 5, 16, 17, 128, 255, 256] {
        let mut bench = bench(paced(LINE_RATE_NS, 400));
        bench.apply(posted(Posted::Fixed(count)));
        bench.pass(START_NS + 50 * MS - bench.now());
        let until = bench.now() + MS;
        let received = frames(&bench.receive_until(until));
        assert!(received.iter().copied().eq(0..u64::from(count)), "{count} posted, {} came", received.len());
        assert_eq!(bench.driver.counters().discards, 400 - u64::from(count));
        assert_balance(&mut bench, count.into());
    }
}

#[test]
fn a_ring_that_shrinks_and_grows_again_loses_no_frame() {
    let mut bench = bench(paced(50_000, 10_000));
    let mut received = Vec::new();
    for (part, count) in [256, 2, 100, 3, 256, 7].into_iter().enumerate() {
        received.extend(frames(&bench.receive_until(START_NS + part as u64 * 50 * MS)));
        bench.apply(posted(Posted::Fixed(count)));
    }
    received.extend(frames(&bench.receive_until(START_NS + 1_000 * MS)));
    let stats = bench.model(|model, _, _| model.stats());
    assert!(received.is_sorted());
    assert!(received.len() > 9_000, "{}", received.len());
    assert_eq!(received.last(), Some(&9_999));
    // Frames that came while the receiver was off for a smaller ring are the model's to know.
    let elsewhere = stats.receiver_off + stats.rbuf + stats.discarded + bench.driver.counters().flushed;
    assert_eq!(received.len() as u64 + elsewhere, 10_000);
    assert_balance(&mut bench, received.len());
}

#[test]
fn openbsds_ring_grows_to_a_batch_and_two() {
    // Threshold 10: a batch would be ten frames, but two, three, four ... are posted: discards until it has grown.
    let mut bench = bench(paced(LINE_RATE_NS, 40_000));
    let growing = Posted::Growing { start: 2 };
    bench.apply(RxSettings { threshold: Some(10), timeout_ticks: Some(61), ..posted(growing) });
    let received = frames(&bench.receive_until(START_NS + 1_000 * MS));
    let counters = bench.driver.counters().clone();
    assert!(counters.discards > 1_000, "{}", counters.discards);
    let late = received.iter().filter(|&&n| n >= 30_000).count();
    assert_eq!(late, 10_000, "grown by then");
    let got = bench.driver.apply(&coalesced(10, 61)).unwrap();
    assert_eq!(got.posted, 256);
    assert_balance(&mut bench, received.len());
}

#[test]
fn discards_are_counted_past_the_end_of_their_counter() {
    for discards in [DiscardEnd::Saturates, DiscardEnd::Wraps] {
        let genet = GenetConfig { switches: Switches { discards, ..Switches::default() }, ..GenetConfig::default() };
        let mut source = paced(LINE_RATE_NS, 150_000);
        source.len_bytes = 60;
        source.interval_ns = 1_000;
        let mut bench = World::new(genet, LinkConfig::default(), source).start();
        bench.apply(posted(Posted::Fixed(1)));
        let mut received = 0;
        bench.pass(START_NS - bench.now());
        for _ in 0..200 {
            bench.pass(MS);
            let now = bench.now();
            bench.driver.poll_receive(now);
            received += bench.drain().len();
            bench.driver.end_batch();
        }
        assert!(bench.driver.counters().discards > 140_000);
        assert_balance(&mut bench, received);
    }
}

/// Frames in small groups with long gaps: every reading of the coalescing logic, every kind of setting, and still
/// each frame comes out within a stated time.
#[test]
fn nothing_is_stranded_under_any_reading() {
    let mut cases = 0;
    for count in [CountMode::SinceEvent, CountMode::SinceClear] {
        for timer in [TimerStart::FirstPacket, TimerStart::LastPacket, TimerStart::FreeRunning] {
            for threshold_zero in [ThresholdZero::Never, ThresholdZero::AsOne] {
                for (threshold, ticks) in [(1, 0), (0, 0), (0, 61), (2, 0), (10, 7), (300, 4096), (511, 0)] {
                    let switches = Switches { count, timer, threshold_zero, ..Switches::default() };
                    let genet = GenetConfig { switches, ..GenetConfig::default() };
                    let mut bench = World::new(genet, LinkConfig::default(), paced(300_000, 103)).start();
                    bench.apply(coalesced(threshold, ticks));
                    let batches = bench.receive_with_rescue(START_NS + 3_000 * MS);
                    let what = format!("{switches:?}, {threshold} {ticks}");
                    assert!(frames(&batches).iter().copied().eq(0..103), "{what}");
                    let limit = if ticks == 0 && threshold > 1 { 1_000 } else { 83 } + 200;
                    for batch in &batches {
                        let waited = batch.irq_ns - bench.world.arrivals.borrow()[batch.frames[0] as usize];
                        assert!(waited < limit * MS, "{what}: {waited} ns");
                    }
                    assert_balance(&mut bench, 103);
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 84);
}

#[test]
fn frames_arriving_at_every_moment_of_the_service_are_not_stranded() {
    // Pairs of frames, the second between 1 and 16 us after the first: it lands before, during and after the handler,
    // the drain and the unmasking. The last frame must not wait for a rescue.
    for gap_ns in (1_000..16_000).step_by(37) {
        let mut source = PacedSource::new(START_NS, gap_ns, 2, 60, MAC);
        source.interval_ns = gap_ns;
        let mut bench = bench(source);
        let received = frames(&bench.receive_until(START_NS + MS));
        assert_eq!(received, [0, 1], "{gap_ns} ns apart");
        assert_eq!(bench.driver.counters().rescues, 0);
    }
}

#[test]
fn with_a_dead_interrupt_line_all_frames_are_rescues() {
    let genet = GenetConfig { faults: Faults { irq0_dead: true, ..Faults::default() }, ..GenetConfig::default() };
    let mut bench = World::new(genet, LinkConfig::default(), paced(MS, 100)).start();
    let received = frames(&bench.receive_with_rescue(START_NS + 1_000 * MS));
    assert!(received.iter().copied().eq(0..100));
    assert_eq!(bench.irqs, 0);
    assert_eq!(bench.driver.counters().rescues, 100);
    assert_balance(&mut bench, 100);
}

#[test]
fn damaged_frames_are_counted_and_dropped() {
    let mut bench = bench(paced(MS, 0));
    let good = PacedSource::new(0, 1, 1, 200, MAC).frame(0);
    let flaws: [fn(&mut Arriving); 4] = [
        |frame| frame.fcs_error = true,
        |frame| frame.alignment_error = true,
        |frame| frame.code_error = true,
        |frame| frame.overrun = true,
    ];
    let mut received = 0;
    for (flaw, break_it) in flaws.into_iter().enumerate() {
        bench.inject_good(200);
        let mut frame = Arriving { bytes: good.clone(), ..Arriving::default() };
        break_it(&mut frame);
        bench.inject(&frame);
        bench.inject_good(200);
        let until = bench.now() + MS;
        received += frames(&bench.receive_until(until)).len();
        assert_eq!(received, 2 * flaw + 2, "flaw {flaw} got through, or took a good frame with it");
    }
    let counters = bench.driver.counters().clone();
    let stats = bench.model(|model, _, _| model.stats());
    assert_eq!(counters.frame_errors + counters.rbuf_errors + stats.bad, 4, "{}", counters.errors);
    assert_eq!(counters.mib("rx_fcs").unwrap() + counters.mib("rx_alignment").unwrap(), 2);
    assert_balance(&mut bench, 8);
}

#[test]
fn frames_of_every_length_arrive_whole_or_not_at_all() {
    let mut bench = bench(paced(MS, 0));
    for bytes in [60, 61, 64, 65, 127, 128, 1_000, 1_513, 1_514, 1_518, 1_532, 1_600, 2_046, 2_100, 4_100, 9_000] {
        bench.inject_good(bytes);
        let until = bench.now() + MS;
        let received = frames(&bench.receive_until(until)).len();
        assert_eq!(received, usize::from(bytes <= 1_532), "{bytes} bytes");
    }
    let received = bench.driver.counters().rx_frames as usize;
    assert_balance(&mut bench, received);
}

#[test]
fn ring_0_receives_as_ring_16_does_wherever_frames_go_without_a_filter() {
    for default_ring in [DefaultRing::Running, DefaultRing::Ring16] {
        let switches = Switches { default_ring, ..Switches::default() };
        let genet = GenetConfig { switches, ..GenetConfig::default() };
        let mut bench = World::new(genet, LinkConfig::default(), paced(LINE_RATE_NS, 6_000)).start();
        let ring_0 = RxSettings { ring: RxRing::Ring0, ..coalesced(10, 61) };
        bench.apply(ring_0);
        let half = START_NS + 3_000 * LINE_RATE_NS;
        let batches = bench.receive_until(half);
        assert!(batches[1..batches.len() - 1].iter().all(|batch| batch.frames.len() == 10), "{default_ring:?}");
        // Back to ring 16 in the middle of the stream: what is lost to the restart is told.
        bench.apply(coalesced(10, 61));
        bench.apply(ring_0);
        bench.apply(coalesced(10, 61));
        let more = bench.receive_until(START_NS + 200 * MS);
        assert!(frames(&more).len() > 1_000 && *frames(&more).last().unwrap() == 5_999, "{default_ring:?}");
        let received = frames(&batches).len() + frames(&more).len();
        assert_balance(&mut bench, received);
    }
}

#[test]
fn the_timer_of_ring_0_is_its_own() {
    let mut bench = bench(PacedSource::new(START_NS, 20 * MS, 5, 1514, MAC));
    bench.apply(RxSettings { ring: RxRing::Ring0, ..coalesced(300, 244) });
    let batches = bench.receive_until(START_NS + 200 * MS);
    let arrivals = bench.world.arrivals.borrow().clone();
    assert_eq!(batches.len(), 5);
    for (batch, arrival) in batches.iter().zip(arrivals) {
        assert!((batch.irq_ns - arrival).abs_diff(244 * 8_192) < 1_000);
    }
}
