//! `csv`: one line per case. The columns of torchao's microbenchmarks come first, in their order
//! and with their conventions (an absent value is an empty cell, booleans are Python's); ours
//! follow. Times are medians in milliseconds. Nothing is rounded.

use crate::model::{Entry, Interval, Missing, Report, Speedup, Time};
use crate::units;

/// A column: its name and how a case fills it; `None` is an empty cell.
type Column = (&'static str, fn(&Entry<'_>) -> Option<String>);

/// Columns of torchao's `results_*.csv`. The baseline there is the unquantized model run the same
/// way, compiled or not; its own two times are one median, and nothing is its speed-up. Where nothing is compiled the mode is the default one, as upstream writes it.
const UPSTREAM: &[Column] = &[
    ("name", |e| list(&e.row.record.case.names)),
    ("quantization", |e| text(e.row.record.case.recipe)),
    ("sparsity", |e| e.row.record.case.sparsity.and_then(text)),
    ("m", |e| text(e.row.record.case.shape.m)),
    ("k", |e| text(e.row.record.case.shape.k)),
    ("n", |e| text(e.row.record.case.shape.n)),
    ("high_precision_dtype", |e| text(e.row.record.case.dtype)),
    ("use_torch_compile", |e| python_bool(e.row.record.case.compile.is_some())),
    ("torch_compile_mode", |e| {
        text(e.row.record.case.compile.unwrap_or(plan::CompileMode::Default))
    }),
    ("device", |e| text(e.row.record.case.device)),
    ("model_type", |e| text(e.row.record.case.model)),
    ("output_dir", |e| text(&e.row.record.case.settings.output_dir)),
    ("enable_profiler", |e| python_bool(e.row.record.case.profiling.profiler)),
    ("enable_memory_profiler", |e| python_bool(e.row.record.case.profiling.memory)),
    ("baseline_inference_time_in_ms", |e| milliseconds(baseline_time(e)?.median_ns)),
    ("model_inference_time_in_ms", |e| milliseconds(time(e)?.median_ns)),
    ("speedup", |e| text(speedup(e)?.ratio)),
    // Traces are not part of a record.
    ("profiler_json_path", |_| None),
    ("memory_profile_path", |_| None),
    ("memory_visualization_path", |_| None),
    ("memory_stats", |_| None),
];

