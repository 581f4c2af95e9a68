//! `bench`, `test`, `doctor` and the command line, with a cargo that only writes down its arguments.
#![cfg(unix)]

mod doctor;
mod kernels;
mod suites;
mod torchao;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{Outcome, Scratch};

const SUMMARY: &str = "run --quiet --release --bin criterion-report -- summary --latest";
const BUILD: &str = "build --profile bench --benches --bin criterion-report \
                     --message-format=json-render-diagnostics";
const PROGRAM: &str = "run --quiet --release --bin criterion-report --";

/// The arguments of each run of cargo; all were in the folder of the clone.
fn calls(scratch: &Scratch) -> Vec<String> {
    let place = format!("{}: ", scratch.clone_dir().display());
    scratch
        .log("cargo-calls")
        .iter()
        .map(|call| call.strip_prefix(&place).expect("cargo runs in the root").to_owned())
        .collect()
}

/// What a benchmark says.
const WORDS: &str = "\
[1/1, about 2 s left] inference/default/linear/cpu/baseline/bf16-1x2x3
criterion's words
";

/// What follows a `cargo bench` that came to its end.
fn reports(scratch: &Scratch) -> [String; 2] {
    let page = scratch.clone_dir().join("target/criterion-torch/report.html");
    [SUMMARY.to_owned(), format!("{PROGRAM} html --latest --output {}", page.display())]
}

fn provisioned() -> Scratch {
    let scratch = Scratch::new();
    scratch.run(&["setup", "--cpu"]).assert_fine();
    scratch
}

#[test]
fn bench_measures_and_then_reports() {
    let scratch = provisioned();
    scratch.set("words", WORDS);
    let mut bench = scratch.xtask(&["bench", "--bench", "inference", "--", "int8wo"]);
    bench.current_dir(scratch.clone_dir().join("crates/inner")).env("LIBTORCH", scratch.link());
    let outcome = Outcome::of(bench);
    outcome.assert_fine();
    assert_eq!(outcome.stderr, "", "setup had nothing to do, and nothing is rewritten in a file");
    let page =
        "report    target/criterion-torch/report.html; all tables: cargo criterion-report show\n";
    assert_eq!(outcome.stdout, page);
    let bench = [
        "bench --bench inference --no-run",
        "bench --bench inference -- --list int8wo",
        "bench --no-fail-fast --bench inference -- int8wo",
    ];
    assert_eq!(calls(&scratch)[..3], bench);
    assert_eq!(calls(&scratch)[3..], reports(&scratch));
    let log = scratch.clone_dir().join("target/criterion-torch/bench.log");
    assert_eq!(fs::read_to_string(log).expect("a log"), WORDS);
    let expected = format!("LIBTORCH={}", scratch.link().display());
    assert!(scratch.log("cargo-environment").iter().all(|line| *line == expected));
}

#[test]
fn torchaos_folders_are_written_after_the_report() {
    let scratch = provisioned();
    scratch.run(&["bench", "--bench", "inference", "--torchao-output", "--", "x"]).assert_fine();
    let written = "csv --latest --torchao-output --filter ^(inference)/";
    let [summary, page] = reports(&scratch);
    assert_eq!(calls(&scratch)[3..], [summary, page, format!("{PROGRAM} {written}")]);
    let refused = scratch.run(&["bench", "--torchao-output", "--", "--list"]);
    refused.assert_refused(2, &["--torchao-output: this measures nothing"]);
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
    assert_eq!(calls(&scratch)[..3], [BUILD, "bench -- --list", "bench --no-fail-fast"]);
}

#[test]
fn the_report_that_was_built_with_the_benchmarks_is_run() {
    let scratch = provisioned();
    let program =
        r#"{"target":{"kind":["bin"],"name":"criterion-report"},"executable":"/usr/bin/echo"}"#;
    scratch.set("programs", &format!("not JSON\n{program}\n"));
    let outcome = scratch.run(&["bench"]);
    let said = &outcome.assert_fine().stdout;
    assert!(said.starts_with("summary --latest\nhtml --latest --output /"), "{said}");
    assert!(said.ends_with("; all tables: /usr/bin/echo show\n"), "{said}");
    assert_eq!(calls(&scratch), [BUILD, "bench -- --list", "bench --no-fail-fast"]);
    scratch.set("fail-build", "101");
    scratch.run(&["bench"]).assert_refused(101, &[]);
    assert_eq!(calls(&scratch)[3..], [BUILD]);
}

