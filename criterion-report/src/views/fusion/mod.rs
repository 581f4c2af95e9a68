//! Fusion: what each variant of a pattern gains over the pattern's unfused operations.

mod advice;
mod product;
pub mod text;

use plan::cost::reduction;
use plan::{
    Accuracy, Compilation, CompileMode, Device, Dtype, FusionShape, FusionVariant, FusionWork,
    Pattern, Work,
};
use serde_json::{Map, Value as Json};
use statistics::Benefit;

use crate::model::{Caution, Entry, ExecutionContext, Key, Row, Speedup, Value, column, once};
use crate::read::Report;
use crate::render::object::document;
pub use advice::{Advice, OverControl, PatternAdvice, Point, VariantAdvice};

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
        report
            .entries()
            .filter(|entry| entry.comparison.is_some())
            .filter_map(Self::from_entry)
            .collect()
    }

    fn from_entry(entry: Entry<'a>) -> Option<Self> {
        let Work::Fusion(work) = entry.row.record.case.work else { return None };
        let key = Key::new(work, &entry.row.record);
        let works = [work.unfused(), work];
        let formulas = [
            works.map(|work| work.upstream_bytes(key.dtype)),
            works.map(|work| work.bytes(key.dtype, key.place.device)),
        ];
        Some(Self { key, entry, cautions: entry.cautions(), formulas })
    }

    /// The unfused operations by themselves, if they have a record.
    pub fn unfused(&self) -> Option<Self> {
        Self::from_entry(Entry::alone(self.entry.baseline?))
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
        product::same_product(&self.key, unfused, &self.entry.row.record.kernels)
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

// Every key of upstream's dictionary in its order, then ours.
document! {
    /// A variant of a pattern against its unfused operations.
    pub struct FusionItem<'a> = of(it: &'a FusionResult<'a>) [
        work = it.key.work;
        record = &it.entry.row.record;
        baseline = it.entry.baseline;
        fused = Some(it.entry);
        unfused = baseline.map(Entry::alone);
        bytes = it.bytes(Accounting::Upstream);
        kernel = matches!(work.size, FusionShape::Conv { .. });
    ] {
        fusion_pattern: &'static str = work.pattern.upstream(),
        input_shape: Vec<u64> = work.input_shape(),
        output_shape: Vec<u64> = work.output_shape(),
        kernel_size: Option<u64> = kernel.then_some(plan::pattern::KERNEL_SIZE),
        unfused_latency_ms: Option<Value<'a>> = column!(unfused, "latency" / 1e6),
        fused_latency_ms: Option<Value<'a>> = column!(fused, "latency" / 1e6),
        unfused_gflops: Option<Value<'a>> = column!(unfused, "gflops"),
        fused_gflops: Option<Value<'a>> = column!(fused, "gflops"),
        unfused_bytes: Option<u64> = bytes[0],
        fused_bytes: Option<u64> = bytes[1],
        speedup_factor: Option<Value<'a>> = column!(fused, "speedup"),
        memory_reduction: Option<f64> = saved(bytes),
        flops: u64 = work.flops(),
        gflops_improvement: Option<f64> = it.entry.speedup().map(Speedup::gflops_improvement),
        /// The dimensions of the size by name.
        extra_params: Json = dimensions(work.size),
        no_speedup_reason: Option<Value<'a>> = column!(fused, "no-speedup-reason"),
        #[serde(flatten)]
        compared: Compared<'a> = Compared::of(it),
        outcome: Option<Value<'a>> = column!(fused, "outcome"),
        reason: Option<Value<'a>> = column!(fused, "reason"),
        unfused_outcome: Option<Value<'a>> = column!(unfused, "outcome"),
        unfused_reason: Option<String> =
            baseline.map_or_else(|| Some("it has no record".to_owned()), Row::reason),
        run_id: &'a str = &record.run_id,
        timestamp: u64 = record.timestamp,
        unfused_latency_low_ms: Option<Value<'a>> = column!(unfused, "latency", Low / 1e6),
        unfused_latency_high_ms: Option<Value<'a>> = column!(unfused, "latency", High / 1e6),
        fused_latency_low_ms: Option<Value<'a>> = column!(fused, "latency", Low / 1e6),
        fused_latency_high_ms: Option<Value<'a>> = column!(fused, "latency", High / 1e6),
        #[serde(flatten)]
        accounted: Bytes = Bytes::of(it),
        unfused_kernels: Option<&'a [String]> = baseline.map(|row| &*row.record.kernels),
        fused_kernels: &'a [String] = &record.kernels,
        compilation: Option<&'a Compilation> = record.compilation.as_ref(),
        unfused_accuracy: Option<&'a Accuracy> =
            baseline.and_then(|row| row.record.accuracy.as_ref()),
        fused_accuracy: Option<&'a Accuracy> = record.accuracy.as_ref(),
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        unfused_cautions: Vec<Caution> = baseline.map(Row::cautions).unwrap_or_default(),
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cautions: &'a [Caution] = &it.cautions,
    }

    /// The part of a result that a machine's profile has, too: its identity and its speed-up.
    pub struct Compared<'a> = of(result: &'a FusionResult<'a>) [
        entry = Some(result.entry);
        benefit = result.benefit();
    ] {
        speedup_low: Option<Value<'a>> = column!(entry, "speedup", Low),
        speedup_high: Option<Value<'a>> = column!(entry, "speedup", High),
        confidence_level: Option<f64> = result.entry.speedup().map(|it| it.confidence_level),
        blocks: Option<Value<'a>> = column!(entry, "pair-blocks"),
        pair_builds: Option<Value<'a>> = column!(entry, "pair-builds"),
        pair_within: Option<Value<'a>> = column!(entry, "pair-within"),
        pair_between: Option<Value<'a>> = column!(entry, "pair-between"),
        benefit: Option<String> = benefit.map(|benefit| benefit.to_string()),
        lowest_band: Option<&'static str> = benefit.map(|benefit| benefit.lowest().word()),
        highest_band: Option<&'static str> = benefit.map(|benefit| benefit.highest().word()),
        full_id: Option<Value<'a>> = column!(entry, "full-id"),
        config: Option<Value<'a>> = column!(entry, "config"),
        pattern: Pattern = result.key.work.pattern,
        variant: FusionVariant = result.key.work.variant,
        compile: Option<CompileMode> = result.key.work.compile,
        fuses: Option<bool> = result.fuses(),
        same_product: Option<bool> = result.same_product(),
        size: String = result.key.work.size.to_string(),
        dtype: Dtype = result.key.dtype,
        #[serde(flatten)]
        place: &'a ExecutionContext = &result.key.place,
    }

    /// Bytes of both sides in the consistent accounting, by formula; what was allocated, measured.
    pub struct Bytes = of(result: &FusionResult<'_>) [
        formula = result.bytes(Accounting::Consistent);
        peak = result.bytes(Accounting::Peak);
        total = result.bytes(Accounting::Total);
    ] {
        unfused_consistent_bytes: Option<u64> = formula[0],
        fused_consistent_bytes: Option<u64> = formula[1],
        consistent_reduction: Option<f64> = saved(formula),
        unfused_peak_allocation_bytes: Option<u64> = peak[0],
        fused_peak_allocation_bytes: Option<u64> = peak[1],
        peak_allocation_reduction: Option<f64> = saved(peak),
        unfused_total_allocation_bytes: Option<u64> = total[0],
        fused_total_allocation_bytes: Option<u64> = total[1],
        total_allocation_reduction: Option<f64> = saved(total),
    }
}

