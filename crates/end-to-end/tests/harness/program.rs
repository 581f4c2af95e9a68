//! This program as a benchmark.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use criterion_torch::harness::{self, Criterion, GroupFn, Session};
use criterion_torch::refusal::Refusal;
use criterion_torch::workload::Workload;
use plan::{Accuracy, Case, Config, JsonFloat, Record};
use tempfile::TempDir;

/// A bench target with workloads of its own.
pub struct Suite {
    pub target: &'static str,
    /// Names and texts of its configs.
    pub configs: &'static [(&'static str, &'static str)],
    pub prepare: fn(&Case) -> Result<Box<dyn Workload>, Refusal>,
}

/// Names the suite to the child process.
const SUITE: &str = "HARNESS_SUITE";
/// Names a file that gets a line for every case that is prepared.
const PREPARED: &str = "HARNESS_PREPARED";

impl Suite {
    pub fn chosen(suites: &[&'static Self]) -> &'static Self {
        let name = std::env::var(SUITE).expect("the parent sets it");
        suites.iter().find(|suite| suite.target == name).expect("one of the suites")
    }

    /// Runs configs as `criterion_torch::main!` does.
    pub fn bench(&self) -> ExitCode {
        fn group<const INDEX: usize>(criterion: &mut Criterion, session: &mut Session) {
            session.group(criterion, INDEX);
        }
        const GROUPS: [GroupFn; 13] = [
            group::<0>,
            group::<1>,
            group::<2>,
            group::<3>,
            group::<4>,
            group::<5>,
            group::<6>,
            group::<7>,
            group::<8>,
            group::<9>,
            group::<10>,
            group::<11>,
            group::<12>,
        ];
        let parse = |(name, text): &(&str, &str)| Config::parse(Path::new(name), text);
        let configs: Result<Vec<Config>, _> = self.configs.iter().map(parse).collect();
        let plan = plan::expand(&configs.expect("valid configs")).expect("a valid plan");
        let json = serde_json::to_string(&plan).expect("a plan is JSON");
        harness::main(self.target, &json, &GROUPS[..plan.groups.len()], self.prepare)
    }

    /// A run of it into a folder of its own.
    pub fn run(&self, arguments: &[&str]) -> Run {
        let home = tempfile::tempdir().expect("a temporary folder");
        let command = self.command(home.path(), arguments);
        self.run_in(home, command)
    }

    /// A run of a command into its folder.
    pub fn run_in(&self, home: TempDir, mut command: Command) -> Run {
        let output = command.output().expect("this program can be started");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Run { home, status: output.status.code(), said }
    }

    /// This program as the benchmark.
    pub fn command(&self, home: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.args(["--bench", "--color", "never"]).args(arguments);
        command.env(SUITE, self.target).env("CRITERION_HOME", home.join("criterion"));
        command.env(PREPARED, home.join("prepared"));
        command
    }

    /// The records in the folder under that name, as they were written; `said` is what the run said.
    pub fn records(&self, home: &Path, baseline: &str, said: &str) -> Vec<Record> {
        let file = format!("criterion-torch/{baseline}/{}.jsonl", self.target);
        let text = std::fs::read_to_string(home.join(file));
        let text = text.unwrap_or_else(|error| panic!("{error}: {said}"));
        let record = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {said}"));
        text.lines().map(record).collect()
    }
}

/// A run that has ended.
pub struct Run {
    pub home: TempDir,
    pub status: Option<i32>,
    /// On stderr.
    pub said: String,
}

impl Run {
    /// In the order in which they were written; none where it wrote none.
    pub fn records(&self, suite: &Suite) -> Vec<Record> {
        let wrote = self.home.path().join("criterion-torch/new").exists();
        if wrote { suite.records(self.home.path(), "new", &self.said) } else { Vec::new() }
    }

    pub fn prepared(&self) -> Vec<String> {
        prepared(self.home.path())
    }
}

/// The ids of the cases that were prepared in `home`.
pub fn prepared(home: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(home.join("prepared")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Writes down that a case is prepared; how often it was before.
pub fn note(case: &Case) -> usize {
    let path = PathBuf::from(std::env::var_os(PREPARED).expect("the parent sets it"));
    let home = path.parent().expect("it lies in a folder");
    let before = prepared(home).iter().filter(|id| **id == case.full_id()).count();
    let mut log = File::options().append(true).create(true).open(&path).expect("writable");
    writeln!(log, "{}", case.full_id()).expect("writable");
    before
}

/// The number of rows of a model's case, which says what it is there for.
pub fn rows_of(case: &Case) -> u64 {
    case.work.model().expect("a case of a model").shape.m
}

/// An output that equals its reference.
pub fn exact() -> Accuracy {
    let (infinite, zero) = (JsonFloat(f64::INFINITY), JsonFloat(0.0));
    Accuracy {
        sqnr_db: infinite,
        max_abs_error: zero,
        relative_error: zero,
        rmse: None,
        min_sqnr_db: 45.0,
        rows_checked: 1,
        gates: vec![],
        tensors: vec![],
        eager: None,
    }
}