/// The tour, unless more is asked for.
#[test]
fn without_arguments_it_is_the_tour() {
    let scratch = provisioned();
    let tour = scratch.clone_dir().join("configs/suites/tour");
    let configs = |device: &str| {
        let files = ["fusion.yml", "inference.yml"].map(|name| tour.join(device).join(name));
        fs::create_dir_all(tour.join(device)).expect("a folder");
        files.each_ref().iter().for_each(|it| fs::write(it, "").expect("written"));
        files.map(|it| it.display().to_string()).join(":")
    };
    let (cpu, cuda) = (configs("cpu"), configs("cuda"));
    for (arguments, configs) in [
        // The libtorch here is without CUDA, whatever the machine has.
        (&["bench"][..], cpu.clone()),
        (&["bench", "--device", "cuda"], cuda),
        (&["bench", "--budget", "3min", "--device", "cpu"], cpu),
        (&["bench", "--full"], "unset".to_owned()),
        (&["bench", "--", "int8wo"], "unset".to_owned()),
    ] {
        scratch.run(arguments).assert_fine();
        let said = scratch.log("cargo-configs");
        assert_eq!(said.last(), Some(&format!("{configs} unset")), "{arguments:?}");
    }
    let none = ["--device cuda: it chooses the tour, and this is none"];
    scratch.run(&["bench", "--device", "cuda", "--", "int8wo"]).assert_refused(2, &none);
    let mut bench = scratch.xtask(&["bench"]);
    bench.env("BENCH_CONFIG", "my.yml");
    Outcome::of(bench).assert_fine();
    assert_eq!(scratch.log("cargo-configs").last().map(String::as_str), Some("my.yml unset"));
}

#[test]
fn verbose_shows_what_criterion_says() {
    let scratch = provisioned();
    scratch.set("words", WORDS);
    let outcome = scratch.run(&["bench", "--verbose"]);
    assert!(outcome.assert_fine().stdout.starts_with(WORDS), "{outcome:?}");
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
    scratch.set("words", WORDS);
    let said = ["criterion's words", "so there is no report", "cargo criterion-report show"];
    scratch.run(&["bench"]).assert_refused(101, &said);
    assert_eq!(calls(&scratch), [BUILD, "bench -- --list", "bench --no-fail-fast"]);
}

#[test]
fn failed_cases_are_reported_and_remain_a_failure() {
    let scratch = provisioned();
    scratch.set("fail", "1");
    scratch.run(&["bench"]).assert_refused(1, &[]);
    assert_eq!(calls(&scratch)[3..], reports(&scratch));
}

#[test]
fn tests_are_chosen_by_what_libtest_knows() {
    let scratch = provisioned();
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
        assert_eq!(calls(&scratch).last(), Some(&call), "{line}");
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

/// As in a user's package, which has no report of its own.
#[test]
fn outside_of_the_repository_commands_work_or_say_why_not() {
    let scratch = provisioned();
    fs::remove_dir_all(scratch.clone_dir().join("criterion-report")).expect("remove it");
    fs::write(scratch.clone_dir().join("my.yml"), "").expect("write a config");
    for line in ["results", "compare-torchao my.yml", "gpu-check"] {
        let (command, _) = line.split_once(' ').unwrap_or((line, ""));
        let said = format!("`cargo xtask {command}` measures criterion-torch itself");
        let refused = scratch.run(&line.split(' ').collect::<Vec<_>>());
        refused.assert_refused(1, &[&said, "in a clone of criterion-torch's repository"]);
    }
    let install = "help: cargo install criterion-report\n";
    for line in ["bench", "compare-branches main ."] {
        let refused = scratch.run(&line.split(' ').collect::<Vec<_>>());
        refused.assert_refused(1, &["cannot run criterion-report: ", install]);
    }
    let no_target = "has a bench target `kernels`\n  help: cargo bench -- ^kernels/";
    scratch.run(&["kernels"]).assert_refused(1, &[no_target]);
    assert!(calls(&scratch).is_empty(), "nothing was built or measured");

    scratch.program("criterion-report", "echo \"report: $*\"");
    let outcome = scratch.run(&["torch-bench", "bench"]);
    let said = &outcome.assert_fine().stdout;
    assert!(said.contains("report: summary --latest\nreport: html --latest --output /"), "{said}");
    assert_eq!(calls(&scratch), ["bench --no-run", "bench -- --list", "bench --no-fail-fast"]);
    scratch.run(&["test", "mine"]).assert_fine();
    for command in ["setup", "doctor", "cache", "flavour", "python"] {
        assert!(scratch.run(&["torch-bench", command]).code.is_some_and(|it| it < 2), "{command}");
    }
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
    // What libtest ignores, it says itself.
    scratch.set("ignored", "test c::third ... ok\ntest d ... ignored, long: a minute\n");
    let some = scratch.run(&["test"]);
    assert_eq!(some.stdout, "test c::third ... ok\ntest d ... ignored, long: a minute\n");
    let remedy = "`cargo xtask test --all` runs the long ones, `--nightly` the nightly ones";
    let expected = format!("3 tests were skipped:\n{a}{b}  d: long: a minute\n{remedy}\n");
    assert_eq!(some.stderr, expected);
}

#[test]
fn help_and_mistakes_on_the_command_line() {
    let scratch = Scratch::new();
    let help = scratch.run(&["--help"]);
    help.assert_fine();
    for command in [
        "new",
        "setup",
        "bench",
        "compare-branches",
        "kernels",
        "calibrate",
        "operators",
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
    // As cargo runs the command of an installed tool.
    let installed = scratch.run(&["torch-bench", "bench", "--help"]);
    let installed = &installed.assert_fine().stdout;
    assert!(installed.contains("Usage: cargo torch-bench bench"), "{installed}");
    assert!(!installed.contains("xtask"), "{installed}");
    scratch.run(&["setup", "--cpu", "--cuda"]).assert_refused(2, &["'--cpu' cannot be used with"]);
    scratch.run(&["build"]).assert_refused(2, &["unrecognized subcommand 'build'"]);
}