/// The dimensions of a size by name, without the name of its family.
fn dimensions(size: FusionShape) -> Json {
    let family = serde_json::to_value(size).expect("numbers under names");
    let mut families = family.as_object().into_iter().flat_map(Map::values);
    families.next().cloned().unwrap_or_else(|| Map::new().into())
}

/// Products of unfused operations.
const UNFUSED: [&str; 2] = ["aten::mm", "aten::bmm"];

/// The libraries of products that differ from `unfused`'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherProducts<'a> {
    pub variants: Vec<FusionVariant>,
    /// Their kernels with a product, each once.
    pub kernels: Vec<&'a str>,
    /// The unfused operations' products, each once.
    pub unfused: Vec<&'a str>,
}

/// By the records of one pattern: who has another product, if any variant with a speed-up has.
pub fn other_products<'a>(results: &[&FusionResult<'a>]) -> Option<OtherProducts<'a>> {
    let is_other =
        |it: &&&FusionResult<'a>| it.entry.speedup().is_some() && it.same_product() == Some(false);
    let others: Vec<_> = results.iter().filter(is_other).collect();
    let unfused = &others.first()?.entry.baseline?.record.kernels;
    let kernels = others.iter().flat_map(|other| &other.entry.row.record.kernels);
    Some(OtherProducts {
        variants: once(others.iter().map(|other| other.key.work.variant)),
        kernels: once(kernels.map(String::as_str).filter(|it| product::has_onednn_product(it))),
        unfused: once(unfused.iter().map(String::as_str).filter(|it| UNFUSED.contains(it))),
    })
}

/// The kernels of `sdpa-3d` and `fused` by their records, if they differ and at some size the
/// speed-ups differ by more than their intervals.
pub fn sdpa_dispatch<'a>(results: &[&FusionResult<'a>]) -> Option<[&'a str; 2]> {
    let of = |variant: FusionVariant| {
        let own = move |it: &&&FusionResult<'a>| {
            it.key.work.pattern == Pattern::FullAttention && it.key.work.variant == variant
        };
        results.iter().filter(own)
    };
    of(FusionVariant::Sdpa3d).find_map(|without| {
        let same = |it: &&&FusionResult<'a>| {
            (it.key.work.size, it.key.dtype, &it.key.place)
                == (without.key.work.size, without.key.dtype, &without.key.place)
        };
        let with = of(FusionVariant::Fused).find(same)?;
        let kernels = [sdpa_kernel(without)?, sdpa_kernel(with)?];
        (kernels[0] != kernels[1] && differ(without, with)).then_some(kernels)
    })
}

fn sdpa_kernel<'a>(result: &FusionResult<'a>) -> Option<&'a str> {
    let kernels = result.entry.row.record.kernels.iter().map(String::as_str);
    kernels.into_iter().find(|kernel| kernel.contains("scaled_dot_product"))
}

/// Whether the two intervals have nothing in common.
fn differ(a: &FusionResult<'_>, b: &FusionResult<'_>) -> bool {
    let intervals = a.entry.speedup().zip(b.entry.speedup());
    intervals
        .is_some_and(|(a, b)| a.interval.high < b.interval.low || b.interval.high < a.interval.low)
}

#[cfg(test)]
mod tests {
    use plan::SizeSet;

    use super::*;

    /// The variants of a pattern that do not fuse, `unfused` itself left out.
    fn others(pattern: Pattern, device: Device) -> Vec<&'static str> {
        let sizes = plan::pattern::sizes(pattern.family(), SizeSet::Full);
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
        let size = plan::pattern::sizes(plan::PatternFamily::Conv, SizeSet::Quick)[0];
        let work = FusionWork {
            pattern: Pattern::LinearBias,
            variant: FusionVariant::Fused,
            compile: None,
            size,
        };
        assert!(!fuses(work, Dtype::Float32, Device::Cpu));
    }
}
