//! A matrix multiplication's shape.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `[m, k] × [k, n]`: m rows, k input features, n output features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shape {
    /// Rows of the input (batch, or tokens).
    pub m: u64,
    /// Input features.
    pub k: u64,
    /// Output features.
    pub n: u64,
}

impl Shape {
    /// `[m, k, n]`, in upstream's order.
    pub const fn new(m: u64, k: u64, n: u64) -> Self {
        Self { m, k, n }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.k, self.n)
    }
}
