//! One variant of a pattern against the unfused operations.

use plan::cost::reduction;
use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork, StepMemory, Work};
use serde_json::{Map, Value};
use statistics::Benefit;

use super::product;
use crate::model::caution::Caution;
use crate::model::comparison::Entry;
use crate::model::report::Report;
use crate::model::row::Row;
use crate::model::speedup::{NoSpeedup, Speedup};
use crate::model::time::{Interval, Time};
use crate::model::view::Key;
use crate::object::object;

/// The numbers of one side: the variant's, or the unfused operations'.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Side<'a> {
    /// The case; none where the unfused one has no record.
    pub row: Option<&'a Row>,
    /// Bytes of one step by upstream's formula, where upstream has one.
    pub upstream_bytes: Option<u64>,
    /// Bytes of one step in the consistent accounting, by formula, too.
    pub consistent_bytes: Option<u64>,
}

impl<'a> Side<'a> {
    /// Criterion's estimate, if there is one of this very measurement.
    pub fn time(&self) -> Option<&'a Time> {
        self.row.and_then(|row| row.time.as_ref().ok())
    }

    /// 10⁹ floating-point operations per second at the median time; both sides have the same
    /// number of operations.
    pub fn gflop_per_s(&self) -> Option<f64> {
        self.row.and_then(Row::gflop_per_s)
    }

    fn interval(&self) -> Option<Interval> {
        self.time()?.interval
    }

    /// The measured allocations of one step.
    pub fn allocated(&self) -> Option<StepMemory> {
        self.row.and_then(|row| row.record.measures.memory).map(|memory| memory.step)
    }
}

/// A variant of a pattern against the unfused operations at the same size. It borrows from the
/// report.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionResult<'a> {
    pub key: Key<FusionWork>,
    /// The variant as it went, measured or not.
    pub row: &'a Row,
    pub unfused: Side<'a>,
    pub fused: Side<'a>,
    /// How many times faster the variant is, from interleaved pairs: never the quotient of the two
    /// sides' times, which are of two moments.
    pub speedup: Result<Speedup, NoSpeedup>,
    /// Floating-point operations of one step by upstream's formula, the same on both sides.
    pub flops: u64,
    pub cautions: Vec<Caution>,
}

impl<'a> FusionResult<'a> {
    /// The results among a report's entries, in their order: one for every variant but `unfused`,
    /// measured or not.
    pub fn all(report: &'a Report) -> Vec<Self> {
        report.entries().filter_map(|entry| Self::of(&entry)).collect()
    }

    fn of(entry: &Entry<'a>) -> Option<Self> {
        let record = &entry.row.record;
        let Work::Fusion(work) = record.case.work else { return None };
        let comparison = entry.comparison?;
        let side = |work: FusionWork, row| {
            let bytes = work.bytes(record.case.dtype, record.case.device);
            Side {
                row,
                upstream_bytes: work.upstream_bytes(record.case.dtype),
                consistent_bytes: bytes,
            }
        };
        Some(Self {
            key: Key::of(work, record),
            row: entry.row,
            unfused: side(work.unfused(), entry.baseline),
            fused: side(work, Some(entry.row)),
            speedup: comparison.speedup.clone(),
            flops: work.flops(),
            cautions: entry.cautions(),
        })
    }

    pub fn benefit(&self) -> Option<Benefit> {
        self.speedup.as_ref().ok().map(Speedup::benefit)
    }

    /// `gflops_improvement` of upstream; none without a speed-up.
    pub fn gflops_improvement(&self) -> Option<f64> {
        self.speedup.as_ref().ok().map(Speedup::gflops_improvement)
    }

    /// `memory_reduction` of upstream: the part of the unfused bytes that the variant does without,
    /// both by upstream's formulas. Nothing of it is measured.
    pub fn memory_reduction(&self) -> Option<f64> {
        self.reduction(|side| side.upstream_bytes)
    }

    /// The same in the consistent accounting, by formula, too.
    pub fn consistent_reduction(&self) -> Option<f64> {
        self.reduction(|side| side.consistent_bytes)
    }

    /// The part of what an unfused step allocates at its peak that the variant does without,
    /// measured.
    pub fn peak_allocation_reduction(&self) -> Option<f64> {
        self.reduction(|side| side.allocated().map(|step| step.peak_bytes))
    }

    /// The part of all that an unfused step allocates that the variant does without, measured.
    pub fn total_allocation_reduction(&self) -> Option<f64> {
        self.reduction(|side| side.allocated().map(|step| step.total_bytes))
    }

