//! The library that computes the product of a pattern: a speed-up by another one is not fusion's.
//!
//! On the CPU libtorch leaves products in float32 to the BLAS library that it was built with, and
//! those in half precision, as well as all convolutions, to oneDNN. So only a linear or attention
//! pattern in float32 can have another product than its unfused operations, and the kernels that
//! were recorded tell: operations of `mkldnn::`, and groups of oneDNN Graph with a product inside,
//! are oneDNN's; `aten::mm`, `addmm`, `bmm`, `baddbmm` and attention's kernels, the BLAS library's.
//! On other devices all variants of a pattern have their products from one vendor's library.

use plan::{Device, Dtype, FusionVariant, FusionWork, Pattern, PatternFamily};

use super::result::FusionResult;
use crate::model::view::{Key, once};

/// Products by the names that oneDNN Graph's groups have for them.
const PRODUCTS: [&str; 2] = ["aten::linear", "aten::matmul"];
/// Products of unfused operations.
const UNFUSED: [&str; 2] = ["aten::mm", "aten::bmm"];

/// Whether the variant's product is by the library that computes the unfused operations'; none
/// where the kernels would tell, and one of the sides has none recorded, or a compiler's.
pub(super) fn same_product(
    key: &Key<FusionWork>,
    unfused: Option<&[String]>,
    variant: &[String],
) -> Option<bool> {
    let one_library = key.place.device != Device::Cpu
        || key.dtype != Dtype::Float32
        || key.work.pattern.family() == PatternFamily::Conv;
    if one_library {
        return Some(true);
    }
    if key.work.compile.is_some() {
        // A compiler's kernels have names of its own.
        return None;
    }
    Some(is_onednn(unfused?)? == is_onednn(variant)?)
}

/// Whether oneDNN computes a product among these kernels; none without kernels.
fn is_onednn(kernels: &[String]) -> Option<bool> {
    (!kernels.is_empty()).then(|| kernels.iter().any(|kernel| has_onednn_product(kernel)))
}

fn has_onednn_product(kernel: &str) -> bool {
    let group = kernel.strip_prefix("prim::oneDNNFusionGroup(");
    kernel.starts_with("mkldnn::")
        || group.is_some_and(|group| PRODUCTS.iter().any(|product| group.contains(product)))
}

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
        kernels: once(kernels.map(String::as_str).filter(|it| has_onednn_product(it))),
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
    use plan::{Allocator, CacheMode, FusionShape, SizeSet, Threads};

    use super::*;
    use crate::model::Place;

    fn same(
        pattern: Pattern,
        dtype: Dtype,
        device: Device,
        [unfused, variant]: [&[&str]; 2],
    ) -> Option<bool> {
        let size: FusionShape = plan::fusion::sizes(pattern.family(), SizeSet::Quick)[0];
        let place = Place {
            device,
            processor: None,
            threads: Threads::Count(1),
            allocator: Allocator::Retained,
            cache: CacheMode::Hot,
        };
        let work = FusionWork { pattern, variant: FusionVariant::Fused, compile: None, size };
        let key = Key { work, dtype, place };
        let own = |kernels: &[&str]| kernels.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        same_product(&key, Some(&own(unfused)), &own(variant))
    }

    #[test]
    fn in_float32_on_the_cpu_the_kernels_tell() {
        let linear = |variant: &[&str]| {
            let unfused = &["aten::mm", "aten::add"];
            same(Pattern::LinearBias, Dtype::Float32, Device::Cpu, [unfused, variant])
        };
        for kernels in [
            &["aten::addmm"][..],
            &["aten::_addmm_activation"],
            &["aten::mm", "aten::add_"],
            // The group is oneDNN's, and the product outside of it is not.
            &["aten::mm", "prim::oneDNNFusionGroup(aten::add, aten::relu)"],
        ] {
            assert_eq!(linear(kernels), Some(true), "{kernels:?}");
        }
        for kernels in [
            &["mkldnn::_linear_pointwise"][..],
            &["mkldnn::_linear_pointwise", "aten::add"],
            &["prim::oneDNNFusionGroup(aten::linear, aten::relu)"],
        ] {
            assert_eq!(linear(kernels), Some(false), "{kernels:?}");
        }
        assert_eq!(linear(&[]), None, "it did not run");
        let attention = |variant: &[&str]| {
            let unfused = &["aten::bmm", "aten::mul", "aten::softmax", "aten::bmm"];
            same(Pattern::FullAttention, Dtype::Float32, Device::Cpu, [unfused, variant])
        };
        assert_eq!(attention(&["aten::_scaled_dot_product_flash_attention_for_cpu"]), Some(true));
        let group = "prim::oneDNNFusionGroup(aten::matmul, aten::mul)";
        assert_eq!(attention(&[group, "aten::softmax"]), Some(false));
    }

    #[test]
    fn elsewhere_there_is_one_library() {
        let kernels: [&[&str]; 2] = [&["aten::mm", "aten::add"], &["mkldnn::_linear_pointwise"]];
        for dtype in [Dtype::BFloat16, Dtype::Float16] {
            assert_eq!(same(Pattern::LinearBias, dtype, Device::Cpu, kernels), Some(true));
        }
        assert_eq!(same(Pattern::LinearBias, Dtype::Float32, Device::Cuda, kernels), Some(true));
        let conv: [&[&str]; 2] = [&["aten::conv2d"], &["mkldnn::_convolution_pointwise"]];
        assert_eq!(same(Pattern::Conv2dBn, Dtype::Float32, Device::Cpu, conv), Some(true));
    }
}
