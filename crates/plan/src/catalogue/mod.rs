//! The work that we ship: operators, patterns of operations and probes of the machine, each with
//! its torch-free facts in one place.

pub(crate) mod operator;
pub mod pattern;
pub(crate) mod probe;

use crate::words::closed::closed_set;

closed_set! {
    /// Upstream's sizes of a kind: [`pattern::sizes`] for patterns, [`crate::ProbeWork::sizes`] for
    /// probes.
    SizeSet, "size set" {
        /// All of them.
        Full = "full",
        /// Two, or the smaller ones.
        Quick = "quick",
    }
}

/// Elements of a float64 reference's largest activation, unless [`REFERENCE_ROWS`] have more.
pub const REFERENCE_ELEMENTS: u64 = 1 << 24;

/// Rows, or examples, that a float64 reference has however much they cost.
pub const REFERENCE_ROWS: u64 = 4;

/// Bytes of an element while it is compared: as it was computed, in float32 at most; and in float64
/// as it should be, the difference, and that without its sign.
pub(crate) const COMPARED_BYTES: u64 = 4 + 3 * 8;

/// Bytes that a float64 reference takes at most: it converts bounded blocks, and its activations
/// are bounded.
pub(crate) const REFERENCE_BYTES: u64 = COMPARED_BYTES * REFERENCE_ELEMENTS;

/// The product of all factors, or `u64::MAX` beyond it.
pub(crate) fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

/// The sum of all terms, or `u64::MAX` beyond it.
pub(crate) fn sum(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |sum, term| sum.saturating_add(*term))
}

/// The part of `baseline` bytes that `candidate` does without: 0.25 where it takes three quarters of
/// them, negative where it takes more. `None` of a baseline without bytes.
pub fn reduction(baseline: u64, candidate: u64) -> Option<f64> {
    (baseline > 0).then(|| 1.0 - candidate as f64 / baseline as f64)
}
