//! The fields measured besides time, memory and accuracy, and how.

use std::collections::BTreeMap;
use std::fmt::Display;

use plan::Stop;

use super::profile::{absent, no_counters, no_gpu_counters, profile, step_ns};
use super::*;
use crate::model::Interval;
use crate::render::units;

const PER_CYCLE: Unit = Unit {
    text: |_, count, _| format!("{} per cycle", units::significant(count, 3)),
    ..unit("1/cycle")
};

fields! {
    /// In the order of the columns of CSV: what is new comes last.
    FIELDS:
    "verdict", NONE, "what the speed-up's interval lets one say",
        (|e| Value::word(e.speedup()?.verdict().word()));
    "no-speedup-reason", NONE, "why it has no speed-up",
        (|e| Value::word(e.comparison?.speedup.as_ref().err()?));
    "pair-blocks", NONE, "blocks of the speed-up", (|e| Some(e.speedup()?.blocks.into()));
    "pair-stopped", NONE, "why no more blocks were taken", (|e| stop(e.speedup()?.stopped));
    "pair-target", SHARE, "half-width asked for", (|e| Some(e.speedup()?.target.into()));
    "pair-half-width", SHARE, "half-width of the speed-up's interval",
        (|e| Some(e.speedup()?.half_width().into()));
    "pair-batches-per-block", NONE, "timed batches in a block",
        (|e| Some(e.speedup()?.batches_per_block.into()));
    "latency-calls", NONE, "single calls", (measures.latency?.calls);
    smaller "latency-p50", NS, "median of single calls", (measures.latency?.p50_ns);
    smaller "latency-p90", NS, "90th percentile of single calls", (measures.latency?.p90_ns?)
        why (few_calls);
    smaller "latency-p99", NS, "99th percentile of single calls", (measures.latency?.p99_ns?)
        why (few_calls);
    smaller "latency-max", NS, "slowest single call", (measures.latency?.max_ns);
    "call-mean", NS, "mean of single calls", (measures.latency?.mean_ns);
    bigger "throughput", unit("steps/s"), "steps per second", (|e| rate(e, e.row.steps_per_s()?));
    bigger "gflops", unit("GFLOP/s"), "operations per second", (|e| rate(e, e.row.gflop_per_s()?))
        why (|e| why(e.row.is_emulated(), "emulated: its time is not the recipe's"));
    smaller "first-call", NS, "first call after building", (measures.first_call_ns?);
    "counted-steps", NONE, "steps that were counted over", (measures.counters?.iters);
    smaller "page-faults", unit("faults"), "minor page faults of a step",
        (measures.counters?.minor_faults);
    "major-faults-per-step", unit("faults"), "pages of a step that were read from disk",
        (measures.counters?.major_faults);
    "fault-share", SHARE, "share of the CPU time that page faults take",
        (measures.counters?.fault_share?)
        why (|e| {
            why(e.row.record.measures.counters.is_some(), "the cost of a page fault is not known")
        });
    "voluntary-switches-per-step", unit("switches"), "waits of a step that gave the CPU away",
        (measures.counters?.voluntary_switches);
    "involuntary-switches-per-step", unit("switches"),
        "times in a step that the CPU was taken away", (measures.counters?.involuntary_switches);
    "cpu-user", NS, "CPU time of a step in user mode", (measures.counters?.user_ns);
    "cpu-system", NS, "CPU time of a step in the kernel", (measures.counters?.system_ns);
    "counted-wall", NS, "wall time of a counted step", (measures.counters?.wall_ns);
    smaller "energy", JOULES, "energy of a step", (measures.energy?.joules);
    "energy-watts", unit("W"), "mean power", (measures.energy?.watts);
    "energy-idle-watts", unit("W"), "mean power of the idle machine",
        (measures.energy?.idle_watts?);
    "energy-idle-subtracted", NONE, "whether the energy is less that of the idle machine",
        (measures.energy?.idle_subtracted);
    "energy-window-s", SECONDS, "length of the energy's window", (measures.energy?.window_s);
    "energy-method", NONE, "counter of energy", (measures.energy?.method);
    "sm-utilization", SHARE, "time in which a kernel ran on the GPU", (measures.utilization?.sm);
    "memory-utilization", SHARE, "time in which the GPU's memory was in use",
        (measures.utilization?.memory);
    "utilization-samples", NONE, "samples of both", (measures.utilization?.samples);
    "utilization-window-s", SECONDS, "length of their window", (measures.utilization?.window_s);
    "utilization-method", NONE, "source of these samples", (measures.utilization?.method);
    "clock", unit("MHz"), "clock while criterion sampled", (measures.conditions?.clock_mhz?)
        why (hidden);
    "clock-method", NONE, "how the clock was read", (measures.conditions?.clock_method);
    "temperature", CELSIUS, "temperature while criterion sampled",
        (measures.conditions?.temperature_c?) why (hidden);
    "throttle-reasons", NONE, "why the processor slowed itself down",
        (|e| Value::list(&e.row.record.measures.conditions.as_ref()?.throttle_reasons));
    "discarded-samples", NONE, "samples that were taken again",
        (measures.conditions?.discarded_samples);
    "steal", SHARE, "CPU time that the hypervisor gave to others", (measures.conditions?.steal?)
        why (|e| why(e.row.record.measures.conditions.is_some(), "the system does not count it"));
    "device-time", NS, "step by the device's clock", (measures.clocks?.device_ns);
    "host-time", NS, "step by the host's clock", (measures.clocks?.host_ns);
    "queue-time", NS, "time to queue a step", (measures.clocks?.queue_ns);
    "host-bound", NONE, "whether the device would wait for the host", (measures.clocks?.host_bound);
    "absent", NONE, "measures that are absent, and why",
        (|e| Value::list(named(&e.row.record.measures.absent)));
    "quiet-score", SHARE, "how quiet the machine was", (environment.quiet?.score);
    "load-1m", unit("processes"), "runnable processes over one minute",
        (environment.quiet?.load_1m?);
    "governor", NONE, "frequency governor", (environment.host.governor.as_ref()?);
    "planned-samples", NONE, "samples asked for", (planned?.samples);
    "planned-iters", NONE, "steps in each", (planned?.iters);
    "planned-limited-by", NONE, "what set the number of samples",
        (|e| stop(e.row.record.planned?.limited_by));
    smaller "bits-per-weight", unit("bit"), "stored bits per weight of linear layers",
        (weights?.bits_per_weight);
    "packed-weight-bytes", BYTES, "bytes of the linear layers' weights", (weights?.packed_bytes);
    "baseline-weight-bytes", BYTES, "bytes of the same weights, dense", (weights?.baseline_bytes);
    "linears-quantized", NONE, "quantized linear layers", (weights?.quantized);
    "linears", NONE, "linear layers", (weights?.linears);
    "density", SHARE, "weights that pruning left", (weights?.density?);
    bigger "bandwidth", unit("GB/s"), "bytes moved per second", (|e| rate(e, e.row.gb_per_s()?));
    "speedup-source", NONE, "how the speed-up of quantization is known",
        (|e| Value::word(e.quantization?.gain.as_ref().ok()?.source.word()));
    bigger "speedup-over-eager", TIMES, "speed-up over the same run eagerly",
        (|e| Some(e.compilation?.gain.as_ref().ok()?.into()))
        why (|e| Some(e.compilation?.gain.as_ref().err()?.to_string()));
    "speedup-over-eager-source", NONE, "how that is known",
        (|e| Value::word(e.compilation?.gain.as_ref().ok()?.source.word()));
    "compile-mode", NONE, "mode of torch.compile",
        (|e| Value::word(e.row.record.case.work.compile()?));
    smaller "compile-time", SECONDS, "seconds to compile", (compilation?.seconds);
    "compile-cache-hit", NONE, "whether the package was there already", (compilation?.cache_hit);
    smaller "package-size", BYTES, "bytes of the compiled package", (compilation?.package_bytes);
    "compile-options", NONE, "Inductor's settings",
        (|e| Value::list(named(&e.row.record.compilation.as_ref()?.options)));
    "compiler", NONE, "compiler and its target", (compilation?.compiler);
    "compile-key", NONE, "name in the cache of packages", (compilation?.key);
    "eager-sqnr", DECIBELS, "the same, against the eager output", (accuracy?.eager?.sqnr_db);
    "eager-max-abs-error", ERROR, "largest difference from the eager output",
        (accuracy?.eager?.max_abs_error);
    "eager-min-sqnr", DECIBELS, "gate of the SQNR against eager", (accuracy?.eager?.min_sqnr_db);
    "kernel", NONE, "name of a kernel", (|e| Value::word(&e.row.record.case.work.kernel()?.kernel));
    "problem-size", NONE, "problem size of a kernel",
        (|e| Value::word(units::fields(e.row.problem_size()?)));
    "rmse", ERROR, "root of the mean square error", (accuracy.rmse?);
    "determinism-std", ERROR, "largest deviation of an element between runs",
        (kernel?.determinism_std?);
    "pair-builds", NONE, "fresh builds of the pair", (|e| Some(e.speedup()?.levels.builds?.into()));
    "pair-within", SHARE, "σ of a block's ln(speed-up) in a build",
        (|e| Some(e.speedup()?.levels.within?.into()));
    "pair-between", SHARE, "σ of a build's ln(speed-up)",
        (|e| Some(e.speedup()?.levels.between?.into()));
    "pair-between-runs", SHARE, "σ of a run's ln(speed-up)",
        (|e| Some(e.speedup()?.runs?.between.into()));
    "runs", NONE, "runs that it is of", (|e| Some(e.row.runs.len().max(1).into()));
    "pass", NONE, "part of a training step", (|e| Value::word(e.row.pass()?));
    "autograd", NONE, "whether torch's autograd runs the backward pass",
        (|e| Some(Value::Flag(e.row.pass().and(e.row.variant())?.autograd)));
    "emulated", NONE, "whether the device lacks the recipe's products, so that its time is not the recipe's",
        (|e| Some(Value::Flag(e.row.variant()?.emulated)));
    smaller "saved-memory", BYTES, "bytes of activations that the forward pass keeps for the backward pass, the input among them",
        (measures.memory?.saved_bytes?);
    bigger "output-sqnr", DECIBELS, "SQNR of a training step's output",
        (|e| Some(e.row.output_sqnr_db()?.into()));
    bigger "grad-input-sqnr", DECIBELS, "SQNR of the input's gradient",
        (|e| Some(e.row.grad_input_sqnr_db()?.into()));
    bigger "grad-weight-sqnr", DECIBELS, "SQNR of the parameters' gradients, the lowest",
        (|e| Some(e.row.grad_weight_sqnr_db()?.into()));
    "profiled-step", NS, "time of a step under the profiler, whose own cost it contains",
        (|e| Some(step_ns(e)?.into())) why (|e| absent(e, "operations"));
    "outside-share", SHARE, "share of the profiled step outside recorded operations",
        (|e| {
            let share = profile(e)?.outside_ns / step_ns(e)?;
            Some(share.into())
        })
        why (|e| absent(e, "operations"));
    smaller "cycles", counted("cycles"), "clock cycles of a step, over all threads in user mode",
        (profile?.hardware?.cycles) why (no_counters);
    smaller "instructions", counted("instructions"), "instructions of a step, likewise",
        (profile?.hardware?.instructions) why (no_counters);
    // A thread that waits in a loop raises it, so neither direction is better.
    "instructions-per-cycle", PER_CYCLE, "instructions over cycles",
        (|e| {
            let counters = profile(e)?.hardware?;
            let per_cycle = counters.instructions / counters.cycles;
            per_cycle.is_finite().then(|| per_cycle.into())
        })
        why (no_counters);
    "cache-references", counted("references"), "references of a step to the last-level cache",
        (profile?.hardware?.cache_references) why (no_counters);
    smaller "cache-misses", counted("misses"), "references that missed the last-level cache",
        (profile?.hardware?.cache_misses) why (no_counters);
    smaller "tlb-misses", counted("misses"), "loads that missed the first-level data TLB",
        (profile?.hardware?.tlb_misses) why (no_counters);
    smaller "gpu-cycles", counted("cycles"), "clock cycles of the GPU's multiprocessors (SMs) in a step",
        (profile?.gpu?.cycles) why (no_gpu_counters);
    // A high share of a peak is not better by itself: a step that does needless work has one, too.
    "sm-throughput", SHARE, "throughput of the SMs' busiest unit in a step, over its peak",
        (profile?.gpu?.sm_throughput) why (no_gpu_counters);
    "tensor-active", SHARE, "cycles of a step in which the tensor cores were active",
        (profile?.gpu?.tensor_active) why (no_gpu_counters);
    "occupancy", SHARE, "warps on the SMs in a step, over the most that fit",
        (profile?.gpu?.occupancy) why (no_gpu_counters);
    smaller "dram-bytes", BYTES, "bytes that a step read from the GPU's memory and wrote to it",
        (profile?.gpu?.dram_bytes) why (no_gpu_counters);
    "dram-throughput", SHARE, "throughput of the GPU's memory in a step, over its peak",
        (profile?.gpu?.dram_throughput) why (no_gpu_counters);
    bigger "l2-hit-rate", SHARE, "sectors that the GPU's L2 cache had, of those that a step asked it for",
        (profile?.gpu?.l2_hit_rate) why (no_gpu_counters);
    bigger "speedup-as-called", TIMES, "speed-up over the group's baseline for a caller, whose host may be slower than the device",
        (|e| {
            let gain = e.comparison?.gain.as_ref().ok()?;
            gain.as_called.is_some().then(|| Value::from(&gain.as_called()))
        });
    smaller "judged-time", NS, "median time of a kernel's call in batches, by its judge's clock",
        (|e| Some(e.row.judged_ns()?.into()))
        why (|e| Some(format!("not judged: {}", e.row.not_judged()?)));
}

