//! `test`, with a cargo that only writes down its arguments; and the names of the tests in this repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::Scratch;

#[test]
fn tests_are_chosen_by_what_libtest_knows() {
    let scratch = Scratch::provisioned();
    let all = "--include-ignored --skip nightly_";
    let optimized = "test --release --workspace";
    for (line, call) in [
        ("test", "test --workspace --".to_owned()),
        ("test expand -- --nocapture", "test --workspace expand -- --nocapture".to_owned()),
        ("test -p plan expand", "test -p plan expand --".to_owned()),
        ("test --package=plan", "test --package=plan --".to_owned()),
        ("test --all", format!("test --workspace -- {all}")),
        ("test --all --lib -- --nocapture", format!("test --workspace --lib -- {all} --nocapture")),
        ("test --nightly exp_is", format!("{optimized} exp_is -- --ignored")),
        ("test --nightly -- --nocapture", format!("{optimized} nightly_ -- --ignored --nocapture")),
    ] {
        scratch.run(&line.split(' ').collect::<Vec<_>>()).assert_fine();
        assert_eq!(scratch.calls().last(), Some(&call), "{line}");
    }
}

/// Begins the name of every nightly test.
const NIGHTLY: &str = "nightly_";

/// The commands find both kinds by their names, and people read the reasons.
#[test]
fn every_ignored_test_says_whether_it_is_long_or_nightly() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut files = Command::new("git");
    files.args(["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.rs"]);
    let files = files.current_dir(root).output().expect("git is there");
    let files = String::from_utf8(files.stdout).expect("paths are text");
    let (mut counts, mut named) = ([0, 0], 0);
    for file in files.lines() {
        // A file that is removed may still be listed.
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        for test in text.split(concat!("\n#[", "ignore")).skip(1) {
            let reason = test.split('"').nth(1).unwrap_or_default();
            let name = test.split("fn ").nth(1).and_then(|it| it.split('(').next());
            let name = name.unwrap_or_else(|| panic!("{file}: ignored, but no test"));
            let is_nightly = name.starts_with(NIGHTLY);
            let start = if is_nightly { "nightly: " } else { "long: " };
            assert!(reason.starts_with(start), "{file}: {name}: {reason:?} for {start:?}");
            counts[usize::from(is_nightly)] += 1;
        }
        // `--all` skips every test that has it in its path, so no other test may.
        assert!(!file.contains(NIGHTLY), "{file}: the paths of its tests have {NIGHTLY} in them");
        for function in text.split("fn ").skip(1) {
            let name = function.split('(').next().unwrap_or_default();
            named += usize::from(name.contains(NIGHTLY));
        }
    }
    assert_eq!(named, counts[1], "{NIGHTLY} is in the name of a test that is not ignored");
    assert!(counts.iter().all(|&count| count > 1), "{counts:?}");
}

#[test]
fn skipped_tests_are_counted_at_the_end() {
    let scratch = Scratch::provisioned();
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
    // Libtest itself says which tests it ignores.
    scratch.set("ignored", "test c::third ... ok\ntest d ... ignored, long: a minute\n");
    let some = scratch.run(&["test"]);
    assert_eq!(some.stdout, "test c::third ... ok\ntest d ... ignored, long: a minute\n");
    let remedy = "`cargo xtask test --all` runs the long ones, `--nightly` the nightly ones";
    let expected = format!("3 tests were skipped:\n{a}{b}  d: long: a minute\n{remedy}\n");
    assert_eq!(some.stderr, expected);
}

#[test]
fn without_libtorch_cargo_is_not_run() {
    let scratch = Scratch::new();
    scratch.set("offline", "");
    scratch.run(&["test"]).assert_refused(1, &["pip failed"]);
    assert!(scratch.calls().is_empty());
}
