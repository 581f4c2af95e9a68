//! A folder in which a test runs benchmarks and `criterion-report`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use plan::Case;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// This package, in which benchmarks run as `cargo bench` runs them.
const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// Held while a benchmark runs: by several, or by one that is alone.
#[expect(dead_code, reason = "held")]
enum Turn {
    Beside(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

impl Turn {
    fn new(is_alone: bool) -> Self {
        static BENCHMARKS: RwLock<()> = RwLock::new(());
        match is_alone {
            true => Self::Alone(BENCHMARKS.write().unwrap_or_else(PoisonError::into_inner)),
            false => Self::Beside(BENCHMARKS.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

/// A folder with criterion's and our own files of the runs.
pub struct TestWorkspace {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, OsString)>,
    on_small_pages: bool,
    is_alone: bool,
}

impl TestWorkspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, variables: Vec::new(), on_small_pages: false, is_alone: false }
    }

    /// From now on with a variable that names a path in its folder.
    pub fn with_path(self, variable: &'static str, inside: &str) -> Self {
        let path = self.path(inside);
        self.with_value(variable, path)
    }

    /// From now on with a variable of that value.
    pub fn with_value(mut self, variable: &'static str, value: impl Into<OsString>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// From now on without huge pages for programs that do not ask for them, whatever the machine's setting.
    pub fn on_small_pages(mut self) -> Self {
        self.on_small_pages = true;
        self
    }

    /// From now on while no other test of this program runs a benchmark.
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    pub fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(PACKAGE)
            .env("CRITERION_HOME", self.path("criterion"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        if self.on_small_pages {
            without_huge_pages(&mut command);
        }
        let _turn = Turn::new(self.is_alone);
        command.output().unwrap_or_else(|error| panic!("{}: {error}", program.display()))
    }

    /// The benchmark, with the arguments that `cargo bench` gives it.
    pub fn benchmark(&self, target: &str, arguments: &[&str]) -> Output {
        let program = match target {
            "inference" => env!("CARGO_BIN_EXE_inference"),
            "training" => env!("CARGO_BIN_EXE_training"),
            "fusion" => env!("CARGO_BIN_EXE_fusion"),
            "operators" => env!("CARGO_BIN_EXE_operators"),
            "kernels" => env!("CARGO_BIN_EXE_kernels"),
            "calibration" => env!("CARGO_BIN_EXE_calibration"),
            other => panic!("no benchmark {other}"),
        };
        self.run(Path::new(program), &[arguments, &["--bench"]].concat())
    }

    /// `cargo bench` of this repository's own benchmarks with `configs/<config>` of this package instead of
    /// theirs; what it printed.
    pub fn cargo_bench(&self, target: &str, config: &str, arguments: &[&str]) -> String {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["bench", "--quiet", "--bench", target, "--"]).args(arguments);
        cargo.current_dir(Path::new(PACKAGE).join("../.."));
        cargo.env("BENCH_CONFIG", Path::new(PACKAGE).join("configs").join(config));
        cargo.env("CRITERION_HOME", self.path("criterion"));
        let _turn = Turn::new(self.is_alone);
        succeeded(&cargo.output().expect("cargo can be started"))
    }

    /// Runs the benchmark; what it printed.
    pub fn bench(&self, target: &str, arguments: &[&str]) -> String {
        succeeded(&self.benchmark(target, arguments))
    }

    /// Runs the benchmark until no pair was disturbed; what it printed and recorded. On a busy machine a pair may rightly
    /// be refused: a side was slower beside the other than alone, or steps so slow that there were too few.
    pub fn quiet_bench(
        &self,
        target: &str,
        baseline: &str,
        arguments: &[&str],
    ) -> (String, Vec<Value>) {
        const DISTURBED: [&str; 2] =
            ["does not get back to its own pace", "the time budget was too short"];
        let run = |_| {
            let printed = self.bench(target, arguments);
            (printed, self.records::<Value>(baseline, target))
        };
        let is_undisturbed = |(_, records): &(String, Vec<Value>)| {
            let mut refused = records.iter().filter_map(|record| record["no_pair"].as_str());
            !refused.any(|why| DISTURBED.iter().any(|words| why.contains(words)))
        };
        (0..5).map(run).find(is_undisturbed).expect("a quiet second")
    }

    /// Runs the benchmark where cases fail, so that it does; what it complained about.
    pub fn failing_bench(&self, target: &str, arguments: &[&str]) -> String {
        let output = self.benchmark(target, arguments);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(!output.status.success(), "nothing failed: {said}");
        said
    }

    /// `criterion-report <arguments>`; what it printed.
    pub fn report(&self, arguments: &[&str]) -> String {
        succeeded(&self.run(Path::new(env!("CARGO_BIN_EXE_report")), arguments))
    }

    /// The ids of a config that the bench target lists; of all its configs, if none is named.
    pub fn listed(&self, target: &str, config: &str) -> Vec<String> {
        let mut listed = ids(&self.bench(target, &LIST));
        listed.retain(|id| config.is_empty() || id.starts_with(&format!("{target}/{config}/")));
        listed
    }

    /// The ids that `criterion-report plan` expands `configs/<config>` to.
    pub fn planned(&self, config: &str) -> Vec<String> {
        let planned = self.report(&["plan", "--format", "json", &format!("configs/{config}")]);
        let planned: Vec<Value> = serde_json::from_str(&planned).expect("a JSON list");
        planned.iter().map(|case| case["full_id"].as_str().expect("an id").to_owned()).collect()
    }

    /// The records that runs of the bench target saved under that name.
    pub fn records<T: DeserializeOwned>(&self, baseline: &str, target: &str) -> Vec<T> {
        let file = self.path(&format!("criterion-torch/{baseline}/{target}.jsonl"));
        let text = std::fs::read_to_string(&file);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
    }

    /// Criterion's median time of a step, in nanoseconds; none of a case that it has not measured.
    pub fn median_ns(&self, case: &Case, baseline: &str) -> Option<f64> {
        let folder = self.path("criterion").join(case.id.directory()).join(baseline);
        let read = |name: &str| -> Value {
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

/// Has a program begin without huge pages: the setting outlasts the start of another program. A benchmark allows them
/// again for cases whose memory is retained.
#[cfg(target_os = "linux")]
fn without_huge_pages(command: &mut Command) {
    use std::os::unix::process::CommandExt;

    let disable = || {
        // SAFETY: changes nothing but the kernel's choice of page size for this process.
        match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec it makes a system call, and reads its error.
    unsafe { command.pre_exec(disable) };
}

/// Elsewhere no program has huge pages without asking.
#[cfg(not(target_os = "linux"))]
fn without_huge_pages(_: &mut Command) {}

/// Bytes of a page of memory.
pub fn page_bytes() -> f64 {
    // SAFETY: asks for the page size.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    assert!(bytes > 0, "{}", std::io::Error::last_os_error());
    bytes as f64
}

/// With these a benchmark lists its cases.
pub const LIST: [&str; 3] = ["--list", "--format", "terse"];

/// The ids in such a list.
pub fn ids(listed: &str) -> Vec<String> {
    let lines = listed.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.trim_end_matches(": benchmark").to_owned()).collect()
}

fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{said}", output.status);
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// A number that went through JSON, and what it has to be.
#[track_caller]
pub fn assert_near(found: &Value, expected: f64) {
    let number = found.as_f64().unwrap_or_else(|| panic!("{found} instead of {expected}"));
    assert!((number - expected).abs() <= 1e-12 * expected.abs(), "{number} instead of {expected}");
}
