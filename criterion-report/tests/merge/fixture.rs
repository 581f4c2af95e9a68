//! Shards of a small sweep, as runs on one or two machines leave them, and the program run on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use criterion_report::read::{Location, Report, Selection};
use plan::{Cache, Case, Config, Memory, Probe, Role, RunManifest, StepMemory, Work, expand};
use serde_json::json;
use tempfile::TempDir;

pub use crate::common::made::{Fixture, Measured};
use crate::common::pair_of;

/// Two groups of two cases.
pub const SWEEP: &str = "
benchmark_mode: inference
packed: false
quantization_config_recipe_names: [baseline, int8wo]
model_params:
  - name: sweep
    model_type: linear
    device: cpu
    high_precision_dtype: torch.bfloat16
    matrix_shapes:
      - name: custom
        shapes: [[64, 1024, 1024], [128, 1024, 1024]]
";

const QUICK: &str = "
benchmark_mode: calibration
threads: [1]
calibration_params:
  - { probes: [triad], sizes: [256MiB] }
  - { probes: [matmul], sizes: [1024], dtypes: [float32] }
";

/// When the first run began: 2026-11-20T13:40:00Z.
const STARTED: u64 = 1_795_182_000;

/// A machine with what its memory can do, 10⁹ bytes per second.
#[derive(Clone, Copy)]
pub struct Machine {
    pub hostname: &'static str,
    pub processor: &'static str,
    pub gbps: f64,
}

pub const ONE: Machine = Machine { hostname: "node-1", processor: "AMD EPYC 7763", gbps: 10.0 };
pub const TWO: Machine = Machine { hostname: "node-2", processor: "Intel Xeon 8480+", gbps: 40.0 };

/// One run's part of the sweep.
pub struct Shard {
    index: u32,
    count: u32,
    machine: Machine,
    /// Name of the run, which begins so many seconds after the first.
    pub run_id: String,
    after: u64,
    fixture: Fixture,
    unreached: Vec<String>,
}

impl Shard {
    /// Part `index` of `count`, of the cases that match, on a machine. Runs follow one another.
    pub fn new(index: u32, count: u32, filter: &str, machine: Machine) -> Self {
        let matches = regex::Regex::new(filter).expect("a valid pattern");
        let cases = planned(SWEEP).into_iter().filter(|case| matches.is_match(&case.full_id()));
        let ns = |case: &Case| if case.role == Role::Baseline { 1_000_000 } else { 500_000 };
        let cases: Vec<Measured> = cases.map(|case| measured(&case, ns(&case))).collect();
        assert!(!cases.is_empty(), "{filter} matches no case");
        let run_id = format!("20261120T134{index}00Z-42");
        let (after, fixture) = (100 * u64::from(index), Fixture::of_cases(cases));
        Self { index, count, machine, run_id, after, fixture, unreached: Vec::new() }
    }

    /// The first half, the shape 64x1024x1024, of two shards.
    pub fn first(machine: Machine) -> Self {
        Self::new(1, 2, "/bf16-64x", machine)
    }

    /// The second half.
    pub fn second(machine: Machine) -> Self {
        Self::new(2, 2, "/bf16-128x", machine)
    }

    pub fn edit(mut self, change: impl FnOnce(Fixture) -> Fixture) -> Self {
        self.fixture = change(self.fixture);
        self
    }

    /// The shard by a run that began this many seconds after the first.
    pub fn rerun(mut self, run_id: &str, after: u64) -> Self {
        (self.run_id, self.after) = (run_id.to_owned(), after);
        self
    }

    /// Cases that the run ended before, the first of them while it ran.
    pub fn unreached(mut self, ids: &[&str]) -> Self {
        self.unreached = ids.iter().map(|&id| id.to_owned()).collect();
        self
    }

    /// With the quick calibration of its machine before its cases.
    pub fn calibrated(mut self) -> Self {
        let gbps = self.machine.gbps;
        let probe = |case: Case| {
            let Work::Probe(work) = &case.work else { panic!("a probe") };
            let ns = match work.probe {
                Probe::Triad => work.bytes(case.dtype) as f64 / gbps,
                _ => work.flops(case.dtype) as f64 / (10.0 * gbps),
            };
            measured(&case, ns.round() as u64)
        };
        let calibration = planned(QUICK).into_iter().map(probe).collect();
        self.fixture = Fixture::of_cases(calibration).and(self.fixture);
        self
    }