/// A rate is as certain as the time; its bounds are swapped.
fn rate<'a>(entry: &Entry<'a>, value: f64) -> Option<Value<'a>> {
    let time = entry.row.time.as_ref().ok()?;
    let at = |ns: f64| value * time.median_ns / ns;
    let interval = time.interval.map(|it| Interval { low: at(it.high), high: at(it.low) });
    Some(Figure { value, interval }.into())
}

fn named<T: Display>(values: &BTreeMap<String, T>) -> impl Iterator<Item = String> {
    values.iter().map(|(name, value)| format!("{name}: {value}"))
}

fn stop<'a>(stop: Stop) -> Option<Value<'a>> {
    Value::word(match stop {
        Stop::Target => "target",
        Stop::Budget => "budget",
        Stop::Fixed => "fixed",
    })
}

fn why(applies: bool, text: &str) -> Option<String> {
    applies.then(|| text.to_owned())
}

fn few_calls(entry: &Entry<'_>) -> Option<String> {
    const WHY: &str = "too few calls: p90 takes 50 calls and p99 500, so that five lie beyond it";
    why(entry.row.record.measures.latency.is_some(), WHY)
}

fn hidden(entry: &Entry<'_>) -> Option<String> {
    why(entry.row.record.measures.conditions.is_some(), "the processor does not show it")
}
