//! The default form: correct for schema v3, with everything that the records know.

use plan::{
    Allocator, CacheMode, Case, CompileMode, Dtype, ModelKind, ModelWork, Outcome, Threads, Work,
};

use super::metrics::{failure_type, metrics};
use super::record::{DbCase, Dependencies, Dependency, Info, Runner};
use super::{ORIGIN, arch};
use crate::model::{Entry, Row};
use crate::render::units;

/// The metrics of a case, and what dashboards tell them by; none when it is no result of this machine.
pub fn records<'a>(entry: &Entry<'a>) -> Option<DbCase<'a>> {
    let metrics = metrics(entry);
    let case = &entry.row.record.case;
    if metrics.is_empty() {
        return None;
    }
    let mut records = DbCase::new(entry, series_name(case), metrics);
    records.model.backend = Some("libtorch");
    records.model.origins = origins(&case.work);
    let info = &mut records.benchmark.extra_info;
    // Dashboards disagree on the name, and on what its absence means.
    let compiled = case.work.compile().is_some();
    info.push("use_compile", Some(compiled));
    info.push("compile", Some(compiled));
    info.push("torch_compile_mode", Some(compile_mode(case)));
    Some(records)
}

/// Adds what else the records say of a case.
pub fn complete<'a>(case: &mut DbCase<'a>, entry: &Entry<'a>) {
    circumstances(&mut case.benchmark.extra_info, entry);
    case.model.extra_info = Some(model_info(entry.row));
    case.runners = vec![runner(entry.row)];
    case.dependencies = dependencies(entry.row);
}

fn circumstances<'a>(info: &mut Info<'a>, entry: &Entry<'a>) {
    let row = entry.row;
    let record = &row.record;
    let (case, environment) = (&record.case, &record.environment);
    let variant = row.variant();
    if let Some(failure) = failure_type(&record.outcome) {
        info.push("failure_type", Some(failure));
        info.push("failure_reason", record.outcome.reason());
    }
    info.push("full_id", Some(&record.full_id));
    info.push("high_precision_dtype", Some(case.dtype.as_str()));
    info.push("sparsity", variant.and_then(|it| it.sparsity).map(|it| it.to_string()));
    info.push("threads", Some(environment.torch.threads));
    info.push("allocator", Some(&environment.allocator));
    info.push("packed", variant.filter(|it| it.packed).map(|_| true));
    if let Some(weights) = record.weights {
        info.push("bits_per_weight", Some(weights.bits_per_weight));
        info.push("linears_quantized", Some(weights.quantized));
        info.push("linears", Some(weights.linears));
        info.push("density", weights.density);
    }
    if let Some(compilation) = &record.compilation {
        info.push("compile_in_s", Some(compilation.seconds));
        info.push("compile_cache_hit", Some(compilation.cache_hit));
        info.push("package_bytes", Some(compilation.package_bytes));
        info.push("compiler", Some(&compilation.compiler));
    }
    info.push("kernels", (!record.kernels.is_empty()).then(|| record.kernels.join(";")));
    let mut cautions: Vec<String> = entry.cautions().iter().map(ToString::to_string).collect();
    if let Some(Err(why)) = entry.quantization.map(|comparison| &comparison.gain)
        && record.outcome == Outcome::Measured
    {
        cautions.push(format!("no speed-up: {why}"));
    }
    info.push("notes", (!cautions.is_empty()).then(|| cautions.join("; ")));
    info.push("git_revision", environment.git_revision.as_ref());
    info.push("run_id", Some(&record.run_id));
    info.push("measured_at", Some(units::rfc3339(record.timestamp)));
}

/// The mode, or the tutorial's word for none.
pub fn compile_mode(case: &Case) -> &'static str {
    case.work.compile().map_or("false", |mode| mode.as_str())
}

fn model_info(row: &Row) -> Info<'_> {
    let case = &row.record.case;
    let mut info = match &case.work {
        Work::Model(ModelWork { model, shape, .. }) => vec![
            ("model_type", model.to_string()),
            ("m", shape.m.to_string()),
            ("k", shape.k.to_string()),
            ("n", shape.n.to_string()),
        ],
        Work::Fusion(work) => {
            vec![("pattern", work.pattern.to_string()), ("size", work.size.to_string())]
        }
        Work::Operator(work) => {
            vec![("operator", work.operator.to_string()), ("size", work.size.to_string())]
        }
        Work::Probe(work) => {
            vec![("probe", work.probe.to_string()), ("size", work.probe.size_name(work.size))]
        }
        Work::Kernel(work) => vec![
            ("kernel", work.kernel.clone()),
            ("file", work.file.clone()),
            ("size", row.problem_size().map(units::fields).unwrap_or_default()),
        ],
    };
    info.push(("shape_names", case.shape_names.join(";")));
    info.push(("config", case.config.clone()));
    Info::new(info)
}