    fn reduction(&self, bytes: impl Fn(&Side<'_>) -> Option<u64>) -> Option<f64> {
        reduction(bytes(&self.unfused)?, bytes(&self.fused)?)
    }

    /// Whether the variant runs fewer operations than the unfused side, by formula: writing in
    /// place does not, and neither does a composite such as what `sdpa-3d` is dispatched to. None of
    /// a compiled one: no formula tells what a compiler fuses.
    pub fn fuses(&self) -> Option<bool> {
        let Key { work, dtype, place } = &self.key;
        work.compile.is_none().then(|| fuses(*work, *dtype, place.device))
    }

    /// Whether the library that computes the variant's product is that of the unfused operations,
    /// by the recorded kernels; none where they do not tell.
    pub fn same_product(&self) -> Option<bool> {
        let unfused = self.unfused.row.map(|row| row.record.kernels.as_slice());
        product::same_product(&self.key, unfused, &self.row.record.kernels)
    }

    /// The variant in full: `unfused+compile`.
    pub fn variant(&self) -> String {
        self.row.record.case.variant()
    }
}

fn fuses(work: FusionWork, dtype: Dtype, device: Device) -> bool {
    let count = |variant| {
        let operations = FusionWork { variant, ..work }.operations(dtype, device);
        operations.map(|operations| operations.len())
    };
    let counts = count(work.variant).zip(count(FusionVariant::Unfused));
    counts.is_some_and(|(own, unfused)| own < unfused)
}

/// The part of a result that a machine's profile has, too: its identity and its speed-up.
pub struct Compared<'r, 'a>(pub &'r FusionResult<'a>);
/// Bytes of both sides in the consistent accounting, by formula; what was allocated, measured.
pub struct Bytes<'r, 'a>(pub &'r FusionResult<'a>);

// A result, as documents have it: every key of upstream's dictionary in its order, then ours.
object! {
    FusionResult<'_> => |it| [
        work = it.key.work;
        speedup = it.speedup.as_ref().ok();
        record = &it.row.record;
        unfused = it.unfused.row;
        kernel = matches!(work.size, FusionShape::Conv { .. });
    ] {
        "fusion_pattern": work.pattern.upstream(),
        "input_shape": work.input_shape(),
        "output_shape": work.output_shape(),
        "kernel_size": kernel.then_some(plan::fusion::KERNEL_SIZE),
        "unfused_latency_ms": it.unfused.time().map(|time| time.median_ns / 1e6),
        "fused_latency_ms": it.fused.time().map(|time| time.median_ns / 1e6),
        "unfused_gflops": it.unfused.gflop_per_s(),
        "fused_gflops": it.fused.gflop_per_s(),
        "unfused_bytes": it.unfused.upstream_bytes,
        "fused_bytes": it.fused.upstream_bytes,
        "speedup_factor": speedup.map(|speedup| speedup.ratio),
        "memory_reduction": it.memory_reduction(),
        "flops": it.flops,
        "gflops_improvement": it.gflops_improvement(),
        "extra_params": dimensions(work.size),
        "no_speedup_reason": it.speedup.as_ref().err().map(ToString::to_string),
        _: Compared(it),
        "outcome": record.outcome.status(),
        "reason": it.row.reason(),
        "unfused_outcome": unfused.map(|row| row.record.outcome.status()),
        "unfused_reason": unfused.map_or_else(|| Some("it has no record".to_owned()), Row::reason),
        "run_id": record.run_id,
        "timestamp": record.timestamp,
        "unfused_latency_low_ms": it.unfused.interval().map(|interval| interval.low / 1e6),
        "unfused_latency_high_ms": it.unfused.interval().map(|interval| interval.high / 1e6),
        "fused_latency_low_ms": it.fused.interval().map(|interval| interval.low / 1e6),
        "fused_latency_high_ms": it.fused.interval().map(|interval| interval.high / 1e6),
        _: Bytes(it),
        "unfused_kernels": unfused.map(|row| &row.record.kernels),
        "fused_kernels": record.kernels,
        "compilation": record.compilation,
        "unfused_accuracy": unfused.and_then(|row| row.record.accuracy.as_ref()),
        "fused_accuracy": record.accuracy,
        "unfused_cautions": unfused.map(Row::cautions).unwrap_or_default(),
        "cautions": it.cautions,
    }

