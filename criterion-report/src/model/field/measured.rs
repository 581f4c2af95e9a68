//! What was measured besides time, memory and accuracy, and how.

use plan::Stop;

use super::*;
use crate::model::speedup::Speedup;
use crate::model::time::Interval;
use crate::units;

/// In the order of the columns of CSV: what is new comes last.
pub(super) const FIELDS: &[Field] = &[
    text("verdict", "what the speed-up's interval lets one say", |e| {
        Value::word(pair(e)?.verdict().word())
    }),
    text("no-speedup-reason", "why it has no speed-up", |e| {
        Value::word(e.comparison?.speedup.as_ref().err()?)
    }),
    derived("pair-blocks", NONE, "blocks of the speed-up", |e| Some(pair(e)?.blocks.into())),
    text("pair-stopped", "why no more blocks were taken", |e| stop(pair(e)?.stopped)),
    derived("pair-target", SHARE, "half-width asked for", |e| Some(pair(e)?.target.into())),
    derived("pair-half-width", SHARE, "half-width of the speed-up's interval", |e| {
        Some(pair(e)?.half_width().into())
    }),
    derived("pair-batches-per-block", NONE, "timed batches in a block", |e| {
        Some(pair(e)?.batches_per_block.into())
    }),
    of("latency-calls", NONE, "single calls", at!(measures.latency?.calls)),
    smaller(of("latency-p50", NS, "median of single calls", at!(measures.latency?.p50_ns))),
    smaller(of(
        "latency-p90",
        NS,
        "90th percentile of single calls",
        at!(measures.latency?.p90_ns?),
    ))
    .why(few_calls),
    smaller(of(
        "latency-p99",
        NS,
        "99th percentile of single calls",
        at!(measures.latency?.p99_ns?),
    ))
    .why(few_calls),
    smaller(of("latency-max", NS, "slowest single call", at!(measures.latency?.max_ns))),
    of("call-mean", NS, "mean of single calls", at!(measures.latency?.mean_ns)),
    bigger(derived("throughput", unit("steps/s"), "steps per second", |e| {
        rate(e, e.row.steps_per_s()?)
    })),
    bigger(derived("gflops", unit("GFLOP/s"), "operations per second", |e| {
        rate(e, e.row.gflop_per_s()?)
    })),
    smaller(of("first-call", NS, "first call after building", at!(measures.first_call_ns?))),
    of("counted-steps", NONE, "steps that were counted over", at!(measures.counters?.iters)),
    smaller(of(
        "page-faults",
        unit("faults"),
        "minor page faults of a step",
        at!(measures.counters?.minor_faults),
    )),
    of(
        "major-faults-per-step",
        unit("faults"),
        "pages of a step that were read from disk",
        at!(measures.counters?.major_faults),
    ),
    of(
        "fault-share",
        SHARE,
        "share of the CPU time that page faults take",
        at!(measures.counters?.fault_share?),
    )
    .why(|e| {
        why(e.row.record.measures.counters.is_some(), "the cost of a page fault is not known")
    }),
    of(
        "voluntary-switches-per-step",
        unit("switches"),
        "waits of a step that gave the CPU away",
        at!(measures.counters?.voluntary_switches),
    ),
    of(
        "involuntary-switches-per-step",
        unit("switches"),
        "times in a step that the CPU was taken away",
        at!(measures.counters?.involuntary_switches),
    ),
    of("cpu-user", NS, "CPU time of a step in user mode", at!(measures.counters?.user_ns)),
    of("cpu-system", NS, "CPU time of a step in the kernel", at!(measures.counters?.system_ns)),
    of("counted-wall", NS, "wall time of a counted step", at!(measures.counters?.wall_ns)),
    smaller(of("energy", JOULES, "energy of a step", at!(measures.energy?.joules))),
    of("energy-watts", unit("W"), "mean power", at!(measures.energy?.watts)),
    of(
        "energy-idle-watts",
        unit("W"),
        "mean power of the idle machine",
        at!(measures.energy?.idle_watts?),
    ),
    of(
        "energy-idle-subtracted",
        NONE,
        "whether the energy is less that of the idle machine",
        at!(measures.energy?.idle_subtracted),
    ),
    of("energy-window-s", SECONDS, "length of the energy's window", at!(measures.energy?.window_s)),
    of("energy-method", NONE, "counter of energy", at!(measures.energy?.method)),
    of(
        "sm-utilization",
        SHARE,
        "time in which a kernel ran on the GPU",
        at!(measures.utilization?.sm),
    ),
    of(
        "memory-utilization",
        SHARE,
        "time in which the GPU's memory was in use",
        at!(measures.utilization?.memory),
    ),
    of("utilization-samples", NONE, "samples of both", at!(measures.utilization?.samples)),
    of(
        "utilization-window-s",
        SECONDS,
        "length of their window",
        at!(measures.utilization?.window_s),
    ),
    of("utilization-method", NONE, "source of these samples", at!(measures.utilization?.method)),
    of("clock", unit("MHz"), "clock while criterion sampled", at!(measures.conditions?.clock_mhz?))
        .why(hidden),
    of("clock-method", NONE, "how the clock was read", at!(measures.conditions?.clock_method)),
    of(
        "temperature",
        CELSIUS,
        "temperature while criterion sampled",
        at!(measures.conditions?.temperature_c?),
    )
    .why(hidden),
    text("throttle-reasons", "why the processor slowed itself down", |e| {
        Value::list(&e.row.record.measures.conditions.as_ref()?.throttle_reasons)
    }),
    of(
        "discarded-samples",
        NONE,
        "samples that were taken again",
        at!(measures.conditions?.discarded_samples),
    ),
    of(
        "steal",
        SHARE,
        "CPU time that the hypervisor gave to others",
        at!(measures.conditions?.steal?),
    )
    .why(|e| why(e.row.record.measures.conditions.is_some(), "the system does not count it")),
    of("device-time", NS, "step by the device's clock", at!(measures.clocks?.device_ns)),
    of("host-time", NS, "step by the host's clock", at!(measures.clocks?.host_ns)),
    of("queue-time", NS, "time to queue a step", at!(measures.clocks?.queue_ns)),
    of(
        "host-bound",
        NONE,
        "whether the device would wait for the host",
        at!(measures.clocks?.host_bound),
    ),
    text("absent", "measures that are absent, and why", |e| {
        Value::list(e.row.record.measures.absent.iter().map(|(name, why)| format!("{name}: {why}")))
    }),
    of("quiet-score", SHARE, "how quiet the machine was", at!(environment.quiet?.score)),
    of(
        "load-1m",
        unit("processes"),
        "runnable processes over one minute",
        at!(environment.quiet?.load_1m?),
    ),
    of("governor", NONE, "frequency governor", at!(environment.host.governor.as_ref()?)),
    of("planned-samples", NONE, "samples asked for", at!(planned?.samples)),
    of("planned-iters", NONE, "steps in each", at!(planned?.iters)),
    text("planned-limited-by", "what set the number of samples", |e| {
        stop(e.row.record.planned?.limited_by)
    }),
    smaller(of(
        "bits-per-weight",
        unit("bit"),
        "stored bits per weight of linear layers",
        at!(weights?.bits_per_weight),
    )),
    of(
        "packed-weight-bytes",
        BYTES,
        "bytes of the linear layers' weights",
        at!(weights?.packed_bytes),
    ),
    of(
        "baseline-weight-bytes",
        BYTES,
        "bytes of the same weights, dense",
        at!(weights?.baseline_bytes),
    ),
    of("linears-quantized", NONE, "quantized linear layers", at!(weights?.quantized)),
    of("linears", NONE, "linear layers", at!(weights?.linears)),
    of("density", SHARE, "weights that pruning left", at!(weights?.density?)),
    bigger(derived("bandwidth", unit("GB/s"), "bytes moved per second", |e| {
        rate(e, e.row.gb_per_s()?)
    })),
    text("speedup-source", "how the speed-up of quantization is known", |e| {
        Value::word(e.quantization?.gain.as_ref().ok()?.source.word())
    }),
    bigger(derived("speedup-over-eager", TIMES, "speed-up over the same run eagerly", |e| {
        Some(e.compilation?.gain.as_ref().ok()?.into())
    }))
    .why(|e| Some(e.compilation?.gain.as_ref().err()?.to_string())),
    text("speedup-over-eager-source", "how that is known", |e| {
        Value::word(e.compilation?.gain.as_ref().ok()?.source.word())
    }),
    text("compile-mode", "mode of torch.compile", |e| {
        Value::word(e.row.record.case.work.compile()?)
    }),
    smaller(of("compile-time", SECONDS, "seconds to compile", at!(compilation?.seconds))),
    of(
        "compile-cache-hit",
        NONE,
        "whether the package was there already",
        at!(compilation?.cache_hit),
    ),
    smaller(of(
        "package-size",
        BYTES,
        "bytes of the compiled package",
        at!(compilation?.package_bytes),
    )),
    text("compile-options", "Inductor's settings", |e| {
        let options = &e.row.record.compilation.as_ref()?.options;
        Value::list(options.iter().map(|(name, value)| format!("{name}: {value}")))
    }),
    of("compiler", NONE, "compiler and its target", at!(compilation?.compiler)),
    of("compile-key", NONE, "name in the cache of packages", at!(compilation?.key)),
    of("eager-sqnr", DECIBELS, "the same, against the eager output", at!(accuracy?.eager?.sqnr_db)),
    of(
        "eager-max-abs-error",
        ERROR,
        "largest difference from the eager output",
        at!(accuracy?.eager?.max_abs_error),
    ),
    of(
        "eager-min-sqnr",
        DECIBELS,
        "gate of the SQNR against eager",
        at!(accuracy?.eager?.min_sqnr_db),
    ),
    text("kernel", "name of a kernel", |e| Value::word(&e.row.record.case.work.kernel()?.kernel)),
    text("problem-size", "problem size of a kernel", |e| {
        Value::word(units::fields(e.row.problem_size()?))
    }),
    of("rmse", ERROR, "root of the mean square error", at!(accuracy.rmse?)),
    of(
        "determinism-std",
        ERROR,
        "largest deviation of an element between runs",
        at!(kernel?.determinism_std?),
    ),
    derived("pair-builds", NONE, "fresh builds of the pair", |e| {
        Some(pair(e)?.levels.builds?.into())
    }),
    derived("pair-within", SHARE, "σ of a block's ln(speed-up) in a build", |e| {
        Some(pair(e)?.levels.within?.into())
    }),
    derived("pair-between", SHARE, "σ of a build's ln(speed-up)", |e| {
        Some(pair(e)?.levels.between?.into())
    }),
    derived("pair-between-runs", SHARE, "σ of a run's ln(speed-up)", |e| {
        Some(pair(e)?.runs?.between.into())
    }),
    derived("runs", NONE, "runs that it is of", |e| Some(e.row.runs.len().max(1).into())),
];

/// What is done per time is as certain as the time, the other way round.
fn rate<'a>(entry: &Entry<'a>, value: f64) -> Option<Value<'a>> {
    let time = entry.row.time.as_ref().ok()?;
    let at = |ns: f64| value * time.median_ns / ns;
    let interval = time.interval.map(|it| Interval { low: at(it.high), high: at(it.low) });
    Some(Figure { value, interval }.into())
}

fn pair<'a>(entry: &Entry<'a>) -> Option<&'a Speedup> {
    entry.comparison?.speedup.as_ref().ok()
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
