//! Makes the files that runs of thousands of cases leave: every mode, criterion's three files of a
//! hundred samples each under `new` and `base`, records of the size that benchmarks write.
//!
//! Every number follows from the case's id and the name that it is saved under.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plan::{
    Accuracy, Case, CaseId, Config, Device, Dtype, Gate, JsonFloat, KernelFacts, KernelTolerances,
    KernelWork, LastSample, Mode, Outcome, Pair, Planned, Record, Role, RunManifest, Stop, Work,
};
use serde_json::{Value, json};

/// Names that the cases are saved under.
pub const BASELINES: [&str; 2] = ["new", "base"];
const SAMPLES: usize = 100;
/// Blocks of a pair.
const BLOCKS: usize = 20;
/// When the runs began: 2026-11-20T13:40:00Z.
const STARTED: u64 = 1_795_182_000;
const TEMPLATE: &str =
    include_str!("../fixtures/every-outcome/criterion-torch/new/inference.jsonl");

/// Writes so many cases in all under both names; the folder returned is criterion's, and the
/// records lie beside it. Of ten cases five are of inference, two of fusion, two of operators and
/// one of kernels, and there are a few of calibration; one candidate in fifty failed, and one in
/// fifty is unsupported.
pub fn write(folder: &Path, cases: usize) -> PathBuf {
    write_baselines(folder, cases, &BASELINES)
}

/// Like [`write`], under these names alone.
pub fn write_baselines(folder: &Path, cases: usize, baselines: &[&str]) -> PathBuf {
    let criterion = folder.join("criterion");
    fs::create_dir_all(&criterion).expect("created");
    let template: Record =
        serde_json::from_str(TEMPLATE.lines().next().expect("a line")).expect("a record");
    for (mode, cases) in modes(cases, &template.case) {
        for baseline in baselines {
            let records: Vec<Record> = cases
                .iter()
                .enumerate()
                .map(|(place, case)| record(place, case, &template, baseline))
                .collect();
            write_records(&folder.join("criterion-torch"), mode, baseline, &records);
            for record in &records {
                if record.last_sample.is_some() {
                    write_result(&criterion, record, baseline);
                }
            }
        }
    }
    criterion
}

fn modes(cases: usize, template: &Case) -> [(Mode, Vec<Case>); 5] {
    let [fusion, operators] = [cases / 5; 2];
    let kernels = cases / 10;
    let calibration = (cases / 100).min(40);
    let inference = cases - fusion - operators - kernels - calibration;
    [
        (Mode::Inference, expanded(&models(inference), inference)),
        (Mode::Fusion, expanded(&patterns(fusion), fusion)),
        (Mode::Operators, expanded(&operator_config(operators), operators)),
        (Mode::Kernels, kernel_cases(kernels, template)),
        (Mode::Calibration, expanded(PROBES, calibration)),
    ]
}

const PROBES: &str = "benchmark_mode: calibration\nthreads: [1, all]\ncalibration_params:\n  \
    - { probes: [copy, triad] }\n  - { probes: [matmul] }\n";

/// The first so many cases of a config that has at least as many.
fn expanded(config: &str, cases: usize) -> Vec<Case> {
    let parsed = Config::parse(Path::new("many.yml"), config).expect("a valid config");
    let plan = plan::expand(&[parsed]).expect("it expands");
    let expanded: Vec<Case> = plan.cases().take(cases).cloned().collect();
    assert_eq!(expanded.len(), cases, "too few in\n{config}");
    expanded
}

/// `[m, k, n]` of a sweep, all different.
fn sizes(count: usize) -> String {
    let size = |i: usize| format!("[{}, {}, {}]", 1 + i % 7, 256 + 256 * (i % 31), 256 + 256 * i);
    (0..count).map(size).collect::<Vec<_>>().join(", ")
}

