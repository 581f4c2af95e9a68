//! Our dashboard files against the known traps of the database: what its uploader, its columns and
//! its dashboards do in silence. Independent of the writer's own types and checks.

use std::collections::HashSet;
use std::process::{Command, Stdio};

use crate::common::{self, READABLE, report, text_and_notes};
use criterion_report::cli::writer::Writer;
use criterion_report::export::dashboard;
use criterion_report::views::written::Target;
use serde_json::Value;

fn text(name: &str, options: dashboard::Options) -> Option<String> {
    let target = Target { colour_terminal: false, width: None, file: None };
    text_and_notes(&Writer::Dashboard(options), &report(name), target).ok().map(|(text, _)| text)
}

fn records(name: &str) -> Vec<Value> {
    let text = text(name, dashboard::Options::default()).unwrap_or_else(|| "[]".to_owned());
    serde_json::from_str(&text).expect("strict JSON")
}

/// Calls `visit` with every record of every readable fixture.
fn every(mut visit: impl FnMut(&str, &Value)) {
    let mut seen = 0;
    for name in READABLE {
        for record in records(name) {
            visit(name, &record);
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} records");
}

#[test]
fn only_known_keys_at_the_top_and_all_that_are_required() {
    every(|name, record| {
        let keys: HashSet<&str> =
            record.as_object().expect("an object").keys().map(String::as_str).collect();
        let known = ["benchmark", "model", "metric", "runners", "dependencies"];
        assert_eq!(keys, HashSet::from(known), "{name}");
        for path in [
            "/benchmark/name",
            "/benchmark/mode",
            "/benchmark/dtype",
            "/model/name",
            "/metric/name",
        ] {
            let value = record.pointer(path).and_then(Value::as_str).unwrap_or_default();
            assert!(!value.is_empty(), "{name}: {path}");
        }
    });
}

#[test]
fn runners_and_dependencies_are_filled() {
    every(|name, record| {
        assert!(!record["runners"].as_array().expect("a list").is_empty(), "{name}");
        assert!(!record["dependencies"]["torch"]["version"].as_str().unwrap_or("").is_empty());
        assert!(!record["dependencies"]["tch"]["version"].as_str().unwrap_or("").is_empty());
        assert!(record["runners"][0]["cpu_count"].is_u64(), "{name}");
        assert!(record["runners"][0]["avail_mem_in_gb"].is_u64(), "{name}");
    });
}

#[test]
fn maps_hold_strings_only() {
    fn check(value: &Value, inside_map: bool, name: &str) {
        match value {
            Value::Object(fields) => {
                assert!(!inside_map, "{name}: a nested object in extra_info");
                fields.iter().for_each(|(key, value)| {
                    if key == "extra_info" {
                        let map = value.as_object().expect("extra_info is a map");
                        map.values().for_each(|value| check(value, true, name));
                    } else {
                        check(value, false, name);
                    }
                });
            }
            Value::Array(items) => items.iter().for_each(|item| check(item, inside_map, name)),
            other => assert!(!inside_map || other.is_string(), "{name}: {other} in extra_info"),
        }
    }
    every(|name, record| check(record, false, name));
}

#[test]
fn values_are_positive_and_survive_32_bits() {
    every(|name, record| {
        let values = record["metric"]["benchmark_values"].as_array().expect("a list");
        assert!(!values.is_empty(), "{name}");
        for value in values {
            let value = value.as_f64().expect("a number");
            let stored = f64::from(value as f32);
            assert!(stored > 0.0 && stored.is_finite(), "{name}: {value}");
            assert!(
                (stored - value).abs() <= value * 1e-6,
                "{name}: {value} is stored as {stored}"
            );
        }
        assert!(record["metric"]["target_value"].is_f64(), "{name}");
    });
}

/// Dashboards show `floor(value, 2 decimals)`.
#[test]
fn three_digits_of_every_time_survive_in_microseconds() {
    let mut seen = 0;
    every(|name, record| {
        let metric = record["metric"]["name"].as_str().expect("a name");
        if metric.contains("Time (us)") {
            let value = record["metric"]["benchmark_values"][0].as_f64().expect("a number");
            let shown = (value * 100.0).floor() / 100.0;
            assert!(shown >= 1.0 && (value - shown) / value < 0.01, "{name}: {value}");
            seen += 1;
        }
    });
    assert!(seen > 5, "only {seen} times");
}

#[test]
fn no_two_records_are_one_series() {
    for name in READABLE {
        let mut series = HashSet::new();
        for record in records(name) {
            let part = |path: &str| record.pointer(path).map(Value::to_string).unwrap_or_default();
            let identity: Vec<String> = [
                "/benchmark/dtype",
                "/benchmark/extra_info/arch",
                "/benchmark/extra_info/device",
                "/model/backend",
                "/metric/name",
                "/benchmark/mode",
                "/model/name",
                "/benchmark/extra_info/use_compile",
            ]
            .map(part)
            .into();
            assert!(series.insert(identity.clone()), "{name}: {identity:?}");
        }
    }
}

#[test]
fn what_dashboards_fall_back_on_is_there() {
    every(|name, record| {
        let info = &record["benchmark"]["extra_info"];
        for key in ["device", "arch", "use_compile", "compile", "torch_compile_mode"] {
            assert!(info[key].as_str().is_some_and(|text| !text.is_empty()), "{name}: {key}");
        }
        assert_eq!(info["compile"], info["use_compile"], "{name}");
    });
}

#[test]
fn failures_are_records_without_a_time() {
    let failed: Vec<Value> = records("every-outcome")
        .into_iter()
        .filter(|record| !record["benchmark"]["extra_info"]["failure_type"].is_null())
        .collect();
    let types: Vec<&str> = failed
        .iter()
        .map(|record| {
            assert_eq!(record["metric"]["name"], "FAILURE_REPORT");
            record["benchmark"]["extra_info"]["failure_type"].as_str().expect("a word")
        })
        .collect();
    assert_eq!(
        types,
        ["unsupported", "failed", "oom", "timeout", "unsupported", "unsupported", "unsupported"]
    );
}

#[test]
fn one_record_per_line_holds_the_same_records() {
    let list = records("every-outcome");
    let options = dashboard::Options { jsonl: true, ..Default::default() };
    let text = text("every-outcome", options).expect("written");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("strict JSON")).collect();
    assert_eq!(list, lines);
}

/// If python3 is at hand, it is the judge of "byte for byte".
#[test]
fn upstreams_forms_are_what_python_dumps() {
    let program = "import json, sys; json.dump(json.load(sys.stdin), sys.stdout, indent=2)";
    for (torchao_compat, seed_format) in [(true, false), (false, true)] {
        let options = dashboard::Options { torchao_compat, seed_format, jsonl: false };
        let text = text("two-siblings", options).expect("written");
        let child = Command::new("python3")
            .args(["-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            common::skip::tool("no python3");
            return;
        };
        let mut input = child.stdin.take().expect("it is piped");
        std::io::Write::write_all(&mut input, text.as_bytes()).expect("python3 reads it");
        drop(input);
        let output = child.wait_with_output().expect("python3 ends");
        assert_eq!(String::from_utf8(output.stdout).expect("text"), text);
    }
}
