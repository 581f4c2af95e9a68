//! From which difference on a case is another.

use std::fs;

use criterion_report::compare::{Limits, Measure, Point, Verdict};

use crate::compare::folder::*;
use crate::compare::sides::{compared_at, memory, point};

#[test]
fn thresholds_come_from_a_file_and_flags_come_before_it() {
    let folder = Folder::new();
    let slower = |_| main_branch(0).takes("reduction", 1_250_000);
    folder.save("main", 0, main_branch).save("pr", 0, slower);
    let file = folder.path("thresholds.yml");
    fs::write(&file, "latency: 0.3\nrules:\n- { filter: gemv, latency: 0.5 }\n").expect("written");
    let limit = |args: &[&str]| {
        let given = [&["compare", "main", "pr", "--thresholds", "thresholds.yml"], args].concat();
        folder.json(&given)["thresholds"]["latency"].as_f64().expect("a number")
    };
    assert_eq!(limit(&[]), 0.3);
    assert_eq!(limit(&["--latency-threshold", "0.2"]), 0.2);
    fs::write(&file, "latency: 0.3\nrule: []\n").expect("written");
    let said = folder.stderr(2, &["compare", "main", "pr", "--thresholds", "thresholds.yml"]);
    assert!(said.contains("thresholds.yml: ") && said.contains("line 2 column 1"), "{said}");
    let said = folder.stderr(2, &["compare", "main", "pr", "--latency-threshold", "-1"]);
    assert!(said.contains("a threshold is a number of 0 or more"), "{said}");
}

#[test]
fn rules_come_before_flags_and_these_before_general_values() {
    let folder = Folder::new();
    folder.save("main", 0, main_branch).save("pr", 0, branch);
    let text = "latency: 0.3\nmemory: 0.2\nenergy: 0.4\nrules:\n\
                - { filter: gemv|scan, latency: 0.5 }\n- { filter: scan, latency: 0.6, memory: 0.7 }\n\
                - { filter: gemv, memory: 0.8 }\n- { filter: gevm, latency: 9 }\n";
    fs::write(folder.path("thresholds.yml"), text).expect("written");
    let file = ["compare", "main", "pr", "--thresholds", "thresholds.yml"];
    let flags = ["--latency-threshold", "0.01", "--memory-threshold", "0.02"];
    let document = folder.json(&[&file[..], &flags].concat());
    let limit = |case: &str, measure: &str| {
        let cases = document["cases"].as_array().expect("cases");
        let case = cases.iter().find(|it| it["full_id"].as_str().expect("an id").contains(case));
        let measures = case.expect("the case")["measures"].as_array().expect("measures");
        let found = measures.iter().find(|it| it["measure"] == measure).expect("the measure");
        found["threshold"].as_f64().expect("a number")
    };
    for (case, measure, expected) in [
        ("stencil", "time", 0.01),
        ("stencil", "memory", 0.02),
        ("stencil", "accuracy", 1e-3),
        ("gemv", "time", 0.5),
        ("gemv", "memory", 0.8),
        ("scan", "time", 0.6),
        ("scan", "memory", 0.7),
    ] {
        assert_eq!(limit(case, measure), expected, "{case} {measure}");
    }
    let general = &document["thresholds"];
    assert_eq!((&general["latency"], &general["energy"]), (&0.01.into(), &0.4.into()));
    // A slip in a filter is of no effect, and said.
    let said = folder.stderr(0, &file);
    let idle = "--thresholds thresholds.yml: the filter `gevm` matches no case of either side";
    assert_eq!(said.matches("matches no case").count(), 1, "{said}");
    assert!(said.contains(idle), "{said}");
}

#[test]
fn a_file_of_thresholds_says_where_it_is_wrong() {
    let folder = Folder::new();
    folder.save("main", 0, main_branch).save("pr", 0, branch);
    for (text, says) in [
        ("latenzy: 0.1", "unknown field `latenzy`"),
        ("rules: [{ filter: a, speed: 1 }]", "unknown field `speed`"),
        (
            "rules: [{ filter: 'a(b' }]",
            "the filter `a(b` is not a regular expression: unclosed \
                                        group",
        ),
        ("memory: -0.1", "a threshold is a number of 0 or more"),
        ("memory: 5 %", "line 1"),
    ] {
        fs::write(folder.path("thresholds.yml"), text).expect("written");
        let said = folder.stderr(2, &["compare", "main", "pr", "--thresholds", "thresholds.yml"]);
        assert!(said.starts_with("error: --thresholds: thresholds.yml: "), "{said}");
        assert!(said.contains(says) && said.contains("line 1"), "{text}: {said}");
        assert!(said.contains("it takes `latency`, `memory`"), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}

#[test]
fn what_differs_by_just_the_threshold_is_not_beyond_it() {
    // 5 % of so many bytes is a whole number, which the product of the two need not be.
    for percent in [3, 5, 7, 10, 15, 20, 35] {
        for hundreds in (1..2000).chain([123_456_789, 1 << 40]) {
            let before = 100 * hundreds;
            let after = (100 + percent) * hundreds;
            let limits = Limits { memory: percent as f64 / 100.0, ..Limits::default() };
            let verdict = |a: u64, b: u64| {
                let of = |peak| vec![Point { memory: Some(memory(peak)), ..point(100.0) }];
                let found = compared_at(limits, of(a), of(b));
                found.of_measure(Measure::Memory).expect("memory").verdict
            };
            assert_eq!(verdict(before, after), Verdict::Equivalent, "{percent} % of {before}");
            assert_eq!(verdict(after, before), Verdict::Equivalent, "{percent} % of {before}");
            if hundreds < 1 << 32 {
                assert_eq!(
                    verdict(before, after + 1),
                    Verdict::Regressed,
                    "{before} to {after} + 1"
                );
                assert_eq!(
                    verdict(after + 1, before),
                    Verdict::Improved,
                    "{after} + 1 to {before}"
                );
            }
        }
    }
}

#[test]
fn a_drift_of_just_the_threshold_is_none() {
    let folder = Folder::new();
    let with = |error: f64| {
        move |_| {
            main_branch(0).edit("scan", |it| {
                it.record.accuracy.as_mut().expect("measured").relative_error =
                    plan::JsonFloat(error);
            })
        }
    };
    folder.save("main", 0, with(1e-4));
    for (error, code) in [(1.1e-3, 0), (1.11e-3, 1)] {
        folder.save("pr", 0, with(error));
        folder.stderr(code, &["compare", "main", "pr", "--fail-on", "accuracy"]);
    }
    folder.save("pr", 0, with(1.11e-3));
    let lenient = ["--fail-on", "accuracy", "--accuracy-threshold", "0.0011"];
    folder.stderr(0, &[&["compare", "main", "pr"][..], &lenient].concat());
    let limits = Limits::default();
    for tenths in 0..500 {
        let error = |tenths: u32| -> f64 { format!("{tenths}e-4").parse().expect("a number") };
        let of = |error: f64| vec![Point { relative_error: Some(error), ..point(100.0) }];
        let verdict = |a: f64, b: f64| {
            let found = compared_at(limits, of(a), of(b));
            found.of_measure(Measure::Accuracy).expect("accuracy").verdict
        };
        let (a, b) = (error(tenths), error(tenths + 10));
        assert_eq!(
            (verdict(a, b), verdict(b, a)),
            (Verdict::Equivalent, Verdict::Equivalent),
            "{a}"
        );
        assert_eq!(verdict(a, b + 1e-9), Verdict::Regressed, "{a}");
    }
}
