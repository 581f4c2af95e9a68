//! What a case is, how it went, and under which circumstances: from its id to its run.

use plan::{CompileMode, ModelWork};

use super::{Entry, Field, Part, Unit, Value, at};
use crate::model::time::Time;
use crate::units;

/// What torchao's columns name besides times, which stand before the others in CSV.
pub(super) const TORCHAO: &[Field] = &[
    Field::text("name", "names in the config", |e| Value::list(&e.row.record.case.names)),
    Field::text("quantization", "recipe of a model", |e| Value::word(e.row.variant()?.recipe)),
    Field::text("sparsity", "sparse layout of a model", |e| {
        Value::word(e.row.variant()?.sparsity?)
    }),
    Field::derived("m", Unit::NONE, "rows of a model's input", |e| Some(model(e)?.shape.m.into())),
    Field::derived("k", Unit::NONE, "columns of a model's input", |e| {
        Some(model(e)?.shape.k.into())
    }),
    Field::derived("n", Unit::NONE, "columns of a model's output", |e| {
        Some(model(e)?.shape.n.into())
    }),
    Field::text("dtype", "dtype before quantization", |e| Value::word(e.row.record.case.dtype)),
    Field::text("compiled", "whether a model is compiled", |e| {
        Some(Value::Flag(e.row.variant()?.compile.is_some()))
    }),
    // Where nothing is compiled the mode is the default one, as upstream writes it.
    Field::text("torch-compile-mode", "mode of torch.compile, as torchao has it", |e| {
        Value::word(e.row.variant()?.compile.unwrap_or(CompileMode::Default))
    }),
    Field::text("device", "kind of device", |e| Value::word(e.row.record.case.device)),
    Field::text("model-type", "kind of model", |e| Value::word(model(e)?.model)),
    Field::text("output-dir", "output_dir of the config", |e| {
        Some(Value::from(&e.row.record.case.settings.output_dir))
    }),
    Field::of(
        "profiler",
        Unit::NONE,
        "whether a trace was asked for",
        at!(case.profiling.profiler),
    ),
    Field::of(
        "memory-profiler",
        Unit::NONE,
        "whether a memory snapshot was asked for",
        at!(case.profiling.memory),
    ),
];

