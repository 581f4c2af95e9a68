//! The costs that the implementations of the product share.

use criterion_torch::kernel::prelude::*;

/// A product and a sum for each weight.
pub fn flops(out_features: usize, in_features: usize) -> u64 {
    2 * out_features as u64 * in_features as u64
}

/// The weights and the input read once, the output written once.
pub fn bytes(out_features: usize, in_features: usize, dtype: Dtype) -> u64 {
    let (out, of) = (out_features as u64, in_features as u64);
    (out * of + of + out) * dtype.bytes()
}
