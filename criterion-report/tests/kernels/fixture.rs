//! Results of kernels as runs leave them, made here, with times that are easy to reckon with.
#![allow(dead_code, reason = "each test binary uses its own part of this module")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use criterion_report::model::kernels::KernelResult;
use criterion_report::model::{Location, Report, Selection};
use plan::{
    Accuracy, Case, Device, Dtype, Energy, KernelFacts, KernelTolerances, KernelWork, LastSample,
    Latency, Memory, Mode, Outcome, Record, Role, RunManifest, SkipCondition, Stat, StepMemory,
    Work,
};
use serde_json::{Value, json};

use crate::common::pair_of;

/// Half-width of the times' intervals.
pub const TIME_HALF_WIDTH: f64 = 0.005;
/// When the cases ended: 2026-11-20T13:40:00Z.
pub const ENDED: u64 = 1_795_182_000;

/// A record and, where criterion measured, its time in ns with the half-width of its interval.
#[derive(Clone)]
pub struct Measured {
    pub record: Record,
    pub ns: Option<u64>,
    pub half_width: f64,
}

/// Cases, not yet written.
#[derive(Clone)]
pub struct Fixture {
    pub cases: Vec<Measured>,
    /// Cases that the run selected and did not reach.
    pub unreached: Vec<String>,
}

/// A case to be made: kernel, implementation, precision, device and the median of a step.
pub struct Make<'a>(pub &'a str, pub &'a str, pub Dtype, pub Device, pub u64);

impl Fixture {
    /// These cases, measured.
    pub fn of(cases: &[Make<'_>]) -> Self {
        let cases = cases.iter().map(measured).collect();
        Self { cases, unreached: Vec::new() }
    }

    /// Changes the cases whose id contains this; at least one does.
    pub fn edit(mut self, part: &str, change: impl Fn(&mut Measured)) -> Self {
        let matching = self.cases.iter_mut().filter(|it| it.record.full_id.contains(part));
        assert!(matching.map(change).count() > 0, "{part} is in no id");
        self
    }

    /// Ends the cases without a measurement.
    pub fn end(self, part: &str, outcome: &Outcome) -> Self {
        self.edit(part, |it| {
            it.ns = None;
            let record = &mut it.record;
            record.outcome = outcome.clone();
            record.pairs.clear();
            record.last_sample = None;
            record.accuracy = None;
            record.kernel = None;
            record.measures = plan::Measures::default();
            record.kernels.clear();
        })
    }

    /// Sets the median of a step.
    pub fn takes(self, part: &str, ns: u64) -> Self {
        self.edit(part, |it| {
            it.ns = Some(ns);
            it.record.last_sample = Some(LastSample { iters: 1, ns });
        })
    }

    /// Leaves the cases out.
    pub fn without(mut self, part: &str) -> Self {
        let before = self.cases.len();
        self.cases.retain(|it| !it.record.full_id.contains(part));
        assert!(self.cases.len() < before, "{part} is in no id");
        self
    }

    /// Cases that the run ended before.
    pub fn unreached(mut self, ids: &[&str]) -> Self {
        self.unreached = ids.iter().map(|&id| id.to_owned()).collect();
        self
    }

    /// Writes it all under a baseline; the folder is the one that holds `criterion`.
    pub fn write(&self, folder: &Path, baseline: &str) -> PathBuf {
        let criterion = folder.join("criterion");
        let records = folder.join("criterion-torch").join(baseline);
        fs::create_dir_all(&records).expect("created");
        fs::create_dir_all(&criterion).expect("created");
        let line = |it: &Measured| serde_json::to_string(&it.record).expect("serialises") + "\n";
        let lines: String = self.cases.iter().map(line).collect();
        fs::write(records.join("kernels.jsonl"), lines).expect("written");
        for it in &self.cases {
            if let Some(ns) = it.ns {
                let own = criterion.join(it.record.case.id.directory()).join(baseline);
                estimate(&own, &it.record.full_id, ns as f64, it.half_width);
            }
        }
        if baseline == "new" {
            self.write_manifest(folder);
        }
        criterion
    }

    fn write_manifest(&self, folder: &Path) {
        let ids = self.cases.iter().map(|it| it.record.full_id.clone());
        let manifest = RunManifest {
            version: RunManifest::VERSION,
            run_id: RUN.to_owned(),
            target: "kernels".to_owned(),
            baseline: Some("base".to_owned()),
            started: ENDED - 600,
            finished: None,
            args: vec!["--bench".to_owned()],
            filter: None,
            exact: false,
            checks: Vec::new(),
            warnings: vec!["the load of the machine is 1.9: stop what else runs".to_owned()],
            selected: ids.chain(self.unreached.clone()).collect(),
            outcomes: BTreeMap::new(),
        };
        let runs = folder.join("criterion-torch/runs");
        fs::create_dir_all(&runs).expect("created");
        let text = serde_json::to_string(&manifest).expect("serialises");
        fs::write(runs.join(format!("{RUN}.json")), text).expect("written");
    }

    /// The report of these cases.
    pub fn report(&self) -> Report {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let criterion = self.write(folder.path(), "new");
        let selection = Selection { modes: Some(&[Mode::Kernels]), ..Selection::default() };
        Report::read(&Location::at(criterion), "new", selection).expect("readable")
    }
}

/// The case with this in its id.
pub fn result<'a>(report: &'a Report, part: &str) -> KernelResult<'a> {
    let mut found = KernelResult::all(report);
    found.retain(|result| result.full_id.contains(part));
    assert_eq!(found.len(), 1, "{part}");
    found.remove(0)
}

