//! Boot arguments: any text gives a plan that can run, and problems that name their word.

use netbench::plan::{MAX_POINTS, MAX_RUNS, PlanProblem, WINDOW_MEMORY_BYTES, parse};
use netbench::presets::PRESETS;

/// Reads `input` as boot arguments.
pub fn check(input: &[u8]) {
    // The device tree's strings are UTF-8 or absent.
    let Ok(text) = core::str::from_utf8(input) else { return };
    let (plan, problems) = parse(text);
    assert_eq!(plan.problems as usize, problems.len());

    // As README and the messages state them.
    assert!((1..=100).contains(&plan.repeats), "repeats");
    assert!(plan.warmup_ms <= 60_000, "warmup_ms");
    assert!((10..=600_000).contains(&plan.window_ms), "window_ms");
    assert!(plan.rtt_probes <= 1_000, "rtt_probes");
    assert!((1_000..=600_000).contains(&plan.link_wait_ms), "link_wait_ms");
    assert!(is_set(&plan.presets.iter().map(|p| p.name).collect::<Vec<_>>()));
    assert!(!plan.presets.is_empty() && plan.presets.iter().all(|p| PRESETS.iter().any(|q| core::ptr::eq(*p, q))));
    assert!(plan.max_window_b() * u64::from(plan.max_flows()) <= WINDOW_MEMORY_BYTES, "windows and memory");
    assert!(netbench::http::Url::parse(&plan.url).is_ok(), "{}", plan.url);
    let once = plan.once();
    assert!((1..=MAX_POINTS).contains(&once.len()) && is_set(&once), "points");
    for setup in once.iter().map(|point| &point.setup) {
        assert!((4_096..=1_048_576).contains(&setup.window_b), "window_b");
        assert!((1..=16).contains(&setup.flows), "flows");
        assert!(setup.rx.threshold.is_none_or(|threshold| threshold <= 511), "thr");
        assert!((1..=256).contains(&setup.rx.posted.at_start()), "posted");
    }
    let points = plan.points();
    assert_eq!(points.len(), once.len() * plan.repeats as usize);
    assert!(points.len() <= MAX_RUNS, "runs");

    for problem in &problems {
        names_its_word(problem, text);
    }
    let (again, _) = parse(text);
    assert_eq!(format!("{plan:?}"), format!("{again:?}"));

    // Words of others change nothing, wherever they stand.
    let among = text.split_ascii_whitespace().flat_map(|word| ["root=/dev/nfs", word, "ip=dhcp"]);
    let (among, _) = parse(&among.collect::<Vec<_>>().join(" "));
    assert_eq!(format!("{plan:?}"), format!("{among:?}"));
}

fn is_set<T: PartialEq>(list: &[T]) -> bool {
    list.iter().enumerate().all(|(i, item)| !list[..i].contains(item))
}

/// Where the problem is can be found from the message: the word as written, on one line.
fn names_its_word(problem: &PlanProblem, text: &str) {
    let said = problem.to_string();
    assert!(!said.contains(['\r', '\n']), "{said:?}");
    let word = match problem {
        PlanProblem::UnknownKey { key, .. } | PlanProblem::NoValue { key } => key,
        PlanProblem::OutOfRange { value, .. } | PlanProblem::Url { value, .. } => value,
        PlanProblem::UnknownPreset { name, .. } => name,
        PlanProblem::AxisValue { value, .. } => value,
        PlanProblem::TooMany { key, .. } => return assert!(said.contains(key), "{said}"),
        PlanProblem::Memory { flows, window_b, used_b } => {
            assert!(*used_b < *window_b && u64::from(*flows) * used_b <= WINDOW_MEMORY_BYTES);
            return assert!(said.contains(&window_b.to_string()) && said.contains(&used_b.to_string()), "{said}");
        }
    };
    assert!(text.contains(word.as_str()) && said.contains(word.as_str()), "{said:?} names no word of {text:?}");
}
