//! The memory of a training step, by formula.

use crate::linears::ModelSizes;
use crate::words::{Dtype, Pass, Recipe};
use crate::work::ModelWork;

/// Tensors of a weight's size that a step holds in the dtype of the model: the weight and its gradient, with
/// momentum or both moments, and the weight that it started from, which checks put back.
fn tensors_held(pass: Pass) -> u128 {
    match pass {
        Pass::StepSgd => 4,
        Pass::StepAdamw => 5,
        _ => 2,
    }
}

/// An estimate, in bytes and rather high than low, of the memory that building, checking and running a part of a
/// training step takes at once.
pub(super) fn memory_bytes(work: &ModelWork, pass: Pass, sizes: &ModelSizes, dtype: Dtype) -> u64 {
    let element = u128::from(dtype.bytes());
    let (mut weights, mut largest, mut activations) = (0, 0, 0);
    for linear in &sizes.linears {
        let (rows, k, n) = (u128::from(linear.rows), u128::from(linear.k), u128::from(linear.n));
        weights += k * n;
        largest = largest.max(k * n + rows * (k + n));
        activations += rows * (k + n);
    }
    // Every activation, what is kept of it for backward, and its gradient.
    let running = (weights * tensors_held(pass) + activations * 3) * element;
    // Both operands of a product go by way of float32 and float64; those of one layer are there at once. The part
    // of casts keeps those of all layers: three of each tensor, in a byte, or in the model's dtype at the most.
    let casting = match work.variant.recipe {
        Recipe::Baseline => 0,
        _ => largest * 16 + (weights + activations) * 3 * element,
    };
    // All of it once more in float64, as a weight's gradient sums over all rows.
    let reference = (weights * 2 + activations * 3) * 8;
    u64::try_from(running + casting + reference).unwrap_or(u64::MAX)
}
