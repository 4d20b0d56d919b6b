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

#[test]
fn reads_a_plan_among_the_firmwares_words() {
    let (plan, problems) = parse(
        "coherent_pool=1M 8250.nr_uarts=0 gb.presets=linux console=ttyAMA0,115200 gb.presets=netbsd,poll,netbsd \
         gb.flows=4,1,4 gb.repeats=2 gb.window_ms=50 gb.seed=18446744073709551615 gb.url=http://10.0.0.1/x rootwait\n",
    );
    assert_eq!(problems, []);
    assert_eq!(names(&plan), ["netbsd", "poll"]);
    assert_eq!((plan.flows.as_slice(), plan.repeats, plan.window_ms, plan.seed), ([4, 1].as_slice(), 2, 50, u64::MAX));
    assert_eq!((plan.url.as_str(), plan.window_b, plan.max_flows()), ("http://10.0.0.1/x", 262_144, 4));
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
    assert_eq!(
        (names(&plan), plan.flows.as_slice(), plan.repeats, plan.warmup_ms),
        (vec!["amiga"], [2].as_slice(), 3, 100)
    );
    assert_eq!((problems.len(), plan.problems), (3, 3));
}

#[test]
fn the_order_depends_on_the_seed_alone_and_holds_every_point_once() {
    let order = |seed: u64| -> Vec<(&str, u16, u32)> {
        let plan = parse(&std::format!("gb.flows=1,2 gb.repeats=3 gb.seed={seed}")).0;
        plan.points().iter().map(|p| (p.preset.name, p.flows, p.rep)).collect()
    };
    assert_eq!(order(5), order(5));
    assert_ne!(order(5), order(6));
    let mut all = order(5);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 9 * 2 * 3);
}
