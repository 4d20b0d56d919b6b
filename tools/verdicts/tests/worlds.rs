//! A handful of worlds, one seed: nothing false is confirmed, and what is true is.
//!
//! Needs target/kernel8.img: `make test` builds it first. All worlds: `make verdicts`.

use netbench::verdict::Hypothesis;
use std::path::Path;
use verdicts::matrix::Row;
use verdicts::session::{self, Rates, verdict_words};
use verdicts::variant::Variant;
use verdicts::worlds::World;
use verdicts::{pool, truth};
use vpi4::image::Image;

const SEED: u64 = 1;

fn image() -> Image {
    session::image(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/kernel8.img"))).unwrap()
}

fn row(image: &Image, name: &str, variant: Variant) -> Row {
    let world = World::named(name).unwrap();
    let setting = world.setting(&variant, SEED);
    let truth = truth::find(&Rates::new(image), &setting, world.driver).unwrap();
    let session = session::run(image, &setting, &verdict_words(world.driver)).unwrap();
    Row {
        world: world.name,
        variant: variant.to_string(),
        seed: SEED,
        truth,
        states: session::states(&session),
        virtual_ns: session.virtual_ns,
        host_ms: 0,
    }
}

#[test]
fn verdicts_in_a_handful_of_worlds() {
    let image = image();
    // FreeBSD leaves the registers alone: what a reset leaves there is a cause.
    let left = Variant { threshold: 0, timeout_ticks: 4096, ..Variant::BASE };
    let cases = [
        ("clean10", Variant::BASE, Hypothesis::Nothing),
        ("clean100", Variant::BASE, Hypothesis::Nothing),
        ("clean100", left, Hypothesis::Coalescing),
        ("pause_sent", Variant::BASE, Hypothesis::PauseSent),
        ("duplex10", Variant::BASE, Hypothesis::Duplex),
    ];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let rows = pool::map(&cases, threads, |(name, variant, _)| row(&image, name, *variant));
    for (row, (_, _, cause)) in rows.iter().zip(cases) {
        assert_eq!(row.truth.causes(), [cause], "{} {}: {:?}", row.world, row.variant, row.truth);
        assert_eq!((row.false_confirmations(), row.missed()), (vec![], vec![]), "{} {}", row.world, row.variant);
    }
}

#[test]
fn the_example_is_a_whole_session() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/report-case.txt");
    let capture = netbench::record::read_capture(&std::fs::read(path).unwrap());
    let [session] = &capture.sessions[..] else { panic!("{} sessions", capture.sessions.len()) };
    assert_eq!((capture.damaged, session.missing, session.incomplete), (0, 0, 0));
    let kinds = |kind: &str| session.entries.iter().filter(|entry| entry.kind == kind).count();
    assert_eq!([kinds("hello"), kinds("verdict"), kinds("bye")], [1, Hypothesis::ALL.len(), 1]);
    let confirmed = |hypothesis: Hypothesis| {
        let mut verdicts = session.entries.iter().filter(|entry| entry.get("hypothesis") == Some(hypothesis.word()));
        verdicts.any(|entry| entry.get("state") == Some("confirmed"))
    };
    assert!(confirmed(Hypothesis::PauseSent) && confirmed(Hypothesis::Path));
}
