//! What fusing is worth on a machine: the results of `fusion` in upstream's schema.

use plan::{Allocator, CacheMode, Device, FusionVariant, FusionWork, PatternFamily};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::operation::dtype_name;
use super::schema::{FusionCalibration, params};
use crate::model::{FusionResult, PatternAdvice, Point, Report, Side, Speedup, VariantAdvice};

/// Whether to fuse a pattern at one place, and on which evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FusionAdvice {
    /// Device.
    pub device: Device,
    /// Device, processor, threads: `cpu (AMD EPYC 7763), 1 thread`.
    pub place: String,
    /// Upstream's name of the pattern.
    pub fusion_pattern: String,
    /// `fuse`, `fuse conditionally`, `indifferent`, `avoid`, `inconclusive`.
    pub advice: String,
    /// The best of the variants that fuse.
    pub variant: Option<String>,
    /// Its speed-ups, in words: `1.10× (f32 128x512x512) to 1.60× (…)`.
    pub evidence: String,
}

impl FusionAdvice {
    fn of(advice: &PatternAdvice) -> Self {
        let best = advice.best_variant();
        Self {
            device: advice.place.device,
            place: advice.place.to_string(),
            fusion_pattern: advice.pattern.upstream().to_owned(),
            advice: advice.advice.word().to_owned(),
            variant: best.map(|best| best.variant.to_string()),
            evidence: best
                .map_or_else(|| "no variant that fuses has a speed-up".to_owned(), evidence),
        }
    }
}

/// The lowest and the highest speed-up with their cases.
fn evidence(best: &VariantAdvice) -> String {
    let text =
        |point: &Point| format!("{} ({point})", crate::units::ratio(point.speedup.ratio, None));
    match (best.lowest(), best.highest()) {
        (Some(lowest), Some(highest)) if best.points.len() > 1 => {
            format!("{} to {}", text(lowest), text(highest))
        }
        (Some(only), _) => text(only),
        (None, _) => String::new(),
    }
}

/// Every result with a speed-up on the device, by its key, oldest first; and how many have none.
pub fn profiles(results: &[FusionResult<'_>]) -> (Vec<(String, FusionCalibration)>, usize) {
    let mut with: Vec<&FusionResult<'_>> =
        results.iter().filter(|result| result.speedup.is_ok()).collect();
    with.sort_by_key(|result| result.row.record.timestamp);
    let without = results.len() - with.len();
    let profile = |result: &&FusionResult<'_>| {
        let speedup = *result.speedup.as_ref().ok()?;
        Some((key(result), calibration(result, &speedup)))
    };
    (with.iter().filter_map(profile).collect(), without)
}

/// The results of these families on the device.
pub fn results<'a>(
    report: &'a Report,
    device: Device,
    families: &[PatternFamily],
) -> Vec<FusionResult<'a>> {
    let mut results = FusionResult::all(report);
    results.retain(|result| {
        result.key.place.device == device && families.contains(&result.key.pattern.family())
    });
    results
}

/// Whether to fuse, pattern by pattern.
pub fn strategy(results: &[FusionResult<'_>]) -> Vec<FusionAdvice> {
    PatternAdvice::all(results).iter().map(FusionAdvice::of).collect()
}

/// Pattern, variant, and all else that tells two results apart:
/// `Linear_Bias_device=cpu_dtype=float32_shape=512x1024x1024_threads=2_variant=fused`.
fn key(result: &FusionResult<'_>) -> String {
    let key = &result.key;
    let mut text = key.pattern.upstream().to_owned();
    let place = &key.place;
    if place.allocator != Allocator::Retained {
        text.push_str(&format!("_allocator={}", place.allocator));
    }
    if place.cache != CacheMode::Hot {
        text.push_str(&format!("_cache={}", place.cache));
    }
    let threads = result.row.record.environment.torch.threads;
    let (device, dtype, size) = (place.device, dtype_name(key.dtype), key.size);
    let variant = key.variant;
    format!("{text}_device={device}_dtype={dtype}_shape={size}_threads={threads}_variant={variant}")
}

fn calibration(result: &FusionResult<'_>, speedup: &Speedup) -> FusionCalibration {
    let latency_ms = |side: &Side<'_>| side.time().map(|time| time.median_ns / 1e6);
    let operators = operators(result);
    let unfused_bytes = result.unfused.upstream_bytes;
    FusionCalibration {
        fusion_pattern: result.key.pattern.upstream().to_owned(),
        num_operators: operators.len() as u64,
        operators,
        unfused_latency_ms: latency_ms(&result.unfused),
        unfused_gflops: result.unfused.gflop_per_s(),
        unfused_memory_bytes: unfused_bytes,
        fused_latency_ms: latency_ms(&result.fused),
        fused_gflops: result.fused.gflop_per_s(),
        fused_memory_bytes: result.fused.upstream_bytes,
        speedup_factor: speedup.ratio,
        memory_reduction: result.memory_reduction(),
        gflops_improvement: speedup.gflops_improvement(),
        input_shape: result.work().input_shape(),
        extra_params: extra(result, speedup),
        num_trials: speedup.blocks as u64,
    }
}

/// The operations of the unfused form, without their namespace.
fn operators(result: &FusionResult<'_>) -> Vec<String> {
    let unfused = FusionWork { variant: FusionVariant::Unfused, ..result.work() };
    let operations = unfused.operations(result.key.dtype, result.key.place.device);
    let name = |name: &str| name.trim_start_matches("aten::").to_owned();
    operations.unwrap_or_default().iter().map(|operation| name(operation.name)).collect()
}

fn extra(result: &FusionResult<'_>, speedup: &Speedup) -> Map<String, Value> {
    let record = &result.row.record;
    let samples = |side: &Side<'_>| side.time().map(|time| time.samples);
    params([
        ("variant", json!(result.key.variant)),
        ("shape", json!(result.key.size.to_string())),
        ("dtype", json!(dtype_name(result.key.dtype))),
        ("device", json!(result.key.place.device)),
        ("threads", json!(record.environment.torch.threads)),
        ("fuses", json!(result.fuses())),
        ("same_product", json!(result.same_product())),
        ("speedup_low", json!(speedup.interval.low)),
        ("speedup_high", json!(speedup.interval.high)),
        ("confidence_level", json!(speedup.confidence_level)),
        ("verdict", json!(speedup.benefit().word())),
        ("unfused_samples", json!(samples(&result.unfused))),
        ("fused_samples", json!(samples(&result.fused))),
        ("flops", json!(result.flops)),
        ("output_shape", json!(result.work().output_shape())),
        ("unfused_consistent_bytes", json!(result.unfused.consistent_bytes)),
        ("fused_consistent_bytes", json!(result.fused.consistent_bytes)),
        ("unfused_peak_allocated_bytes", json!(result.unfused.allocated().map(|it| it.peak_bytes))),
        ("fused_peak_allocated_bytes", json!(result.fused.allocated().map(|it| it.peak_bytes))),
        ("kernels", json!(record.kernels)),
        ("id", json!(record.full_id)),
        ("run_id", json!(record.run_id)),
    ])
}
