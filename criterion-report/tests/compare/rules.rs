//! The default policy case by case, on sides that are made here.

use criterion_report::compare::{
    Compared, Estimate, Floors, Hosts, Limits, Measure, Point, Policy, Settings, Side, SideLabels,
    Thresholds, Verdict, compare,
};
use criterion_report::model::Interval;
use plan::{Conditions, Range, RunManifest};

use Verdict::{Equivalent, Improved, Inconclusive, Missing, New, NotCompared, Regressed};

use super::sides::*;

#[test]
fn one_run_without_a_floor_is_judged_by_the_interval_alone() {
    for (a, b, expected) in [
        (100.0, 112.0, Regressed),
        (100.0, 109.0, Equivalent),
        (112.0, 100.0, Improved),
        (109.0, 100.0, Equivalent),
        (100.0, 100.0, Equivalent),
    ] {
        let found = compared([point(a)], [point(b)], Floors::Ignored);
        assert_eq!(found.verdict, expected, "{a} {b}: {}", found.reason);
    }
}

#[test]
fn an_assumed_floor_leaves_all_but_the_largest_open() {
    for (b, expected) in [(112.0, Inconclusive), (100.0, Inconclusive), (150.0, Regressed)] {
        let found = compared([point(100.0)], [point(b)], Floors::Profile(None));
        assert_eq!(found.verdict, expected, "{b}: {}", found.reason);
        let interval = found.findings[0].interval().expect("an interval");
        let width = interval.high / interval.low;
        assert!((1.5..1.6).contains(&width), "±25 %: {width}");
    }
}

#[test]
fn several_runs_need_ranks_apart_and_enough_of_them() {
    for (count, ns, expected, says) in [
        (2, 120.0, Inconclusive, "2 runs per side cannot show a difference among 1 case"),
        (3, 120.0, Inconclusive, "(least adjusted p 0.10): take 4"),
        (4, 120.0, Regressed, "20.0 % slower (threshold 10.0 %, adjusted p 0.029)"),
        (8, 120.0, Regressed, "adjusted p 1.6e-4"),
        (8, 80.0, Improved, "20.0 % faster"),
        (8, 102.0, Equivalent, "within ±10.0 %"),
    ] {
        let found = compared(runs(count, 100.0), runs(count, ns), Floors::Profile(None));
        assert_eq!(found.verdict, expected, "{count} {ns}: {}", found.reason);
        assert!(found.reason.contains(says), "{count} {ns}: {}", found.reason);
    }
}

#[test]
fn sides_may_differ_in_runs() {
    let found = compared(runs(3, 100.0), runs(8, 130.0), Floors::Profile(None));
    assert_eq!((found.verdict, found.launches_a, found.launches_b), (Regressed, 3, 8));
    // One run has the floor.
    let found = compared([point(100.0)], runs(8, 115.0), Floors::Profile(None));
    assert_eq!(found.verdict, Inconclusive);
    assert!(
        found.reason.contains("one run of A, and runs are assumed to differ by ±25.0 %"),
        "{}",
        found.reason
    );
}

