//! The default policy's true and false alarms, by simulation through the engine itself.

use std::collections::BTreeMap;

use criterion_report::compare::{
    Comparison, Floors, Hosts, Limits, Policy, Profile, Settings, Side, SideLabels, Thresholds,
    Verdict, aa, compare,
};

use crate::compare::simulation::{Case, HOST, Random, cases, id, side};

const RUNS: usize = 8;
/// Comparisons with planted regressions.
const ROUNDS: usize = 40;

fn at(latency: f64) -> Thresholds {
    Thresholds { limits: Limits { latency, ..Limits::default() }, ..Thresholds::default() }
}

fn compared(a: &Side, b: &Side, thresholds: &Thresholds, floors: Floors<'_>) -> Comparison {
    let settings = Settings {
        policy: Policy::Default,
        thresholds,
        floors,
        hosts: Hosts::Refused,
        words: SideLabels::SIDES,
        lockstep: None,
    };
    compare(a, b, settings).expect("one machine")
}

/// The verdicts of all cases, in their order.
fn verdicts(comparison: &Comparison, count: usize) -> Vec<Verdict> {
    let known: BTreeMap<&str, Verdict> =
        comparison.cases.iter().map(|case| (case.full_id.as_str(), case.verdict)).collect();
    (0..count).map(|place| known[id(place).as_str()]).collect()
}

#[test]
fn planted_regressions_are_found() {
    let cases = cases();
    // By 5 % every tenth case, the noisy ones too in their turn; by 10 % every tenth.
    let slower = |round: usize, place: usize| match (place + round) % 10 {
        3 => 1.05,
        7 => 1.10,
        _ => 1.0,
    };
    let mut random = Random(1);
    let (mut of_5, mut found_5, mut of_10, mut found_10, mut imagined) = (0, 0, 0, 0, 0);
    for round in 0..ROUNDS {
        let a = side("main", RUNS, &cases, |_| 1.0, &mut random);
        let b = side("pr", RUNS, &cases, |place| slower(round, place), &mut random);
        let comparison = compared(&a, &b, &at(0.03), Floors::Profile(None));
        for (place, verdict) in verdicts(&comparison, cases.len()).into_iter().enumerate() {
            let found = usize::from(verdict == Verdict::Regressed);
            match slower(round, place) {
                1.05 => (of_5, found_5) = (of_5 + 1, found_5 + found),
                1.10 => (of_10, found_10) = (of_10 + 1, found_10 + found),
                _ => imagined += found,
            }
        }
    }
    println!("+5 %: {found_5} of {of_5}; +10 %: {found_10} of {of_10}; imagined {imagined}");
    assert!(found_5 as f64 >= 0.95 * of_5 as f64, "{found_5} of {of_5}");
    assert_eq!(found_10, of_10);
    assert!(imagined <= 1, "{imagined} imagined");
}

/// The table of the book, method/comparing.md: of 100 planted regressions of 5 % each, how many are found.
#[test]
fn noise_between_runs_costs_runs() {
    let found = |runs: usize, between: f64| {
        let mut cases = cases();
        cases.iter_mut().for_each(|case| case.between = between);
        let slower = |place: usize| if place % 10 == 3 { 1.05 } else { 1.0 };
        let mut random = Random(3);
        let mut found = 0;
        for _ in 0..20 {
            let a = side("main", runs, &cases, |_| 1.0, &mut random);
            let b = side("pr", runs, &cases, slower, &mut random);
            let comparison = compared(&a, &b, &at(0.03), Floors::Profile(None));
            found += comparison.count(Verdict::Regressed);
        }
        println!("{runs} runs, {between} between them: {found} of 100");
        found
    };
    for (runs, between, range) in [
        (6, 0.010, 0..=0),
        (8, 0.010, 98..=100),
        (8, 0.015, 88..=100),
        (8, 0.020, 50..=80),
        (12, 0.020, 90..=100),
    ] {
        let found = found(runs, between);
        assert!(range.contains(&found), "{runs} runs, {between}: {found}");
    }
}

