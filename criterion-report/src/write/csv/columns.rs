//! The columns: each name stands here once, beside what fills it.

use plan::{
    Agreement, Compilation, Conditions, Counters, Energy, Latency, ModelWork, Planned, Quiet,
    Range, StepMemory, Stop, Utilization,
};

use crate::model::{Entry, Gain, Speedup, Time};
use crate::units;
use crate::write::verdict;

/// A column: its name and how a case fills it; `None` is an empty cell.
pub type Column = (&'static str, fn(&Entry<'_>) -> Option<String>);

/// The columns that name a case, in all of torchao's layouts.
pub const IDENTITY: &[Column] = &[
    ("name", |e| list(&e.row.record.case.names)),
    ("quantization", |e| text(e.row.variant()?.recipe)),
    ("sparsity", |e| e.row.variant()?.sparsity.and_then(text)),
    ("m", |e| text(model(e)?.shape.m)),
    ("k", |e| text(model(e)?.shape.k)),
    ("n", |e| text(model(e)?.shape.n)),
    ("high_precision_dtype", |e| text(e.row.record.case.dtype)),
];

/// Whether the line's case is compiled, where lines differ in that.
pub const USE_TORCH_COMPILE: Column =
    ("use_torch_compile", |e| python_bool(e.row.variant()?.compile.is_some()));

/// How it is run, in all of torchao's layouts. Where nothing is compiled the mode is the default one,
/// as upstream writes it.
pub const SETTINGS: &[Column] = &[
    ("torch_compile_mode", |e| {
        text(e.row.variant()?.compile.unwrap_or(plan::CompileMode::Default))
    }),
    ("device", |e| text(e.row.record.case.device)),
    ("model_type", |e| text(model(e)?.model)),
    ("output_dir", |e| text(&e.row.record.case.settings.output_dir)),
    ("enable_profiler", |e| python_bool(e.row.record.case.profiling.profiler)),
    ("enable_memory_profiler", |e| python_bool(e.row.record.case.profiling.memory)),
];

/// Times and speed-up of torchao's layout of one line per case. The baseline there is the
/// unquantized model run the same way, compiled or not; its own two times are one median, and
/// nothing is its speed-up.
pub const TIMES: &[Column] = &[
    ("baseline_inference_time_in_ms", |e| milliseconds(baseline_time(e)?.median_ns)),
    ("model_inference_time_in_ms", |e| milliseconds(time(e)?.median_ns)),
    ("speedup", |e| text(speedup(e)?.ratio)),
];

/// What torchao's layouts end with. Traces are not part of a record.
pub const TRACES: &[Column] = &[
    ("profiler_json_path", |_| None),
    ("memory_profile_path", |_| None),
    ("memory_visualization_path", |_| None),
    ("memory_stats", |_| None),
];

