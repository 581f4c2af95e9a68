//! Formulas of a family of patterns: counts, and the operations of each variant.

use super::FusionVariant;
use crate::catalogue::{product, sum};
use crate::words::{Device, Dtype};

/// One operation of a variant, and its traffic in the consistent accounting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Its name in torch's profiler, e.g. `aten::addmm`.
    pub name: &'static str,
    /// Bytes of its operands.
    pub reads: u64,
    /// Bytes of its result.
    pub writes: u64,
}

impl Operation {
    /// An operation on elements of `element` bytes that reads operands of so many elements.
    pub(super) fn new(name: &'static str, element: u64, reads: &[u64], writes: u64) -> Self {
        Self { name, reads: product(&[element, sum(reads)]), writes: product(&[element, writes]) }
    }
}

/// A group of operations that oneDNN Graph runs as one.
pub(super) const ONEDNN_GROUP: &str = "prim::oneDNNFusionGroup";

/// The formulas of a family for one of its patterns at a size.
pub(super) trait Formulas {
    fn counts(&self) -> Counts;

    /// The operations of a variant, in order; `None` if the pattern lacks it.
    fn operations(
        &self,
        variant: FusionVariant,
        dtype: Dtype,
        device: Device,
    ) -> Option<Vec<Operation>>;
}

/// The counts of a pattern at a size, in elements unless said otherwise.
#[derive(Default)]
pub(super) struct Counts {
    /// Floating-point operations by upstream's formula.
    pub(super) flops: u64,
    /// Upstream's count for the unfused side.
    pub(super) upstream_unfused: u64,
    /// Reads and writes of a perfect fusion, its parameters folded.
    pub(super) minimal: u64,
    pub(super) inputs: Vec<u64>,
    /// Each tensor that stays from step to step.
    pub(super) parameters: Vec<u64>,
    /// Temporaries that an operation may allocate while it runs, beside copies of its operands.
    pub(super) workspace: u64,
    /// Examples, each computed without the others.
    pub(super) parts: u64,
    pub(super) output_size: Vec<u64>,
    /// `input_shape` of upstream, with the axis of a single head.
    pub(super) input_shape: Vec<u64>,
}
