//! `tolerances` of a `bench.yaml`: how far an output may be away from its reference.

use super::node::Node;
use crate::kernel::{Kernel, KernelTolerances};
use crate::words::Dtype;

/// The limits that a `bench.yaml` gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tolerances {
    rmse: Limit,
    relative_error: Limit,
    max_error: Limit,
}

/// One of each precision that has any.
type Limit = Vec<(Dtype, f64)>;

/// A number for every precision, or one for each that is named.
fn read_limit(node: &Node<'_>) -> Option<Limit> {
    if !node.is_mapping() {
        let limit = distance(node)?;
        return Some(Dtype::PRECISIONS.iter().map(|dtype| (*dtype, limit)).collect());
    }
    let mut limits = Limit::new();
    let entries = node.entries_of_any_key()?;
    if entries.is_empty() {
        let remedy = "write one number, or name a precision, e.g. `{ fp32: 1e-6 }`";
        return node.error("no precision".to_owned(), remedy);
    }
    // All are read before any error ends this, so that each error is reported.
    let mut all_fit = true;
    for (word, value) in entries {
        match (value.named(&word, Dtype::precision_named), distance(&value)) {
            (Some(dtype), Some(_)) if limit_for(&limits, dtype).is_some() => {
                let message = format!("`{}` is named twice", dtype.precision());
                value.report(message, "delete one of the two: both words are this precision");
                all_fit = false;
            }
            (Some(dtype), Some(limit)) => limits.push((dtype, limit)),
            _ => all_fit = false,
        }
    }
    all_fit.then_some(limits)
}

fn limit_for(limit: &Limit, dtype: Dtype) -> Option<f64> {
    limit.iter().find(|(other, _)| *other == dtype).map(|(_, limit)| *limit)
}

/// Zero asks for the very bits.
fn distance(node: &Node<'_>) -> Option<f64> {
    node.number(0.0..=f64::INFINITY, "a number, e.g. `1e-6`")
}

impl Tolerances {
    /// Reads the key, which asks for a reference.
    pub(super) fn read(node: &Node<'_>, kernel: &Kernel) -> Option<Self> {
        let fields = node.mapping(&["rmse", "relative_error", "max_error"])?;
        let limit = |key| fields.read(key, read_limit).unwrap_or_default();
        let tolerances = Self {
            rmse: limit("rmse"),
            relative_error: limit("relative_error"),
            max_error: limit("max_error"),
        };
        if !kernel.has_reference {
            let message = format!("{} has no `reference`", kernel.baseline().file);
            node.report(message, "add one, or delete the key: nothing could be compared");
        }
        Some(tolerances)
    }

    pub(crate) fn for_dtype(&self, dtype: Dtype) -> KernelTolerances {
        KernelTolerances {
            rmse: limit_for(&self.rmse, dtype),
            relative_error: limit_for(&self.relative_error, dtype),
            max_error: limit_for(&self.max_error, dtype),
        }
    }
}
