//! The products of a pattern that are computed by another library or another kernel than its unfused operations'.

use plan::{FusionVariant, Pattern};

use super::library::has_onednn_product;
use super::result::FusionResult;
use crate::model::once;

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
