//! `kernels`: what it measures, compares and reports.

use std::fs;

use crate::commands::PROGRAM;
use crate::common::{Outcome, Scratch};

/// Provisioned, with a default suite.
fn with_kernels() -> Scratch {
    let scratch = Scratch::provisioned();
    let folder = scratch.clone_dir().join("configs/kernels");
    fs::create_dir_all(&folder).expect("make the folder of configs");
    fs::write(folder.join("default.yml"), "benchmark_mode: kernels\n").expect("write a config");
    scratch
}

#[test]
fn kernels_are_planned_measured_and_reported() {
    let scratch = with_kernels();
    let quiet = scratch.run(&["kernels"]);
    assert_eq!((quiet.assert_fine().stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let clone = scratch.clone_dir().display().to_string();
    assert_eq!(
        scratch.calls(),
        [
            format!("{PROGRAM} plan configs/kernels/default.yml"),
            "bench --bench kernels --".to_owned(),
            format!("{PROGRAM} kernels --latest --output-dir {clone}/reports"),
        ]
    );
    assert_eq!(scratch.log("cargo-configs"), ["unset unset"], "what it takes by itself");
}

#[test]
fn options_of_kernels_go_where_they_belong() {
    let scratch = with_kernels();
    let line = "kernels --iters 30 --precision fp32,fp16 --save-baseline b --compare-to a \
                --history old --fail-on regression --output-dir out --verbose poisson";
    for folder in ["target/criterion-torch/a", "old"] {
        fs::create_dir_all(scratch.clone_dir().join(folder)).expect("make a folder");
    }
    let outcome = scratch.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(outcome.assert_fine().stdout, "what was found\n");
    let clone = scratch.clone_dir().display().to_string();
    assert_eq!(
        scratch.calls(),
        [
            format!("{PROGRAM} plan configs/kernels/default.yml --filter poisson"),
            "bench --bench kernels -- --save-baseline b poisson".to_owned(),
            format!(
                "{PROGRAM} kernels --latest --output-dir {clone}/out --compare-to a \
                 --history {clone}/old --fail-on regression --filter poisson"
            ),
        ]
    );
    let json = r#"{"iterations":{"timed":30},"precisions":["fp32","fp16"]}"#;
    assert_eq!(scratch.log("cargo-configs"), [format!("unset {json}")]);
}

#[test]
fn failed_kernels_are_reported_and_what_did_not_run_is_not() {
    let scratch = with_kernels();
    scratch.set("fail", "1");
    scratch.run(&["kernels"]).assert_refused(1, &[]);
    assert_eq!(scratch.calls().len(), 3, "the report follows failed cases");
    scratch.set("fail", "101");
    scratch.set("fail-build", "101");
    scratch.run(&["kernels"]).assert_refused(101, &["cargo bench failed", "so there is no report"]);
    assert_eq!(scratch.calls().len(), 6, "and not what could not be built");
    scratch.set("fail-plan", "2");
    scratch.run(&["kernels", "--precision", "fp33"]).assert_refused(2, &[]);
    assert_eq!(scratch.calls().len(), 7, "a mistake is found before anything is built");
}

#[test]
fn a_run_that_dies_is_reported_and_says_so() {
    let scratch = with_kernels();
    scratch.set("fail", "101");
    scratch.run(&["kernels"]).assert_refused(1, &["the run died before its end", "101"]);
    let calls = scratch.calls();
    assert_eq!(calls.len(), 4, "{calls:?}");
    assert_eq!(calls[2], "bench --bench kernels --no-run", "it is no build that failed");
    assert!(calls[3].contains("kernels --latest"), "{calls:?}");
}

#[test]
fn what_to_compare_with_is_looked_for_before_anything_is_measured() {
    let scratch = with_kernels();
    scratch.program("git", r#"echo "$PWD $GIT_TERMINAL_PROMPT" >>"$FAKE/git"; exec git "$@""#);
    for (line, word) in [
        ("--compare-to main", "nor a baseline of that name"),
        ("--compare-to ./earlier", "nor a baseline of that name"),
        ("--history old", "--history: there is no folder"),
    ] {
        let words: Vec<&str> = std::iter::once("kernels").chain(line.split(' ')).collect();
        scratch.run(&words).assert_refused(2, &[word]);
    }
    // The report will ask git in the root, so that is where it is asked before.
    let mut inside = scratch.xtask(&["kernels", "--compare-to", "main"]);
    inside.current_dir(scratch.clone_dir().join("crates/inner"));
    Outcome::run(inside).assert_refused(2, &["nor a branch whose commit has a folder"]);
    let asked = scratch.log("git");
    let in_root = format!("{} 0", scratch.clone_dir().display());
    assert!(!asked.is_empty() && asked.iter().all(|it| *it == in_root), "{asked:?}");
    assert!(scratch.calls().is_empty());
    for folder in ["target/criterion-torch/main", "earlier", "old"] {
        fs::create_dir_all(scratch.clone_dir().join(folder)).expect("make a folder");
    }
    scratch.run(&["kernels", "--compare-to", "main", "--history", "old"]).assert_fine();
    scratch.run(&["kernels", "--compare-to", "./earlier"]).assert_fine();
}

#[test]
fn configs_of_ones_own_are_not_overridden() {
    let scratch = with_kernels();
    let with = |arguments: &[&str]| {
        let mut kernels = scratch.xtask(arguments);
        kernels.env("BENCH_CONFIG", "my.yml:other.yml");
        Outcome::run(kernels)
    };
    with(&["kernels", "--seed", "1"]).assert_refused(2, &["BENCH_CONFIG is", "unset BENCH_CONFIG"]);
    assert!(scratch.calls().is_empty());
    with(&["kernels"]).assert_fine();
    assert_eq!(scratch.calls()[0], format!("{PROGRAM} plan my.yml other.yml"));
    assert_eq!(scratch.log("cargo-configs"), ["my.yml:other.yml unset"]);
}

/// The aliases are the command with options, and take further ones, of which the last counts.
#[test]
fn quick_and_full_are_the_same_command_with_other_iterations() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cargo/config.toml");
    let config = fs::read_to_string(file).expect("the clone has a .cargo/config.toml");
    for (alias, iterations) in [
        ("bench-quick", r#"{"timed":10,"warmup":2}"#),
        ("bench-full", r#"{"timed":30,"warmup":3}"#),
    ] {
        let line = config.lines().find_map(|line| line.strip_prefix(&format!("{alias} = ")));
        let line = line.expect("the alias is there").trim_matches('"');
        let arguments = line.strip_prefix("xtask ").expect("it is a command of xtask");
        let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
        arguments.extend(["--seed", "7", "poisson"]);
        let scratch = with_kernels();
        scratch.run(&arguments).assert_fine();
        let json = format!("{{\"iterations\":{iterations},\"seed\":7}}");
        assert_eq!(scratch.log("cargo-configs"), [format!("unset {json}")]);
        assert!(scratch.calls()[1].ends_with(" -- poisson"));
    }
}
