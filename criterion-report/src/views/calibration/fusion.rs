//! The results of `fusion` in upstream's schema, and whether they lie below the peaks that products made.

use plan::{
    Allocator, CacheMode, Device, Dtype, FusionShape, FusionVariant, MemoryFormat, PatternFamily,
};
use serde_json::{Map, Value, json};

use super::roofs::{Roofline, Roofs};
use super::select::twice;
use crate::model::Row;
use crate::order::Order as _;
use crate::read::Report;
use crate::render::object::map;
use crate::render::units;
use crate::views::FusionResult;
use crate::views::fusion::{Bytes, Compared};

/// The results of these families on the device, in the report's order. Of several with one key,
/// which are of several configs, the latest with a speed-up is kept, or else the latest.
pub fn results<'a>(
    report: &'a Report,
    device: Device,
    families: &[PatternFamily],
    notes: &mut Vec<String>,
) -> Vec<FusionResult<'a>> {
    let mut results = FusionResult::all(report);
    results.retain(|result| {
        result.key.place.device == device && families.contains(&result.key.work.pattern.family())
    });
    let rank =
        |result: &FusionResult<'_>| (result.entry.speedup().is_some(), result.entry.row.recency());
    let mut kept: Vec<FusionResult<'_>> = Vec::new();
    for result in results {
        let own = key(&result);
        let Some(known) = kept.iter_mut().find(|known| key(known) == own) else {
            kept.push(result);
            continue;
        };
        let newer = rank(&result) >= rank(known);
        let left_out = if newer { std::mem::replace(known, result) } else { result };
        notes.push(twice(&own, known.entry.row.full_id(), left_out.entry.row.full_id()));
    }
    kept
}

/// Whether upstream measures such a case: the fused variant in float32, with upstream's fixed settings.
pub(super) fn is_upstreams(result: &FusionResult<'_>) -> bool {
    let key = &result.key;
    let plain = match key.work.size {
        FusionShape::Linear { .. } => true,
        FusionShape::Conv { memory_format, .. } => memory_format == MemoryFormat::Contiguous,
        FusionShape::Attention { heads, causal, .. } => heads == 1 && !causal,
    };
    plain
        && (key.work.variant, key.work.compile) == (FusionVariant::Fused, None)
        && key.dtype == Dtype::Float32
        && (key.place.allocator, key.place.cache) == (Allocator::Retained, CacheMode::Hot)
}

/// Pattern, variant, and all else that tells two results apart:
/// `Linear_Bias_device=cpu_dtype=float32_shape=512x1024x1024_threads=2_variant=fused`.
pub(super) fn key(result: &FusionResult<'_>) -> String {
    let key = &result.key;
    let mut text = key.work.pattern.upstream().to_owned();
    let place = &key.place;
    if place.allocator != Allocator::Retained {
        text.push_str(&format!("_allocator={}", place.allocator));
    }
    if place.cache != CacheMode::Hot {
        text.push_str(&format!("_cache={}", place.cache));
    }
    let threads = result.entry.row.record.environment.torch.threads;
    let (device, dtype, size) = (place.device, key.dtype.plain(), key.work.size);
    let variant = result.entry.variant();
    format!("{text}_device={device}_dtype={dtype}_shape={size}_threads={threads}_variant={variant}")
}

/// The operations of the unfused form, without their namespace.
pub(super) fn operators(result: &FusionResult<'_>) -> Vec<String> {
    let unfused = result.key.work.unfused();
    let operations = unfused.operations(result.key.dtype, result.key.place.device);
    let name = |name: &str| name.trim_start_matches("aten::").to_owned();
    operations.unwrap_or_default().iter().map(|operation| name(operation.name)).collect()
}

/// The values that upstream has no field for, under the names of `fusion`'s document.
pub(super) fn extra(result: &FusionResult<'_>, roofs: &Roofs) -> Map<String, Value> {
    let record = &result.entry.row.record;
    let [unfused_efficiency, fused_efficiency] =
        result.sides().map(|row| json!(efficiency(roofs, result, row)));
    let [unfused_samples, fused_samples] =
        result.sides().map(|row| json!(row.and_then(|row| Some(row.time.as_ref().ok()?.samples))));
    let unfused = result.entry.baseline;
    let mut extra = Map::new();
    for part in [json!(Compared::of(result)), json!(Bytes::of(result))] {
        extra.extend(part.as_object().cloned().unwrap_or_default());
    }
    // It is the machine's, and the threads are those in force.
    extra.remove("processor");
    extra.extend(map([
        ("threads", json!(record.environment.torch.threads)),
        ("unfused_samples", unfused_samples),
        ("fused_samples", fused_samples),
        ("unfused_efficiency", unfused_efficiency),
        ("fused_efficiency", fused_efficiency),
        ("flops", json!(result.key.work.flops())),
        ("output_shape", json!(result.key.work.output_shape())),
        ("unfused_kernels", json!(unfused.map(|row| &row.record.kernels))),
        ("fused_kernels", json!(record.kernels)),
        ("unfused_cautions", json!(cautions(unfused))),
        ("cautions", json!(result.cautions)),
        ("run_id", json!(record.run_id)),
    ]));
    extra
}

pub fn cautions(row: Option<&Row>) -> Vec<String> {
    row.map(Row::cautions).unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// Share of its roof that a side of a fusion reaches; none without a roof over its dtype on its
/// threads.
fn efficiency(roofs: &Roofs, result: &FusionResult<'_>, side: Option<&Row>) -> Option<f64> {
    Some(side?.gflop_per_s()? / roofs.over(roof_of(result))?.peak_gflops.value)
}

/// Says which fusions exceed a roof, which refutes its peak: one note per roof, of the highest.
pub fn overshoots(roofs: &Roofs, results: &[FusionResult<'_>]) -> Vec<String> {
    roofs.all.iter().filter_map(|roof| overshoot(roof, results)).collect()
}

fn overshoot(over: &Roofline, results: &[FusionResult<'_>]) -> Option<String> {
    let own = results.iter().filter(|result| roof_of(result) == (over.dtype, over.threads));
    let sides = own.flat_map(FusionResult::sides).flatten();
    let mut above: Vec<(f64, &str)> = sides
        .filter_map(|side| Some((side.gflop_per_s()?, side.full_id())))
        .filter(|(gflops, _)| *gflops > over.peak_gflops.value)
        .collect();
    above.order_by(|(a, one), (b, other)| b.total_cmp(a).then(one.cmp(other)));
    // An unfused form is a side of each of its variants' results.
    above.dedup();
    let (gflops, id) = *above.first()?;
    let others = match above.len() - 1 {
        0 => String::new(),
        others => format!(", and {} exceeded the peak, too", units::count(others, "other case")),
    };
    let peak = units::significant(over.peak_gflops.value, 4);
    let source = &over.peak_gflops.source;
    let only = format!("the peak, {peak} GFLOP/s ({source}), is below what was measured");
    Some(format!(
        "{id} reached {} GFLOP/s of {} on {}{others}: {only}",
        units::significant(gflops, 4),
        over.dtype.plain(),
        units::count(over.threads as usize, "thread"),
    ))
}

/// The dtype and threads that choose the roof of a result.
fn roof_of(result: &FusionResult<'_>) -> (Dtype, u32) {
    (result.key.dtype, result.entry.row.record.environment.torch.threads)
}
