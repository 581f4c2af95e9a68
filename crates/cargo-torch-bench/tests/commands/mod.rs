//! `bench`, `doctor` and the command line, with a cargo that only writes down its arguments.
#![cfg(unix)]

mod doctor;
mod kernels;
mod suites;

use std::fs;

use crate::common::{Outcome, Scratch};

const SUMMARY: &str = "run --quiet --release --bin criterion-report -- summary --latest";
const BUILD: &str = "build --profile bench --benches --bin criterion-report \
                     --message-format=json-render-diagnostics";
const PROGRAM: &str = "run --quiet --release --bin criterion-report --";

/// A benchmark's output.
const WORDS: &str = "\
[1/1, about 2 s left] inference/default/linear/cpu/baseline/bf16-1x2x3
criterion's words
";

/// The commands after a `cargo bench` that came to its end.
fn reports(scratch: &Scratch) -> [String; 2] {
    let page = scratch.clone_dir().join("target/criterion-torch/report.html");
    [SUMMARY.to_owned(), format!("{PROGRAM} html --latest --output {}", page.display())]
}

#[test]
fn bench_measures_and_then_reports() {
    let scratch = Scratch::provisioned();
    scratch.set("words", WORDS);
    let mut bench = scratch.xtask(&["bench", "--bench", "inference", "--", "int8wo"]);
    bench.current_dir(scratch.clone_dir().join("crates/inner")).env("LIBTORCH", scratch.link());
    let outcome = Outcome::run(bench);
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
    assert_eq!(scratch.calls()[..3], bench);
    assert_eq!(scratch.calls()[3..], reports(&scratch));
    let log = scratch.clone_dir().join("target/criterion-torch/bench.log");
    assert_eq!(fs::read_to_string(log).expect("a log"), WORDS);
    let expected = format!("LIBTORCH={}", scratch.link().display());
    assert!(scratch.log("cargo-environment").iter().all(|line| *line == expected));
}

#[test]
fn torchaos_folders_are_written_after_the_report() {
    let scratch = Scratch::provisioned();
    scratch.run(&["bench", "--bench", "inference", "--torchao-output", "--", "x"]).assert_fine();
    let written = "csv --latest --torchao-output --filter ^(inference)/";
    let [summary, page] = reports(&scratch);
    assert_eq!(scratch.calls()[3..], [summary, page, format!("{PROGRAM} {written}")]);
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
    assert_eq!(scratch.calls()[..3], [BUILD, "bench -- --list", "bench --no-fail-fast"]);
}

#[test]
fn the_report_that_was_built_with_the_benchmarks_is_run() {
    let scratch = Scratch::provisioned();
    let program =
        r#"{"target":{"kind":["bin"],"name":"criterion-report"},"executable":"/usr/bin/echo"}"#;
    scratch.set("programs", &format!("not JSON\n{program}\n"));
    let outcome = scratch.run(&["bench"]);
    let said = &outcome.assert_fine().stdout;
    assert!(said.starts_with("summary --latest\nhtml --latest --output /"), "{said}");
    assert!(said.ends_with("; all tables: /usr/bin/echo show\n"), "{said}");
    assert_eq!(scratch.calls(), [BUILD, "bench -- --list", "bench --no-fail-fast"]);
    scratch.set("fail-build", "101");
    scratch.run(&["bench"]).assert_refused(101, &[]);
    assert_eq!(scratch.calls()[3..], [BUILD]);
}

/// The tour, unless more is asked for.
#[test]
fn without_arguments_it_is_the_tour() {
    let scratch = Scratch::provisioned();
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
    Outcome::run(bench).assert_fine();
    assert_eq!(scratch.log("cargo-configs").last().map(String::as_str), Some("my.yml unset"));
}

#[test]
fn verbose_shows_what_criterion_says() {
    let scratch = Scratch::provisioned();
    scratch.set("words", WORDS);
    let outcome = scratch.run(&["bench", "--verbose"]);
    assert!(outcome.assert_fine().stdout.starts_with(WORDS), "{outcome:?}");
}

#[test]
fn without_libtorch_cargo_is_not_run() {
    let scratch = Scratch::new();
    scratch.set("offline", "");
    scratch.run(&["bench"]).assert_refused(1, &["pip failed"]);
    assert!(scratch.calls().is_empty());
}

#[test]
fn a_listing_is_followed_by_no_report() {
    let scratch = Scratch::provisioned();
    scratch.run(&["bench", "--", "--list"]).assert_fine();
    assert_eq!(scratch.calls(), ["bench -- --list"]);
}

#[test]
fn the_first_failure_is_the_exit_code() {
    let scratch = Scratch::provisioned();
    scratch.set("fail", "101");
    scratch.set("words", WORDS);
    let said = ["criterion's words", "so there is no report", "cargo criterion-report show"];
    scratch.run(&["bench"]).assert_refused(101, &said);
    assert_eq!(scratch.calls(), [BUILD, "bench -- --list", "bench --no-fail-fast"]);
}

#[test]
fn failed_cases_are_reported_and_remain_a_failure() {
    let scratch = Scratch::provisioned();
    scratch.set("fail", "1");
    scratch.run(&["bench"]).assert_refused(1, &[]);
    assert_eq!(scratch.calls()[3..], reports(&scratch));
}

/// As in a user's package, which has no report of its own.
#[test]
fn outside_of_the_repository_commands_work_or_say_why_not() {
    let scratch = Scratch::provisioned();
    fs::remove_dir_all(scratch.clone_dir().join("criterion-report")).expect("remove it");
    for command in ["results", "compare-torchao", "gpu-check", "test"] {
        let said = format!("unrecognized subcommand '{command}'");
        scratch.run(&["torch-bench", command]).assert_refused(2, &[&said]);
    }
    let install = "help: cargo install criterion-report\n";
    for line in ["bench", "compare-branches main ."] {
        let refused = scratch.run(&line.split(' ').collect::<Vec<_>>());
        refused.assert_refused(1, &["cannot run criterion-report: ", install]);
    }
    let no_target = "has a bench target `kernels`\n  help: cargo bench -- ^kernels/";
    scratch.run(&["kernels"]).assert_refused(1, &[no_target]);
    assert!(scratch.calls().is_empty(), "nothing was built or measured");

    scratch.program("criterion-report", "echo \"report: $*\"");
    let outcome = scratch.run(&["torch-bench", "bench"]);
    let said = &outcome.assert_fine().stdout;
    assert!(said.contains("report: summary --latest\nreport: html --latest --output /"), "{said}");
    assert_eq!(scratch.calls(), ["bench --no-run", "bench -- --list", "bench --no-fail-fast"]);
    for command in ["setup", "doctor", "cache", "flavour", "python"] {
        assert!(scratch.run(&["torch-bench", command]).code.is_some_and(|it| it < 2), "{command}");
    }
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
        "flavour",
        "python",
        "cache",
        "doctor",
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