    Compared<'_, '_> => |it| [
        result = it.0;
        work = result.key.work;
        speedup = result.speedup.as_ref().ok();
        benefit = result.benefit();
    ] {
        "speedup_low": speedup.map(|speedup| speedup.interval.low),
        "speedup_high": speedup.map(|speedup| speedup.interval.high),
        "confidence_level": speedup.map(|speedup| speedup.confidence_level),
        "blocks": speedup.map(|speedup| speedup.blocks),
        _: speedup.map(|speedup| speedup.levels).unwrap_or_default(),
        "benefit": benefit.map(|benefit| benefit.to_string()),
        "lowest_band": benefit.map(|benefit| benefit.lowest().word()),
        "highest_band": benefit.map(|benefit| benefit.highest().word()),
        "full_id": result.row.full_id(),
        "config": result.row.record.case.config,
        "pattern": work.pattern,
        "variant": work.variant,
        "compile": work.compile,
        "fuses": result.fuses(),
        "same_product": result.same_product(),
        "size": work.size.to_string(),
        "dtype": result.key.dtype,
        _: result.key.place,
    }

    Bytes<'_, '_> => |it| [
        result = it.0;
        unfused = result.unfused.allocated();
        fused = result.fused.allocated();
    ] {
        "unfused_consistent_bytes": result.unfused.consistent_bytes,
        "fused_consistent_bytes": result.fused.consistent_bytes,
        "consistent_reduction": result.consistent_reduction(),
        "unfused_peak_allocation_bytes": unfused.map(|step| step.peak_bytes),
        "fused_peak_allocation_bytes": fused.map(|step| step.peak_bytes),
        "peak_allocation_reduction": result.peak_allocation_reduction(),
        "unfused_total_allocation_bytes": unfused.map(|step| step.total_bytes),
        "fused_total_allocation_bytes": fused.map(|step| step.total_bytes),
        "total_allocation_reduction": result.total_allocation_reduction(),
    }
}

/// The dimensions of a size by name, without the name of its family.
fn dimensions(size: FusionShape) -> Value {
    let family = serde_json::to_value(size).expect("numbers under names");
    let mut families = family.as_object().into_iter().flat_map(Map::values);
    families.next().cloned().unwrap_or_else(|| Map::new().into())
}

#[cfg(test)]
mod tests {
    use plan::{Pattern, SizeSet};

    use super::*;

    /// The variants of a pattern that do not fuse, `unfused` itself left out.
    fn others(pattern: Pattern, device: Device) -> Vec<&'static str> {
        let sizes = plan::fusion::sizes(pattern.family(), SizeSet::Full);
        let fuses_at = |size, variant| {
            fuses(FusionWork { pattern, variant, compile: None, size }, Dtype::Float32, device)
        };
        let variants = pattern.variants().iter().copied();
        let others = variants.filter(|it| *it != FusionVariant::Unfused).filter(|&variant| {
            let at: Vec<bool> = sizes.iter().map(|&size| fuses_at(size, variant)).collect();
            assert!(at.windows(2).all(|pair| pair[0] == pair[1]), "{pattern} {variant}");
            !at[0]
        });
        others.map(FusionVariant::as_str).collect()
    }

    #[test]
    fn what_runs_no_fewer_operations_fuses_nothing() {
        for &pattern in Pattern::ALL {
            for device in [Device::Cpu, Device::Cuda] {
                let others = others(pattern, device);
                // cuDNN's convolution has no bias, so the sum that a fold leaves is an operation, too.
                let only_folds = pattern == Pattern::Conv2dBn && device == Device::Cuda;
                let fused = others.contains(&"fused");
                assert_eq!(fused, only_folds, "{pattern} on {device}: {others:?}");
            }
        }
        let cpu = |pattern| others(pattern, Device::Cpu);
        let linear = ["inplace", "mkldnn-unfused", "torchscript"];
        assert_eq!(cpu(Pattern::LinearBiasRelu), linear);
        assert_eq!(cpu(Pattern::Conv2dBnRelu), ["inplace", "mkldnn-unfused"]);
        assert_eq!(cpu(Pattern::QkSoftmax), ["inplace", "torchscript"]);
        assert_eq!(cpu(Pattern::FullAttention), ["sdpa-3d", "sdpa-math"]);
        // There TorchScript has a fuser.
        let on_cuda = others(Pattern::LinearBiasRelu, Device::Cuda);
        assert_eq!(on_cuda, ["inplace", "mkldnn-unfused"]);
    }

    #[test]
    fn a_size_of_another_family_fuses_nothing() {
        let size = plan::fusion::sizes(plan::PatternFamily::Conv, SizeSet::Quick)[0];
        let work = FusionWork {
            pattern: Pattern::LinearBias,
            variant: FusionVariant::Fused,
            compile: None,
            size,
        };
        assert!(!fuses(work, Dtype::Float32, Device::Cpu));
    }
}
