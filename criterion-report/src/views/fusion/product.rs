//! The library that computes the product of a pattern: a speed-up by another one is not fusion's.
//!
//! On the CPU libtorch leaves products in float32 to the BLAS library that it was built with, and
//! those in half precision, as well as all convolutions, to oneDNN. So only a linear or attention
//! pattern in float32 can have another product than its unfused operations, and the kernels that
//! were recorded tell: operations of `mkldnn::`, and groups of oneDNN Graph with a product inside,
//! are oneDNN's; `aten::mm`, `addmm`, `bmm`, `baddbmm` and attention's kernels, the BLAS library's.
//! On other devices all variants of a pattern have their products from one vendor's library.

use plan::{Device, Dtype, FusionWork, PatternFamily};

use crate::model::Key;

/// Products by the names that oneDNN Graph's groups have for them.
const PRODUCTS: [&str; 2] = ["aten::linear", "aten::matmul"];
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

pub(super) fn has_onednn_product(kernel: &str) -> bool {
    let group = kernel.strip_prefix("prim::oneDNNFusionGroup(");
    kernel.starts_with("mkldnn::")
        || group.is_some_and(|group| PRODUCTS.iter().any(|product| group.contains(product)))
}

#[cfg(test)]
mod tests {
    use plan::{Allocator, CacheMode, FusionShape, FusionVariant, Pattern, SizeSet, Threads};

    use super::*;
    use crate::model::ExecutionContext;

    fn same(
        pattern: Pattern,
        dtype: Dtype,
        device: Device,
        [unfused, variant]: [&[&str]; 2],
    ) -> Option<bool> {
        let size: FusionShape = plan::pattern::sizes(pattern.family(), SizeSet::Quick)[0];
        let place = ExecutionContext {
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
