//! The fields without a column in CSV.

use plan::Weights;

use super::*;
use crate::model::fingerprint;

fields! {
    /// In any order.
    FIELDS:
    // A case that is not compiled has this as `speedup`.
    bigger "speedup-over-unquantized", TIMES, "speed-up over the compiled baseline",
        (|e| Some(e.compilation.and(e.quantization)?.gain.as_ref().ok()?.into()));
    smaller "peak-memory", BYTES, "peak of weights, inputs and a step",
        (|e| Some(e.row.record.measures.memory?.peak_bytes().into()));
    "cpu-time", NS, "CPU time of a step",
        (|e| {
            let counters = e.row.record.measures.counters?;
            Some((counters.user_ns + counters.system_ns).into())
        })
        of_measure ("counters");
    "throttled", NONE, "whether the processor slowed itself down",
        (|e| {
            let conditions = e.row.record.measures.conditions.as_ref()?;
            let reasons = &conditions.throttle_reasons;
            let is_known = !reasons.is_empty() || conditions.throttling_unknown().is_none();
            is_known.then_some(Value::Flag(!reasons.is_empty()))
        })
        why (throttling_unknown);
    "throttle-method", NONE, "how throttling of the processor is detected",
        (measures.conditions?.throttle_method.as_ref()?);
    "regime", NONE, "whether a GPU ran at the clock of short work (`burst`) or at that which it keeps up (`sustained`)",
        (|e| Value::word(e.row.record.measures.conditions.as_ref()?.regime?.to_string()));
    "stored-share", SHARE, "stored bytes over dense ones",
        (|e| {
            let Weights { packed_bytes, baseline_bytes, .. } = e.row.record.weights?;
            Some((packed_bytes as f64 / baseline_bytes as f64).into())
        });
    "quantized-linears", NONE, "how many linear layers are quantized",
        (|e| {
            let Weights { quantized, linears, .. } = e.row.record.weights?;
            Value::word(format!("{quantized} of {linears}"))
        });
    "sqnr-gate", DECIBELS, "gate of the SQNR", (accuracy.min_sqnr_db);
    "rows-checked", NONE, "rows compared with the reference", (accuracy.rows_checked);
    "gates-passed", NONE, "further inputs that it passed",
        (|e| { let gates = e.row.accuracy()?.gates.len(); (gates > 0).then(|| gates.into()) });
    "worst-gate", ERROR, "error that came nearest to failing; 1 just passes",
        (|e| Some(e.row.worst_gate()?.worst.0.into()));
    "worst-gate-inputs", NONE, "inputs that it was found with",
        (|e| Some((&e.row.worst_gate()?.inputs).into()));
    "worst-gate-size", NONE, "their size",
        (|e| {
            let size = e.row.worst_gate()?.size.iter().map(u64::to_string);
            Value::word(size.collect::<Vec<_>>().join("x"))
        });
    "call-std-dev", NS, "standard deviation of single calls", (measures.latency?.std_ns?);
    "pilot-step", NS, "median time of a step in the pilot", (planned?.step_ns);
    "pilot-noise", unit("1"), "relative deviation of the pilot's batches", (planned?.noise?);
    "planned-target", unit("1"), "half-width of the median's interval aimed at", (planned?.target);
    "quiet-steal", SHARE, "steal while the quiet score was taken", (environment.quiet?.steal?);
    "page-fault", NS, "cost of a page fault", (environment.host.page_fault_ns?);
    "cuda-graph-pool", BYTES, "memory of the CUDA graph that we captured around the package",
        (compilation?.cuda_graph?.pool_bytes);
    "host-memory", BYTES, "physical memory", (environment.host.memory_bytes);
    "machine", NONE, "machine that measured it: processor, CPUs, memory and GPU",
        (|e| Value::word(fingerprint(&e.row.record)));
}

fn throttling_unknown(entry: &Entry<'_>) -> Option<String> {
    let measures = &entry.row.record.measures;
    match &measures.conditions {
        Some(conditions) => conditions.throttling_unknown().map(str::to_owned),
        None => measures.absent.get("conditions").map(|why| format!("conditions: {why}")),
    }
}