/// Columns of our own.
const OURS: &[Column] = &[
    ("full_id", |e| text(e.row.full_id())),
    ("target", |e| text(plan::target_of(e.row.full_id()))),
    ("config", |e| text(&e.row.record.case.config)),
    ("variant", |e| text(&e.row.record.case.id.variant)),
    ("role", |e| text(if e.row.is_baseline() { "baseline" } else { "candidate" })),
    ("mode", |e| text(e.row.record.case.mode)),
    ("shape_names", |e| list(&e.row.record.case.shape_names)),
    ("outcome", |e| text(e.row.record.outcome.status())),
    ("reason", |e| e.row.reason()),
    ("baseline_time_low_in_ms", |e| milliseconds(baseline_time(e)?.interval?.low)),
    ("baseline_time_high_in_ms", |e| milliseconds(baseline_time(e)?.interval?.high)),
    ("model_time_low_in_ms", |e| milliseconds(time(e)?.interval?.low)),
    ("model_time_high_in_ms", |e| milliseconds(time(e)?.interval?.high)),
    ("model_time_mean_in_ms", |e| milliseconds(time(e)?.mean_ns)),
    ("model_time_std_dev_in_ms", |e| milliseconds(time(e)?.std_dev_ns)),
    ("samples", |e| text(time(e)?.samples)),
    ("confidence_level", |e| time(e)?.interval.and(text(time(e)?.confidence_level))),
    ("quick", |e| python_bool(time(e)?.quick)),
    ("speedup_low", |e| text(speedup_interval(e)?.low)),
    ("speedup_high", |e| text(speedup_interval(e)?.high)),
    ("speedup_over_group_baseline", |e| text(group_speedup(e)?.ratio)),
    ("speedup_over_group_baseline_low", |e| text(group_speedup(e)?.interval?.low)),
    ("speedup_over_group_baseline_high", |e| text(group_speedup(e)?.interval?.high)),
    ("cautions", |e| list(&cautions(e))),
    ("flops", |e| text(plan::cost::flops(&e.row.record.case))),
    ("weights_bytes", |e| text(e.row.record.measures.memory?.weights_bytes)),
    ("inputs_bytes", |e| text(e.row.record.measures.memory?.inputs_bytes)),
    ("step_peak_bytes", |e| text(e.row.record.measures.memory?.step.peak_bytes)),
    ("step_total_bytes", |e| text(e.row.record.measures.memory?.step.total_bytes)),
    ("step_allocations", |e| text(e.row.record.measures.memory?.step.allocations)),
    ("weights_reduction", |e| text(e.comparison?.weights_reduction?)),
    ("peak_reduction", |e| text(e.comparison?.peak_reduction?)),
    ("sqnr_db", |e| text(e.row.record.accuracy?.sqnr_db.0)),
    ("max_abs_error", |e| text(e.row.record.accuracy?.max_abs_error.0)),
    ("relative_error", |e| text(e.row.record.accuracy?.relative_error.0)),
    ("kernels", |e| list(&e.row.record.kernels)),
    ("threads", |e| text(e.row.record.environment.torch.threads)),
    ("allocator", |e| text(&e.row.record.environment.allocator)),
    ("cache", |e| text(e.row.record.case.settings.cache)),
    ("seed", |e| text(e.row.record.case.settings.seed)),
    ("libtorch", |e| text(&e.row.record.environment.torch.libtorch)),
    ("cuda", |e| e.row.record.environment.torch.cuda.clone()),
    ("cuda_device", |e| e.row.record.environment.torch.cuda_device.clone()),
    ("cpu_model", |e| text(&e.row.record.environment.host.cpu_model)),
    ("hostname", |e| text(&e.row.record.environment.host.hostname)),
    ("os", |e| text(&e.row.record.environment.host.os)),
    ("rustc", |e| text(&e.row.record.environment.rustc)),
    ("git_revision", |e| e.row.record.environment.git_revision.clone()),
    ("run_id", |e| text(&e.row.record.run_id)),
    ("timestamp", |e| text(units::rfc3339(e.row.record.timestamp))),
];

/// The report as CSV, a heading line first.
pub fn write(report: &Report) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut put = |cells: &mut dyn Iterator<Item = String>| {
        writer.write_record(cells).expect("memory takes every record of equal length");
    };
    put(&mut columns().map(|(name, _)| (*name).to_owned()));
    for entry in report.entries() {
        put(&mut columns().map(|(_, fill)| fill(&entry).unwrap_or_default()));
    }
    for missing in &report.missing {
        put(&mut columns().map(|(name, _)| missing_cell(missing, name)));
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every cell is text")
}

fn columns() -> impl Iterator<Item = &'static Column> {
    UPSTREAM.iter().chain(OURS)
}

/// A case that its run did not reach left no record, only its id.
fn missing_cell(missing: &Missing, column: &str) -> String {
    match column {
        "full_id" => missing.full_id.clone(),
        "outcome" => "missing".to_owned(),
        "reason" => missing.reason.clone(),
        _ => String::new(),
    }
}

fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

fn list(items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| items.join(";"))
}

fn cautions(entry: &Entry<'_>) -> Vec<String> {
    let compared = entry.comparison.into_iter().flat_map(|comparison| &comparison.cautions);
    entry.row.cautions().into_iter().chain(compared.map(ToString::to_string)).collect()
}

fn python_bool(value: bool) -> Option<String> {
    text(if value { "True" } else { "False" })
}

fn milliseconds(ns: f64) -> Option<String> {
    text(ns / 1e6)
}

fn time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.row.time.as_ref().ok()
}

fn baseline_time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.unquantized?.time.as_ref().ok()
}

fn speedup<'a>(entry: &Entry<'a>) -> Option<&'a Speedup> {
    entry.quantization?.speedup.as_ref().ok()
}

fn group_speedup<'a>(entry: &Entry<'a>) -> Option<&'a Speedup> {
    entry.comparison?.speedup.as_ref().ok()
}

fn speedup_interval(entry: &Entry<'_>) -> Option<Interval> {
    speedup(entry)?.interval
}