const RUN: &str = "kernels-20261120T134000Z-4242";

/// What a case of the kernel runs.
fn work(kernel: &str, implementation: &str) -> KernelWork {
    let fields = |value: Value| serde_json::from_value(value).expect("a mapping");
    let problem = match kernel {
        "pressure_poisson" => json!({"grid_size": [64, 64, 64], "tolerance": 1e-6}),
        _ => json!({"n": 4096}),
    };
    KernelWork {
        kernel: kernel.to_owned(),
        implementation: implementation.to_owned(),
        file: format!("benches/kernels/{kernel}/{implementation}.rs"),
        problem_size: fields(problem),
        tolerances: KernelTolerances { relative_error: Some(1e-2), ..Default::default() },
        skip_conditions: vec![SkipCondition {
            check: Some("memory_gb < 1".to_owned()),
            reason: "it needs a GiB".to_owned(),
        }],
        metadata: fields(json!({"domain": "fluid dynamics"})),
    }
}

/// The case on a machine of another fixture, whose records have everything else.
fn measured(&Make(kernel, implementation, dtype, device, ns): &Make<'_>) -> Measured {
    let template = "tests/fixtures/probes/criterion-torch/new/calibration.jsonl";
    let lines = fs::read_to_string(template).expect("readable");
    let template: Record =
        serde_json::from_str(lines.lines().next().expect("a line")).expect("a record");
    let work = work(kernel, implementation);
    let group = format!("kernels/default/{kernel}/{device}");
    let size = if kernel == "pressure_poisson" { "64x64x64-1e-6" } else { "4096" };
    let parameter = format!("{}-{size}", dtype.short());
    let id = plan::case_id(&group, implementation, &parameter);
    let is_baseline = implementation == KernelWork::BASELINE;
    let mut settings = template.case.settings.clone();
    settings.latency = plan::LatencyPass { calls: Some(100), warm_up: Some(3) };
    let mut problem_size = work.problem_size.clone();
    problem_size.insert("max_iterations".to_owned(), json!(200));
    let case = Case {
        id,
        config: "default".to_owned(),
        role: if is_baseline { Role::Baseline } else { Role::Candidate },
        mode: Mode::Kernels,
        work: Work::Kernel(work),
        dtype,
        device,
        shape_names: Vec::new(),
        settings,
        ..template.case
    };
    let pair = (!is_baseline)
        .then(|| pair_of(plan::case_id(&group, KernelWork::BASELINE, &parameter).to_string(), 2.0));
    let mut record = Record {
        full_id: case.full_id(),
        run_id: RUN.to_owned(),
        timestamp: ENDED,
        case,
        outcome: Outcome::Measured,
        last_sample: Some(LastSample { iters: 1, ns }),
        kernels: Vec::new(),
        kernel: Some(facts(problem_size)),
        pairs: pair.into_iter().collect(),
        accuracy: Some(accuracy()),
        ..template
    };
    record.environment.git_revision = Some("1f0c2ab34d56-dirty".to_owned());
    record.environment.rustc = "rustc 1.95.0 (59807616e 2026-04-14)".to_owned();
    if device == Device::Cuda {
        record.environment.torch.cuda = Some("12.8".to_owned());
        record.environment.torch.cuda_device = Some("NVIDIA H200".to_owned());
        record.environment.torch.cuda_driver = Some("570.86".to_owned());
    }
    measures(&mut record, ns);
    Measured { record, ns: Some(ns), half_width: TIME_HALF_WIDTH }
}