/// In the order of the columns of CSV.
pub(super) const FIELDS: &[Field] = &[
    Field::of("full-id", Unit::NONE, "criterion's id", at!(full_id)),
    Field::text("target", "bench target", |e| Value::word(plan::target_of(e.row.full_id()))),
    Field::of("config", Unit::NONE, "stem of the config's name", at!(case.config)),
    Field::of(
        "variant",
        Unit::NONE,
        "what distinguishes it from its siblings",
        at!(case.id.variant),
    ),
    Field::text("role", "baseline or candidate", |e| {
        Value::word(if e.row.is_baseline() { "baseline" } else { "candidate" })
    }),
    Field::text("mode", "benchmark mode", |e| Value::word(e.row.record.case.mode)),
    Field::text("shape-names", "names of its shape", |e| {
        Value::list(&e.row.record.case.shape_names)
    }),
    Field::text("outcome", "how it ended", |e| Value::word(e.row.record.outcome.status())),
    Field::text("reason", "why it has no time", |e| Value::word(e.row.reason()?)),
    Field::derived("baseline-latency", Unit::NS, "median time of the unquantized model", |e| {
        Some(e.unquantized?.time.as_ref().ok()?.into())
    })
    .columns(&[("baseline_time_low_in_ms", Part::Low), ("baseline_time_high_in_ms", Part::High)]),
    Field::derived("latency", Unit::NS, "median time of a step", |e| Some(time(e)?.into()))
        .smaller()
        .columns(&[("model_time_low_in_ms", Part::Low), ("model_time_high_in_ms", Part::High)])
        .why(|e| e.row.reason()),
    Field::derived("latency-mean", Unit::NS, "mean of criterion's samples", |e| {
        Some(time(e)?.mean_ns.into())
    })
    .columns(&[("model_time_mean_in_ms", Part::Value)]),
    Field::derived("latency-std-dev", Unit::NS, "standard deviation of criterion's samples", |e| {
        Some(time(e)?.std_dev_ns.into())
    })
    .columns(&[("model_time_std_dev_in_ms", Part::Value)]),
    Field::derived("samples", Unit::NONE, "criterion's samples", |e| Some(time(e)?.samples.into())),
    Field::derived("confidence-level", Unit::SHARE, "level of the time's interval", |e| {
        time(e)?.interval.and(Some(time(e)?.confidence_level.into()))
    }),
    Field::text("quick", "measured with --quick", |e| Some(Value::Flag(time(e)?.quick))),
    // Those that are not compiled have it over the group's baseline, as upstream's layout has it.
    Field::derived(
        "speedup-of-quantization",
        Unit::TIMES,
        "speed-up over the unquantized model run the same way",
        |e| Some(e.quantization?.gain.as_ref().ok()?.into()),
    )
    .columns(&[("speedup_low", Part::Low), ("speedup_high", Part::High)]),
    Field::derived("speedup", Unit::TIMES, "speed-up over the group's baseline", |e| {
        Some(e.comparison?.gain.as_ref().ok()?.into())
    })
    .bigger()
    .columns(&[
        ("speedup_over_group_baseline", Part::Value),
        ("speedup_over_group_baseline_low", Part::Low),
        ("speedup_over_group_baseline_high", Part::High),
    ])
    .why(|e| Some(e.comparison?.gain.as_ref().err()?.to_string())),
    Field::text("cautions", "what qualifies its numbers", |e| Value::list(e.cautions())),
    Field::derived("flops", Unit::plain("FLOP"), "floating-point operations of a step", |e| {
        e.row.flops().map(Value::from)
    }),
    Field::of(
        "weights-memory",
        Unit::BYTES,
        "storage of the model",
        at!(measures.memory?.weights_bytes),
    )
    .smaller()
    .columns(&[("weights_bytes", Part::Value)]),
    Field::of(
        "inputs-bytes",
        Unit::BYTES,
        "storage of the inputs",
        at!(measures.memory?.inputs_bytes),
    ),
    Field::of(
        "outputs-bytes",
        Unit::BYTES,
        "storage of outputs allocated beforehand",
        at!(measures.memory?.outputs_bytes),
    ),
    Field::of(
        "step-memory",
        Unit::BYTES,
        "peak of a step's own allocations",
        at!(measures.memory?.step.peak_bytes),
    )
    .smaller()
    .columns(&[("step_peak_bytes", Part::Value)]),
    Field::of(
        "step-total-bytes",
        Unit::BYTES,
        "sum of a step's allocations",
        at!(measures.memory?.step.total_bytes),
    ),
    Field::of(
        "step-allocations",
        Unit::NONE,
        "number of a step's allocations",
        at!(measures.memory?.step.allocations),
    ),
    Field::derived("weights-reduction", Unit::SHARE, "1 − its weights / the baseline's", |e| {
        Some(e.comparison?.weights_reduction?.into())
    }),
    Field::derived(
        "peak-reduction",
        Unit::SHARE,
        "1 − its peak of memory / the baseline's",
        |e| Some(e.comparison?.peak_reduction?.into()),
    ),
    Field::of("sqnr", Unit::DECIBELS, "signal-to-quantization-noise ratio", at!(accuracy, sqnr_db))
        .bigger()
        .columns(&[("sqnr_db", Part::Value)]),
    Field::of("max-abs-error", Unit::ERROR, "largest absolute error", at!(accuracy, max_abs_error))
        .smaller(),
    Field::of(
        "relative-error",
        Unit::ERROR,
        "relative error in Euclidean norm",
        at!(accuracy, relative_error),
    )
    .smaller(),
    Field::text("kernels", "ATen ops and own kernels that did the work", |e| {
        Value::list(&e.row.record.kernels)
    }),
    Field::of("threads", Unit::NONE, "intra-op threads", at!(environment.torch.threads)),
    Field::of("allocator", Unit::NONE, "host allocator", at!(environment.allocator)),
    Field::text("cache", "state of the cache when a step starts", |e| {
        Value::word(e.row.record.case.settings.cache)
    }),
    Field::text("seed", "seed of weights and inputs", |e| {
        Value::word(e.row.record.case.settings.seed)
    }),
    Field::of("libtorch", Unit::NONE, "version of libtorch", at!(environment.torch.libtorch)),
    Field::of(
        "cuda",
        Unit::NONE,
        "CUDA version of libtorch",
        at!(environment.torch.cuda.as_ref()?),
    ),
    Field::of("cuda-device", Unit::NONE, "GPU", at!(environment.torch.cuda_device.as_ref()?)),
    Field::of("cpu-model", Unit::NONE, "processor", at!(environment.host.cpu_model)),
    Field::of("hostname", Unit::NONE, "host name", at!(environment.host.hostname)),
    Field::of("os", Unit::NONE, "operating system and kernel", at!(environment.host.os)),
    Field::of("rustc", Unit::NONE, "compiler of the benchmark", at!(environment.rustc)),
    Field::of("git-revision", Unit::NONE, "git revision", at!(environment.git_revision.as_ref()?)),
    Field::of("run-id", Unit::NONE, "run that measured it", at!(run_id)),
    Field::text("timestamp", "when it ended", |e| {
        Value::word(units::rfc3339(e.row.record.timestamp))
    }),
];

fn model<'a>(entry: &Entry<'a>) -> Option<&'a ModelWork> {
    entry.row.record.case.work.model()
}

fn time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.row.time.as_ref().ok()
}
