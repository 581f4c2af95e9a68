//! The screen that answers, and what programs get of it.

use crate::common::{self, READABLE, made, many, report, write, write_on};
use clap::ColorChoice;
use criterion_report::model::{Location, Report, Selection};
use criterion_report::write::Writer;
use criterion_report::write::summary::{Format, Options};
use insta::assert_snapshot;
use serde_json::Value;

fn summary(format: Format) -> Writer {
    Writer::Summary(Options { format, color: ColorChoice::Auto })
}

fn is_one_screen(text: &str, what: &str) {
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(text.lines().count() <= 38 && widest <= 100, "{what}:\n{text}");
}

#[test]
fn every_question_has_its_answers() {
    for name in ["every-outcome", "packed-sibling", "fusion", "calibration"] {
        assert_snapshot!(format!("summary-{name}"), write(&summary(Format::Text), &report(name)));
    }
}

/// The profiled siblings spend half of their time on converting a weight.
#[test]
fn an_answer_has_its_reason() {
    let folder = made::profiled_siblings();
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    let text = write(&summary(Format::Text), &report);
    assert_snapshot!("summary-profiled", text);
    is_one_screen(&text, "profiled siblings");
    let document: Value =
        serde_json::from_str(&write(&summary(Format::Json), &report)).expect("JSON");
    let why = &document["answers"][0]["why"];
    assert_eq!(why["statement"]["statement"], "converts_weight");
    let share = why["statement"]["share"].as_f64().expect("a share");
    assert!((share - 0.5).abs() < 0.01, "{why}");
    assert!(why["full_id"].as_str().is_some_and(|id| id.contains("/int8wo/")), "{why}");
    let unprofiled = write(&summary(Format::Text), &common::report("two-siblings"));
    assert!(!unprofiled.contains("of the time"), "{unprofiled}");
}

#[test]
fn it_is_one_screen_of_any_results() {
    for name in READABLE {
        is_one_screen(&write(&summary(Format::Text), &report(name)), name);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let criterion = many::write_baselines(folder.path(), 1000, &["new"]);
    let report = Report::read(&Location::at(criterion), "new", Selection::default());
    let report = report.expect("readable");
    let text = write(&summary(Format::Text), &report);
    is_one_screen(&text, "a thousand cases");
    assert!(text.contains(" more: `show`") && text.contains(" more: `operators`"), "{text}");
    let narrow = write_on(Some(60), &summary(Format::Text), &report);
    assert!(narrow.lines().count() <= 60, "{narrow}");
}

#[test]
fn markdown_has_the_same_answers() {
    assert_snapshot!(write(&summary(Format::Markdown), &report("packed-sibling")));
}

#[test]
#[cfg(feature = "schema")]
fn every_document_is_as_its_schema_says() {
    let schema = std::fs::read_to_string("schema/summary-v1.schema.json");
    let schema = serde_json::from_str(&schema.expect("readable")).expect("JSON");
    let schema = jsonschema::draft202012::new(&schema).expect("a schema");
    for name in READABLE {
        let target =
            criterion_report::write::Target { colour_terminal: false, width: None, file: None };
        let written = common::text_and_notes(&summary(Format::Json), &report(name), target);
        let document = serde_json::from_str(&written.expect(name).0).expect("JSON");
        let errors: Vec<String> =
            schema.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn programs_get_all_of_it() {
    let text = write(&summary(Format::Json), &report("fusion"));
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["schema"], "criterion-torch/summary");
    let answers = document["answers"].as_array().expect("a list");
    let fuse: Vec<_> = answers.iter().map(|it| (&it["subject"], &it["answer"])).collect();
    assert_eq!(fuse.len(), 2, "{fuse:?}");
    assert_eq!(fuse[1], (&"full_attention".into(), &"fuse".into()));
    assert_eq!(answers[1]["pays"], true);
    assert_eq!(answers[1]["cases"], 2);
    let low = answers[1]["speedup_low"].as_f64().expect("a number");
    assert!(low > 2.9 && low < 3.0, "{low}");
}
