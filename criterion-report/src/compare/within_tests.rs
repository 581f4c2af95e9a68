use crate::compare::{
    Comparison, Difference, Estimate, Floors, Hosts, Measure, Point, Policy, Settings, Side,
    SideLabels, SideRun, Thresholds, Verdict, compare,
};
use crate::model::Interval;

fn point(id: &str, ns: f64, half_width: f64) -> Point {
    let interval = Interval { low: ns * (1.0 - half_width), high: ns * (1.0 + half_width) };
    Point {
        full_id: id.to_owned(),
        host: Some("a".to_owned()),
        status: "measured".to_owned(),
        reason: None,
        earlier: false,
        revision: None,
        time: Some(Estimate::of_interval(ns, Some(interval), 0.95)),
        relative_error: Some(1e-4),
        rmse: Some(1e-5),
        ..Point::default()
    }
}

fn ended(id: &str, status: &str) -> Point {
    let time = None;
    Point { status: status.to_owned(), time, relative_error: None, ..point(id, 1.0, 0.0) }
}

fn compare_points(before: Point, now: Point) -> Comparison {
    compared(vec![before], vec![now])
}

fn compared(before: Vec<Point>, now: Vec<Point>) -> Comparison {
    of_runs(vec![before], now)
}

fn of_runs(before: Vec<Vec<Point>>, now: Vec<Point>) -> Comparison {
    let runs = before.into_iter().map(|points| SideRun::new("main", points)).collect();
    let before = Side { name: "main".to_owned(), runs };
    let settings = Settings {
        policy: Policy::Within,
        thresholds: &Thresholds::default(),
        floors: Floors::Ignored,
        hosts: Hosts::Apart,
        words: SideLabels::NOW,
        lockstep: None,
    };
    compare(&before, &Side::of_points("now", "now", now), settings)
        .expect("machines are kept apart")
}

/// The list that the comparison is in.
fn place(changes: &Comparison) -> &'static str {
    let lists = [
        ("regression", changes.differences(Verdict::Regressed).len()),
        ("improvement", changes.differences(Verdict::Improved).len()),
        ("inconclusive", changes.differences(Verdict::Inconclusive).len()),
        ("new", changes.differences(Verdict::New).len()),
        ("missing", changes.differences(Verdict::Missing).len()),
        ("not compared", changes.differences(Verdict::NotCompared).len()),
        ("unchanged", changes.unchanged()),
    ];
    assert_eq!(lists.iter().map(|(_, n)| n).sum::<usize>(), 1, "{changes:?}");
    lists.into_iter().find(|(_, n)| *n == 1).expect("one").0
}

#[test]
fn a_time_has_to_be_beyond_the_threshold_and_its_interval_beyond_1() {
    for (before, now, half_width, expected) in [
        (100.0, 110.1, 0.01, "regression"),
        (100.0, 109.9, 0.01, "unchanged"),
        (100.0, 115.0, 0.15, "inconclusive"),
        (110.1, 100.0, 0.01, "improvement"),
        (109.9, 100.0, 0.01, "unchanged"),
        (115.0, 100.0, 0.15, "inconclusive"),
        (100.0, 100.0, 0.5, "unchanged"),
    ] {
        let changes = compare_points(point("x", before, half_width), point("x", now, half_width));
        assert_eq!(place(&changes), expected, "{before} {now} ±{half_width}");
    }
}

#[test]
fn exchanging_the_two_times_exchanges_worse_and_better() {
    let (fast, slow) = (point("x", 100.0, 0.02), point("x", 130.0, 0.01));
    let (worse, better) = (compare_points(fast.clone(), slow.clone()), compare_points(slow, fast));
    let ratio = |changed: Vec<Difference<'_>>| {
        changed[0].finding.ratio.zip(changed[0].finding.interval()).expect("of a time")
    };
    let regressed = ratio(worse.differences(Verdict::Regressed));
    let ((faster, up), (slower, down)) = (regressed, ratio(better.differences(Verdict::Improved)));
    assert!((faster * slower - 1.0).abs() < 1e-12);
    assert!((up.low * down.high - 1.0).abs() < 1e-12);
    assert!((up.high * down.low - 1.0).abs() < 1e-12);
}

#[test]
fn errors_are_compared_without_a_unit_where_there_is_a_scale() {
    let with = |relative_error: f64, rmse: f64| Point {
        relative_error: Some(relative_error),
        rmse: Some(rmse),
        ..point("x", 100.0, 0.01)
    };
    for (before, now, expected) in [
        (with(0.0, 0.0), with(0.9e-3, 5.0), "unchanged"),
        (with(0.0, 0.0), with(1.1e-3, 0.0), "regression"),
        (with(1.1e-3, 0.0), with(0.0, 0.0), "improvement"),
        (with(1e-4, 0.0), with(f64::NAN, 0.0), "regression"),
        (with(f64::INFINITY, 0.0), with(1e-4, 0.0), "improvement"),
        // The reference is zero all over: there is no relative error, and the RMSE counts.
        (with(f64::NAN, 0.0), with(f64::INFINITY, 2e-3), "regression"),
        (with(f64::NAN, 0.0), with(f64::NAN, 0.5e-3), "unchanged"),
        (with(f64::NAN, f64::NAN), with(f64::NAN, f64::NAN), "unchanged"),
    ] {
        assert_eq!(
            place(&compare_points(before.clone(), now.clone())),
            expected,
            "{before:?} {now:?}"
        );
    }
    let changes = compare_points(with(1e-4, 0.0), with(f64::NAN, 0.0));
    let worse = changes.differences(Verdict::Regressed)[0];
    let (before, after) = worse.finding.a.zip(worse.finding.b).expect("an error");
    assert_eq!(worse.finding.measure, Measure::Accuracy);
    assert!(before == 1e-4 && after.is_nan(), "as they were measured: {before} {after}");
    let without = Point { relative_error: None, rmse: None, ..point("x", 100.0, 0.01) };
    assert_eq!(place(&compare_points(with(0.0, 0.0), without.clone())), "not compared");
    assert_eq!(place(&compare_points(without, with(0.0, 0.0))), "unchanged");
}