#[test]
fn exchanging_the_sides_exchanges_worse_and_better() {
    for (a, b) in [(100.0, 130.0), (100.0, 109.5), (100.0, 70.0)] {
        let one = compared(runs(6, a), runs(6, b), Floors::Ignored);
        let other = compared(runs(6, b), runs(6, a), Floors::Ignored);
        let mirrored = match one.verdict {
            Regressed => Improved,
            Improved => Regressed,
            same => same,
        };
        assert_eq!(other.verdict, mirrored, "{} / {}", one.reason, other.reason);
        let ratio = |it: &Compared| it.findings[0].ratio.expect("a ratio");
        assert!((ratio(&one) * ratio(&other) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn what_happened_to_the_processor_leaves_one_run_open() {
    let drifting = |ns: f64| {
        let samples: Vec<f64> =
            (0..30).map(|index| ns * (1.0 + 0.2 * f64::from(index) / 29.0)).collect();
        Point { time: Some(of_samples(&samples)), ..point(ns) }
    };
    let quiet = || Conditions {
        clock_mhz: None,
        clock_method: String::new(),
        temperature_c: None,
        regime: None,
        throttle_reasons: Vec::new(),
        throttle_method: None,
        discarded_samples: 0,
        steal: None,
    };
    let with = |conditions: Conditions| Point { conditions: Some(conditions), ..point(130.0) };
    let throttled = with(Conditions { throttle_reasons: vec!["thermal".to_owned()], ..quiet() });
    let stolen = with(Conditions { steal: Some(0.05), ..quiet() });
    let slow_clock = |mhz| {
        move |it: Point| {
            let clock_mhz = Some(Range { min: mhz, median: mhz, max: mhz });
            Point { conditions: Some(Conditions { clock_mhz, ..quiet() }), ..it }
        }
    };
    for (b, says) in [
        (drifting(130.0), "samples of B rose by 9.9 %"),
        (throttled.clone(), "the processor slowed itself down in B: thermal"),
        (stolen, "the hypervisor gave 5.0 % of the CPU time to others in B"),
    ] {
        let found = compared([point(100.0)], [b], Floors::Ignored);
        assert_eq!(found.verdict, Inconclusive, "{}", found.reason);
        assert!(
            found.reason.contains(says) && found.reason.contains("measure again"),
            "{}",
            found.reason
        );
        assert!(found.cautions[0].contains(says), "{:?}", found.cautions);
    }
    // Several runs show in their spread what it does, and the case keeps the caution.
    let mut several = runs(6, 130.0);
    several[2].conditions = throttled.conditions;
    let found = compared(runs(6, 100.0), several, Floors::Ignored);
    assert_eq!(found.verdict, Regressed);
    assert!(found.cautions[0].contains("(in 1 of 6 runs)"), "{:?}", found.cautions);
    // A clock that all runs share is another matter.
    let a: Vec<Point> = runs(6, 100.0).into_iter().map(slow_clock(3000.0)).collect();
    let b: Vec<Point> = runs(6, 130.0).into_iter().map(slow_clock(2300.0)).collect();
    let found = compared(a, b, Floors::Ignored);
    assert_eq!(found.verdict, Inconclusive, "{}", found.reason);
    assert!(found.reason.contains("3000 MHz in A, 2300 MHz in B"), "{}", found.reason);
}

#[test]
fn memory_is_counted() {
    let of = |peaks: &[u64]| -> Vec<Point> {
        peaks.iter().map(|&peak| Point { memory: Some(memory(peak)), ..point(100.0) }).collect()
    };
    for (a, b, expected) in [
        (&[1000][..], &[1051][..], Regressed),
        (&[1000], &[1050], Equivalent),
        (&[1051], &[1000], Improved),
        (&[0], &[0], Equivalent),
        (&[0], &[8], Regressed),
        (&[1000, 1000], &[1100, 1100], Regressed),
        (&[1000, 1200, 1000], &[1100, 1100, 1100], Inconclusive),
    ] {
        let found = compared(of(a), of(b), Floors::Ignored);
        let memory = found.of_measure(Measure::Memory).expect("memory");
        assert_eq!(memory.verdict, expected, "{a:?} {b:?}: {}", memory.reason);
    }
    let found = compared(of(&[1000]), [Point { memory: None, ..point(100.0) }], Floors::Ignored);
    let memory = found.of_measure(Measure::Memory).expect("memory");
    assert_eq!((memory.verdict, memory.reason.as_str()), (NotCompared, "it was not counted in B"));
    assert_eq!(found.verdict, Equivalent, "what is not compared hides nothing");
}

#[test]
fn errors_are_compared_without_a_unit_where_there_is_a_scale() {
    let with = |relative_error: f64, rmse: f64| Point {
        relative_error: Some(relative_error),
        rmse: Some(rmse),
        ..point(100.0)
    };
    for (a, b, expected) in [
        (with(0.0, 0.0), with(0.9e-3, 5.0), Equivalent),
        (with(0.0, 0.0), with(1.1e-3, 0.0), Regressed),
        (with(1.1e-3, 0.0), with(0.0, 0.0), Improved),
        (with(1e-4, 0.0), with(f64::NAN, 0.0), Regressed),
        (with(f64::INFINITY, 0.0), with(1e-4, 0.0), Improved),
        // The reference is zero all over: there is no relative error, and the RMSE counts.
        (with(f64::NAN, 0.0), with(f64::INFINITY, 2e-3), Regressed),
        (with(f64::NAN, 0.0), with(f64::NAN, 0.5e-3), Equivalent),
        (with(f64::NAN, f64::NAN), with(f64::NAN, f64::NAN), Equivalent),
    ] {
        let found = compared([a.clone()], [b.clone()], Floors::Ignored);
        let accuracy = found.of_measure(Measure::Accuracy).expect("accuracy");
        let errors = |it: &Point| (it.relative_error, it.rmse);
        assert_eq!(accuracy.verdict, expected, "{:?} {:?}", errors(&a), errors(&b));
    }
}

#[test]
fn energy_left_open_is_no_verdict_on_the_case_unless_it_differs() {
    let with = |joules: f64| Point { joules: Some(joules), ..point(100.0) };
    let profile = criterion_report::compare::Profile::default();
    let floors = Floors::Profile(Some(&profile));
    let energy = |found: &Compared| found.of_measure(Measure::Energy).map(|it| it.verdict);
    // One run per side and no floor: time is open, too.
    let found = compared([with(1.0)], [with(1.02)], floors);
    assert_eq!(energy(&found), Some(Inconclusive));
    assert!(!found.reason.contains("energy"), "{}", found.reason);
    let found = compared([with(1.0)], [with(1.2)], floors);
    assert_eq!((found.verdict, energy(&found)), (Inconclusive, Some(Inconclusive)));
    assert!(found.reason.contains("energy: 20.0 % more"), "{}", found.reason);
    let found = compared([with(1.0)], [with(1.2)], Floors::Ignored);
    assert_eq!((found.verdict, energy(&found)), (Regressed, Some(Regressed)));
    // An energy below that of the idle machine has no ratio.
    let found = compared([with(1.0)], [with(-0.1)], Floors::Ignored);
    assert_eq!((found.verdict, energy(&found)), (Equivalent, Some(NotCompared)));
}

#[test]
fn outcomes_that_changed() {
    for (a, b, expected) in [
        (point(100.0), ended("failed"), Regressed),
        (point(100.0), ended("timeout"), Regressed),
        (point(100.0), ended("oom"), Regressed),
        (point(100.0), ended("unsupported"), Regressed),
        (point(100.0), ended("skipped"), Missing),
        (point(100.0), ended("missing"), Missing),
        (point(100.0), ended("tested"), Missing),
        (ended("failed"), point(100.0), Improved),
        (ended("skipped"), point(100.0), New),
        (ended("failed"), ended("failed"), NotCompared),
    ] {
        let found = compared([a.clone()], [b.clone()], Floors::Ignored);
        assert_eq!(found.verdict, expected, "{} {}", a.status, b.status);
    }
    assert_eq!(compared([point(100.0)], [], Floors::Ignored).verdict, Missing);
    assert_eq!(compared([], [point(100.0)], Floors::Ignored).verdict, New);
    assert_eq!(compared([], [ended("skipped")], Floors::Ignored).verdict, NotCompared);
    // It fails now and then.
    let mut now_and_then = runs(5, 100.0);
    now_and_then.push(Point { reason: Some("NaN".to_owned()), ..ended("failed") });
    let found = compared(runs(6, 100.0), now_and_then, Floors::Ignored);
    assert_eq!(found.verdict, Regressed);
    assert_eq!(found.reason, "now in 1 of 6 runs failed: NaN");
}

/// B's only run, with these arguments and cases.
fn asked(mut side: Side, args: &[&str], selected: &[&str]) -> Side {
    let run = RunManifest {
        version: RunManifest::VERSION,
        run_id: "kernels-1".to_owned(),
        target: "kernels".to_owned(),
        baseline: None,
        started: 0,
        finished: None,
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        filter: None,
        exact: false,
        shard: None,
        merged: false,
        checks: Vec::new(),
        warnings: Vec::new(),
        selected: selected.iter().map(|&id| id.to_owned()).collect(),
        resumed: Vec::new(),
        outcomes: std::collections::BTreeMap::new(),
    };
    for of_side in &mut side.runs {
        of_side.manifests.insert("kernels".to_owned(), run.clone());
    }
    side
}

#[test]
fn what_a_run_was_not_asked_for_is_not_missing() {
    let other = "kernels/default/sort/cpu/kernel/f32-4096";
    let of_other = || Point { full_id: other.to_owned(), ..point(100.0) };
    let verdict = |b: Side| {
        let found = comparison(side("a", [point(100.0)]), b, Floors::Ignored);
        let case = found.cases.into_iter().find(|it| it.full_id == ID).expect("the case");
        (case.verdict, case.reason)
    };
    let b = |args: &[&str]| asked(side("b", [of_other()]), args, &[other]);
    assert_eq!(verdict(b(&["--bench"])).0, Missing, "it would have been selected");
    let (filtered, reason) = verdict(b(&["sort", "--bench"]));
    assert_eq!(filtered, NotCompared);
    assert_eq!(reason, "the latest run did not select it: its filter was `sort`");
    // Its record outlives it.
    let earlier = || Point { earlier: true, ..point(100.0) };
    let gone = |args: &[&str]| asked(side("b", [earlier()]), args, &[other]);
    assert_eq!(verdict(gone(&["--bench"])).0, Missing);
    assert_eq!(verdict(gone(&["sort", "--bench"])).0, Equivalent);
    let both = comparison(side("a", [earlier()]), gone(&["--bench"]), Floors::Ignored);
    assert_eq!(both.cases[0].verdict, NotCompared, "of A's latest run neither");
    // A's own latest run has it no longer either.
    let found = comparison(side("a", [earlier()]), b(&["--bench"]), Floors::Ignored);
    let case = found.cases.iter().find(|it| it.full_id == ID).expect("the case");
    assert_eq!(
        (case.verdict, case.reason.as_str()),
        (NotCompared, "A's latest run did not select it")
    );
}

#[test]
fn a_time_without_noise_is_not_compared() {
    let quick = || Point { time: Some(of_samples(&[900.0; 2])), ..point(900.0) };
    let stale = || Point { time: None, reason: Some("stale".to_owned()), ..point(1.0) };
    // Its memory and its error are the same; that does not make it equivalent.
    for (a, b, verdict, says) in [
        (
            point(100.0),
            quick(),
            NotCompared,
            "its time in B has no noise: it was measured in quick mode",
        ),
        (point(100.0), stale(), Missing, "it has no time any more: stale"),
        (stale(), point(100.0), NotCompared, "no time in A: stale"),
        (stale(), stale(), NotCompared, "no time in A: stale"),
    ] {
        let found = compared([a], [b], Floors::Ignored);
        let time = found.of_measure(Measure::Time).expect("time");
        assert_eq!(time.verdict, NotCompared);
        assert_eq!((found.verdict, found.reason.as_str()), (verdict, says));
    }
}

#[test]
fn the_worst_measure_decides_and_every_worst_one_is_named() {
    let worse = Point { memory: Some(memory(2 << 20)), relative_error: Some(0.5), ..point(80.0) };
    let found = compared([point(100.0)], [worse], Floors::Ignored);
    assert_eq!(found.verdict, Regressed);
    let says = "memory: 1.00 MiB to 2.00 MiB (weights 512 KiB to 1.00 MiB); accuracy: relative_error \
                1.00e-4 to 0.500";
    assert_eq!(found.reason, says);
}

#[test]
fn rules_set_thresholds_by_case() {
    let rule = serde_yaml::from_str("{ filter: gemv, latency: 0.5 }").expect("a rule");
    let thresholds = Thresholds { limits: Limits::default(), rules: vec![rule] };
    let settings = Settings {
        policy: Policy::Default,
        thresholds: &thresholds,
        floors: Floors::Ignored,
        hosts: Hosts::Refused,
        words: SideLabels::SIDES,
        lockstep: None,
    };
    let of = |ns| compare(&side("a", [point(100.0)]), &side("b", [point(ns)]), settings);
    assert_eq!(of(140.0).expect("one machine").cases[0].verdict, Equivalent);
    assert_eq!(of(160.0).expect("one machine").cases[0].verdict, Regressed);
}

#[test]
fn within_looks_at_one_run_per_side_and_at_no_memory() {
    let thresholds = Thresholds::default();
    let settings = Settings {
        policy: Policy::Within,
        thresholds: &thresholds,
        floors: Floors::Profile(None),
        hosts: Hosts::Refused,
        words: SideLabels::SIDES,
        lockstep: None,
    };
    let timed = |ns: f64, half_width: f64| {
        let interval = Interval { low: ns * (1.0 - half_width), high: ns * (1.0 + half_width) };
        let time = Some(Estimate::of_interval(ns, Some(interval), 0.95));
        Point { time, memory: Some(memory(ns as u64)), ..point(ns) }
    };
    let of = |b: &[Point]| {
        let b = side("b", b.iter().cloned());
        let found = compare(&side("a", [timed(100.0, 0.01)]), &b, settings).expect("one machine");
        (found.cases[0].verdict, found.cases[0].reason.clone())
    };
    for (ns, half_width, expected) in [
        (112.0, 0.01, Regressed),
        (112.0, 0.3, Inconclusive),
        (108.0, 0.3, Equivalent),
        (88.0, 0.01, Improved),
    ] {
        assert_eq!(of(&[timed(ns, half_width)]).0, expected, "{ns} ±{half_width}");
    }
    // The runs of one side say what the single one of the other does not show: of 98, 100, 102 the
    // deviation is 2 %, and t at 97.5 % with two degrees of freedom 4.3.
    let several = [timed(118.0, 0.001), timed(120.0, 0.001), timed(122.0, 0.001)];
    assert_eq!(of(&several).0, Regressed, "{}", of(&several).1);
    let several = [timed(100.0, 0.001), timed(120.0, 0.001), timed(140.0, 0.001)];
    assert_eq!(of(&several).0, Inconclusive, "{}", of(&several).1);
}
