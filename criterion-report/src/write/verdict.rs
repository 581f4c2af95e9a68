//! How a verdict looks, wherever it stands: its words, and one paint for each.

use statistics::{Band, Benefit, Verdict};

use super::table::Paint;
use crate::model::Advice;

pub const fn of_verdict(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Faster => Paint::Good,
        Verdict::Slower => Paint::Bad,
        Verdict::Same => Paint::Plain,
        Verdict::Inconclusive => Paint::Warn,
    }
}

pub fn of_benefit(benefit: Benefit) -> Paint {
    match benefit {
        Benefit::Of(Band::Strong | Band::Moderate) => Paint::Good,
        Benefit::Of(Band::Minimal) => Paint::Plain,
        Benefit::Of(Band::Slower) => Paint::Bad,
        Benefit::Inconclusive { .. } => Paint::Warn,
    }
}

/// The paint of what to do with a variant or a pattern.
pub const fn of_advice(advice: Advice) -> Paint {
    match advice {
        Advice::Fuse | Advice::Faster => Paint::Good,
        Advice::Indifferent => Paint::Plain,
        Advice::Avoid | Advice::Slower => Paint::Bad,
        Advice::Conditional | Advice::Depends | Advice::Inconclusive => Paint::Warn,
    }
}
