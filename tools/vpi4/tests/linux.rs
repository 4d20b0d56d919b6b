//! Debian's arm64 Linux kernel, unmodified, on the virtual Pi: its bcmgenet driver on our models.
//!
//! Needs what `tools/trust/fetch` puts into target/trust: `make trust` runs these.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use vpi4::{Machine, guests};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/trust");
/// Frames and microseconds; the last makes 4096 ticks of 8.192 us.
const SETTINGS: [&str; 3] = ["1/0", "32/250", "511/33554"];
/// RDMA: threshold and timeout of ring 0, where this kernel receives.
const MBUF_DONE_THRESH: u64 = 0xfd58_2c24;
const RING0_TIMEOUT: u64 = 0xfd58_306c;

/// What a download took.
#[derive(Debug)]
struct Download {
    ns: u64,
    irqs: u64,
    frames: u64,
    threshold: u32,
    timeout_ticks: u32,
}

fn download(machine: &mut Machine, setting: &str, written: &RefCell<BTreeMap<u64, u32>>) -> Download {
    let mut at = |when: &str| {
        guests::await_text(machine, &format!("SAID {when} large {setting} ")).unwrap();
        (machine.stats(), machine.board().genet().stats())
    };
    let before = at("before");
    // Now: once a download's end is on the console the next setting may already be in place.
    let last = |address| written.borrow().get(&address).copied().unwrap();
    let (threshold, timeout_ticks) = (last(MBUF_DONE_THRESH), last(RING0_TIMEOUT) & 0xffff);
    let after = at("after");
    Download {
        ns: after.0.now_ns - before.0.now_ns,
        irqs: after.0.irqs - before.0.irqs,
        frames: after.1.delivered - before.1.delivered,
        threshold,
        timeout_ticks,
    }
}

#[test]
#[ignore = "needs Debian's kernel: make trust"]
fn its_driver_receives_and_its_coalescing_settings_do_what_they_say() {
    let mut machine = guests::linux(Path::new(FOLDER), &SETTINGS, |_| {}).unwrap();
    let written = Rc::new(RefCell::new(BTreeMap::new()));
    let note = written.clone();
    machine.set_trace(Box::new(move |access| {
        if access.write && [MBUF_DONE_THRESH, RING0_TIMEOUT].contains(&access.address) {
            note.borrow_mut().insert(access.address, access.value);
        }
    }));
    let downloads = SETTINGS.map(|setting| download(&mut machine, setting, &written));
    guests::await_text(&mut machine, "SAID end").unwrap();
    let console = String::from_utf8_lossy(machine.uart()).into_owned();
    let genet: Vec<_> = machine.findings().into_iter().filter(|finding| finding.device == "genet").collect();
    assert_eq!(genet, []);
    assert!(console.contains("rx-frames:\t1") && console.contains("SAID ping answered"), "{console}");
    for word in ["did not load", "refused", "download failed"] {
        assert!(!console.contains(word), "{console}");
    }
    let bytes = guests::LARGE_BYTES;
    for download in &downloads {
        assert!(download.frames >= bytes / 1460, "the whole file: {download:?}");
    }
    let [each, some, found] = &downloads;
    // An interrupt a frame at line rate, less with a threshold, next to none with the longest timeout.
    assert_eq!((each.threshold, each.timeout_ticks), (1, 0));
    assert!(each.irqs * 10 > each.frames * 8 && each.ns < bytes * 8 * 10 / 8, "{each:?}");
    assert_eq!((some.threshold, some.timeout_ticks), (32, 31), "250 us in ticks, rounded up");
    assert!(some.irqs * 5 < some.frames && some.ns < bytes * 8 * 10 / 8, "{some:?}");
    assert_eq!((found.threshold, found.timeout_ticks), (511, 4096));
    assert!(found.irqs * 30 < found.frames && found.ns > 5 * each.ns, "{found:?} beside {each:?}");
}
