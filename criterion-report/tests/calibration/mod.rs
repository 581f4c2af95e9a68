//! `calibration`: the profile of a machine, its file and its summary; and that the defects of the
//! original are not in them.

mod calls;
mod file;
mod peaks;
mod rows;
mod summary;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::common::{self, copied, err, fixture, report, stdout};
use criterion_report::read::{Location, Report, Selection};
use criterion_report::views::calibration::text::write;
use criterion_report::views::calibration::{
    FusionCalibration, OperationCalibration, OperationKey, OperationKind, PeakSource, Preset,
    Profile, Request, calibrate,
};
use insta::assert_snapshot;
use plan::{Device, Dtype, PatternFamily, Probe};
use serde_json::Value;

const ALL: &[OperationKind] =
    &[OperationKind::Matmul, OperationKind::Memory, OperationKind::Launch, OperationKind::Call];

const REQUEST: Request<'_> = Request {
    hardware: "Bench One",
    device: None,
    peak_gflops: None,
    peak_bandwidth: None,
    preset: None,
    operations: ALL,
    patterns: PatternFamily::ALL,
};

fn profile(request: &Request<'_>) -> Profile {
    calibrate(&report("calibration"), request).expect("a profile")
}

fn operation(probe: Probe, size: u64, threads: u32) -> OperationKey {
    OperationKey { probe, size, dtype: Dtype::Float32, device: Device::Cpu, threads }
}

fn found(profile: &Profile, probe: Probe, size: u64) -> &OperationCalibration {
    profile.operation(&operation(probe, size, 2)).expect("in the profile")
}

/// The fixture, its records of operations edited.
fn edited(edit: impl Fn(&str) -> String) -> (tempfile::TempDir, Report) {
    edited_in("calibration", edit)
}

/// The fixture, its records of a bench target edited.
fn edited_in(target: &str, edit: impl Fn(&str) -> String) -> (tempfile::TempDir, Report) {
    let folder = copied("calibration");
    let records = folder.path().join(format!("criterion-torch/new/{target}.jsonl"));
    let text = fs::read_to_string(&records).expect("readable");
    let lines: String = text.lines().map(|line| edit(line) + "\n").collect();
    assert_ne!(lines, text, "the edit changes something");
    fs::write(&records, lines).expect("written");
    let location = Location::at(folder.path().join("criterion"));
    let report = Report::read(&location, "new", Selection::default()).expect("readable");
    (folder, report)
}

/// Equal, but for the last digit that the JSON parser may get wrong.
fn alike(one: &Profile, other: &Profile) {
    fn compare(one: &Value, other: &Value) {
        match (one, other) {
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                one.iter().zip(other).for_each(|(one, other)| compare(one, other));
            }
            (Value::Object(one), Value::Object(other)) => {
                assert!(one.keys().eq(other.keys()), "{one:?} and {other:?}");
                one.values().zip(other.values()).for_each(|(one, other)| compare(one, other));
            }
            (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
                let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
                assert!((a - b).abs() <= 1e-15 * a.abs(), "{a} and {b}");
            }
            _ => assert_eq!(one, other),
        }
    }
    let value = |profile: &Profile| serde_json::to_value(profile).expect("serialises");
    compare(&value(one), &value(other));
}

fn run(args: &[&str]) -> Output {
    common::run(&[&["calibration"], args].concat())
}

fn run_on(fixture: &str, args: &[&str]) -> Output {
    common::run_on(fixture, &[&["calibration"], args].concat())
}

fn old(name: &str) -> PathBuf {
    PathBuf::from("tests/fixtures/profiles").join(name)
}
