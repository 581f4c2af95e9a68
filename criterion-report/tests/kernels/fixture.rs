//! Results of kernels as runs leave them.

use std::collections::BTreeMap;

use criterion_report::read::Report;
use criterion_report::views::kernels::KernelResult;
use plan::{
    Accuracy, Case, Device, Dtype, Energy, JsonFloat, KernelFacts, KernelTolerances, KernelWork,
    Latency, Memory, Mode, Record, Role, RunManifest, SkipCondition, StepMemory, Work,
};
use serde_json::{Value, json};

use crate::common::made::template;
pub use crate::common::made::{Fixture, Measured};
use crate::common::pair_of;

/// When the cases ended: 2026-11-20T13:40:00Z.
pub const ENDED: u64 = 1_795_182_000;

/// A case to be made: kernel, implementation, precision, device and the median of a step.
pub struct Make<'a>(pub &'a str, pub &'a str, pub Dtype, pub Device, pub u64);

impl Fixture {
    /// These cases, measured by one run.
    pub fn of_kernels(cases: &[Make<'_>]) -> Self {
        let run = RunManifest {
            version: RunManifest::VERSION,
            run_id: RUN.to_owned(),
            target: "kernels".to_owned(),
            baseline: Some("base".to_owned()),
            started: ENDED - 600,
            finished: None,
            args: vec!["--bench".to_owned()],
            filter: None,
            exact: false,
            shard: None,
            merged: false,
            checks: Vec::new(),
            warnings: vec!["the load of the machine is 1.9: stop what else runs".to_owned()],
            selected: Vec::new(),
            resumed: Vec::new(),
            outcomes: BTreeMap::new(),
        };
        Self { run: Some(run), ..Self::of_cases(cases.iter().map(measured).collect()) }
    }

    /// The report of these cases.
    pub fn kernels_report(&self) -> Report {
        self.report_of(Mode::Kernels, "")
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

/// The work of a case of the kernel.
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
        uses_torch: false,
        problem_size: fields(problem),
        tolerances: KernelTolerances { relative_error: Some(1e-2), ..Default::default() },
        skip_conditions: vec![SkipCondition {
            check: Some("memory_gb < 1".to_owned()),
            reason: "it needs a GiB".to_owned(),
        }],
        metadata: fields(json!({"domain": "fluid dynamics"})),
    }
}

/// The case, measured on the machine of another fixture.
fn measured(&Make(kernel, implementation, dtype, device, ns): &Make<'_>) -> Measured {
    let work = work(kernel, implementation);
    let group = format!("kernels/default/{kernel}/{device}");
    let size = if kernel == "pressure_poisson" { "64x64x64-1e-6" } else { "4096" };
    let parameter = format!("{}-{size}", dtype.short());
    let is_baseline = implementation == KernelWork::BASELINE;
    let template = template().case;
    let mut settings = template.settings.clone();
    settings.latency = plan::LatencyPass { calls: None, fewest: Some(100), warm_up: Some(3) };
    let mut problem_size = work.problem_size.clone();
    problem_size.insert("max_iterations".to_owned(), json!(200));
    let case = Case {
        id: plan::case_id(&group, implementation, &parameter),
        config: "default".to_owned(),
        role: if is_baseline { Role::Baseline } else { Role::Candidate },
        mode: Mode::Kernels,
        work: Work::Kernel(work),
        dtype,
        device,
        shape_names: Vec::new(),
        settings,
        ..template
    };
    let mut measured = Measured::new(case, ns);
    let record = &mut measured.record;
    record.run_id = RUN.to_owned();
    record.timestamp = ENDED;
    record.kernel = Some(facts(problem_size));
    record.accuracy = Some(accuracy());
    if !is_baseline {
        let baseline = plan::case_id(&group, KernelWork::BASELINE, &parameter);
        record.pairs.push(pair_of(baseline.to_string(), 2.0));
    }
    record.environment_mut().git_revision = Some("1f0c2ab34d56-dirty".to_owned());
    record.environment_mut().rustc = "rustc 1.95.0 (59807616e 2026-04-14)".to_owned();
    if device == Device::Cuda {
        record.environment_mut().torch.cuda = Some("12.8".to_owned());
        record.environment_mut().torch.cuda_device = Some("NVIDIA H200".to_owned());
        record.environment_mut().torch.cuda_driver = Some("570.86".to_owned());
    }
    measures(record, ns);
    measured
}

fn facts(problem_size: BTreeMap<String, Value>) -> KernelFacts {
    KernelFacts {
        problem_size,
        flops: Some(2_000_000),
        bytes: Some(4_000_000),
        has_reference: true,
        determinism_std: Some(JsonFloat(0.0)),
        runs: 3,
    }
}

fn accuracy() -> Accuracy {
    Accuracy {
        sqnr_db: JsonFloat(80.0),
        max_abs_error: JsonFloat(3e-4),
        relative_error: JsonFloat(1e-4),
        rmse: Some(JsonFloat(5e-5)),
        min_sqnr_db: 40.0,
        rows_checked: 64,
        gates: Vec::new(),
        tensors: Vec::new(),
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
        saved_bytes: None,
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
