//! The kernel that `scaled_dot_product_attention` was dispatched to.

use plan::{FusionVariant, Pattern};

use super::result::FusionResult;

/// What libtorch ran for two forms of the same attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SdpaDispatch<'a> {
    /// For tensors `[b, s, d]`, as `sdpa-3d` has them.
    pub without_heads: &'a str,
    /// For tensors `[b, heads, s, d]`, as `fused` has them.
    pub with_heads: &'a str,
}

/// What `sdpa-3d` and `fused` ran, by their records, if that was not the same and at some size their
/// speed-ups differ by more than their intervals.
pub fn sdpa_dispatch<'a>(results: &[&FusionResult<'a>]) -> Option<SdpaDispatch<'a>> {
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
        let without_heads = sdpa_kernel(without)?;
        let with_heads = sdpa_kernel(with)?;
        (without_heads != with_heads && differ(without, with))
            .then_some(SdpaDispatch { without_heads, with_heads })
    })
}

fn sdpa_kernel<'a>(result: &FusionResult<'a>) -> Option<&'a str> {
    let kernels = result.row.record.kernels.iter().map(String::as_str);
    kernels.into_iter().find(|kernel| kernel.contains("scaled_dot_product"))
}

/// Whether the two intervals have nothing in common.
fn differ(a: &FusionResult<'_>, b: &FusionResult<'_>) -> bool {
    let intervals = a.speedup.as_ref().ok().zip(b.speedup.as_ref().ok());
    intervals
        .is_some_and(|(a, b)| a.interval.high < b.interval.low || b.interval.high < a.interval.low)
}
