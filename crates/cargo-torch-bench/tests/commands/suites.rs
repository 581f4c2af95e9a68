//! `calibrate` and `operators`: what they measure and how they report it.

use std::fs;

use crate::commands::PROGRAM;
use crate::common::{Outcome, Scratch};

const CALIBRATE: [&str; 3] = ["calibrate", "--hardware", "my server"];
const FILTER: &str = "--latest --filter ^(calibration|fusion)/calibrate/";

/// A config that a command wrote.
fn config(scratch: &Scratch, file: &str) -> String {
    let file = scratch.clone_dir().join("target/torch-bench").join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn one_command_measures_and_writes_the_profile() {
    let scratch = Scratch::provisioned();
    scratch.set("profile.json", "{}");
    scratch.run(&CALIBRATE).assert_fine();
    let clone = scratch.clone_dir().display().to_string();
    assert_eq!(
        scratch.calls(),
        [
            "bench --bench calibration --bench fusion --no-run".to_owned(),
            "bench --bench calibration --bench fusion -- --list".to_owned(),
            "bench --no-fail-fast --bench calibration --bench fusion".to_owned(),
            format!(
                "{PROGRAM} calibration {FILTER} --hardware my server --device cpu \
                 --fusion-patterns all --operations matmul,memory,call \
                 --output {clone}/calibration.json"
            ),
        ]
    );
    let folder = format!("{clone}/target/torch-bench");
    let configs = format!("{folder}/calibration/calibrate.yml:{folder}/fusion/calibrate.yml unset");
    assert_eq!(scratch.log("cargo-configs"), [configs]);
    let fusion = config(&scratch, "fusion/calibrate.yml");
    assert!(fusion.contains("{ patterns: [all], sizes: full, devices: [cpu] }"), "{fusion}");
    assert!(scratch.clone_dir().join("calibration.json").exists());
}

#[test]
fn options_of_calibrate_go_where_they_belong() {
    let scratch = Scratch::provisioned();
    scratch.set("profile.json", "{}");
    let line = "--quick --device cuda --only linear,attention --operations matmul,launch \
                --peak-gflops 1000 --peak-bandwidth 50 --output new/out.json --verbose";
    let words: Vec<&str> = CALIBRATE.into_iter().chain(line.split_whitespace()).collect();
    scratch.run(&words).assert_fine();
    let clone = scratch.clone_dir().display().to_string();
    let calls = scratch.calls();
    assert_eq!(calls[1], "bench --bench calibration --bench fusion");
    assert_eq!(
        calls[2],
        format!(
            "{PROGRAM} calibration {FILTER} --hardware my server --device cuda --fusion-patterns \
             linear,attention --operations matmul,launch --peak-gflops 1000 --peak-bandwidth 50 \
             --output {clone}/new/out.json"
        )
    );
    let fusion = config(&scratch, "fusion/calibrate.yml");
    assert!(
        fusion.contains("patterns: [linear, attention], sizes: quick, devices: [cuda]"),
        "{fusion}"
    );
    let calibration = config(&scratch, "calibration/calibrate.yml");
    assert!(
        calibration.contains("{ probes: [matmul], sizes: quick, devices: [cuda] }"),
        "{calibration}"
    );
    assert!(
        calibration.contains("probes: [launch]") && !calibration.contains("copy"),
        "{calibration}"
    );
    assert!(scratch.clone_dir().join("new/out.json").exists(), "in a folder that was not there");
    // Upstream's name of the same option, and a word that is there twice.
    let words: Vec<&str> =
        CALIBRATE.into_iter().chain(["--fusion-patterns", "conv,linear,conv"]).collect();
    scratch.run(&words).assert_fine();
    assert!(config(&scratch, "fusion/calibrate.yml").contains("patterns: [conv, linear]"));
}

#[test]
fn one_command_measures_and_writes_benchmark_results() {
    let scratch = Scratch::provisioned();
    scratch.run(&["operators"]).assert_fine();
    let clone = scratch.clone_dir().display().to_string();
    let filter = "--latest --filter ^(operators)/comprehensive/";
    assert_eq!(
        scratch.calls(),
        [
            "bench --bench operators --no-run".to_owned(),
            "bench --bench operators -- --list".to_owned(),
            "bench --no-fail-fast --bench operators".to_owned(),
            format!(
                "{PROGRAM} operators {filter} --format json --upstream-compat --output \
                 {clone}/benchmark_results.json"
            ),
            format!("{PROGRAM} operators {filter}"),
        ]
    );
    let text = config(&scratch, "operators/comprehensive.yml");
    for line in [
        "operators: [layer_norm, gelu, silu, mse_loss, cross_entropy]",
        "batch_sizes: [16, 32, 64]",
        "sequence_lengths: [256, 512, 1024]",
        "tensor_dimensions: [32, 64, 128, 256]",
        "devices: [cpu]",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("latency"), "{text}");
    let line = "operators --operations GELU,softmax --batch-sizes 8 --device cuda --runs 100 \
                --output my_results.json";
    scratch.run(&line.split_whitespace().collect::<Vec<_>>()).assert_fine();
    let text = config(&scratch, "operators/comprehensive.yml");
    for line in [
        "operators: [gelu, softmax]",
        "batch_sizes: [8]",
        "devices: [cuda]",
        "latency: { calls: 100, warm_up: 10 }",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let calls = scratch.calls();
    assert!(calls[8].ends_with(&format!(" --output {clone}/my_results.json")), "{calls:?}");
    assert!(calls[9].ends_with(" --mean"), "{calls:?}");
}

#[test]
fn failed_cases_are_reported_and_what_did_not_run_is_not() {
    let scratch = Scratch::provisioned();
    scratch.set("profile.json", "{}");
    scratch.set("fail", "1");
    scratch.run(&CALIBRATE).assert_refused(1, &[]);
    assert_eq!(scratch.calls().len(), 4, "the profile is written");
    scratch.set("fail", "101");
    scratch.run(&CALIBRATE).assert_refused(101, &["cargo bench failed", "so nothing is written"]);
    assert_eq!(scratch.calls().len(), 7);
    scratch.set("fail-build", "101");
    scratch.run(&CALIBRATE).assert_refused(101, &["--no-run failed", "so nothing is measured"]);
    assert_eq!(scratch.calls().len(), 8);
}

#[test]
fn mistakes_are_found_before_anything_is_measured() {
    let scratch = Scratch::provisioned();
    for (line, word) in [
        ("calibrate", "--hardware <NAME>"),
        ("calibrate --hardware x --only mlp", "[possible values: linear, conv, attention, all]"),
        ("calibrate --hardware x --operations relu", "[possible values: matmul, memory"),
        ("calibrate --hardware x --device gpu", "unknown device `gpu`: use one of: cpu, cuda, xpu"),
        ("calibrate --hardware x --device rocm", "only kernels run on rocm; use cpu or cuda"),
        ("calibrate --hardware x --only linear,all", "`all` is every family, so it stands alone"),
        ("calibrate --hardware x --operations call,launch", "the CPU starts no kernels"),
        ("calibrate --hardware x --output crates", "--output crates: it is a folder"),
        ("calibrate --hardware x --peak-gflops -1", "a peak is a number above 0"),
        ("operators --operations LayerNorn", "use LayerNorm, GELU, Swish, Loss"),
        ("operators --batch-sizes 0", "0 is not in 1"),
        ("operators --runs 3", "3 is not in 10"),
        ("operators --device rocm", "only kernels run on rocm; use cpu or cuda"),
    ] {
        scratch.run(&line.split(' ').collect::<Vec<_>>()).assert_refused(2, &[word]);
    }
    for command in [&CALIBRATE[..], &["operators"]] {
        let mut suite = scratch.xtask(command);
        suite.env("BENCH_CONFIG", "my.yml");
        let said = format!("`cargo xtask {}` writes configs of its own", command[0]);
        Outcome::run(suite).assert_refused(2, &["BENCH_CONFIG is \"my.yml\"", &said, "unset"]);
    }
    assert!(scratch.calls().is_empty());
}

/// The package of a user has one bench target, as `new` adds it.
#[test]
fn in_a_package_of_a_user_the_one_target_measures() {
    let scratch = Scratch::provisioned();
    let clone = scratch.clone_dir();
    fs::remove_dir_all(clone.join("criterion-report")).expect("remove it");
    scratch.program("criterion-report", "echo \"report: $*\"");
    scratch.run(&["operators"]).assert_refused(
        1,
        &["has a bench target `torch`, nor `operators`", "add one: cargo xtask new"],
    );
    assert!(scratch.calls().is_empty());
    let target = r#"{"kind": ["bench"], "name": "torch", "src_path": "x"}"#;
    let package = format!(
        r#"{{"name": "mine", "manifest_path": "x", "targets": [{target}], "dependencies": []}}"#
    );
    let target = clone.join("target").display().to_string();
    scratch.set(
        "metadata",
        &format!(r#"{{"target_directory": "{target}", "packages": [{package}]}}"#),
    );
    let outcome = scratch.run(&["torch-bench", "calibrate", "--hardware", "x", "--quick"]);
    let said = &outcome.assert_fine().stdout;
    assert!(said.starts_with(&format!("report: calibration {FILTER} --hardware x")), "{said}");
    assert_eq!(
        scratch.calls(),
        [
            "bench --bench torch --no-run",
            "bench --bench torch -- --list",
            "bench --no-fail-fast --bench torch"
        ]
    );
}
