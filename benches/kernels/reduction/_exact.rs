//! The values, the exact sum and its costs, which all implementations share.

#![allow(dead_code, reason = "every kernel uses its own part")]

use criterion_torch::kernel::prelude::*;

/// The values that are summed. All are positive, so that the sum's relative error is that of the
/// method, not of cancellation; and small, so that sums of 2²⁴ of them fit into float16.
pub fn draw(elements: usize, context: &KernelContext) -> Result<Tensor, Refusal> {
    if elements == 0 {
        return Err(context.unsupported("elements is 0, but has to be 1 or more"));
    }
    context.uniform(&[elements], (0.0, 1.0 / 512.0))
}

/// The sum, exact but for its last rounding: it is kept as numbers that share no bit, into which each
/// value goes without an error (Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic").
pub fn exact(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for mut value in values {
        let mut kept = 0;
        for i in 0..parts.len() {
            let (large, small) = match parts[i] {
                part if part.abs() > value.abs() => (part, value),
                part => (value, part),
            };
            value = large + small;
            let lost = small - (value - large);
            if lost != 0.0 {
                parts[kept] = lost;
                kept += 1;
            }
        }
        parts.truncate(kept);
        parts.push(value);
    }
    parts.iter().sum()
}

/// n − 1 sums, whatever their order.
pub fn flops(elements: usize) -> u64 {
    elements.saturating_sub(1) as u64
}

/// Every value read once, one written.
pub fn bytes(elements: usize, dtype: Dtype) -> u64 {
    (elements as u64 + 1) * dtype.bytes()
}
