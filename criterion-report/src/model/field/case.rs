//! The fields of a case from its id to its run: what it is, how it ended, its circumstances.

use plan::{CompileMode, ModelWork};

use super::*;
use crate::model::Time;
use crate::render::units;

fields! {
    /// The values of torchao's columns besides times; they come first in CSV.
    TORCHAO:
    "name", NONE, "names in the config", (|e| Value::list(&e.row.record.case.names));
    "quantization", NONE, "recipe of a model", (|e| Value::word(e.row.variant()?.recipe));
    "sparsity", NONE, "sparse layout of a model", (|e| Value::word(e.row.variant()?.sparsity?));
    "m", NONE, "rows of a model's input", (|e| Some(model(e)?.shape.m.into()));
    "k", NONE, "columns of a model's input", (|e| Some(model(e)?.shape.k.into()));
    "n", NONE, "columns of a model's output", (|e| Some(model(e)?.shape.n.into()));
    "dtype", NONE, "dtype before quantization", (|e| Value::word(e.row.record.case.dtype));
    "compiled", NONE, "whether a model is compiled",
        (|e| Some(Value::Flag(e.row.variant()?.compile.is_some())));
    // Where nothing is compiled the mode is the default one, as upstream writes it.
    "torch-compile-mode", NONE, "mode of torch.compile, as torchao has it",
        (|e| Value::word(e.row.variant()?.compile.unwrap_or(CompileMode::Default)));
    "device", NONE, "kind of device", (|e| Value::word(e.row.record.case.device));
    "model-type", NONE, "kind of model", (|e| Value::word(model(e)?.model));
    "output-dir", NONE, "output_dir of the config",
        (|e| Some(Value::from(&e.row.record.case.settings.output_dir)));
    "profiler", NONE, "whether a trace was asked for", (case.profiling.profiler);
    "memory-profiler", NONE, "whether a memory snapshot was asked for", (case.profiling.memory);
}

fields! {
    /// In the order of the columns of CSV.
    FIELDS:
    "full-id", NONE, "criterion's id", (full_id);
    "target", NONE, "first part of the id, the mode", (|e| Value::word(plan::mode_of(e.row.full_id())));
    "config", NONE, "stem of the config's name", (case.config);
    "variant", NONE, "what distinguishes it from its siblings", (case.id.variant);
    "role", NONE, "baseline or candidate",
        (|e| Value::word(if e.row.is_baseline() { "baseline" } else { "candidate" }));
    "mode", NONE, "benchmark mode", (|e| Value::word(e.row.record.case.mode));
    "shape-names", NONE, "names of its shape", (|e| Value::list(&e.row.record.case.shape_names));
    "outcome", NONE, "how it ended", (|e| Value::word(e.row.record.outcome.status()));
    "reason", NONE, "why it has no time", (|e| Value::word(e.row.reason()?));
    "baseline-latency", NS, "median time of the unquantized model",
        (|e| Some(e.unquantized?.time.as_ref().ok()?.into()));
    smaller "latency", NS, "median time of a step", (|e| Some(time(e)?.into()))
        why (|e| e.row.reason());
    "latency-mean", NS, "mean of criterion's samples", (|e| Some(time(e)?.mean_ns.into()));
    "latency-std-dev", NS, "standard deviation of criterion's samples",
        (|e| Some(time(e)?.std_dev_ns.into()));
    "samples", NONE, "criterion's samples", (|e| Some(time(e)?.samples.into()));
    "confidence-level", SHARE, "level of the time's interval",
        (|e| time(e)?.interval.and(Some(time(e)?.confidence_level.into())));
    "quick", NONE, "measured with --quick", (|e| Some(Value::Flag(time(e)?.quick)));
    // For uncompiled cases it is over the group's baseline, as in upstream's layout, whose timer waits for the host, too.
    "speedup-of-quantization", TIMES, "speed-up over the unquantized model run the same way, as called",
        (|e| Some(Value::from(&e.quantization?.gain.as_ref().ok()?.as_called())));
    bigger "speedup", TIMES, "speed-up over the group's baseline",
        (|e| Some(e.comparison?.gain.as_ref().ok()?.into()))
        why (|e| Some(e.comparison?.gain.as_ref().err()?.to_string()));
    "cautions", NONE, "what qualifies its numbers", (|e| Value::list(e.cautions()));
    "flops", unit("FLOP"), "floating-point operations of a step",
        (|e| e.row.flops().map(Value::from));
    smaller "weights-memory", BYTES, "storage of the model", (measures.memory?.weights_bytes);
    "inputs-bytes", BYTES, "storage of the inputs", (measures.memory?.inputs_bytes);
    "outputs-bytes", BYTES, "storage of outputs allocated beforehand",
        (measures.memory?.outputs_bytes);
    smaller "step-memory", BYTES, "peak of a step's own allocations",
        (measures.memory?.step.peak_bytes);
    "step-total-bytes", BYTES, "sum of a step's allocations", (measures.memory?.step.total_bytes);
    "step-allocations", NONE, "number of a step's allocations", (measures.memory?.step.allocations);
    "weights-reduction", SHARE, "1 − its weights / the baseline's",
        (|e| Some(e.comparison?.weights_reduction?.into()));
    "peak-reduction", SHARE, "1 − its peak of memory / the baseline's",
        (|e| Some(e.comparison?.peak_reduction?.into()));
    bigger "sqnr", DECIBELS, "signal-to-quantization-noise ratio", (accuracy.sqnr_db);
    smaller "max-abs-error", ERROR, "largest absolute error", (accuracy.max_abs_error);
    smaller "relative-error", ERROR, "relative error in Euclidean norm", (accuracy.relative_error);
    "kernels", NONE, "ATen ops and own kernels that did the work",
        (|e| Value::list(&e.row.record.kernels));
    "threads", NONE, "intra-op threads", (environment.torch.threads);
    "allocator", NONE, "host allocator", (environment.allocator);
    "cache", NONE, "state of the cache when a step starts",
        (|e| Value::word(e.row.record.case.settings.cache));
    "seed", NONE, "seed of weights and inputs", (|e| Value::word(e.row.record.case.settings.seed));
    "libtorch", NONE, "version of libtorch", (environment.torch.libtorch);
    "cuda", NONE, "CUDA version of libtorch", (environment.torch.cuda.as_ref()?);
    "cuda-device", NONE, "GPU", (environment.torch.cuda_device.as_ref()?);
    "cpu-model", NONE, "processor", (environment.host.cpu_model);
    "hostname", NONE, "host name", (environment.host.hostname);
    "os", NONE, "operating system and kernel", (environment.host.os);
    "rustc", NONE, "compiler of the benchmark", (environment.rustc);
    "git-revision", NONE, "git revision", (environment.git_revision.as_ref()?);
    "run-id", NONE, "run that measured it", (run_id);
    "timestamp", NONE, "when it ended", (|e| Value::word(units::rfc3339(e.row.record.timestamp)));
}

fn model<'a>(entry: &Entry<'a>) -> Option<&'a ModelWork> {
    entry.row.record.case.work.model()
}

fn time<'a>(entry: &Entry<'a>) -> Option<&'a Time> {
    entry.row.time.as_ref().ok()
}
