//! Other rules than the default one, by examples computed by hand.

use criterion_report::compare::{
    Compared, Estimate, Floors, Hosts, Measure, Point, Policy, Settings, SideLabels, Thresholds,
    Verdict, compare,
};

use Verdict::{Equivalent, Inconclusive, Regressed};

use crate::compare::folder::*;
use crate::compare::sides::{ID, point, side};

#[test]
fn other_policies_are_named() {
    let folder = Folder::new();
    let slower = |run| main_branch(run).takes("reduction", 1_250_000);
    folder.save("main", 3, main_branch).save("pr", 2, slower);
    let verdict = |args: &[&str]| {
        let document = folder.json(&[&["compare", "main", "pr"], args].concat());
        let cases = document["cases"].as_array().expect("cases").clone();
        let slow =
            cases.iter().find(|it| it["full_id"].as_str().is_some_and(|id| id.contains("red")));
        let slow = slow.expect("a case");
        let text = |key: &str| slow[key].as_str().expect("text").to_owned();
        (document["policy"].as_str().expect("text").to_owned(), text("verdict"), text("reason"))
    };
    for (args, policy, expected, says) in [
        (&[][..], "default", "inconclusive", "3 runs against 2 cannot show a difference"),
        (&["--policy", "hud"], "hud", "regressed", "the last 2 runs violate 1.20 × the least"),
        (&["--policy", "quasim"], "quasim", "regressed", "latency increased by 24.8 %"),
    ] {
        let (name, verdict, reason) = verdict(args);
        assert_eq!((name.as_str(), verdict.as_str()), (policy, expected), "{reason}");
        assert!(reason.contains(says), "{reason}");
    }
    let args = ["compare", "main", "pr", "--policy", "hud", "--latency-threshold", "0.2"];
    assert!(folder.stderr(2, &args).contains("--policy hud has its own thresholds"));
}

fn judged(policy: Policy, a: Vec<Point>, b: Vec<Point>) -> Compared {
    let thresholds = Thresholds::default();
    let settings = Settings {
        policy,
        thresholds: &thresholds,
        floors: Floors::Profile(None),
        hosts: Hosts::Refused,
        words: SideLabels::SIDES,
        lockstep: None,
    };
    let found = compare(&side("a", a), &side("b", b), settings).expect("one machine");
    found.cases.into_iter().next().expect("a case")
}

/// Runs with these medians, of the case with this id.
fn timed(id: &str, medians: &[f64]) -> Vec<Point> {
    let run = |&ns: &f64| Point {
        full_id: id.to_owned(),
        time: Some(Estimate::of_interval(ns, None, 0.95)),
        ..point(1.0)
    };
    medians.iter().map(run).collect()
}

#[test]
fn hud_by_hand() {
    // The least of A is 100, so that the bound is 1.20 · 100 = 120; an operator's is 1.35 times the
    // median, 1.35 · 110 = 148.5.
    let a = [110.0, 100.0, 130.0];
    let operator = "operators/default/gelu/cpu/kernel/f32-4096";
    for (id, b, verdict, says) in [
        (ID, &[121.0, 121.0][..], Regressed, "regression: the last 2 runs violate"),
        (ID, &[100.0, 121.0, 121.0], Regressed, "regression: the last 2 runs"),
        (ID, &[120.0, 120.0], Equivalent, "no_regression"),
        (ID, &[121.0, 119.0], Equivalent, "no_regression"),
        (ID, &[100.0, 121.0], Equivalent, "no_regression"),
        (ID, &[121.0, 121.0, 121.0, 119.0], Inconclusive, "suspicious: 3 runs in a row"),
        (ID, &[500.0], Inconclusive, "insufficient_data"),
        (ID, &[1.0, 1.0], Equivalent, "no_regression"),
        (operator, &[148.0, 148.0], Equivalent, "no_regression against 1.35 × the median of A"),
        (operator, &[149.0, 149.0], Regressed, "violate 1.35 × the median of A"),
    ] {
        let found = judged(Policy::Hud, timed(id, &a), timed(id, b));
        assert_eq!(found.verdict, verdict, "{id} {b:?}: {}", found.reason);
        assert!(found.reason.contains(says), "{b:?}: {}", found.reason);
    }
}

#[test]
fn hud_s_speed_up_by_hand() {
    let with = |speedups: &[f64]| -> Vec<Point> {
        let points = speedups.iter().map(|&it| Point { speedup: Some(it), ..point(100.0) });
        points.collect()
    };
    // The median of A is 2.0, so that the bound is 0.9 · 2.0 = 1.8.
    let a = [1.0, 2.0, 3.0];
    for (b, verdict) in [
        (&[1.79, 1.79][..], Regressed),
        (&[1.8, 1.8], Equivalent),
        (&[1.79, 1.81], Equivalent),
        (&[9.0, 9.0], Equivalent),
        (&[1.0, 1.0, 1.0, 2.0], Inconclusive),
    ] {
        let found = judged(Policy::Hud, with(&a), with(b));
        assert_eq!(found.verdict, verdict, "{b:?}: {}", found.reason);
        let time = found.of_measure(Measure::Time).expect("a time");
        assert_eq!(time.verdict, Equivalent, "{b:?}");
    }
    // A finding of both measures is said once.
    let found = judged(Policy::Hud, with(&a), with(&[1.0]));
    assert_eq!(found.reason, "insufficient_data: B has one run, the rule needs two");
}

#[test]
fn quasim_by_hand() {
    // The median of A is 104.
    let a = [100.0, 104.0, 120.0];
    for (a, b, verdict) in [
        // (114 − 104) / 104 = 9.6 %, (115 − 104) / 104 = 10.6 %.
        (&a[..], &[90.0, 114.0, 200.0][..], Equivalent),
        (&a, &[90.0, 115.0, 200.0], Regressed),
        // (110 − 100) / 100 is the threshold, and not above it.
        (&[100.0], &[110.0], Equivalent),
        (&[100.0], &[111.0], Regressed),
        (&[100.0], &[50.0], Equivalent),
    ] {
        let found = judged(Policy::Quasim, timed(ID, a), timed(ID, b));
        assert_eq!(found.verdict, verdict, "{a:?} {b:?}: {}", found.reason);
    }
    let with = |relative_error: f64, rmse: f64| {
        let error = (Some(relative_error), Some(rmse));
        vec![Point { relative_error: error.0, rmse: error.1, ..point(100.0) }]
    };
    const NAN: f64 = f64::NAN;
    for (a, b, verdict) in [
        (with(1e-4, 0.0), with(1.1e-3, 9.0), Equivalent),
        (with(1e-4, 0.0), with(1.11e-3, 0.0), Regressed),
        // It says `differs`, and does not say which way.
        (with(2e-3, 0.0), with(0.5e-3, 0.0), Regressed),
        (with(1e-4, 0.0), with(NAN, 0.0), Regressed),
        // Without a scale the RMSE is what differs.
        (with(NAN, 0.0), with(NAN, 0.9e-3), Equivalent),
        (with(NAN, 0.0), with(NAN, 1.1e-3), Regressed),
        (with(NAN, NAN), with(NAN, NAN), Equivalent),
    ] {
        let found = judged(Policy::Quasim, a.clone(), b.clone());
        let errors = |it: &[Point]| (it[0].relative_error, it[0].rmse);
        assert_eq!(found.verdict, verdict, "{:?} {:?}: {}", errors(&a), errors(&b), found.reason);
    }
}
