//! The bundle of a user's package with a sweep of 40 cases, of which one fails, and the machine's limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::outside::{Outside, succeeded};
use crate::{QUICK, SAXPY, calls, layers, package, saxpy, template};

/// The kernel whose result is wrong.
pub const FAULTY: &str = "/off/";

pub struct Sweep {
    pub made: tempfile::TempDir,
    /// The folder in which it is unpacked.
    pub root: PathBuf,
}

/// The package's files: 34 cases of an operator, 3 of a layer, 2 of a kernel, 1 that fails; a probe besides.
fn files() -> Vec<(&'static str, String)> {
    let sizes: Vec<String> = (1..=17).map(|it| (it * 16).to_string()).collect();
    let operators = format!(
        "{QUICK}benchmark_mode: operators
operator_params:
  - operators: [gelu]
    batch_sizes: [1]
    sequence_lengths: [{}]
    tensor_dimensions: [64]
    implementations: [aten, rust]
",
        sizes.join(", ")
    );
    let kernel = template(&format!("{SAXPY}/kernel.rs"));
    let wrong = kernel.replace("T::wide(*x) + T::wide(*y)", "T::wide(*x) - T::wide(*y)");
    assert_ne!(wrong, kernel);
    let mut files = [package("to-bundle", ""), saxpy()].concat();
    files.extend([
        ("configs/operators/all.yml", operators),
        ("configs/inference/layers.yml", layers()),
        ("configs/calibration/machine.yml", calls()),
        ("benches/kernels/off/kernel.rs", wrong),
        ("benches/kernels/off/bench.yaml", crate::SIZE.to_owned()),
    ]);
    files
}

impl Sweep {
    /// Builds, packs and unpacks it.
    pub fn build(outside: &Outside) -> Self {
        outside.put("to bundle", files());
        let made = tempfile::tempdir().expect("a temporary folder");
        let programs = made.path().join("programs");
        fs::create_dir(&programs).expect("made");
        symlink(env!("CARGO_BIN_EXE_report"), programs.join("criterion-report")).expect("linked");
        let archive = made.path().join("sweep.tar.zst");
        let words = ["bundle", "--profile", "dev", "--output", archive.to_str().expect("UTF-8")];
        let mut bundle = outside.tool("to bundle", &words);
        outside.equip(&mut bundle, "to bundle");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [programs].into_iter().chain(std::env::split_paths(&path));
        bundle.env("PATH", std::env::join_paths(path).expect("paths"));
        let said = succeeded(&bundle.output().expect("it can be started"));
        println!("{said}");
        assert!(said.contains("libtorch") && said.contains("criterion-report"), "{said}");
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(&archive).arg("-C").arg(made.path());
        succeeded(&tar.output().expect("tar can be started"));
        let sweep = Self { root: made.path().join("sweep"), made };
        assert_eq!(sweep.planned().iter().filter(|id| !id.starts_with("calibration/")).count(), 40);
        sweep
    }

    /// The ids of the plan.
    pub fn planned(&self) -> BTreeSet<String> {
        let planned = fs::read_to_string(self.root.join("plan.json")).expect("readable");
        let planned: Vec<Value> = serde_json::from_str(&planned).expect("a list");
        planned.iter().map(|case| case["full_id"].as_str().expect("an id").to_owned()).collect()
    }

    /// Runs all of it or a part, on this machine.
    pub fn run(&self, words: &[&str]) -> Output {
        let mut runner = Command::new(self.root.join("torch-bench-run"));
        let output = runner.args(words).current_dir(self.made.path()).output();
        output.expect("it can be started")
    }

    /// How each case ended, by its id, as the bundle's own report reads it.
    pub fn outcomes(&self, criterion: &Path) -> BTreeMap<String, String> {
        let mut report = Command::new(self.root.join("bin/criterion-report"));
        report.args(["export", "json", "--criterion-dir"]).arg(criterion);
        let report = succeeded(&report.output().expect("it can be started"));
        let report: Value = serde_json::from_str(&report).expect("JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let cases = report["cases"].as_array().expect("a list").iter();
        cases
            .map(|case| (text(&case["full_id"]), text(&case["record"]["outcome"]["status"])))
            .collect()
    }
}
