//! Upstream's own two forms, field for field: what torchao's CI wrote last, and the one record per
//! result of its tutorial.
//!
//! Neither has a place for failures, intervals or versions, both name the unquantized model bf16,
//! and neither holds baselines. Their empty `runners` and `dependencies` keep the database's
//! uploader from filling these in: they are for comparing with old files, not for uploading.

use plan::{Dtype, ModelWork};

use super::record::{DbCase, Info, Metric, Name};
use super::v3::compile_mode;
use crate::model::{Entry, Row, Time};

/// Why upstream's forms cannot hold a case; `times` when the form holds both its times.
pub fn unfit(entry: &Entry<'_>, times: bool) -> Option<&'static str> {
    let timed = |row: Option<&Row>| row.is_some_and(|row| row.time.is_ok());
    let Some(variant) = entry.row.variant() else {
        return Some("not a model with a recipe, the only cases that it names");
    };
    if entry.row.record.case.dtype != Dtype::BFloat16 {
        Some("not bfloat16, the only dtype that its metrics can name")
    } else if entry.row.pass().is_some() {
        Some("a part of a training step, which its names cannot distinguish from inference")
    } else if variant.preallocated {
        Some("a preallocated output, which its names cannot distinguish from a fresh one")
    } else if variant.graph {
        Some("a CUDA graph, which its names cannot distinguish from the eager step")
    } else if variant.packed {
        Some("libtorch's packed op, which its names cannot distinguish from upstream's own maths")
    } else if variant.sparsity.is_some() {
        Some("a sparse layout, which its names cannot distinguish from a dense one")
    } else if entry.quantization.is_none_or(|comparison| comparison.gain.is_err()) {
        Some("no speed-up: unmeasured, or not in pairs with the unquantized model")
    } else if times && !(timed(Some(entry.row)) && timed(entry.unquantized)) {
        Some("a time is stale or absent, its own or that of the unquantized model")
    } else {
        None
    }
}

/// Four metrics per result, as torchao's CI wrote them last.
pub fn torchao<'a>(entry: &Entry<'a>) -> Option<DbCase<'a>> {
    let case = &entry.row.record.case;
    let ModelWork { variant, shape, .. } = case.work.model()?;
    let milliseconds = |time: &Time| time.median_ns / 1e6;
    let baseline = entry.unquantized.and_then(|row| row.time.as_ref().ok()).map(milliseconds);
    let quantized = entry.row.time.as_ref().ok().map(milliseconds);
    let allocated = entry.row.record.measures.memory.map(|memory| memory.peak_bytes() as f64 / 1e6);
    let metrics = [
        ("Fwd Speedup (x)", None, ratio(entry)),
        ("Bfloat16 Fwd Time (ms)", Some("ms"), baseline),
        ("Quantized Fwd Time (ms)", Some("ms"), quantized),
        ("Allocated Memory (MB)", Some("MB"), allocated),
    ]
    .into_iter()
    .filter_map(|(name, unit, value)| {
        let unit = unit.map(|unit| ("unit", unit));
        Some(metric(name, value?, Some(Info::new(unit))))
    });
    let model = format!("{}-{}-{}-{}", variant.recipe, shape.m, shape.k, shape.n);
    let mut records = DbCase::new(entry, model, metrics.collect());
    records.benchmark.extra_info.push("torch_compile_mode", Some(compile_mode(case)));
    Some(records)
}

/// The tutorial's one record per result.
pub fn seed<'a>(entry: &Entry<'a>) -> Option<DbCase<'a>> {
    let ModelWork { shape, .. } = entry.row.record.case.work.model()?;
    let model = format!("{}-{}-{}", shape.m, shape.k, shape.n);
    let metrics = vec![metric("speedup(wrt bf16)", ratio(entry)?, None)];
    Some(DbCase::new(entry, model, metrics))
}

fn ratio(entry: &Entry<'_>) -> Option<f64> {
    entry.quantization?.gain.as_ref().ok().map(|gain| gain.ratio)
}

fn metric(name: &'static str, value: f64, extra_info: Option<Info<'static>>) -> Metric<'static> {
    let name = Name(name.into(), "");
    Metric { name, benchmark_values: [value], target_value: 0.0, extra_info }
}
