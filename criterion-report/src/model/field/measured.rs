//! What was measured besides time, memory and accuracy, and how.

use plan::Stop;

use super::{Entry, Field, Figure, Part, Unit, Value, at};
use crate::model::speedup::Speedup;
use crate::model::time::Interval;
use crate::units;

/// In the order of the columns of CSV: what is new comes last.
pub(super) const FIELDS: &[Field] = &[
    Field::text("verdict", "what the speed-up's interval lets one say", |e| {
        Value::word(pair(e)?.verdict().word())
    }),
    Field::text("no-speedup-reason", "why it has no speed-up", |e| {
        Value::word(e.comparison?.speedup.as_ref().err()?)
    }),
    Field::derived("pair-blocks", Unit::NONE, "blocks of the speed-up", |e| {
        Some(pair(e)?.blocks.into())
    }),
    Field::text("pair-stopped", "why no more blocks were taken", |e| stop(pair(e)?.stopped)),
    Field::derived("pair-target", Unit::SHARE, "half-width asked for", |e| {
        Some(pair(e)?.target.into())
    }),
    Field::derived("pair-half-width", Unit::SHARE, "half-width of the speed-up's interval", |e| {
        Some(pair(e)?.half_width().into())
    }),
    Field::derived("pair-batches-per-block", Unit::NONE, "timed batches in a block", |e| {
        Some(pair(e)?.batches_per_block.into())
    }),
    Field::of("latency-calls", Unit::NONE, "single calls", at!(measures.latency?.calls)),
    Field::of("latency-p50", Unit::NS, "median of single calls", at!(measures.latency?.p50_ns))
        .smaller(),
    Field::of(
        "latency-p90",
        Unit::NS,
        "90th percentile of single calls",
        at!(measures.latency?.p90_ns?),
    )
    .smaller()
    .why(few_calls),
    Field::of(
        "latency-p99",
        Unit::NS,
        "99th percentile of single calls",
        at!(measures.latency?.p99_ns?),
    )
    .smaller()
    .why(few_calls),
    Field::of("latency-max", Unit::NS, "slowest single call", at!(measures.latency?.max_ns))
        .smaller(),
    Field::of("call-mean", Unit::NS, "mean of single calls", at!(measures.latency?.mean_ns))
        .columns(&[("latency_mean_in_ms", Part::Value)]),
    Field::derived("throughput", Unit::plain("steps/s"), "steps per second", |e| {
        rate(e, e.row.steps_per_s()?)
    })
    .bigger()
    .columns(&[("throughput_steps_per_s", Part::Value)]),
    Field::derived("gflops", Unit::plain("GFLOP/s"), "operations per second", |e| {
        rate(e, e.row.gflop_per_s()?)
    })
    .bigger()
    .columns(&[("gflop_per_s", Part::Value)]),
    Field::of("first-call", Unit::NS, "first call after building", at!(measures.first_call_ns?))
        .smaller(),
    Field::of(
        "counted-steps",
        Unit::NONE,
        "steps that were counted over",
        at!(measures.counters?.iters),
    ),
    Field::of(
        "page-faults",
        Unit::plain("faults"),
        "minor page faults of a step",
        at!(measures.counters?.minor_faults),
    )
    .smaller()
    .columns(&[("minor_faults_per_step", Part::Value)]),
    Field::of(
        "major-faults-per-step",
        Unit::plain("faults"),
        "pages of a step that were read from disk",
        at!(measures.counters?.major_faults),
    ),
    Field::of(
        "fault-share",
        Unit::SHARE,
        "share of the CPU time that page faults take",
        at!(measures.counters?.fault_share?),
    )
    .why(|e| {
        why(e.row.record.measures.counters.is_some(), "the cost of a page fault is not known")
    }),
    Field::of(
        "voluntary-switches-per-step",
        Unit::plain("switches"),
        "waits of a step that gave the CPU away",
        at!(measures.counters?.voluntary_switches),
    ),
    Field::of(
        "involuntary-switches-per-step",
        Unit::plain("switches"),
        "times in a step that the CPU was taken away",
        at!(measures.counters?.involuntary_switches),
    ),
    Field::of(
        "cpu-user",
        Unit::NS,
        "CPU time of a step in user mode",
        at!(measures.counters?.user_ns),
    ),
    Field::of(
        "cpu-system",
        Unit::NS,
        "CPU time of a step in the kernel",
        at!(measures.counters?.system_ns),
    ),
    Field::of(
        "counted-wall",
        Unit::NS,
        "wall time of a counted step",
        at!(measures.counters?.wall_ns),
    ),
    Field::of("energy", Unit::JOULES, "energy of a step", at!(measures.energy.as_ref()?.joules))
        .smaller()
        .columns(&[("energy_j", Part::Value)]),
    Field::of("energy-watts", Unit::plain("W"), "mean power", at!(measures.energy.as_ref()?.watts)),
    Field::of(
        "energy-idle-watts",
        Unit::plain("W"),
        "mean power of the idle machine",
        at!(measures.energy.as_ref()?.idle_watts?),
    ),
    Field::of(
        "energy-idle-subtracted",
        Unit::NONE,
        "whether the energy is less that of the idle machine",
        at!(measures.energy.as_ref()?.idle_subtracted),
    ),
    Field::of(
        "energy-window-s",
        Unit::SECONDS,
        "length of the energy's window",
        at!(measures.energy.as_ref()?.window_s),
    ),
    Field::of(
        "energy-method",
        Unit::NONE,
        "counter of energy",
        at!(measures.energy.as_ref()?.method),
    ),
    Field::of(
        "sm-utilization",
        Unit::SHARE,
        "time in which a kernel ran on the GPU",
        at!(measures.utilization.as_ref()?.sm),
    )
    .columns(&[
        ("sm_utilization_min", Part::Low),
        ("sm_utilization_median", Part::Value),
        ("sm_utilization_max", Part::High),
    ]),
    Field::of(
        "memory-utilization",
        Unit::SHARE,
        "time in which the GPU's memory was in use",
        at!(measures.utilization.as_ref()?.memory),
    )
    .columns(&[
        ("memory_utilization_min", Part::Low),
        ("memory_utilization_median", Part::Value),
        ("memory_utilization_max", Part::High),
    ]),
    Field::of(
        "utilization-samples",
        Unit::NONE,
        "samples of both",
        at!(measures.utilization.as_ref()?.samples),
    ),
    Field::of(
        "utilization-window-s",
        Unit::SECONDS,
        "length of their window",
        at!(measures.utilization.as_ref()?.window_s),
    ),
    Field::of(
        "utilization-method",
        Unit::NONE,
        "source of these samples",
        at!(measures.utilization.as_ref()?.method),
    ),
    Field::of(
        "clock",
        Unit::plain("MHz"),
        "clock while criterion sampled",
        at!(measures.conditions.as_ref()?.clock_mhz?),
    )
    .columns(&[
        ("clock_mhz_min", Part::Low),
        ("clock_mhz_median", Part::Value),
        ("clock_mhz_max", Part::High),
    ])
    .why(hidden),
    Field::of(
        "clock-method",
        Unit::NONE,
        "how the clock was read",
        at!(measures.conditions.as_ref()?.clock_method),
    ),
    Field::of(
        "temperature",
        Unit::CELSIUS,
        "temperature while criterion sampled",
        at!(measures.conditions.as_ref()?.temperature_c?),
    )
    .columns(&[("temperature_c_max", Part::High)])
    .why(hidden),
    Field::text("throttle-reasons", "why the processor slowed itself down", |e| {
        Value::list(&e.row.record.measures.conditions.as_ref()?.throttle_reasons)
    }),
    Field::of(
        "discarded-samples",
        Unit::NONE,
        "samples that were taken again",
        at!(measures.conditions.as_ref()?.discarded_samples),
    ),
    Field::of(
        "steal",
        Unit::SHARE,
        "CPU time that the hypervisor gave to others",
        at!(measures.conditions.as_ref()?.steal?),
    )
    .why(|e| why(e.row.record.measures.conditions.is_some(), "the system does not count it")),
    Field::of(
        "device-time",
        Unit::NS,
        "step by the device's clock",
        at!(measures.clocks?.device_ns),
    ),
    Field::of("host-time", Unit::NS, "step by the host's clock", at!(measures.clocks?.host_ns)),
    Field::of("queue-time", Unit::NS, "time to queue a step", at!(measures.clocks?.queue_ns)),
    Field::of(
        "host-bound",
        Unit::NONE,
        "whether the device would wait for the host",
        at!(measures.clocks?.host_bound),
    ),
    Field::text("absent", "measures that are absent, and why", |e| {
        Value::list(e.row.record.measures.absent.iter().map(|(name, why)| format!("{name}: {why}")))
    }),
    Field::of(
        "quiet-score",
        Unit::SHARE,
        "how quiet the machine was",
        at!(environment.quiet.as_ref()?.score),
    ),
    Field::of(
        "load-1m",
        Unit::plain("processes"),
        "runnable processes over one minute",
        at!(environment.quiet.as_ref()?.load_1m?),
    ),
    Field::of(
        "governor",
        Unit::NONE,
        "frequency governor",
        at!(environment.host.governor.as_ref()?),
    ),
    Field::of("planned-samples", Unit::NONE, "samples asked for", at!(planned?.samples)),
    Field::of("planned-iters", Unit::NONE, "steps in each", at!(planned?.iters)),
    Field::text("planned-limited-by", "what set the number of samples", |e| {
        stop(e.row.record.planned?.limited_by)
    }),
    Field::of(
        "bits-per-weight",
        Unit::plain("bit"),
        "stored bits per weight of linear layers",
        at!(weights?.bits_per_weight),
    )
    .smaller(),
    Field::of(
        "packed-weight-bytes",
        Unit::BYTES,
        "bytes of the linear layers' weights",
        at!(weights?.packed_bytes),
    ),
    Field::of(
        "baseline-weight-bytes",
        Unit::BYTES,
        "bytes of the same weights, dense",
        at!(weights?.baseline_bytes),
    ),
    Field::of("linears-quantized", Unit::NONE, "quantized linear layers", at!(weights?.quantized)),
    Field::of("linears", Unit::NONE, "linear layers", at!(weights?.linears)),
    Field::of("density", Unit::SHARE, "weights that pruning left", at!(weights?.density?)),
    Field::derived("bandwidth", Unit::plain("GB/s"), "bytes moved per second", |e| {
        rate(e, e.row.gb_per_s()?)
    })
    .bigger()
    .columns(&[("gb_per_s", Part::Value)]),
    Field::text("speedup-source", "how the speed-up of quantization is known", |e| {
        Value::word(e.quantization?.gain.as_ref().ok()?.source.word())
    }),
    Field::derived("speedup-over-eager", Unit::TIMES, "speed-up over the same run eagerly", |e| {
        Some(e.compilation?.gain.as_ref().ok()?.into())
    })
    .bigger()
    .columns(&[
        ("speedup_over_eager", Part::Value),
        ("speedup_over_eager_low", Part::Low),
        ("speedup_over_eager_high", Part::High),
    ])
    .why(|e| Some(e.compilation?.gain.as_ref().err()?.to_string())),
    Field::text("speedup-over-eager-source", "how that is known", |e| {
        Value::word(e.compilation?.gain.as_ref().ok()?.source.word())
    }),
    Field::text("compile-mode", "mode of torch.compile", |e| {
        Value::word(e.row.record.case.work.compile()?)
    }),
    Field::of(
        "compile-time",
        Unit::SECONDS,
        "seconds to compile",
        at!(compilation.as_ref()?.seconds),
    )
    .smaller()
    .columns(&[("compile_in_s", Part::Value)]),
    Field::of(
        "compile-cache-hit",
        Unit::NONE,
        "whether the package was there already",
        at!(compilation.as_ref()?.cache_hit),
    ),
    Field::of(
        "package-size",
        Unit::BYTES,
        "bytes of the compiled package",
        at!(compilation.as_ref()?.package_bytes),
    )
    .smaller()
    .columns(&[("package_bytes", Part::Value)]),
    Field::text("compile-options", "Inductor's settings", |e| {
        let options = &e.row.record.compilation.as_ref()?.options;
        Value::list(options.iter().map(|(name, value)| format!("{name}: {value}")))
    }),
    Field::of(
        "compiler",
        Unit::NONE,
        "compiler and its target",
        at!(compilation.as_ref()?.compiler),
    ),
    Field::of(
        "compile-key",
        Unit::NONE,
        "name in the cache of packages",
        at!(compilation.as_ref()?.key),
    ),
    Field::of(
        "eager-sqnr",
        Unit::DECIBELS,
        "the same, against the eager output",
        at!(accuracy.as_ref()?.eager?.sqnr_db),
    )
    .columns(&[("eager_sqnr_db", Part::Value)]),
    Field::of(
        "eager-max-abs-error",
        Unit::ERROR,
        "largest difference from the eager output",
        at!(accuracy.as_ref()?.eager?.max_abs_error),
    ),
    Field::of(
        "eager-min-sqnr",
        Unit::DECIBELS,
        "gate of the SQNR against eager",
        at!(accuracy.as_ref()?.eager?.min_sqnr_db),
    )
    .columns(&[("eager_min_sqnr_db", Part::Value)]),
    Field::text("kernel", "name of a kernel", |e| {
        Value::word(&e.row.record.case.work.kernel()?.kernel)
    }),
    Field::text("problem-size", "problem size of a kernel", |e| {
        Value::word(units::fields(e.row.problem_size()?))
    }),
    Field::of("rmse", Unit::ERROR, "root of the mean square error", at!(accuracy, rmse?)),
    Field::of(
        "determinism-std",
        Unit::ERROR,
        "largest deviation of an element between runs",
        at!(kernel.as_ref()?.determinism_std?),
    ),
    Field::derived("pair-builds", Unit::NONE, "fresh builds of the pair", |e| {
        Some(pair(e)?.levels.builds?.into())
    }),
    Field::derived("pair-within", Unit::SHARE, "σ of a block's ln(speed-up) in a build", |e| {
        Some(pair(e)?.levels.within?.into())
    }),
    Field::derived("pair-between", Unit::SHARE, "σ of a build's ln(speed-up)", |e| {
        Some(pair(e)?.levels.between?.into())
    }),
    Field::derived("pair-between-runs", Unit::SHARE, "σ of a run's ln(speed-up)", |e| {
        Some(pair(e)?.runs?.between.into())
    }),
    Field::derived("runs", Unit::NONE, "runs that it is of", |e| {
        Some(e.row.runs.len().max(1).into())
    }),
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
