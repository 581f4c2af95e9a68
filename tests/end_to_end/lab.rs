//! Where a test runs `cargo bench` and `criterion-report`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plan::Case;
use serde::de::DeserializeOwned;

/// The configs of all tests. They run at the same time, and what `cargo bench` builds of one would
/// replace what it has built of another; this way it is the same.
const CONFIGS: [&str; 6] =
    ["tiny.yml", "inductor.yml", "patterns.yml", "functions.yml", "machine.yml", "drop_in.yml"];

/// A folder with criterion's and our own files of the runs.
pub struct Lab {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, OsString)>,
}

impl Lab {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, variables: Vec::new() }
    }

    /// From now on with a variable that names a path in its folder.
    pub fn with(self, variable: &'static str, inside: &str) -> Self {
        let path = self.path(inside);
        self.with_value(variable, path)
    }

    /// From now on with a variable of that value.
    pub fn with_value(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        let configs = std::env::join_paths(CONFIGS.map(config)).expect("no colons");
        Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("BENCH_CONFIG", configs)
            .env("CRITERION_HOME", self.path("criterion"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("cargo can be started")
    }

    /// `cargo bench --bench <target> -- <arguments>`; what it printed.
    pub fn bench(&self, target: &str, arguments: &[&str]) -> String {
        let start = ["bench", "--quiet", "--bench", target, "--"];
        succeeded(&self.cargo(&[&start, arguments].concat()))
    }

    /// The same where cases fail, so that it does; what it complained about.
    pub fn failing_bench(&self, target: &str, arguments: &[&str]) -> String {
        let start = ["bench", "--quiet", "--bench", target, "--"];
        let output = self.cargo(&[&start, arguments].concat());
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(!output.status.success(), "nothing failed: {said}");
        said
    }

    /// `criterion-report <arguments>`; what it printed.
    pub fn report(&self, arguments: &[&str]) -> String {
        let start = ["run", "--quiet", "--package", "criterion-report", "--"];
        succeeded(&self.cargo(&[&start, arguments].concat()))
    }

    /// The ids that the bench target lists.
    pub fn listed(&self, target: &str) -> Vec<String> {
        self.bench(target, &["--list", "--format", "terse"])
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| line.trim_end_matches(": benchmark").to_owned())
            .collect()
    }

    /// The ids that `criterion-report plan` expands the config to.
    pub fn planned(&self, name: &str) -> Vec<String> {
        let config = config(name);
        let planned = self.report(&["plan", "--format", "json", config.to_str().expect("UTF-8")]);
        let planned: Vec<serde_json::Value> = serde_json::from_str(&planned).expect("a JSON list");
        planned.iter().map(|case| case["full_id"].as_str().expect("an id").to_owned()).collect()
    }

    /// What the runs of the bench target have recorded under that name.
    pub fn records<T: DeserializeOwned>(&self, baseline: &str, target: &str) -> Vec<T> {
        let file = self.path(&format!("criterion-torch/{baseline}/{target}.jsonl"));
        let text = std::fs::read_to_string(&file);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    /// Criterion's median time of a step, in nanoseconds; none of a case that it has not measured.
    pub fn median_ns(&self, case: &Case, baseline: &str) -> Option<f64> {
        let folder = self.path("criterion").join(case.id.directory()).join(baseline);
        let read = |name: &str| -> serde_json::Value {
            let text = std::fs::read_to_string(folder.join(name)).expect("readable");
            serde_json::from_str(&text).expect("JSON")
        };
        if !folder.exists() {
            return None;
        }
        assert_eq!(read("benchmark.json")["full_id"], case.full_id(), "criterion's own id");
        Some(read("estimates.json")["median"]["point_estimate"].as_f64().expect("a time"))
    }
}

fn config(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/end_to_end").join(name)
}

fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}", output.status);
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// A number that went through JSON, and what it has to be.
#[track_caller]
pub fn near(found: &serde_json::Value, expected: f64) {
    let number = found.as_f64().unwrap_or_else(|| panic!("{found} instead of {expected}"));
    assert!((number - expected).abs() <= 1e-12 * expected.abs(), "{number} instead of {expected}");
}
