//! `bench`, `test`, `doctor` and the command line, with a cargo that only writes down its arguments.
#![cfg(unix)]

#[allow(dead_code, reason = "each test program uses its own part")]
#[path = "../common/mod.rs"]
mod common;
mod doctor;
mod kernels;
mod torchao;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Outcome, Scratch};

const REPORT: &str = "run --quiet --release --package criterion-report -- show";
const PROGRAM: &str = "run --quiet --release --package criterion-report --";

/// The arguments of each run of cargo; all were in the folder of the clone.
fn calls(scratch: &Scratch) -> Vec<String> {
    let place = format!("{}: ", scratch.clone_dir().display());
    scratch
        .log("cargo-calls")
        .iter()
        .map(|call| call.strip_prefix(&place).expect("cargo runs in the root").to_owned())
        .collect()
}

fn provisioned() -> Scratch {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    scratch
}

#[test]
fn bench_measures_and_then_reports() {
    let scratch = provisioned();
    let mut bench = scratch.xtask(&["bench", "--bench", "inference", "--", "int8wo"]);
    bench.current_dir(scratch.clone_dir().join("crates/inner")).env("LIBTORCH", scratch.link());
    let outcome = Outcome::of(bench);
    outcome.assert_fine();
    assert_eq!(outcome.stderr, "", "setup had nothing to do, and says nothing");
    assert_eq!(calls(&scratch), ["bench --bench inference -- int8wo", REPORT]);
    let expected = format!("LIBTORCH={}", scratch.link().display());
    assert!(scratch.log("cargo-environment").iter().all(|line| *line == expected));
}

#[test]
fn bench_provisions_first() {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    fs::remove_file(scratch.link()).expect("unlink");
    // No --cpu here: on a machine with a driver this takes the other flavour, and links it as well.
    let outcome = scratch.run(&["bench"]);
    outcome.assert_fine();
    assert!(outcome.stderr.contains("linked as .libtorch"), "{outcome:?}");
    assert!(scratch.link().join("version.py").exists());
    assert_eq!(calls(&scratch), ["bench", REPORT]);
}

#[test]
fn without_libtorch_cargo_is_not_run() {
    let scratch = Scratch::new();
    scratch.set("offline", "");
    for command in ["bench", "test"] {
        scratch.run(&[command]).assert_refused(1, &["pip failed"]);
    }
    assert!(calls(&scratch).is_empty());
}

#[test]
fn a_listing_is_followed_by_no_report() {
    let scratch = provisioned();
    scratch.run(&["bench", "--", "--list"]).assert_fine();
    assert_eq!(calls(&scratch), ["bench -- --list"]);
}

#[test]
fn the_first_failure_is_the_exit_code() {
    let scratch = provisioned();
    scratch.set("fail", "101");
    scratch.run(&["bench"]).assert_refused(101, &["so no report", "cargo criterion-report show"]);
    assert_eq!(calls(&scratch), ["bench"]);
}

#[test]
fn failed_cases_are_reported_and_remain_a_failure() {
    let scratch = provisioned();
    scratch.set("fail", "1");
    scratch.run(&["bench"]).assert_refused(1, &[]);
    let calls = calls(&scratch);
    assert!(calls.len() == 2 && calls[1].ends_with("-- show"), "{calls:?}");
}

#[test]
fn test_covers_the_workspace() {
    let scratch = provisioned();
    scratch.run(&["test", "--", "--nocapture"]).assert_fine();
    assert_eq!(calls(&scratch), ["test --workspace -- --nocapture"]);
}

#[test]
fn exhaustive_tests_are_those_that_are_ignored_otherwise() {
    let scratch = provisioned();
    scratch.run(&["test", "--exhaustive", "exp_is"]).assert_fine();
    scratch.run(&["test", "--exhaustive", "--", "--nocapture"]).assert_fine();
    let test = "test --release --package criterion-torch --lib";
    let called = ["exp_is -- --ignored", "-- --nocapture --ignored"];
    assert_eq!(calls(&scratch), called.map(|it| format!("{test} {it}")));
}

/// The command runs the library's alone.
#[test]
fn ignored_tests_are_all_in_the_library() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let listed = Command::new("git")
        .args(["grep", "-lE", r"^\s*#\[ignore", "--", "*.rs"])
        .current_dir(root)
        .output()
        .expect("git is there");
    let listed = String::from_utf8(listed.stdout).expect("paths are text");
    assert!(listed.lines().count() > 1, "{listed}");
    assert!(listed.lines().all(|path| path.starts_with("src/")), "{listed}");
}

#[test]
fn skipped_tests_are_counted_at_the_end() {
    let scratch = provisioned();
    let none = scratch.run(&["test"]);
    assert_eq!(none.assert_fine().stderr, "no test was skipped\n");
    // Twice by the same test, as where it looks again for each dtype.
    let b = "skipped: b::second: no CUDA device\n";
    scratch.set("skips", &format!("{b}{b}skipped: a::first: no compiler: not found\n"));
    scratch.set("fail", "101");
    let some = scratch.run(&["test"]);
    assert_eq!(some.code, Some(101));
    let (a, b) = ("  a::first: no compiler: not found\n", "  b::second: no CUDA device\n");
    assert_eq!(some.stderr, format!("2 tests were skipped:\n{a}{b}"));
}

#[test]
fn help_and_mistakes_on_the_command_line() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]);
    help.assert_fine();
    for command in [
        "setup",
        "bench",
        "compare-branches",
        "kernels",
        "test",
        "results",
        "compare-torchao",
        "flavour",
        "python",
        "cache",
        "doctor",
        "gpu-check",
        "help",
    ] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{}", help.stdout);
    }
    let own = scratch.run(&["bench", "--help"]);
    assert!(own.assert_fine().stdout.contains("Usage: cargo xtask bench"), "{own:?}");
    scratch.run(&["setup", "--cpu", "--cuda"]).assert_refused(2, &["'--cpu' cannot be used with"]);
    scratch.run(&["build"]).assert_refused(2, &["unrecognized subcommand 'build'"]);
}