/// Columns of our own.
pub const OURS: &[Column] = &[
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
    ("speedup_low", |e| text(speedup(e)?.interval.low)),
    ("speedup_high", |e| text(speedup(e)?.interval.high)),
    ("speedup_over_group_baseline", |e| text(group_speedup(e)?.ratio)),
    ("speedup_over_group_baseline_low", |e| text(group_speedup(e)?.interval.low)),
    ("speedup_over_group_baseline_high", |e| text(group_speedup(e)?.interval.high)),
    ("cautions", |e| list(&e.cautions())),
    ("flops", |e| e.row.flops().map(text).unwrap_or_default()),
    ("weights_bytes", |e| text(e.row.record.measures.memory?.weights_bytes)),
    ("inputs_bytes", |e| text(e.row.record.measures.memory?.inputs_bytes)),
    ("outputs_bytes", |e| text(e.row.record.measures.memory?.outputs_bytes)),
    ("step_peak_bytes", |e| text(step(e)?.peak_bytes)),
    ("step_total_bytes", |e| text(step(e)?.total_bytes)),
    ("step_allocations", |e| text(step(e)?.allocations)),
    ("weights_reduction", |e| text(e.comparison?.weights_reduction?)),
    ("peak_reduction", |e| text(e.comparison?.peak_reduction?)),
    ("sqnr_db", |e| text(e.row.accuracy()?.sqnr_db.0)),
    ("max_abs_error", |e| text(e.row.accuracy()?.max_abs_error.0)),
    ("relative_error", |e| text(e.row.accuracy()?.relative_error.0)),
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
    ("verdict", |e| text(verdict::word(group_speedup(e)?.verdict()))),
    ("no_speedup_reason", |e| e.comparison?.speedup.as_ref().err().and_then(text)),
    ("pair_blocks", |e| text(group_speedup(e)?.blocks)),
    ("pair_stopped", |e| text(stop_word(group_speedup(e)?.stopped))),
    ("pair_target", |e| text(group_speedup(e)?.target)),
    ("pair_half_width", |e| text(group_speedup(e)?.half_width())),
    ("pair_batches_per_block", |e| text(group_speedup(e)?.batches_per_block)),
    ("latency_calls", |e| text(latency(e)?.calls)),
    ("latency_p50_in_ms", |e| milliseconds(latency(e)?.p50_ns)),
    ("latency_p90_in_ms", |e| milliseconds(latency(e)?.p90_ns?)),
    ("latency_p99_in_ms", |e| milliseconds(latency(e)?.p99_ns?)),
    ("latency_max_in_ms", |e| milliseconds(latency(e)?.max_ns)),
    ("latency_mean_in_ms", |e| milliseconds(latency(e)?.mean_ns)),
    ("throughput_steps_per_s", |e| text(e.row.steps_per_s()?)),
    ("gflop_per_s", |e| text(e.row.gflop_per_s()?)),
    ("first_call_in_ms", |e| milliseconds(e.row.record.measures.first_call_ns? as f64)),
    ("counted_steps", |e| text(counters(e)?.iters)),
    ("minor_faults_per_step", |e| text(counters(e)?.minor_faults)),
    ("major_faults_per_step", |e| text(counters(e)?.major_faults)),
    ("fault_share", |e| text(counters(e)?.fault_share?)),
    ("voluntary_switches_per_step", |e| text(counters(e)?.voluntary_switches)),
    ("involuntary_switches_per_step", |e| text(counters(e)?.involuntary_switches)),
    ("cpu_user_in_ms", |e| milliseconds(counters(e)?.user_ns)),
    ("cpu_system_in_ms", |e| milliseconds(counters(e)?.system_ns)),
    ("counted_wall_in_ms", |e| milliseconds(counters(e)?.wall_ns)),
    ("energy_j", |e| text(energy(e)?.joules)),
    ("energy_watts", |e| text(energy(e)?.watts)),
    ("energy_idle_watts", |e| text(energy(e)?.idle_watts?)),
    ("energy_idle_subtracted", |e| python_bool(energy(e)?.idle_subtracted)),
    ("energy_window_s", |e| text(energy(e)?.window_s)),
    ("energy_method", |e| text(&energy(e)?.method)),
    ("sm_utilization_min", |e| text(utilization(e)?.sm.min)),
    ("sm_utilization_median", |e| text(utilization(e)?.sm.median)),
    ("sm_utilization_max", |e| text(utilization(e)?.sm.max)),
    ("memory_utilization_min", |e| text(utilization(e)?.memory.min)),
    ("memory_utilization_median", |e| text(utilization(e)?.memory.median)),
    ("memory_utilization_max", |e| text(utilization(e)?.memory.max)),
    ("utilization_samples", |e| text(utilization(e)?.samples)),
    ("utilization_window_s", |e| text(utilization(e)?.window_s)),
    ("utilization_method", |e| text(&utilization(e)?.method)),
    ("clock_mhz_min", |e| text(clock(e)?.min)),
    ("clock_mhz_median", |e| text(clock(e)?.median)),
    ("clock_mhz_max", |e| text(clock(e)?.max)),
    ("clock_method", |e| text(&conditions(e)?.clock_method)),
    ("temperature_c_max", |e| text(conditions(e)?.temperature_c?.max)),
    ("throttle_reasons", |e| list(&conditions(e)?.throttle_reasons)),
    ("discarded_samples", |e| text(conditions(e)?.discarded_samples)),
    ("steal", |e| text(conditions(e)?.steal?)),
    ("device_time_in_ms", |e| milliseconds(e.row.record.measures.clocks?.device_ns)),
    ("host_time_in_ms", |e| milliseconds(e.row.record.measures.clocks?.host_ns)),
    ("queue_time_in_ms", |e| milliseconds(e.row.record.measures.clocks?.queue_ns)),
    ("host_bound", |e| python_bool(e.row.record.measures.clocks?.host_bound)),
    ("absent", |e| {
        let absent = &e.row.record.measures.absent;
        list(&absent.iter().map(|(name, why)| format!("{name}: {why}")).collect::<Vec<_>>())
    }),
    ("quiet_score", |e| text(quiet(e)?.score)),
    ("load_1m", |e| text(quiet(e)?.load_1m?)),
    ("governor", |e| e.row.record.environment.host.governor.clone()),
    ("planned_samples", |e| text(planned(e)?.samples)),
    ("planned_iters", |e| text(planned(e)?.iters)),
    ("planned_limited_by", |e| text(stop_word(planned(e)?.limited_by))),
    ("bits_per_weight", |e| text(e.row.record.weights?.bits_per_weight)),
    ("packed_weight_bytes", |e| text(e.row.record.weights?.packed_bytes)),
    ("baseline_weight_bytes", |e| text(e.row.record.weights?.baseline_bytes)),
    ("linears_quantized", |e| text(e.row.record.weights?.quantized)),
    ("linears", |e| text(e.row.record.weights?.linears)),
    ("density", |e| text(e.row.record.weights?.density?)),
    ("gb_per_s", |e| text(e.row.gb_per_s()?)),
    ("speedup_source", |e| text(speedup(e)?.source.word())),
    ("speedup_over_eager", |e| text(over_eager(e)?.ratio)),
    ("speedup_over_eager_low", |e| text(over_eager(e)?.interval.low)),
    ("speedup_over_eager_high", |e| text(over_eager(e)?.interval.high)),
    ("speedup_over_eager_source", |e| text(over_eager(e)?.source.word())),
    ("compile_mode", |e| e.row.record.case.work.compile().and_then(text)),
    ("compile_in_s", |e| text(compilation(e)?.seconds)),
    ("compile_cache_hit", |e| python_bool(compilation(e)?.cache_hit)),
    ("package_bytes", |e| text(compilation(e)?.package_bytes)),
    ("compile_options", |e| {
        let options = &compilation(e)?.options;
        list(&options.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>())
    }),
    ("compiler", |e| text(&compilation(e)?.compiler)),
    ("compile_key", |e| text(&compilation(e)?.key)),
    ("eager_sqnr_db", |e| text(agreement(e)?.sqnr_db.0)),
    ("eager_max_abs_error", |e| text(agreement(e)?.max_abs_error.0)),
    ("eager_min_sqnr_db", |e| text(agreement(e)?.min_sqnr_db)),
    ("kernel", |e| text(&e.row.record.case.work.kernel()?.kernel)),
    ("problem_size", |e| text(units::fields(e.row.problem_size()?))),
    ("rmse", |e| text(e.row.accuracy()?.rmse?.0)),
    ("determinism_std", |e| text(e.row.record.kernel.as_ref()?.determinism_std?.0)),
    ("pair_builds", |e| text(group_speedup(e)?.levels.builds?)),
    ("pair_within", |e| text(group_speedup(e)?.levels.within?)),
    ("pair_between", |e| text(group_speedup(e)?.levels.between?)),
    ("pair_between_runs", |e| text(group_speedup(e)?.runs?.between)),
    ("runs", |e| text(e.row.runs.len().max(1))),
];

