//! The default form: correct for schema v3, with everything that the records know.

use plan::{Allocator, CacheMode, Case, CompileMode, Dtype, Mode, ModelKind, Outcome};

use super::record::{Benchmark, DbRecord, Dependency, Info, Metric, Model, Runner};
use super::{BENCHMARK, LAYER, ORIGIN, arch};
use crate::model::{Entry, Interval, Row, Time};
use crate::units;

/// All metrics of a case; none when it is no result of this machine.
pub fn records(entry: &Entry<'_>) -> Vec<DbRecord> {
    let row = entry.row;
    metrics(entry)
        .into_iter()
        .map(|metric| DbRecord {
            benchmark: benchmark(entry),
            model: model(&row.record.case),
            metric,
            runners: vec![runner(row)],
            dependencies: dependencies(row),
        })
        .collect()
}

fn benchmark(entry: &Entry<'_>) -> Benchmark {
    let row = entry.row;
    let record = &row.record;
    let (case, environment) = (&record.case, &record.environment);
    let compiled = case.compile.is_some().to_string();
    let mut info = Info(vec![
        ("device", case.device.to_string()),
        ("arch", arch(row)),
        // Dashboards disagree on the name, and on what its absence means.
        ("use_compile", compiled.clone()),
        ("compile", compiled),
        ("torch_compile_mode", compile_mode(case)),
    ]);
    if let Some(failure) = failure_type(&record.outcome) {
        info.push("failure_type", Some(failure));
        info.push("failure_reason", record.outcome.reason());
    }
    info.push("full_id", Some(&record.full_id));
    info.push("high_precision_dtype", Some(case.dtype));
    info.push("sparsity", case.sparsity);
    info.push("threads", Some(environment.torch.threads));
    info.push("allocator", Some(&environment.allocator));
    info.push("kernels", (!record.kernels.is_empty()).then(|| record.kernels.join(";")));
    let compared = entry.quantization.into_iter().flat_map(|comparison| &comparison.cautions);
    let cautions: Vec<String> =
        row.cautions().into_iter().chain(compared.map(ToString::to_string)).collect();
    info.push("notes", (!cautions.is_empty()).then(|| cautions.join("; ")));
    info.push("git_revision", environment.git_revision.as_ref());
    info.push("run_id", Some(&record.run_id));
    info.push("measured_at", Some(units::rfc3339(record.timestamp)));
    Benchmark {
        name: BENCHMARK,
        mode: case.mode.to_string(),
        dtype: case.recipe.to_string(),
        extra_info: info,
    }
}

/// The mode, or the tutorial's word for none.
pub fn compile_mode(case: &Case) -> String {
    case.compile.map_or_else(|| "false".to_owned(), |mode| mode.to_string())
}

/// What the dashboard calls a failure. Skipped and merely tested cases are none.
pub fn failure_type(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Measured | Outcome::Tested | Outcome::Skipped { .. } => None,
        Outcome::Unsupported { .. }
        | Outcome::Oom { .. }
        | Outcome::Timeout { .. }
        | Outcome::Failed { .. } => Some(outcome.status()),
    }
}

fn model(case: &Case) -> Model {
    Model {
        name: series_name(case),
        r#type: LAYER,
        backend: Some("libtorch"),
        origins: [ORIGIN],
        extra_info: Some(Info(vec![
            ("model_type", case.model.to_string()),
            ("m", case.shape.m.to_string()),
            ("k", case.shape.k.to_string()),
            ("n", case.shape.n.to_string()),
            ("shape_names", case.shape_names.join(";")),
            ("config", case.config.clone()),
        ])),
    }
}

/// `<recipe>-M-K-N` as upstream, and whatever differs from upstream's dashboard suite: nothing
/// else than the name, the dtype and the compile flag keeps two series apart. It depends on the
/// case alone, so that a series does not change its name when its file gets another neighbour.
fn series_name(case: &Case) -> String {
    let shape = &case.shape;
    let mut name = format!("{}-{}-{}-{}", case.recipe, shape.m, shape.k, shape.n);
    let mut qualify = |applies: bool, word: String| {
        if applies {
            name.push('-');
            name.push_str(&word);
        }
    };
    let settings = &case.settings;
    qualify(case.model != ModelKind::Linear, case.model.to_string());
    qualify(case.dtype != Dtype::BFloat16, case.dtype.short().to_owned());
    if let Some(sparsity) = case.sparsity {
        qualify(true, sparsity.to_string());
    }
    if let Some(mode) = case.compile {
        qualify(mode != CompileMode::Default, mode.to_string());
    }
    qualify(settings.threads != 1, format!("{}threads", settings.threads));
    qualify(settings.allocator != Allocator::Retained, format!("{}-allocator", settings.allocator));
    qualify(settings.cache != CacheMode::Hot, format!("{}-cache", settings.cache));
    name
}

