//! How a verdict looks, wherever it stands: one paint for each of its words.

use statistics::{Band, Benefit};

use super::table::Paint;
use crate::model::Advice;

/// Of what a speed-up is worth.
pub fn of_benefit(benefit: Benefit) -> Paint {
    match benefit {
        Benefit::Of(Band::Strong | Band::Moderate) => Paint::Good,
        Benefit::Of(Band::Minimal) => Paint::Plain,
        Benefit::Of(Band::Slower) => Paint::Bad,
        Benefit::Inconclusive { .. } => Paint::Warn,
    }
}

/// Of what to do with a variant or a pattern.
pub const fn of_advice(advice: Advice) -> Paint {
    match advice {
        Advice::Fuse => Paint::Good,
        Advice::Indifferent => Paint::Plain,
        Advice::Avoid => Paint::Bad,
        Advice::Conditional | Advice::Inconclusive => Paint::Warn,
    }
}
