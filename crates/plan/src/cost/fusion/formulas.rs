//! What a family tells of its patterns: their operations, and counts of elements.

use crate::cost::product;
use crate::words::{Device, Dtype, FusionVariant};

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

/// The sum of all terms, or `u64::MAX` beyond it.
pub(super) fn sum(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |sum, term| sum.saturating_add(*term))
}

/// The formulas of a family for one of its patterns at a size. Counts are elements, unless said
/// otherwise.
pub(super) trait Formulas {
    /// Floating-point operations by upstream's formula.
    fn flops(&self) -> u64;
    /// What upstream counts for the unfused side.
    fn upstream_unfused(&self) -> u64;
    /// What a perfect fusion reads and writes, its parameters folded.
    fn minimal(&self) -> u64;
    /// Each input.
    fn inputs(&self) -> Vec<u64>;
    /// Each tensor that stays from step to step.
    fn parameters(&self) -> Vec<u64>;
    /// What an operation may make of its inputs while it runs, beside copies of its operands.
    fn workspace(&self) -> u64 {
        0
    }
    /// Examples, each computed without the others.
    fn parts(&self) -> u64;
    /// The size of the output.
    fn output_size(&self) -> Vec<u64>;
    /// `input_shape` of upstream.
    fn input_shape(&self) -> Vec<u64>;
    /// `output_shape` of upstream.
    fn output_shape(&self) -> Vec<u64> {
        self.output_size()
    }
    /// The operations of a variant, in order; `None` of one that the pattern lacks.
    fn operations(
        &self,
        variant: FusionVariant,
        dtype: Dtype,
        device: Device,
    ) -> Option<Vec<Operation>>;
}
