//! Other programs' formats: the parts of a step are series of their own.

use std::collections::HashSet;

use criterion_report::cli::writer::Writer;
use criterion_report::export;
use criterion_report::export::dashboard;
use criterion_report::export::github_action;
use criterion_report::model::Better;
use criterion_report::read::database::validate;
use serde_json::Value;

use crate::common::write;
use crate::training::ONE;
use crate::training::fixture::Fixture;

/// Metrics of each part that dashboards know, by the part's word.
#[test]
fn every_part_has_metrics_of_its_own() {
    let report = Fixture::of_training("train", ONE).training_report("/float8-tensorwise/");
    let text = write(&Writer::Dashboard(dashboard::Options::default()), &report);
    let records: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let names: Vec<&str> = records
        .as_array()
        .expect("records")
        .iter()
        .filter_map(|record| record["metric"]["name"].as_str())
        .collect();
    for pass in
        ["Training Fwd", "Bwd", "Fwd+Bwd", "Fwd+Bwd+SGD", "Fwd+Bwd+AdamW", "Casts", "Products"]
    {
        let speedups = names.iter().filter(|name| **name == format!("{pass} Speedup (x)"));
        assert_eq!(speedups.count(), 1, "{pass} in {names:?}");
    }
}

#[test]
fn the_database_takes_them() {
    let report = Fixture::of_training("train", ONE).training_report("");
    let text = write(&Writer::Dashboard(dashboard::Options::default()), &report);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("training.json");
    std::fs::write(&file, text).expect("written");
    let checked = validate(&[file]);
    assert_eq!((checked.files, &checked.unreadable[..]), (1, &[][..]));
    let findings: Vec<String> = checked.findings.iter().map(|it| format!("{it:?}")).collect();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn names_of_benchmarks_are_unique() {
    let report = Fixture::of_training("train", ONE).training_report("");
    let options = github_action::Options { better: Better::Smaller };
    let text = write(&Writer::Export(export::Format::GithubActionBenchmark(options)), &report);
    let entries: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let names: HashSet<&str> = entries.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names.len(), entries.len());
    let text = write(&Writer::Export(export::Format::Bmf), &report);
    let benchmarks: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(benchmarks.as_object().expect("benchmarks").len(), 28);
}