/// A layer of every recipe, and another one run eagerly and compiled.
fn models(cases: usize) -> String {
    let matrices =
        |cases| format!("matrix_shapes: [{{ name: custom, shapes: [{}] }}]", sizes(1 + cases / 8));
    format!(
        "benchmark_mode: inference\npacked: false\nquantization_config_recipe_names: \
         [int8wo, int8dq, int4wo-64, float8wo, float8dq-row, gemlitewo-4-64, uintx-4-64]\n\
         model_params:\n  - {{ device: cpu, model_type: linear, {} }}\n  \
         - {{ device: cpu, model_type: ln_linear_relu, use_torch_compile: true, {} }}\n",
        matrices(cases / 2),
        matrices(cases / 4),
    )
}

fn patterns(cases: usize) -> String {
    format!(
        "benchmark_mode: fusion\nfusion_params:\n  - patterns: [linear]\n    \
         dtypes: [float32, bfloat16]\n    sizes: [{}]\n",
        sizes(1 + cases / 12)
    )
}

fn operator_config(cases: usize) -> String {
    let dimensions: Vec<String> = (0..1 + cases / 40).map(|i| (64 + 8 * i).to_string()).collect();
    format!(
        "benchmark_mode: operators\noperator_params:\n  - operators: [all]\n    \
         batch_sizes: [16]\n    sequence_lengths: [64]\n    dtypes: [float32, bfloat16]\n    \
         tensor_dimensions: [{}]\n",
        dimensions.join(", ")
    )
}

/// Three kernels of four implementations at every size.
fn kernel_cases(cases: usize, template: &Case) -> Vec<Case> {
    const KERNELS: [&str; 3] = ["decode_gemv", "pressure_poisson", "stencil"];
    const IMPLEMENTATIONS: [&str; 4] = [KernelWork::BASELINE, "blocked", "slices", "unrolled"];
    let case = |place: usize| {
        let implementation = IMPLEMENTATIONS[place % 4];
        let kernel = KERNELS[place / 4 % 3];
        let n = 1024 + 64 * (place / 12);
        let fields = |value: Value| serde_json::from_value(value).expect("a mapping");
        let work = KernelWork {
            kernel: kernel.to_owned(),
            implementation: implementation.to_owned(),
            file: format!("benches/kernels/{kernel}/{implementation}.rs"),
            uses_torch: false,
            problem_size: fields(json!({ "n": n })),
            tolerances: KernelTolerances { relative_error: Some(1e-2), ..Default::default() },
            skip_conditions: Vec::new(),
            metadata: fields(json!({ "domain": "fluid dynamics" })),
        };
        let baseline = implementation == KernelWork::BASELINE;
        Case {
            id: plan::case_id(
                &format!("kernels/many/{kernel}/cpu"),
                implementation,
                &format!("f32-{n}"),
            ),
            config: "many".to_owned(),
            role: if baseline { Role::Baseline } else { Role::Candidate },
            mode: Mode::Kernels,
            work: Work::Kernel(work),
            dtype: Dtype::Float32,
            device: Device::Cpu,
            names: Vec::new(),
            shape_names: Vec::new(),
            ..template.clone()
        }
    };
    (0..cases).map(case).collect()
}

