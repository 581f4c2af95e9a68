//! What CSV has no column for.

use plan::Weights;

use super::{Field, Unit, Value, at};

/// In any order.
pub(super) const FIELDS: &[Field] = &[
    Field::derived(
        "speedup-over-unquantized",
        Unit::TIMES,
        "speed-up over the compiled baseline",
        // A case that is not compiled has the measure above.
        |e| Some(e.compilation.and(e.quantization)?.gain.as_ref().ok()?.into()),
    )
    .bigger(),
    Field::derived("peak-memory", Unit::BYTES, "peak of weights, inputs and a step", |e| {
        Some(e.row.record.measures.memory?.peak_bytes().into())
    })
    .smaller(),
    Field::derived("cpu-time", Unit::NS, "CPU time of a step", |e| {
        let counters = e.row.record.measures.counters?;
        Some((counters.user_ns + counters.system_ns).into())
    })
    .of_measure("counters"),
    Field::text("throttled", "whether the processor slowed itself down", |e| {
        Some(Value::Flag(!e.row.record.measures.conditions.as_ref()?.throttle_reasons.is_empty()))
    })
    .of_measure("conditions"),
    Field::derived("stored-share", Unit::SHARE, "stored bytes over dense ones", |e| {
        let Weights { packed_bytes, baseline_bytes, .. } = e.row.record.weights?;
        Some((packed_bytes as f64 / baseline_bytes as f64).into())
    }),
    Field::text("quantized-linears", "how many linear layers are quantized", |e| {
        let Weights { quantized, linears, .. } = e.row.record.weights?;
        Value::word(format!("{quantized} of {linears}"))
    }),
    Field::of("sqnr-gate", Unit::DECIBELS, "gate of the SQNR", at!(accuracy, min_sqnr_db)),
    Field::of(
        "rows-checked",
        Unit::NONE,
        "rows compared with the reference",
        at!(accuracy, rows_checked),
    ),
    Field::derived("gates-passed", Unit::NONE, "further inputs that it passed", |e| {
        let gates = e.row.accuracy()?.gates.len();
        (gates > 0).then(|| gates.into())
    }),
    Field::derived(
        "worst-gate",
        Unit::ERROR,
        "error that came nearest to failing; 1 just passes",
        |e| Some(e.row.worst_gate()?.worst.0.into()),
    ),
    Field::text("worst-gate-inputs", "inputs that it was found with", |e| {
        Some((&e.row.worst_gate()?.inputs).into())
    }),
    Field::text("worst-gate-size", "their size", |e| {
        let size: Vec<String> = e.row.worst_gate()?.size.iter().map(u64::to_string).collect();
        Value::word(size.join("x"))
    }),
    Field::of(
        "call-std-dev",
        Unit::NS,
        "standard deviation of single calls",
        at!(measures.latency?.std_ns?),
    ),
    Field::of("pilot-step", Unit::NS, "median time of a step in the pilot", at!(planned?.step_ns)),
    Field::of(
        "pilot-noise",
        Unit::plain("1"),
        "relative deviation of the pilot's batches",
        at!(planned?.noise?),
    ),
    Field::of(
        "planned-target",
        Unit::plain("1"),
        "half-width of the median's interval aimed at",
        at!(planned?.target),
    ),
    Field::of(
        "quiet-steal",
        Unit::SHARE,
        "steal while the quiet score was taken",
        at!(environment.quiet.as_ref()?.steal?),
    ),
    Field::of("page-fault", Unit::NS, "cost of a page fault", at!(environment.host.page_fault_ns?)),
    Field::of("host-memory", Unit::BYTES, "physical memory", at!(environment.host.memory_bytes)),
];
