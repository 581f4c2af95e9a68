//! Whether a run is in progress, ended or died, and which one was the last: by its lock and its files,
//! whatever the clock says.

use std::fs::{self, File};

use crate::common::copied;
use criterion_report::read::{Location, Report, Selection};
use tempfile::TempDir;

const RUN: &str = "20261120T134000Z-4242";

fn report(folder: &TempDir) -> Report {
    let location = Location::at(folder.path().join("criterion"));
    Report::read(&location, "new", Selection::default()).expect("records")
}

/// The reasons of what has no record of the last run, by variant.
fn reasons(report: &Report) -> Vec<String> {
    let variant = |id: &str| id.split('/').nth(4).expect("a variant").to_owned();
    let unmeasured = report.unmeasured();
    unmeasured.iter().map(|(id, why)| format!("{}: {why}", variant(id))).collect()
}

/// The lock that the harness leaves, and holds while its run is in progress.
fn lock(folder: &TempDir, text: &str) -> File {
    let path = folder.path().join("criterion-torch/lock");
    fs::write(&path, text).expect("written");
    File::open(path).expect("readable")
}

fn held_by(run_id: &str) -> String {
    format!(r#"{{"pid":17,"run_id":"{run_id}","target":"inference","started":1795181900}}"#)
}

#[test]
fn the_run_that_holds_the_lock_is_in_progress() {
    let folder = copied("unreached-cases");
    let died = [
        format!(
            "int8wo: run {RUN} ended before it reached this case; this is from run 20261119T090000Z-17"
        ),
        format!("int8dq: run {RUN} ended while this case was running"),
        format!("int4wo-32: run {RUN} ended before it reached this case"),
    ];
    assert_eq!(reasons(&report(&folder)), died, "no lock: results of an earlier version");
    let file = lock(&folder, &held_by(RUN));
    assert_eq!(reasons(&report(&folder)), died, "nobody holds it");
    file.lock().expect("locked");
    let not_yet = format!("run {RUN} is in progress and has not reached this case yet");
    let held = report(&folder);
    assert_eq!(
        reasons(&held),
        [
            format!("int8wo: {not_yet}; this is from run 20261119T090000Z-17"),
            format!("int8dq: run {RUN} is in progress, at this case"),
            format!("int4wo-32: {not_yet}"),
        ]
    );
    assert_eq!(held.unreadable, Vec::<String>::new());
    let other = lock(&folder, &held_by("another-run"));
    assert_eq!(reasons(&report(&folder)), died, "another run holds it");
    drop(other);
    file.unlock().expect("unlocked");
    assert_eq!(reasons(&report(&folder)), died);
}

#[test]
fn a_lock_that_names_nobody_is_an_error_while_it_is_held() {
    let folder = copied("unreached-cases");
    let file = lock(&folder, "");
    assert_eq!(report(&folder).unreadable, Vec::<String>::new());
    file.lock().expect("locked");
    let unreadable = report(&folder).unreadable;
    let [line] = unreadable.as_slice() else { panic!("{unreadable:?}") };
    assert!(
        line.contains("criterion-torch/lock: a run is in progress, and this does not say which")
    );
}

#[test]
fn reading_leaves_the_lock_as_it_is() {
    let folder = copied("unreached-cases");
    let path = folder.path().join("criterion-torch/lock");
    report(&folder);
    assert!(!path.exists(), "it is not made");
    let file = lock(&folder, &held_by(RUN));
    report(&folder);
    assert_eq!(fs::read_to_string(&path).expect("readable"), held_by(RUN));
    file.try_lock().expect("no report holds it");
}

/// The run with the records began, by the clock, before one that had ended by then.
#[test]
fn a_clock_that_was_set_back_makes_no_ended_run_the_last() {
    let folder = copied("two-siblings");
    let runs = folder.path().join("criterion-torch/runs");
    let text = fs::read_to_string(runs.join(format!("{RUN}.json"))).expect("readable");
    let later =
        text.replace(RUN, "ahead").replace("17951819", "18951819").replace("17951820", "18951820");
    assert_ne!(later.replace("ahead", RUN), text);
    let later = later.replace(
        "\"inference/quick/linear/cpu/int8wo",
        "\"inference/quick/linear/cpu/fp6/bf16-1024x1024x1024\", \"inference/quick/linear/cpu/int8wo",
    );
    fs::write(runs.join("ahead.json"), later).expect("written");
    let report = report(&folder);
    let latest = report.runs.latest("inference").expect("a run");
    assert_eq!(latest.run_id, RUN);
    assert_eq!(
        reasons(&report),
        ["fp6: run ahead ended, and there is no record of this case any more"]
    );
    assert!(report.entries().all(|entry| entry.row.outdated.is_none() && entry.row.run_place == 2));
    assert_eq!(report.earlier, 0);
}

#[test]
fn a_case_that_moved_to_another_bench_target_has_its_newer_record() {
    let folder = copied("earlier-runs");
    let records = folder.path().join("criterion-torch/new");
    let text = fs::read_to_string(records.join("inference.jsonl")).expect("readable");
    let earlier = text.lines().next().expect("a record");
    let of_run = |run_id: &str| {
        let report = report(&folder);
        report.entries().filter(|entry| entry.row.record.run_id == run_id).count()
    };
    // Its file is read after the other's, so the moments have to decide.
    for (timestamp, expected) in [("1795000000", 0), ("1795100000", 1)] {
        let moved = earlier
            .replace("20261119T090000Z-17", "torch-1")
            .replace("\"timestamp\":1795078800", &format!("\"timestamp\":{timestamp}"));
        assert_ne!(moved, earlier);
        fs::write(records.join("torch.jsonl"), moved + "\n").expect("written");
        assert_eq!(of_run("torch-1"), expected, "{timestamp}");
    }
}
