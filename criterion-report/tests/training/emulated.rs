//! Emulated rows: no report shows a speed-up of them, even where a record has a pair.

use clap::ColorChoice;
use criterion_report::cli::writer::Writer;
use criterion_report::export;
use criterion_report::export::{csv, dashboard};
use criterion_report::model::Field;
use criterion_report::views::Answers;
use criterion_report::views::summary;
use serde_json::Value;

use crate::common::write;
use crate::training::fixture::Fixture;
use crate::training::{JSON, MAP, ONE, TABLE};

#[test]
fn they_have_no_speedup_and_no_rate_whatever_the_record_holds() {
    let report = Fixture::of_training("train", ONE).training_report("");
    let emulated = || report.entries().filter(|entry| entry.row.is_emulated());
    assert_eq!(emulated().count(), 7, "one for each part");
    for entry in emulated() {
        assert!(!entry.row.record.pairs.is_empty(), "the record has one");
        for name in ["speedup", "speedup-over-unquantized", "speedup-over-eager", "gflops"] {
            let field = Field::named(name).expect("a field");
            assert_eq!(field.value(&entry), None, "{name}");
        }
        let speedup = Field::named("speedup").expect("a field").absent(&entry);
        assert!(speedup.is_some_and(|why| why.starts_with("emulated: ")));
    }
    let others = report.entries().filter(|it| !it.row.is_emulated() && !it.row.is_baseline());
    for entry in others {
        assert!(Field::named("speedup").expect("a field").value(&entry).is_some());
    }
}

#[test]
fn they_pay_nowhere() {
    // Eager float8 loses at this shape; a faster emulation must not win.
    let fixture = Fixture::of_training("train", ONE).takes("float8-rowwise", 1_000);
    let report = fixture.training_report("");
    let answers = Answers::new(&report);
    assert!(!answers.answers.is_empty());
    for answer in answers.answers {
        assert!(!answer.variant.contains("rowwise"), "{answer:?}");
        assert!(answer.subject.starts_with("linear-forward_backward "), "{answer:?}");
    }
}

#[test]
fn no_text_has_a_speedup_of_them() {
    let report = Fixture::of_training("train", ONE).training_report("");
    let table = write(&TABLE, &report);
    let lines = table.lines().filter(|line| line.contains("float8-rowwise"));
    for line in lines.skip(1) {
        assert!(!line.contains('×'), "{line}");
    }
    assert!(table.contains("emulated: its products run dequantized"), "{table}");
    assert!(write(&MAP, &report).contains("float8-rowwise+emulated: emulated: "));
    let document: Value = serde_json::from_str(&write(&JSON, &report)).expect("JSON");
    let results = document["results"].as_array().expect("results");
    for result in results.iter().filter(|it| it["emulated"] == true) {
        assert_eq!(result["gflops"], Value::Null);
        for (pass, of) in result["passes"].as_object().expect("passes") {
            assert_eq!(of["speedup"], Value::Null, "{pass}");
            assert!(of["no_speedup"].as_str().is_some_and(|it| it.starts_with("emulated: ")));
        }
    }
}

#[test]
fn no_export_has_a_speedup_of_them() {
    let report = Fixture::of_training("train", ONE).training_report("emulated");
    let summary = summary::Options { format: summary::Format::Json, color: ColorChoice::Auto };
    assert!(!write(&Writer::Summary(summary), &report).contains("speedup_factor\": 1"));
    let metrics = write(&Writer::Dashboard(dashboard::Options::default()), &report);
    assert!(!metrics.contains("Speedup"), "{metrics}");
    let bmf = write(&Writer::Export(export::Format::Bmf), &report);
    assert!(!bmf.contains("speedup"), "{bmf}");
    let cases = csv::Options { raw: true, ..csv::Options::default() };
    let text = write(&Writer::Csv(cases), &report);
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    let speedups = (0..heading.len()).filter(|&at| heading[at].starts_with("speedup"));
    let speedups: Vec<usize> = speedups.collect();
    for line in lines {
        // Texts with commas stand behind these columns.
        let cells: Vec<&str> = line.split(',').collect();
        for &at in speedups.iter().filter(|at| **at < 20) {
            assert_eq!(cells[at], "", "{}", heading[at]);
        }
    }
}