pub fn text(value: impl ToString) -> Option<String> {
    Some(value.to_string())
}

/// Items joined by `;`; one of their own becomes a comma.
fn list(items: &[impl ToString]) -> Option<String> {
    let items: Vec<String> = items.iter().map(|item| item.to_string().replace(';', ",")).collect();
    (!items.is_empty()).then(|| items.join(";"))
}

fn python_bool(value: bool) -> Option<String> {
    text(if value { "True" } else { "False" })
}

pub fn milliseconds(ns: f64) -> Option<String> {
    text(ns / 1e6)
}

fn model<'a>(entry: &Entry<'a>) -> Option<&'a ModelWork> {
    entry.row.record.case.work.model()
}

fn time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.row.time.as_ref().ok()
}

fn baseline_time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.unquantized?.time.as_ref().ok()
}

fn speedup<'a>(entry: &Entry<'a>) -> Option<&'a Gain> {
    entry.quantization?.gain.as_ref().ok()
}

fn over_eager<'a>(entry: &Entry<'a>) -> Option<&'a Gain> {
    entry.compilation?.gain.as_ref().ok()
}

fn compilation<'a>(entry: &Entry<'a>) -> Option<&'a Compilation> {
    entry.row.record.compilation.as_ref()
}

fn agreement(entry: &Entry<'_>) -> Option<Agreement> {
    entry.row.record.accuracy.as_ref()?.eager
}

fn group_speedup<'a>(entry: &Entry<'a>) -> Option<&'a Speedup> {
    entry.comparison?.speedup.as_ref().ok()
}

fn step(entry: &Entry<'_>) -> Option<StepMemory> {
    Some(entry.row.record.measures.memory?.step)
}

fn latency(entry: &Entry<'_>) -> Option<Latency> {
    entry.row.record.measures.latency
}

fn counters(entry: &Entry<'_>) -> Option<Counters> {
    entry.row.record.measures.counters
}

fn energy<'a>(entry: &Entry<'a>) -> Option<&'a Energy> {
    entry.row.record.measures.energy.as_ref()
}

fn utilization<'a>(entry: &Entry<'a>) -> Option<&'a Utilization> {
    entry.row.record.measures.utilization.as_ref()
}

fn conditions<'a>(entry: &Entry<'a>) -> Option<&'a Conditions> {
    entry.row.record.measures.conditions.as_ref()
}

fn clock(entry: &Entry<'_>) -> Option<Range> {
    conditions(entry)?.clock_mhz
}

fn quiet<'a>(entry: &Entry<'a>) -> Option<&'a Quiet> {
    entry.row.record.environment.quiet.as_ref()
}

fn planned(entry: &Entry<'_>) -> Option<Planned> {
    entry.row.record.planned
}

const fn stop_word(stop: Stop) -> &'static str {
    match stop {
        Stop::Target => "target",
        Stop::Budget => "budget",
        Stop::Fixed => "fixed",
    }
}
