//! Every export with the options that all commands have: what is written, where to, and how it ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// All but `otava`, whose text names the folder that it also writes.
const EXPORTS: [&str; 7] = [
    "json",
    "jsonl",
    "critcmp",
    "markdown",
    "bmf",
    "github-action-benchmark --better smaller",
    "github-action-benchmark --better bigger",
];

fn program(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_criterion-report"));
    command.arg("export").args(arguments.split(' ')).env_remove("CRITERION_HOME");
    command
}

/// The written output, and the exit code.
fn run(arguments: &str) -> (String, Option<i32>) {
    let Output { stdout, status, .. } = program(arguments).output().expect("the program starts");
    (String::from_utf8(stdout).expect("text"), status.code())
}

fn criterion_dir(fixture: &str) -> String {
    format!("--criterion-dir {}/criterion", crate::common::fixture(fixture).display())
}

/// Every export, and `otava` with a folder of its own.
fn exports(folder: &Path) -> Vec<String> {
    let otava = format!("otava --history {}", folder.join("history").display());
    EXPORTS.iter().map(|export| (*export).to_owned()).chain([otava]).collect()
}

#[test]
fn a_gate_or_unreadable_input_says_so_and_all_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for export in exports(folder.path()) {
        for (fixture, code) in [("every-outcome", 1), ("torn-line-then-more", 2)] {
            let (plain, found) = run(&format!("{export} {}", criterion_dir(fixture)));
            assert_eq!(found, Some(if code == 2 { 2 } else { 0 }), "{export} of {fixture}");
            let (strict, found) = run(&format!("{export} {} --strict", criterion_dir(fixture)));
            assert_eq!(found, Some(code), "{export} of {fixture}");
            assert_eq!(strict, plain, "{export} of {fixture}");
            assert!(plain.len() > 100, "{export} of {fixture}: {plain}");
        }
        let (_, found) =
            run(&format!("{export} {} --filter int4wo", criterion_dir("two-siblings")));
        assert_eq!(found, Some(2), "{export} of no case");
    }
}

#[test]
fn what_is_left_out_by_name_or_by_age_is_in_no_export() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for export in exports(folder.path()) {
        for (fixture, option, stays, goes) in [
            ("two-siblings", "--filter int8wo", "int8wo/", "baseline/"),
            ("earlier-runs", "--latest", "int8wo/", "baseline/"),
        ] {
            // The documents keep what others are compared with, and say that it is not shown.
            let is_whole = export.starts_with("json");
            let (whole, _) = run(&format!("{export} {}", criterion_dir(fixture)));
            let (part, found) = run(&format!("{export} {} {option}", criterion_dir(fixture)));
            assert_eq!(found, Some(0), "{export} {option}");
            // A baseline alone may have no value of which more is better.
            assert!(whole.contains(goes) && part.contains(stays), "{export} {option}: {part}");
            assert_eq!(part.contains(goes), is_whole, "{export} {option}: {part}");
            assert!(!is_whole || part.contains(r#""shown":false"#), "{export} {option}");
        }
    }
}

#[test]
fn a_file_a_pipe_and_an_exported_report_have_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = folder.path().join("report.json");
    let (text, _) = run(&format!("json {}", criterion_dir("every-outcome")));
    fs::write(&report, text).expect("written");
    let file = folder.path().join("out");
    for export in exports(folder.path()) {
        let from = criterion_dir("every-outcome");
        let (piped, _) = run(&format!("{export} {from}"));
        let (again, code) = run(&format!("{export} --from {}", report.display()));
        assert_eq!(code, Some(0), "{export}");
        assert!(again == piped, "{export}: {again}\n\n{piped}");
        let (nothing, code) = run(&format!("{export} {from} --output {}", file.display()));
        assert_eq!((nothing.as_str(), code), ("", Some(0)), "{export}");
        assert!(fs::read_to_string(&file).expect("written") == piped, "{export}");
        let (_, code) = run(&format!("{export} --from {} --baseline main", report.display()));
        assert_eq!(code, Some(2), "{export}: of which results?");
    }
}

#[test]
fn a_full_disk_is_said_with_the_name_of_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for export in exports(folder.path()) {
        let arguments = format!("{export} {} --output /dev/full", criterion_dir("every-outcome"));
        let output = program(&arguments).output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{export}: {said}");
        assert!(said.contains("error: cannot write /dev/full: "), "{export}: {said}");
    }
}

/// Whoever reads the beginning has what it wanted.
#[test]
fn a_pipe_may_be_closed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for export in exports(folder.path()) {
        let mut child = program(&format!("{export} {}", criterion_dir("every-outcome")))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{export}: {said}");
        assert!(!said.contains("error"), "{export}: {said}");
    }
}