    /// Writes it as the results of a run under `new`.
    fn write_in(&self, folder: &Path) {
        let mut fixture = self.fixture.clone();
        for (place, it) in fixture.cases.iter_mut().enumerate() {
            let record = &mut it.record;
            record.run_id.clone_from(&self.run_id);
            record.timestamp = STARTED + self.after + place as u64;
            let host = &mut record.environment_mut().host;
            host.hostname = self.machine.hostname.to_owned();
            host.cpu_model = self.machine.processor.to_owned();
            (host.cpus, host.memory_bytes) = (2, 8 << 30);
        }
        let shard = json!({
            "index": self.index,
            "count": self.count,
            "partition": "balanced",
            "from": "flag",
        });
        fixture.run = Some(RunManifest {
            version: RunManifest::VERSION,
            run_id: self.run_id.clone(),
            target: "inference".to_owned(),
            baseline: Some("base".to_owned()),
            started: STARTED + self.after,
            finished: self.unreached.is_empty().then_some(STARTED + self.after + 50),
            args: vec!["--bench".to_owned()],
            filter: None,
            exact: false,
            shard: serde_json::from_value(shard).expect("a shard"),
            merged: false,
            resumed: Vec::new(),
            checks: Vec::new(),
            warnings: Vec::new(),
            selected: Vec::new(),
            outcomes: BTreeMap::new(),
        });
        fixture.unreached.clone_from(&self.unreached);
        fixture.write_in(folder, "new");
        if let Some(running) = self.unreached.first() {
            let file = folder.join(format!("criterion-torch/runs/{}.running", self.run_id));
            fs::write(file, running).expect("written");
        }
    }
}

fn planned(config: &str) -> Vec<Case> {
    let config = Config::parse(Path::new("sweep.yml"), config).expect("a valid config");
    let plan = expand(&[config]).expect("it expands");
    plan.cases().cloned().collect()
}

fn measured(case: &Case, ns: u64) -> Measured {
    let mut it = Measured::new(case.clone(), ns);
    let record = &mut it.record;
    let step = StepMemory { peak_bytes: 0, total_bytes: 0, allocations: 0 };
    record.measures = plan::Measures {
        memory: Some(Memory {
            weights_bytes: 1 << 21,
            inputs_bytes: 0,
            outputs_bytes: 0,
            saved_bytes: None,
            step,
        }),
        ..plan::Measures::default()
    };
    let environment = record.environment_mut();
    environment.torch.threads = 1;
    // All of it lies in memory.
    environment.host.caches = vec![Cache { level: 1, bytes: 1 << 15, cpus: 1 }];
    if case.role == Role::Candidate {
        let baseline = case.work.baseline().unwrap_or("1-thread");
        let against = plan::case_id(&case.id.group, baseline, &case.id.parameter);
        record.pairs.push(pair_of(against.to_string(), 2.0));
    }
    it
}

/// A folder with a plan, in which shards are written and merged.
pub struct Sweep(TempDir);

impl Sweep {
    /// The plan of the whole sweep, as the program writes it, and these folders of results.
    pub fn with_shards(shards: &[(&str, &Shard)]) -> Self {
        let sweep = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::write(sweep.path("sweep.yml"), SWEEP).expect("written");
        let plan = ["plan", "sweep.yml", "--format", "json", "--output", "plan.json"];
        let output = sweep.run(&plan);
        assert!(output.status.success(), "{}", text(&output.stderr));
        for (name, shard) in shards {
            shard.write_in(&sweep.path(name));
        }
        sweep
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_criterion-report"))
            .args(args)
            .current_dir(self.0.path())
            .env_remove("CRITERION_HOME")
            .env_remove("CARGO_TARGET_DIR")
            .output()
            .expect("the program starts")
    }

    /// Merges these folders; returns exit code, standard output and standard error.
    pub fn merge(&self, folders: &[&str]) -> String {
        self.merge_with(folders, &[])
    }

    pub fn merge_with(&self, folders: &[&str], options: &[&str]) -> String {
        let fixed = ["--plan", "plan.json", "--output", "merged"];
        let output = self.run(&[&["merge"], folders, &fixed, options].concat());
        let code = output.status.code().expect("it ends by itself");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let err = if err.is_empty() { err } else { format!("--- stderr\n{err}") };
        format!("exit {code}\n{out}{err}").replace(&self.0.path().display().to_string(), "DIR")
    }

    /// Runs a report on the merged results; returns exit code, standard output and standard error.
    pub fn report(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let output = self.run(&[args, &["--criterion-dir", "merged/criterion"]].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    pub fn merged(&self) -> Report {
        let location = Location::at(self.path("merged/criterion"));
        Report::read(&location, "new", Selection::default()).expect("readable")
    }

    /// Ids and lines of the merged records.
    pub fn records(&self) -> Vec<(String, String)> {
        lines(&self.path("merged/criterion-torch/new/inference.jsonl"))
    }
}

/// Ids and lines of a file of records.
pub fn lines(file: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(file).expect("readable");
    let id = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        value["full_id"].as_str().expect("an id").to_owned()
    };
    text.lines().map(|line| (id(line), line.to_owned())).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}