/// The projects that a benchmark is from: models are torchao's, patterns are of branes-ai/graphs, the
/// rest is of nobody else.
const fn origins(work: &Work) -> &'static [&'static str] {
    match work {
        Work::Model(_) => &[ORIGIN],
        Work::Fusion(_) => &["branes-ai/graphs"],
        Work::Operator(_) | Work::Probe(_) | Work::Kernel(_) => &[],
    }
}

/// `<recipe>-M-K-N` as upstream, and whatever differs from upstream's dashboard suite: nothing
/// else than the name, the dtype and the compile flag keeps two series apart. It depends on the
/// case alone, so that a series does not change its name when its file gets another neighbour.
fn series_name(case: &Case) -> String {
    let mut name = match &case.work {
        Work::Model(ModelWork { variant, shape, .. }) => {
            format!("{}-{}-{}-{}", variant.recipe, shape.m, shape.k, shape.n)
        }
        Work::Fusion(work) => format!("{}-{}-{}", work.pattern, work.variant, work.size),
        Work::Operator(work) => {
            format!("{}-{}-{}", work.operator, work.implementation, work.size)
        }
        Work::Probe(work) => format!("{}-{}", work.probe, work.probe.size_name(work.size)),
        Work::Kernel(work) => {
            // `f32-64x64`: the dtype is said below.
            let (_, size) = case.id.parameter.split_once('-').unwrap_or_default();
            format!("{}-{}-{size}", work.kernel, work.implementation)
        }
    };
    let mut qualify = |applies: bool, word: String| {
        if applies {
            name.push('-');
            name.push_str(&word);
        }
    };
    let settings = &case.settings;
    if let Work::Model(ModelWork { model, .. }) = case.work {
        qualify(model != ModelKind::Linear, model.to_string());
    }
    qualify(case.dtype != Dtype::BFloat16, case.dtype.short().to_owned());
    if let Some(sparsity) = case.work.model().and_then(|work| work.variant.sparsity) {
        qualify(true, sparsity.to_string());
    }
    if let Some(mode) = case.work.compile() {
        qualify(mode != CompileMode::Default, mode.to_string());
    }
    if let Some(variant) = case.work.model().map(|work| work.variant) {
        qualify(variant.packed, "packed".to_owned());
        qualify(variant.preallocated, "out".to_owned());
        qualify(variant.graph, "graph".to_owned());
    }
    qualify(settings.threads != Threads::Count(1), format!("{}threads", settings.threads));
    qualify(settings.allocator != Allocator::Retained, format!("{}-allocator", settings.allocator));
    qualify(settings.cache != CacheMode::Hot, format!("{}-cache", settings.cache));
    name
}

fn runner(row: &Row) -> Runner<'_> {
    let environment = &row.record.environment;
    let host = &environment.host;
    Runner {
        name: row.record.case.device.as_str(),
        r#type: arch(row),
        cpu_info: &host.cpu_model,
        cpu_count: host.cpus,
        avail_mem_in_gb: host.memory_bytes >> 30,
        gpu_info: environment.torch.cuda_device.as_deref(),
        extra_info: Info::new([("hostname", &host.hostname), ("os", &host.os)]),
    }
}

fn dependencies(row: &Row) -> Dependencies<'_> {
    let torch = &row.record.environment.torch;
    let dependency =
        |repo, version, extra_info| Dependency { repo, branch: "", sha: "", version, extra_info };
    let mut libtorch = Info::new([("cpu_capability", &torch.cpu_capability)]);
    libtorch.push("cuda", torch.cuda.as_ref());
    libtorch.push("float32_matmul_precision", Some(&torch.float32_matmul_precision));
    Dependencies(vec![
        ("torch", dependency("pytorch/pytorch", &torch.libtorch, libtorch)),
        ("tch", dependency("LaurentMazare/tch-rs", &torch.tch, Info::default())),
    ])
}