/// How often each of these thresholds sees a regression in fifty comparisons of a revision with
/// itself.
fn imagined(runs: usize, latencies: [f64; 2], profile: Option<&Profile>) -> [usize; 2] {
    let cases = cases();
    let mut random = Random(7 + runs as u64);
    let mut alarms = [0, 0];
    for _ in 0..50 {
        let [a, b] = ["a", "b"].map(|name| side(name, runs, &cases, |_| 1.0, &mut random));
        for (alarms, latency) in alarms.iter_mut().zip(latencies) {
            let comparison = compared(&a, &b, &at(latency), Floors::Profile(profile));
            *alarms += comparison.count(Verdict::Regressed);
        }
    }
    println!("{runs} runs, thresholds {latencies:?}: {alarms:?} of 2500");
    alarms
}

#[test]
fn of_fifty_comparisons_of_a_revision_with_itself_at_most_one_sees_a_regression() {
    let alarms = imagined(RUNS, [0.03, 0.10], None);
    assert!(alarms.iter().all(|alarms| *alarms <= 1), "{alarms:?}");
}

/// The noise as so many runs of one revision show it.
fn profile(runs: usize, cases: &[Case], random: &mut Random) -> Profile {
    let seen = side("aa", runs, cases, |_| 1.0, random);
    let found =
        aa(&seen, Profile::default(), "2026-11-20T13:40:00Z", &Thresholds::default(), false);
    found.expect("runs of one clean revision").profile
}

#[test]
fn with_one_run_per_side_the_stored_floor_keeps_false_alarms_away() {
    let profile = profile(RUNS, &cases(), &mut Random(99));
    let own = imagined(1, [0.03, 0.10], Some(&profile));
    let mut unknown = profile.clone();
    unknown.hosts.get_mut(HOST).expect("the machine").cases.clear();
    let pooled = imagined(1, [0.03, 0.10], Some(&unknown));
    let assumed = imagined(1, [0.03, 0.10], None);
    let few = [own, pooled, assumed].iter().flatten().all(|alarms| *alarms <= 1);
    assert!(few, "{own:?} {pooled:?} {assumed:?}");
}

#[test]
fn a_floor_of_nothing_would_see_regressions_everywhere() {
    // The tests above can fail: noise within the runs alone explains none of it.
    let cases = cases();
    let mut random = Random(5);
    let mut one = |name: &str| side(name, 1, &cases, |_| 1.0, &mut random);
    let comparison = compared(&one("a"), &one("b"), &at(0.01), Floors::Ignored);
    assert!(comparison.count(Verdict::Regressed) >= 5, "{}", comparison.count(Verdict::Regressed));
}

#[test]
fn a_regression_as_large_as_the_threshold_is_found_every_other_time() {
    let cases = cases();
    let mut random = Random(11);
    let (mut found, mut planted) = (0, 0);
    for _ in 0..20 {
        let a = side("main", RUNS, &cases, |_| 1.0, &mut random);
        let b = side("pr", RUNS, &cases, |_| 1.10, &mut random);
        found += compared(&a, &b, &at(0.10), Floors::Profile(None)).count(Verdict::Regressed);
        planted += cases.len();
    }
    let share = found as f64 / planted as f64;
    assert!((0.4..=0.6).contains(&share), "{share}");
}

/// A machine that others share: three runs of ten take 15 % longer, whatever is measured. The
/// medians are far from normal, which the rank-sum test does not mind.
#[test]
fn neighbours_cost_power_and_make_no_regressions() {
    let mut cases = cases();
    cases.iter_mut().for_each(|case| case.disturbed = 0.3);
    let mut random = Random(13);
    let mut tried = |runs: usize, slower: f64| {
        let mut found = 0;
        for _ in 0..10 {
            let a = side("main", runs, &cases, |_| 1.0, &mut random);
            let slower = |place: usize| if place.is_multiple_of(5) { slower } else { 1.0 };
            let b = side("pr", runs, &cases, slower, &mut random);
            found += compared(&a, &b, &at(0.03), Floors::Profile(None)).count(Verdict::Regressed);
        }
        found
    };
    let imagined = [8, 12].map(|runs| tried(runs, 1.0));
    let found = [8, 12].map(|runs| tried(runs, 1.10));
    println!("imagined {imagined:?} of 500, found {found:?} of 100 slower by 10 %");
    assert!(imagined.iter().all(|imagined| *imagined <= 1), "{imagined:?}");
    assert!(found[0] < found[1], "{found:?}");
}
