//! Compiled cases in the report's model: what they are compared with, and how that is known.

use std::fs;

use crate::common::{self, fixture, report};
use criterion_report::model::{Comparison, Entry, GainSource, VarianceComponents};
use criterion_report::read::{Location, Report, Selection};

fn entry<'a>(report: &'a Report, variant: &str) -> Entry<'a> {
    report
        .entries()
        .find(|entry| entry.row.record.case.id.variant == variant)
        .expect("the fixture has this variant")
}

/// The fixture's records of models, changed.
fn rewritten(change: impl Fn(&str) -> String) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let records = folder.path().join("criterion-torch/new");
    fs::create_dir_all(&records).expect("writable");
    let from = fixture("compiled-modes").join("criterion-torch/new/inference.jsonl");
    let text = fs::read_to_string(from).expect("readable");
    fs::write(records.join("inference.jsonl"), change(&text)).expect("writable");
    let location = Location::at(folder.path().join("criterion"));
    Report::read(&location, "new", Selection::default()).expect("readable")
}

#[test]
fn compiled_cases_are_compared_with_their_eager_twins_and_the_compiled_baseline() {
    let report = report("compiled-modes");
    let entry = |variant: &str| entry(&report, variant);
    let gain = |compared: Option<&Comparison>| compared?.gain.as_ref().ok().copied();
    let over = |compared: Option<&Comparison>| Some(gain(compared)?.source.word());
    for (variant, quantization, compilation) in [
        ("int8wo", Some("pairs"), None),
        ("baseline+compile", None, Some("pairs")),
        ("int8wo+max-autotune", Some("quotient"), Some("quotient")),
        ("int8dq+compile", None, None),
        ("unfused+compile", Some("pairs"), Some("pairs")),
        ("aten-composed", Some("pairs"), None),
        ("aten-composed+compile", Some("pairs"), Some("quotient")),
    ] {
        let entry = entry(variant);
        assert_eq!(over(entry.quantization), quantization, "{variant}");
        assert_eq!(over(entry.compilation), compilation, "{variant}");
    }
    // Each with its own mode.
    let autotuned = entry("int8wo+max-autotune");
    let other = autotuned.unquantized.expect("it has a row").record.case.id.variant.clone();
    assert_eq!(other, "baseline+max-autotune");
    // A direct measurement of the two is taken.
    let direct = common::report("compiled");
    let direct = gain(self::entry(&direct, "int8wo+max-autotune").quantization).expect("a pair");
    let levels = VarianceComponents::default();
    assert_eq!((direct.ratio, direct.source), (2.02217, GainSource::Pairs { blocks: 18, levels }));
}

#[test]
fn a_quotient_of_two_runs_is_pointed_out() {
    let report = rewritten(|text| {
        let lines =
            text.lines().map(|line| match line.contains("\"variant\":\"baseline+compile\"") {
                true => line.replace("20261120T134000Z-4242", "20261121T080000Z-7"),
                false => line.to_owned(),
            });
        lines.collect::<Vec<_>>().join("\n")
    });
    let said = |variant: &str| {
        let cautions = entry(&report, variant).cautions();
        cautions
            .iter()
            .any(|caution| caution.to_string().contains("is derived from pairs of two runs"))
    };
    assert!(said("int8wo+compile"));
    assert!(!said("int8wo+max-autotune"));
}

/// Cases that were measured later stand at the end of the file.
#[test]
fn compiled_cases_stand_behind_their_eager_twins_whenever_they_were_measured() {
    let report = rewritten(|text| {
        let (compiled, eager): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.contains("\"compile\":"));
        [eager, compiled].concat().join("\n")
    });
    let variants: Vec<&str> =
        report.entries().map(|entry| entry.row.record.case.id.variant.as_str()).collect();
    let expected = [
        "baseline",
        "baseline+compile",
        "baseline+max-autotune",
        "int8wo",
        "int8wo+packed",
        "int8wo+compile",
        "int8wo+max-autotune",
        "int8dq",
        "int8dq+compile",
        "int8dq+max-autotune",
    ];
    assert_eq!(variants, expected);
}

/// A missing twin leaves the comparison empty, with the reason: no quotient of two times.
#[test]
fn without_the_eager_twin_there_is_no_speedup_over_it() {
    let report = rewritten(|text| {
        let others = text.lines().filter(|line| !line.contains("\"variant\":\"int8wo\""));
        others.collect::<Vec<_>>().join("\n")
    });
    let compiled = entry(&report, "int8wo+compile");
    let why = compiled.compilation.expect("it is compared").gain.as_ref().unwrap_err();
    let expected =
        "it was not measured in pairs with `int8wo`; measure it again with `cargo bench`";
    assert_eq!(why.to_string(), expected);
    assert!(compiled.quantization.expect("it is compared").gain.is_ok());
}
