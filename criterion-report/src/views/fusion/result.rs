//! One variant of a pattern against the unfused operations.

use plan::cost::reduction;
use plan::{Device, Dtype, FusionShape, FusionVariant, FusionWork, Work};
use serde_json::{Map, Value};
use statistics::Benefit;

use super::library;
use crate::model::Caution;
use crate::model::Entry;
use crate::model::Key;
use crate::model::Row;
use crate::model::Speedup;
use crate::model::column;
use crate::read::Report;
use crate::render::object::object;

/// A variant of a pattern, measured or not, against the unfused operations at the same size: the
/// baseline of its entry.
#[derive(Debug, Clone)]
pub struct FusionResult<'a> {
    pub key: Key<FusionWork>,
    pub entry: Entry<'a>,
    pub cautions: Vec<Caution>,
    /// Bytes by formula, upstream's and the consistent one.
    formulas: [[Option<u64>; 2]; 2],
}

/// How the bytes of a step are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    /// By upstream's formula, where upstream has one. Nothing of it is measured.
    Upstream,
    /// By formula, too, as [`FusionWork::bytes`] has it.
    Consistent,
    /// The measured peak of the allocations.
    Peak,
    /// The measured sum of the allocations.
    Total,
}

/// The part of the unfused bytes that a variant does without.
pub fn saved([unfused, fused]: [Option<u64>; 2]) -> Option<f64> {
    reduction(unfused?, fused?)
}

impl<'a> FusionResult<'a> {
    /// The results among a report's entries, in their order: one for every variant but `unfused`.
    pub fn all(report: &'a Report) -> Vec<Self> {
        report.entries().filter(|entry| entry.comparison.is_some()).filter_map(Self::of).collect()
    }

    fn of(entry: Entry<'a>) -> Option<Self> {
        let Work::Fusion(work) = entry.row.record.case.work else { return None };
        let key = Key::of(work, &entry.row.record);
        let works = [work.unfused(), work];
        let formulas = [
            works.map(|work| work.upstream_bytes(key.dtype)),
            works.map(|work| work.bytes(key.dtype, key.place.device)),
        ];
        Some(Self { key, entry, cautions: entry.cautions(), formulas })
    }

    /// The unfused operations by themselves, if they have a record.
    pub fn unfused(&self) -> Option<Self> {
        Self::of(Entry::alone(self.entry.baseline?))
    }

    /// The unfused operations, if they have a record, and the variant.
    pub fn sides(&self) -> [Option<&'a Row>; 2] {
        [self.entry.baseline, Some(self.entry.row)]
    }

    /// Bytes of a step of both sides.
    pub fn bytes(&self, by: Accounting) -> [Option<u64>; 2] {
        let steps = || self.sides().map(|row| Some(row?.record.measures.memory?.step));
        match by {
            Accounting::Upstream => self.formulas[0],
            Accounting::Consistent => self.formulas[1],
            Accounting::Peak => steps().map(|step| Some(step?.peak_bytes)),
            Accounting::Total => steps().map(|step| Some(step?.total_bytes)),
        }
    }

    pub fn benefit(&self) -> Option<Benefit> {
        self.entry.speedup().map(Speedup::benefit)
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
        let unfused = self.entry.baseline.map(|row| row.record.kernels.as_slice());
        library::same_product(&self.key, unfused, &self.entry.row.record.kernels)
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
        record = &it.entry.row.record;
        baseline = it.entry.baseline;
        fused = Some(it.entry);
        unfused = baseline.map(Entry::alone);
        bytes = it.bytes(Accounting::Upstream);
        kernel = matches!(work.size, FusionShape::Conv { .. });
    ] {
        "fusion_pattern": work.pattern.upstream(),
        "input_shape": work.input_shape(),
        "output_shape": work.output_shape(),
        "kernel_size": kernel.then_some(plan::fusion::KERNEL_SIZE),
        "unfused_latency_ms": column!(unfused, "latency" / 1e6),
        "fused_latency_ms": column!(fused, "latency" / 1e6),
        "unfused_gflops": column!(unfused, "gflops"),
        "fused_gflops": column!(fused, "gflops"),
        "unfused_bytes": bytes[0],
        "fused_bytes": bytes[1],
        "speedup_factor": column!(fused, "speedup"),
        "memory_reduction": saved(bytes),
        "flops": work.flops(),
        "gflops_improvement": it.entry.speedup().map(Speedup::gflops_improvement),
        "extra_params": dimensions(work.size),
        "no_speedup_reason": column!(fused, "no-speedup-reason"),
        _: Compared(it),
        "outcome": column!(fused, "outcome"),
        "reason": column!(fused, "reason"),
        "unfused_outcome": column!(unfused, "outcome"),
        "unfused_reason": baseline.map_or_else(|| Some("it has no record".to_owned()), Row::reason),
        "run_id": record.run_id,
        "timestamp": record.timestamp,
        "unfused_latency_low_ms": column!(unfused, "latency", Low / 1e6),
        "unfused_latency_high_ms": column!(unfused, "latency", High / 1e6),
        "fused_latency_low_ms": column!(fused, "latency", Low / 1e6),
        "fused_latency_high_ms": column!(fused, "latency", High / 1e6),
        _: Bytes(it),
        "unfused_kernels": baseline.map(|row| &row.record.kernels),
        "fused_kernels": record.kernels,
        "compilation": record.compilation,
        "unfused_accuracy": baseline.and_then(|row| row.record.accuracy.as_ref()),
        "fused_accuracy": record.accuracy,
        "unfused_cautions": baseline.map(Row::cautions).unwrap_or_default(),
        "cautions": it.cautions,
    }

    Compared<'_, '_> => |it| [
        result = it.0;
        entry = Some(result.entry);
        benefit = result.benefit();
    ] {
        "speedup_low": column!(entry, "speedup", Low),
        "speedup_high": column!(entry, "speedup", High),
        "confidence_level": result.entry.speedup().map(|speedup| speedup.confidence_level),
        "blocks": column!(entry, "pair-blocks"),
        "pair_builds": column!(entry, "pair-builds"),
        "pair_within": column!(entry, "pair-within"),
        "pair_between": column!(entry, "pair-between"),
        "benefit": benefit.map(|benefit| benefit.to_string()),
        "lowest_band": benefit.map(|benefit| benefit.lowest().word()),
        "highest_band": benefit.map(|benefit| benefit.highest().word()),
        "full_id": column!(entry, "full-id"),
        "config": column!(entry, "config"),
        "pattern": result.key.work.pattern,
        "variant": result.key.work.variant,
        "compile": result.key.work.compile,
        "fuses": result.fuses(),
        "same_product": result.same_product(),
        "size": result.key.work.size.to_string(),
        "dtype": result.key.dtype,
        _: result.key.place,
    }

    Bytes<'_, '_> => |it| [
        formula = it.0.bytes(Accounting::Consistent);
        peak = it.0.bytes(Accounting::Peak);
        total = it.0.bytes(Accounting::Total);
    ] {
        "unfused_consistent_bytes": formula[0],
        "fused_consistent_bytes": formula[1],
        "consistent_reduction": saved(formula),
        "unfused_peak_allocation_bytes": peak[0],
        "fused_peak_allocation_bytes": peak[1],
        "peak_allocation_reduction": saved(peak),
        "unfused_total_allocation_bytes": total[0],
        "fused_total_allocation_bytes": total[1],
        "total_allocation_reduction": saved(total),
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
