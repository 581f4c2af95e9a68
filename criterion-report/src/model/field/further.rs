//! What CSV has no column for.

use plan::Weights;

use super::*;

/// In any order.
pub(super) const FIELDS: &[Field] = &[
    // A case that is not compiled has this as `speedup`.
    bigger(derived(
        "speedup-over-unquantized",
        TIMES,
        "speed-up over the compiled baseline",
        |e| Some(e.compilation.and(e.quantization)?.gain.as_ref().ok()?.into()),
    )),
    smaller(derived("peak-memory", BYTES, "peak of weights, inputs and a step", |e| {
        Some(e.row.record.measures.memory?.peak_bytes().into())
    })),
    derived("cpu-time", NS, "CPU time of a step", |e| {
        let counters = e.row.record.measures.counters?;
        Some((counters.user_ns + counters.system_ns).into())
    })
    .of_measure("counters"),
    text("throttled", "whether the processor slowed itself down", |e| {
        Some(Value::Flag(!e.row.record.measures.conditions.as_ref()?.throttle_reasons.is_empty()))
    })
    .of_measure("conditions"),
    derived("stored-share", SHARE, "stored bytes over dense ones", |e| {
        let Weights { packed_bytes, baseline_bytes, .. } = e.row.record.weights?;
        Some((packed_bytes as f64 / baseline_bytes as f64).into())
    }),
    text("quantized-linears", "how many linear layers are quantized", |e| {
        let Weights { quantized, linears, .. } = e.row.record.weights?;
        Value::word(format!("{quantized} of {linears}"))
    }),
    of("sqnr-gate", DECIBELS, "gate of the SQNR", at!(accuracy.min_sqnr_db)),
    of("rows-checked", NONE, "rows compared with the reference", at!(accuracy.rows_checked)),
    derived("gates-passed", NONE, "further inputs that it passed", |e| {
        let gates = e.row.accuracy()?.gates.len();
        (gates > 0).then(|| gates.into())
    }),
    derived("worst-gate", ERROR, "error that came nearest to failing; 1 just passes", |e| {
        Some(e.row.worst_gate()?.worst.0.into())
    }),
    text("worst-gate-inputs", "inputs that it was found with", |e| {
        Some((&e.row.worst_gate()?.inputs).into())
    }),
    text("worst-gate-size", "their size", |e| {
        let size: Vec<String> = e.row.worst_gate()?.size.iter().map(u64::to_string).collect();
        Value::word(size.join("x"))
    }),
    of("call-std-dev", NS, "standard deviation of single calls", at!(measures.latency?.std_ns?)),
    of("pilot-step", NS, "median time of a step in the pilot", at!(planned?.step_ns)),
    of("pilot-noise", unit("1"), "relative deviation of the pilot's batches", at!(planned?.noise?)),
    of(
        "planned-target",
        unit("1"),
        "half-width of the median's interval aimed at",
        at!(planned?.target),
    ),
    of(
        "quiet-steal",
        SHARE,
        "steal while the quiet score was taken",
        at!(environment.quiet?.steal?),
    ),
    of("page-fault", NS, "cost of a page fault", at!(environment.host.page_fault_ns?)),
    of("host-memory", BYTES, "physical memory", at!(environment.host.memory_bytes)),
];
