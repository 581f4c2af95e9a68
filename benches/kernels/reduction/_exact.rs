//! The exact sum, and the costs that all implementations share.

use criterion_torch::kernel::prelude::*;

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