fn facts(problem_size: BTreeMap<String, Value>) -> KernelFacts {
    KernelFacts {
        problem_size,
        flops: Some(2_000_000),
        bytes: Some(4_000_000),
        has_reference: true,
        determinism_std: Some(Stat(0.0)),
        runs: 3,
    }
}

fn accuracy() -> Accuracy {
    Accuracy {
        sqnr_db: Stat(80.0),
        max_abs_error: Stat(3e-4),
        relative_error: Stat(1e-4),
        rmse: Some(Stat(5e-5)),
        min_sqnr_db: 40.0,
        rows_checked: 64,
        gates: Vec::new(),
        eager: None,
    }
}

/// A hundred calls, which go from 1 % below to 1 % above in steps, and what follows from them.
fn measures(record: &mut Record, ns: u64) {
    let calls: Vec<u64> = (0..100).map(|i| ns / 1000 * (990 + (i * 20) / 99)).collect();
    latency(record, calls);
    let measures = &mut record.measures;
    measures.memory = Some(Memory {
        weights_bytes: 0,
        inputs_bytes: 2 << 20,
        outputs_bytes: 1 << 20,
        step: StepMemory { peak_bytes: 1 << 20, total_bytes: 1 << 20, allocations: 2 },
    });
    measures.energy = Some(Energy {
        joules: 0.015,
        watts: 60.0,
        idle_watts: None,
        idle_subtracted: false,
        window_s: 1.0,
        iters: 4000,
        method: "RAPL, package".to_owned(),
    });
    measures.absent.remove("energy");
}

/// Single calls, and what the harness says of them.
pub fn latency(record: &mut Record, calls: Vec<u64>) {
    let mut sorted: Vec<f64> = calls.iter().map(|&ns| ns as f64).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let given = |q: f64| {
        let enough = calls.len() as u64 >= statistics::required_calls(q);
        enough.then(|| statistics::quantile(&sorted, q))
    };
    record.measures.latency = Some(Latency {
        calls: calls.len() as u64,
        mean_ns: sorted.iter().sum::<f64>() / sorted.len() as f64,
        std_ns: None,
        p50_ns: statistics::quantile(&sorted, 0.5),
        p90_ns: given(0.9),
        p99_ns: given(0.99),
        max_ns: sorted[sorted.len() - 1],
    });
    record.measures.calls_ns = calls;
}

/// Criterion's files of a case whose samples all took `ns`.
fn estimate(folder: &Path, full_id: &str, ns: f64, half_width: f64) {
    fs::create_dir_all(folder).expect("created");
    let put = |name: &str, value: Value| {
        fs::write(folder.join(name), value.to_string()).expect("written");
    };
    let estimate = json!({
        "confidence_interval": {
            "confidence_level": 0.95,
            "lower_bound": ns * (1.0 - half_width),
            "upper_bound": ns * (1.0 + half_width),
        },
        "point_estimate": ns,
        "standard_error": 1.0,
    });
    let sample = json!({ "sampling_mode": "Flat", "iters": vec![1.0; 10], "times": vec![ns; 10] });
    put("sample.json", sample);
    let names = ["mean", "median", "median_abs_dev", "std_dev"];
    let estimates: BTreeMap<&str, &Value> = names.map(|name| (name, &estimate)).into();
    put("estimates.json", json!(estimates));
    put("benchmark.json", json!({ "full_id": full_id }));
}
