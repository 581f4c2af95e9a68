//! What a case is, how it went, and under which circumstances: from its id to its run.

use plan::{CompileMode, ModelWork};

use super::*;
use crate::model::time::Time;
use crate::units;

/// What torchao's columns name besides times, which stand before the others in CSV.
pub(super) const TORCHAO: &[Field] = &[
    text("name", "names in the config", |e| Value::list(&e.row.record.case.names)),
    text("quantization", "recipe of a model", |e| Value::word(e.row.variant()?.recipe)),
    text("sparsity", "sparse layout of a model", |e| Value::word(e.row.variant()?.sparsity?)),
    derived("m", NONE, "rows of a model's input", |e| Some(model(e)?.shape.m.into())),
    derived("k", NONE, "columns of a model's input", |e| Some(model(e)?.shape.k.into())),
    derived("n", NONE, "columns of a model's output", |e| Some(model(e)?.shape.n.into())),
    text("dtype", "dtype before quantization", |e| Value::word(e.row.record.case.dtype)),
    text("compiled", "whether a model is compiled", |e| {
        Some(Value::Flag(e.row.variant()?.compile.is_some()))
    }),
    // Where nothing is compiled the mode is the default one, as upstream writes it.
    text("torch-compile-mode", "mode of torch.compile, as torchao has it", |e| {
        Value::word(e.row.variant()?.compile.unwrap_or(CompileMode::Default))
    }),
    text("device", "kind of device", |e| Value::word(e.row.record.case.device)),
    text("model-type", "kind of model", |e| Value::word(model(e)?.model)),
    text("output-dir", "output_dir of the config", |e| {
        Some(Value::from(&e.row.record.case.settings.output_dir))
    }),
    of("profiler", NONE, "whether a trace was asked for", at!(case.profiling.profiler)),
    of(
        "memory-profiler",
        NONE,
        "whether a memory snapshot was asked for",
        at!(case.profiling.memory),
    ),
];

/// In the order of the columns of CSV.
pub(super) const FIELDS: &[Field] = &[
    of("full-id", NONE, "criterion's id", at!(full_id)),
    text("target", "bench target", |e| Value::word(plan::target_of(e.row.full_id()))),
    of("config", NONE, "stem of the config's name", at!(case.config)),
    of("variant", NONE, "what distinguishes it from its siblings", at!(case.id.variant)),
    text("role", "baseline or candidate", |e| {
        Value::word(if e.row.is_baseline() { "baseline" } else { "candidate" })
    }),
    text("mode", "benchmark mode", |e| Value::word(e.row.record.case.mode)),
    text("shape-names", "names of its shape", |e| Value::list(&e.row.record.case.shape_names)),
    text("outcome", "how it ended", |e| Value::word(e.row.record.outcome.status())),
    text("reason", "why it has no time", |e| Value::word(e.row.reason()?)),
    derived("baseline-latency", NS, "median time of the unquantized model", |e| {
        Some(e.unquantized?.time.as_ref().ok()?.into())
    }),
    smaller(derived("latency", NS, "median time of a step", |e| Some(time(e)?.into())))
        .why(|e| e.row.reason()),
    derived("latency-mean", NS, "mean of criterion's samples", |e| Some(time(e)?.mean_ns.into())),
    derived("latency-std-dev", NS, "standard deviation of criterion's samples", |e| {
        Some(time(e)?.std_dev_ns.into())
    }),
    derived("samples", NONE, "criterion's samples", |e| Some(time(e)?.samples.into())),
    derived("confidence-level", SHARE, "level of the time's interval", |e| {
        time(e)?.interval.and(Some(time(e)?.confidence_level.into()))
    }),
    text("quick", "measured with --quick", |e| Some(Value::Flag(time(e)?.quick))),
    // Those that are not compiled have it over the group's baseline, as upstream's layout has it.
    derived(
        "speedup-of-quantization",
        TIMES,
        "speed-up over the unquantized model run the same way",
        |e| Some(e.quantization?.gain.as_ref().ok()?.into()),
    ),
    bigger(derived("speedup", TIMES, "speed-up over the group's baseline", |e| {
        Some(e.comparison?.gain.as_ref().ok()?.into())
    }))
    .why(|e| Some(e.comparison?.gain.as_ref().err()?.to_string())),
    text("cautions", "what qualifies its numbers", |e| Value::list(e.cautions())),
    derived("flops", unit("FLOP"), "floating-point operations of a step", |e| {
        e.row.flops().map(Value::from)
    }),
    smaller(of(
        "weights-memory",
        BYTES,
        "storage of the model",
        at!(measures.memory?.weights_bytes),
    )),
    of("inputs-bytes", BYTES, "storage of the inputs", at!(measures.memory?.inputs_bytes)),
    of(
        "outputs-bytes",
        BYTES,
        "storage of outputs allocated beforehand",
        at!(measures.memory?.outputs_bytes),
    ),
    smaller(of(
        "step-memory",
        BYTES,
        "peak of a step's own allocations",
        at!(measures.memory?.step.peak_bytes),
    )),
    of(
        "step-total-bytes",
        BYTES,
        "sum of a step's allocations",
        at!(measures.memory?.step.total_bytes),
    ),
    of(
        "step-allocations",
        NONE,
        "number of a step's allocations",
        at!(measures.memory?.step.allocations),
    ),
    derived("weights-reduction", SHARE, "1 − its weights / the baseline's", |e| {
        Some(e.comparison?.weights_reduction?.into())
    }),
    derived("peak-reduction", SHARE, "1 − its peak of memory / the baseline's", |e| {
        Some(e.comparison?.peak_reduction?.into())
    }),
    bigger(of("sqnr", DECIBELS, "signal-to-quantization-noise ratio", at!(accuracy.sqnr_db))),
    smaller(of("max-abs-error", ERROR, "largest absolute error", at!(accuracy.max_abs_error))),
    smaller(of(
        "relative-error",
        ERROR,
        "relative error in Euclidean norm",
        at!(accuracy.relative_error),
    )),
    text("kernels", "ATen ops and own kernels that did the work", |e| {
        Value::list(&e.row.record.kernels)
    }),
    of("threads", NONE, "intra-op threads", at!(environment.torch.threads)),
    of("allocator", NONE, "host allocator", at!(environment.allocator)),
    text("cache", "state of the cache when a step starts", |e| {
        Value::word(e.row.record.case.settings.cache)
    }),
    text("seed", "seed of weights and inputs", |e| Value::word(e.row.record.case.settings.seed)),
    of("libtorch", NONE, "version of libtorch", at!(environment.torch.libtorch)),
    of("cuda", NONE, "CUDA version of libtorch", at!(environment.torch.cuda.as_ref()?)),
    of("cuda-device", NONE, "GPU", at!(environment.torch.cuda_device.as_ref()?)),
    of("cpu-model", NONE, "processor", at!(environment.host.cpu_model)),
    of("hostname", NONE, "host name", at!(environment.host.hostname)),
    of("os", NONE, "operating system and kernel", at!(environment.host.os)),
    of("rustc", NONE, "compiler of the benchmark", at!(environment.rustc)),
    of("git-revision", NONE, "git revision", at!(environment.git_revision.as_ref()?)),
    of("run-id", NONE, "run that measured it", at!(run_id)),
    text("timestamp", "when it ended", |e| Value::word(units::rfc3339(e.row.record.timestamp))),
];

fn model<'a>(entry: &Entry<'a>) -> Option<&'a ModelWork> {
    entry.row.record.case.work.model()
}

fn time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.row.time.as_ref().ok()
}
