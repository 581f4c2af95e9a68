//! One variant of a pattern against the unfused operations.

use plan::cost::reduction;
use plan::{
    CompileMode, Device, Dtype, FusionShape, FusionVariant, FusionWork, Pattern, StepMemory, Work,
};
use statistics::Benefit;

use super::product;
use crate::model::caution::Caution;
use crate::model::place::Place;
use crate::model::report::{Entry, Report};
use crate::model::row::Row;
use crate::model::speedup::{NoSpeedup, Speedup};
use crate::model::time::Time;

/// What a result is of. No two results of one config share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FusionKey {
    /// The operations.
    pub pattern: Pattern,
    /// How they are run.
    pub variant: FusionVariant,
    /// `torch.compile` mode, if they are compiled.
    pub compile: Option<CompileMode>,
    /// Their size.
    pub size: FusionShape,
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// Device, threads and what else the numbers depend on.
    pub place: Place,
}

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
    fn of(work: FusionWork, dtype: Dtype, device: Device, row: Option<&'a Row>) -> Self {
        Self {
            row,
            upstream_bytes: work.upstream_bytes(dtype),
            consistent_bytes: work.bytes(dtype, device),
        }
    }

    /// Criterion's estimate, if there is one of this very measurement.
    pub fn time(&self) -> Option<&'a Time> {
        self.row.and_then(|row| row.time.as_ref().ok())
    }

    /// 10⁹ floating-point operations per second at the median time; both sides have the same
    /// number of operations.
    pub fn gflop_per_s(&self) -> Option<f64> {
        self.row.and_then(Row::gflop_per_s)
    }

    /// What one step was seen to allocate.
    pub fn allocated(&self) -> Option<StepMemory> {
        self.row.and_then(|row| row.record.measures.memory).map(|memory| memory.step)
    }
}

/// A variant of a pattern against the unfused operations at the same size. It borrows from the
/// report.
#[derive(Debug, Clone, PartialEq)]
pub struct FusionResult<'a> {
    /// What it is of.
    pub key: FusionKey,
    /// The variant as it went, measured or not.
    pub row: &'a Row,
    /// The unfused operations' numbers.
    pub unfused: Side<'a>,
    /// The variant's.
    pub fused: Side<'a>,
    /// How many times faster the variant is, from interleaved pairs: never the quotient of the two
    /// sides' times, which are of two moments.
    pub speedup: Result<Speedup, NoSpeedup>,
    /// Floating-point operations of one step by upstream's formula, the same on both sides.
    pub flops: u64,
    /// What qualifies the variant's numbers and the comparison.
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
        let (dtype, device) = (record.case.dtype, record.case.device);
        let unfused = FusionWork { variant: FusionVariant::Unfused, compile: None, ..work };
        Some(Self {
            key: FusionKey {
                pattern: work.pattern,
                variant: work.variant,
                compile: work.compile,
                size: work.size,
                dtype,
                place: Place::of(record),
            },
            row: entry.row,
            unfused: Side::of(unfused, dtype, device, entry.baseline),
            fused: Side::of(work, dtype, device, Some(entry.row)),
            speedup: comparison.speedup.clone(),
            flops: work.flops(),
            cautions: entry.cautions(),
        })
    }

    /// The pattern at its size, run this way.
    pub const fn work(&self) -> FusionWork {
        let FusionKey { pattern, variant, compile, size, .. } = self.key;
        FusionWork { pattern, variant, compile, size }
    }

    /// What fusing gains; none without a speed-up.
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
        let work = self.work();
        work.compile.is_none().then(|| fuses(work, self.key.dtype, self.key.place.device))
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

#[cfg(test)]
mod tests {
    use plan::SizeSet;

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