fn runner(row: &Row) -> Runner {
    let environment = &row.record.environment;
    let host = &environment.host;
    Runner {
        name: row.record.case.device.to_string(),
        r#type: arch(row),
        cpu_info: host.cpu_model.clone(),
        cpu_count: host.cpus,
        avail_mem_in_gb: host.memory_bytes >> 30,
        gpu_info: environment.torch.cuda_device.clone(),
        extra_info: Info(vec![("hostname", host.hostname.clone()), ("os", host.os.clone())]),
    }
}

fn dependencies(row: &Row) -> Vec<(&'static str, Dependency)> {
    let torch = &row.record.environment.torch;
    let dependency = |repo, version: &str, extra_info| Dependency {
        repo,
        branch: "",
        sha: "",
        version: version.to_owned(),
        extra_info,
    };
    let mut libtorch = Info(vec![("cpu_capability", torch.cpu_capability.clone())]);
    libtorch.push("cuda", torch.cuda.as_ref());
    libtorch.push("float32_matmul_precision", Some(&torch.float32_matmul_precision));
    vec![
        ("torch", dependency("pytorch/pytorch", &torch.libtorch, libtorch)),
        ("tch", dependency("LaurentMazare/tch-rs", &torch.tch, Info::default())),
    ]
}

/// One number, with its interval where it has one.
fn metric(name: String, unit: &str, value: f64, interval: Option<(Interval, f64)>) -> Metric {
    let mut info = Info(vec![("unit", unit.to_owned())]);
    if let Some((Interval { low, high }, level)) = interval {
        info.push("ci_low", Some(low));
        info.push("ci_high", Some(high));
        info.push("confidence_level", Some(level));
    }
    Metric { name, benchmark_values: [value], target_value: 0.0, extra_info: Some(info) }
}

/// A time under the name that dashboards know, and in µs: they cut values to two decimals.
fn times(what: &str, time: &Time, metrics: &mut Vec<Metric>) {
    for (unit, scale) in [("ms", 1e6), ("us", 1e3)] {
        let bound = |Interval { low, high }| Interval { low: low / scale, high: high / scale };
        let interval = time.interval.map(|interval| (bound(interval), time.confidence_level));
        let mut metric =
            metric(format!("{what} Time ({unit})"), unit, time.median_ns / scale, interval);
        if let Some(info) = &mut metric.extra_info {
            info.push("samples", Some(time.samples));
            info.push("quick", time.quick.then_some(true));
        }
        metrics.push(metric);
    }
}

fn metrics(entry: &Entry<'_>) -> Vec<Metric> {
    let (row, mut metrics) = (entry.row, Vec::new());
    let case = &row.record.case;
    if failure_type(&row.record.outcome).is_some() {
        // A record must have a metric. This one counts the failure; a time of zero would be read
        // as the fastest of all.
        return vec![metric("FAILURE_REPORT".to_owned(), "count", 1.0, None)];
    }
    if row.record.outcome != Outcome::Measured {
        return metrics;
    }
    let pass = match case.mode {
        Mode::Inference => "Fwd",
        Mode::Training => "Fwd+Bwd",
    };
    let speedup = entry.quantization.and_then(|comparison| comparison.speedup.as_ref().ok());
    if let Some(speedup) = speedup {
        let interval = speedup.interval.map(|interval| (interval, speedup.confidence_level));
        metrics.push(metric(format!("{pass} Speedup (x)"), "x", speedup.ratio, interval));
    }
    if let Some(Ok(time)) = entry.unquantized.map(|row| &row.time) {
        times(&format!("{} {pass}", dtype_name(case.dtype)), time, &mut metrics);
    }
    if let (Ok(time), false) = (&row.time, row.is_unquantized()) {
        times(&format!("Quantized {pass}"), time, &mut metrics);
    }
    if let Some(memory) = row.record.measures.memory {
        let mut megabytes = |name: &str, bytes: u64| {
            metrics.push(metric(format!("{name} (MB)"), "MB", bytes as f64 / 1e6, None));
        };
        megabytes("Allocated Memory", memory.peak_bytes());
        megabytes("Weights Memory", memory.weights_bytes);
    }
    // Ratios, not reductions: a geometric mean takes logarithms, and a reduction may be zero.
    if let Some(comparison) = entry.quantization {
        for (name, reduction) in [
            ("Allocated Memory", comparison.peak_reduction),
            ("Weights Memory", comparison.weights_reduction),
        ] {
            metrics.extend(reduction.map(|reduction| {
                let name = format!("{name} (% of unquantized)");
                metric(name, "%", (1.0 - reduction) * 100.0, None)
            }));
        }
    }
    let sqnr = row.record.accuracy.map(|accuracy| accuracy.sqnr_db.0);
    metrics.extend(
        sqnr.filter(|db| db.is_finite()).map(|db| metric("SQNR (dB)".to_owned(), "dB", db, None)),
    );
    metrics
}

/// Torch's name of the dtype as upstream's metrics spell it.
const fn dtype_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::BFloat16 => "Bfloat16",
        Dtype::Float16 => "Float16",
        Dtype::Float32 => "Float32",
    }
}
