use super::*;
use std::string::ToString;

fn only_problem(bootargs: &str) -> std::string::String {
    let (plan, problems) = parse(bootargs);
    assert_eq!((plan.problems, problems.len()), (1, 1), "{problems:?}");
    problems[0].to_string()
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.presets.iter().map(|p| p.name).collect()
}

fn flows(plan: &Plan) -> Vec<u16> {
    let mut all: Vec<u16> = plan.once().iter().map(|p| p.setup.flows).collect();
    all.dedup();
    all.truncate(2);
    all
}

#[test]
fn axes_make_a_product_and_custom_points() {
    let (plan, problems) = parse("gb.thr=1,10,32 gb.tmo_ticks=0..61/61 gb.flows=1,4");
    assert_eq!(problems, []);
    let points = plan.once();
    assert_eq!((points.len(), names(&plan)), (3 * 2 * 2, vec!["linux"]));
    // One of them (for both flows) is the preset itself, and bears its name.
    assert_eq!(points.iter().filter(|p| p.name() == "linux").count(), 2);
    assert!(points.iter().all(|p| (p.name() == "linux") == p.changes().is_empty()));
    let last = points.last().unwrap();
    assert_eq!(last.changes(), "thr=32 tmo_ticks=61");
    assert_eq!((last.setup.rx.threshold, last.setup.rx.timeout_ticks, last.setup.flows), (Some(32), Some(61), 4));
    // Presets are plans, too: an axis changes one thing in each.
    let (plan, _) = parse("gb.presets=openbsd,linux gb.tx_pause=0 gb.posted=2+,256");
    let changes: Vec<_> = plan.once().iter().map(|p| (p.preset.name, p.changes())).collect();
    assert_eq!(changes[0], ("openbsd", "tx_pause=0".into()));
    assert_eq!(changes[1], ("openbsd", "posted=256 grow=0 tx_pause=0".into()));
    assert_eq!(changes[3], ("linux", "tx_pause=0 rx_pause=1".into()));
    // The workload alone leaves a preset what it is.
    assert!(parse("gb.flows=2 gb.window_b=8192 gb.ack_ms=10").0.once().iter().all(|p| p.is_preset));
}

#[test]
fn points_that_want_the_same_link_follow_each_other() {
    let (plan, _) = parse("gb.link=auto,auto100 gb.thr=1..8 gb.repeats=2 gb.seed=3");
    let points = plan.points();
    let changes = points.windows(2).filter(|pair| pair[0].setup.link != pair[1].setup.link).count();
    assert!((2..=3).contains(&changes), "{changes}");
    assert_eq!(points.len(), 2 * 8 * 2);
    assert!(plan.estimate_s(&points) >= 32 * 1_600 / 1_000 + 2 * 4);
}

#[test]
fn too_many_points_or_runs_are_cut_and_told() {
    let (plan, problems) = parse("gb.thr=0..63 gb.tmo_ticks=0..63 gb.repeats=100");
    assert_eq!((plan.once().len(), plan.repeats), (MAX_POINTS, 4));
    assert_eq!(problems.iter().map(|p| p.to_string()).filter(|p| p.contains("the first")).count(), 2, "{problems:?}");
}

#[test]
fn reads_a_plan_among_the_firmwares_words() {
    let (plan, problems) = parse(
        "coherent_pool=1M 8250.nr_uarts=0 gb.presets=linux console=ttyAMA0,115200 gb.presets=netbsd,poll,netbsd \
         gb.flows=4,1,4 gb.repeats=2 gb.window_ms=50 gb.seed=18446744073709551615 gb.url=http://10.0.0.1/x rootwait\n",
    );
    assert_eq!(problems, []);
    assert_eq!(names(&plan), ["netbsd", "poll"]);
    assert_eq!((flows(&plan), plan.repeats, plan.window_ms, plan.seed), (vec![4, 1], 2, 50, u64::MAX));
    assert_eq!((plan.url.as_str(), plan.max_window_b(), plan.max_flows()), ("http://10.0.0.1/x", 262_144, 4));
}

#[test]
fn without_words_there_are_nine_presets() {
    let (plan, problems) = parse("");
    assert_eq!((plan.points().len(), problems.len()), (9, 0));
    assert_eq!(names(&parse("gb.presets=poll,all").0).len(), 9);
}

#[test]
fn says_which_word_is_wrong_and_what_is_allowed() {
    let text = only_problem("gb.preset=linux");
    assert!(text.contains("`gb.preset`") && text.contains("did you mean `gb.presets`?") && text.contains("gb.url"));
    let text = only_problem("gb.presets=linux,openbds");
    assert!(text.contains("`openbds`") && text.contains("did you mean `openbsd`?") && text.contains("ticks4096"));
    assert!(!only_problem("gb.presets=windows").contains("did you mean"));
    let text = only_problem("gb.repeats=0");
    assert!(text.contains("`gb.repeats=0`") && text.contains("from 1 to 100"), "{text}");
    assert!(only_problem("gb.flows=1,17").contains("from 1 to 16"));
    let text = only_problem("gb.link=fast");
    assert!(text.contains("auto, auto1000") && text.contains("forced100full"), "{text}");
    assert!(only_problem("gb.subject=windows").contains("gb.subject"));
    assert!(only_problem("gb.window_ms=3oo").contains("from 10 to"));
    assert!(only_problem("gb.seed=-1").contains("`gb.seed=-1`"));
    assert!(only_problem("gb.url").contains("write gb.url=VALUE"));
    assert!(only_problem("gb.url=https://x/").contains("must begin with http://"));
    assert!(only_problem("gb.flows=16 gb.window_b=1048576").contains("262144"));
    assert!(only_problem(&std::format!("gb.{}=1", "x".repeat(5_000))).contains("no key"));
}

#[test]
fn the_rest_still_runs() {
    let (plan, problems) = parse("gb.presets=amiga,nonsense gb.flows=0,2 gb.warmup_ms=x gb.repeats=3");
    assert_eq!((names(&plan), flows(&plan), plan.repeats, plan.warmup_ms), (vec!["amiga"], vec![2], 3, 100));
    assert_eq!((problems.len(), plan.problems), (3, 3));
}

#[test]
fn the_order_depends_on_the_seed_alone_and_holds_every_point_once() {
    let order = |seed: u64| -> Vec<(&str, u16, u32)> {
        let plan = parse(&std::format!("gb.flows=1,2 gb.repeats=3 gb.seed={seed}")).0;
        plan.points().iter().map(|p| (p.preset.name, p.setup.flows, p.rep)).collect()
    };
    assert_eq!(order(5), order(5));
    assert_ne!(order(5), order(6));
    let mut all = order(5);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 9 * 2 * 3);
}

#[test]
fn the_guide_names_every_key() {
    let guide = include_str!("../../../docs/CONSOLE.md");
    for key in KEYS {
        assert!(guide.contains(&std::format!("`{key}`")), "docs/CONSOLE.md does not name {key}");
    }
}

#[test]
fn the_arrival_clock_is_wanted_if_any_point_watches() {
    for (bootargs, watches) in [("", true), ("gb.watch=on", true), ("gb.watch=off", false), ("gb.watch=off,on", true)] {
        let plan = parse(bootargs).0;
        assert_eq!(plan.watches(), watches, "{bootargs}");
        assert_eq!(plan.watches(), plan.points().iter().any(|point| point.setup.watch), "{bootargs}");
    }
}