/// A share of 1 that follows from the words.
fn share(words: &[&str]) -> f64 {
    let mut bits = plan::fnv1a(words.join("\n").as_bytes());
    // The upper half of the hash hardly depends on the last letters; this spreads them.
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Nanoseconds of a step, before noise.
fn step_ns(id: &CaseId, baseline: &str) -> f64 {
    let size = 2e4 * 1e3_f64.powf(share(&[&id.group, &id.parameter]));
    let variant = 0.4 + share(&[&id.group, &id.variant]);
    let time = 0.95 + 0.1 * share(&[&id.group, &id.variant, &id.parameter, baseline]);
    size * variant * time
}

/// Iterations and nanoseconds of each sample.
fn samples(id: &CaseId, baseline: &str) -> (u64, Vec<u64>) {
    let step = step_ns(id, baseline);
    let iters = (5e6 / step).ceil();
    let noise = share(&[&id.group, &id.variant, &id.parameter, baseline, "noise"]);
    let sample = |place: usize| {
        let wave = ((place as f64 + 1.0) * (1.0 + noise) * 12.9898).sin();
        (iters * step * (1.0 + 0.02 * wave)) as u64
    };
    (iters as u64, (0..SAMPLES).map(sample).collect())
}

fn record(place: usize, case: &Case, template: &Record, baseline: &str) -> Record {
    let id = &case.id;
    let (iters, times) = samples(id, baseline);
    let step = step_ns(id, baseline);
    let mut record = Record {
        full_id: case.full_id(),
        run_id: run_id(case.mode, baseline),
        timestamp: STARTED + place as u64,
        case: case.clone(),
        kernels: vec![format!("kernel::{}", case.variant())],
        pairs: pair(case, baseline).into_iter().collect(),
        last_sample: times.last().map(|&ns| LastSample { iters, ns }),
        planned: Some(Planned {
            step_ns: step,
            noise: Some(0.011),
            samples: SAMPLES as u64,
            iters,
            target: 0.01,
            limited_by: Stop::Target,
        }),
        ..template.clone()
    };
    measures(&mut record, step);
    let candidate = case.role == Role::Candidate;
    let end = match place % 50 {
        24 => Outcome::Unsupported { reason: "the kernel needs AVX512_VNNI".to_owned() },
        49 => Outcome::Failed { error: "SQNR 11.2 dB is below the gate of 20 dB".to_owned() },
        _ => return record,
    };
    if candidate {
        record = Record {
            outcome: end,
            last_sample: None,
            planned: None,
            pairs: Vec::new(),
            accuracy: None,
            kernel: None,
            model: None,
            measures: plan::Measures::default(),
            ..record
        };
    }
    record
}

fn run_id(mode: Mode, baseline: &str) -> String {
    format!("{mode}-1795182000000-{}", baseline.len())
}

fn measures(record: &mut Record, step: f64) {
    let measures = &mut record.measures;
    measures.first_call_ns = Some((step * 1.6) as u64);
    if let Some(latency) = &mut measures.latency {
        latency.mean_ns = step * 1.001;
        latency.p50_ns = step;
        latency.p90_ns = Some(step * 1.0123);
        latency.max_ns = step * 1.31;
    }
    if let Some(memory) = &mut measures.memory {
        memory.weights_bytes = 4096 + step as u64;
        memory.step.peak_bytes = (step / 3.0) as u64;
    }
    match record.case.mode {
        Mode::Operators => record.accuracy = Some(many_gates()),
        Mode::Kernels => {
            record.measures.calls_ns = (0..100).map(|i| step as u64 + i).collect();
            record.kernel = Some(KernelFacts {
                problem_size: record.case.work.kernel().expect("a kernel").problem_size.clone(),
                flops: Some(2_000_000),
                bytes: Some(4_000_000),
                has_reference: true,
                determinism_std: Some(JsonFloat(0.0)),
                runs: 3,
            });
        }
        _ => {}
    }
}

/// Thirty-nine kinds of inputs, as many as operators are given.
fn many_gates() -> Accuracy {
    let gate = |place: u64| Gate {
        inputs: format!("normal, padded rows {place}"),
        size: vec![1, 5, place],
        worst: JsonFloat(share(&[&place.to_string()])),
    };
    Accuracy {
        sqnr_db: JsonFloat(138.2),
        max_abs_error: JsonFloat(4.8e-7),
        relative_error: JsonFloat(1.2e-7),
        rmse: Some(JsonFloat(5e-8)),
        min_sqnr_db: 100.0,
        rows_checked: 64,
        gates: (1..40).map(gate).collect(),
        tensors: Vec::new(),
        eager: None,
    }
}

/// The blocks against the baseline of the group.
fn pair(case: &Case, baseline: &str) -> Option<Pair> {
    let against = match case.role {
        Role::Baseline => return None,
        Role::Candidate => case.work.baseline()?,
    };
    let against = plan::case_id(&case.id.group, against, &case.id.parameter);
    let speedup = step_ns(&against, baseline) / step_ns(&case.id, baseline);
    let block = |place: usize| speedup.ln() + 0.01 * ((place * place) as f64 + speedup).sin();
    Some(Pair {
        against: against.to_string(),
        speedup,
        low: speedup * 0.99,
        high: speedup * 1.01,
        confidence_level: 0.95,
        log_ratios: (0..BLOCKS).map(block).collect(),
        builds: BLOCKS as u64 / 2,
        visits: 1,
        within: Some(0.01),
        between: Some(0.005),
        iters: (8, 8),
        steps_ns: None,
        batches_per_block: 4,
        called: None,
        target: 0.01,
        stopped: Stop::Target,
        seconds: 2.4,
    })
}

fn write_records(root: &Path, mode: Mode, baseline: &str, records: &[Record]) {
    let folder = root.join(baseline);
    fs::create_dir_all(&folder).expect("created");
    let line = |record: &Record| serde_json::to_string(record).expect("serialises") + "\n";
    let lines: String = records.iter().map(line).collect();
    fs::write(folder.join(format!("{mode}.jsonl")), lines).expect("written");

    let mut outcomes = BTreeMap::new();
    for record in records {
        *outcomes.entry(record.outcome.status().to_owned()).or_insert(0) += 1;
    }
    let run_id = run_id(mode, baseline);
    let manifest = RunManifest {
        version: RunManifest::VERSION,
        run_id: run_id.clone(),
        target: mode.to_string(),
        baseline: Some(baseline.to_owned()),
        // The latest is `new`.
        started: STARTED - baseline.len() as u64,
        finished: Some(STARTED + records.len() as u64),
        args: vec!["--bench".to_owned()],
        filter: None,
        exact: false,
        shard: None,
        merged: false,
        checks: Vec::new(),
        warnings: Vec::new(),
        selected: records.iter().map(|record| record.full_id.clone()).collect(),
        resumed: Vec::new(),
        outcomes,
    };
    let runs = root.join("runs");
    fs::create_dir_all(&runs).expect("created");
    let text = serde_json::to_string(&manifest).expect("serialises");
    fs::write(runs.join(format!("{run_id}.json")), text).expect("written");
}

/// Criterion's three files.
fn write_result(criterion: &Path, record: &Record, baseline: &str) {
    let id = &record.case.id;
    let (iters, times) = samples(id, baseline);
    let mut steps: Vec<f64> = times.iter().map(|&ns| ns as f64 / iters as f64).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let median = statistics::median(&steps);
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    let deviations = steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>();
    let deviation = (deviations / (steps.len() - 1) as f64).sqrt();
    let estimate = |value: f64| {
        json!({
            "confidence_interval": {
                "confidence_level": 0.95,
                "lower_bound": value * 0.997_123_4,
                "upper_bound": value * 1.002_987_6,
            },
            "point_estimate": value,
            "standard_error": value * 0.001_2,
        })
    };
    let estimates = json!({
        "mean": estimate(mean),
        "median": estimate(median),
        "median_abs_dev": estimate(deviation * 0.9),
        "slope": null,
        "std_dev": estimate(deviation),
    });
    let sample = json!({
        "sampling_mode": "Flat",
        "iters": vec![iters as f64; SAMPLES],
        "times": times.iter().map(|&ns| ns as f64).collect::<Vec<f64>>(),
    });
    let directory = id.directory();
    let benchmark = json!({
        "group_id": id.group,
        "function_id": id.variant,
        "value_str": id.parameter,
        "throughput": null,
        "full_id": record.full_id,
        "directory_name": directory.to_string_lossy(),
        "title": record.full_id,
    });
    let folder = criterion.join(directory).join(baseline);
    fs::create_dir_all(&folder).expect("created");
    for (name, value) in
        [("sample.json", sample), ("estimates.json", estimates), ("benchmark.json", benchmark)]
    {
        fs::write(folder.join(name), value.to_string()).expect("written");
    }
}