#[test]
fn outcomes_that_changed() {
    let measured = || point("x", 100.0, 0.01);
    for (before, now, expected) in [
        (measured(), ended("x", "failed"), "regression"),
        (measured(), ended("x", "timeout"), "regression"),
        (measured(), ended("x", "oom"), "regression"),
        (measured(), ended("x", "unsupported"), "regression"),
        (measured(), ended("x", "skipped"), "missing"),
        (measured(), ended("x", "missing"), "missing"),
        (measured(), ended("x", "tested"), "missing"),
        (ended("x", "failed"), measured(), "improvement"),
        (ended("x", "skipped"), measured(), "new"),
        (ended("x", "failed"), ended("x", "failed"), "not compared"),
    ] {
        assert_eq!(
            place(&compare_points(before.clone(), now.clone())),
            expected,
            "{before:?} {now:?}"
        );
    }
}

#[test]
fn ids_without_a_partner() {
    let of = |before, now| {
        let changes = compared(before, now);
        (
            place(&changes),
            changes.differences(Verdict::NotCompared).first().map(|it| it.finding.reason.clone()),
        )
    };
    assert_eq!(of(vec![], vec![point("x", 1.0, 0.0)]), ("new", None));
    assert_eq!(of(vec![point("x", 1.0, 0.0)], vec![]), ("missing", None));
    let why = |reason: &str| ("not compared", Some(reason.to_owned()));
    let without = "skipped; the baseline has no record of it";
    assert_eq!(of(vec![], vec![ended("x", "skipped")]), why(without));
    let both = "there is no record of it now; the baseline has it failed";
    assert_eq!(of(vec![ended("x", "failed")], vec![]), why(both));
}

#[test]
fn machines_are_not_compared_with_each_other() {
    let other = Point { host: Some("b".to_owned()), ..point("x", 900.0, 0.01) };
    let changes = compare_points(point("x", 100.0, 0.01), other);
    let reason = "the baseline is of another machine: a; this is b";
    assert_eq!(changes.differences(Verdict::NotCompared)[0].finding.reason, reason);
    assert_eq!(place(&changes), "not compared");
}

#[test]
fn a_time_without_an_interval_or_of_another_level_is_not_compared() {
    let time = |interval: Option<Interval>, confidence_level: f64| Point {
        time: Some(Estimate::of_interval(900.0, interval, confidence_level)),
        ..point("x", 900.0, 0.01)
    };
    let reason = |now: Point| {
        let changes = compare_points(point("x", 100.0, 0.01), now);
        changes.differences(Verdict::NotCompared)[0].finding.reason.clone()
    };
    let quick = reason(time(None, 0.95));
    assert_eq!(quick, "its time has no interval: it was measured in quick mode");
    let level = reason(time(Some(Interval { low: 890.0, high: 910.0 }), 0.99));
    assert_eq!(level, "its interval is of level 0.99, the earlier one of 0.95");
    let stale = Point { time: None, reason: Some("stale".to_owned()), ..point("x", 1.0, 0.0) };
    assert_eq!(reason(stale), "no time now: stale");
}

#[test]
fn a_kernel_that_went_is_missing_once() {
    let earlier = || Point { earlier: true, ..point("x", 100.0, 0.01) };
    let now = || point("x", 100.0, 0.01);
    // Its record outlives it.
    assert_eq!(place(&compare_points(now(), earlier())), "missing");
    // The baseline's own latest run has it no longer either.
    assert_eq!(place(&compare_points(earlier(), earlier())), "not compared");
    assert_eq!(place(&compare_points(earlier(), now())), "unchanged");
    let gone = compared(vec![earlier()], vec![]);
    assert_eq!(
        gone.differences(Verdict::NotCompared)[0].finding.reason,
        "the baseline's latest run did not select it"
    );
    assert_eq!(place(&gone), "not compared");
}

#[test]
fn failures_come_first_and_then_the_worst() {
    let times = [("a", 120.0), ("b", 300.0), ("d", 200.0)];
    let mut before: Vec<Point> = times.iter().map(|(id, _)| point(id, 100.0, 0.01)).collect();
    before.push(point("c", 100.0, 0.01));
    let mut now: Vec<Point> = times.iter().map(|&(id, ns)| point(id, ns, 0.01)).collect();
    now.push(ended("c", "failed"));
    let changes = compared(before, now);
    let ids: Vec<&str> =
        changes.differences(Verdict::Regressed).iter().map(|it| it.full_id).collect();
    assert_eq!(ids, ["c", "b", "d", "a"]);
}

#[test]
fn of_several_runs_the_one_that_measured_it_says_how_it_ended() {
    let failed = || vec![ended("x", "failed")];
    let changes = of_runs(vec![failed(), vec![point("x", 100.0, 0.01)]], failed());
    let finding = changes.differences(Verdict::Regressed)[0].finding;
    assert_eq!(finding.measure, Measure::Outcome);
    assert_eq!(finding.ended, Some(["measured", "failed"].map(str::to_owned)));
}
