//! The strategy: what to do with a pattern at a place.

use plan::{FusionVariant, Pattern};
use serde::Serialize;

use crate::model::{PatternAdvice, VariantAdvice, VariantEntry};
use crate::write::place::Where;

/// What to do with a pattern at a place.
#[derive(Serialize)]
pub(crate) struct Strategy<'a> {
    #[serde(flatten)]
    place: Where<'a>,
    pattern: Pattern,
    fusion_pattern: &'static str,
    advice: &'static str,
    best_variant: Option<FusionVariant>,
    other_product_advice: Option<&'static str>,
    other_product_variant: Option<FusionVariant>,
    variants: Vec<VariantEntry>,
}

impl<'a> Strategy<'a> {
    pub(crate) fn of(advice: &'a PatternAdvice) -> Self {
        let other = advice.best_of_other_product();
        Self {
            place: Where::of(&advice.place),
            pattern: advice.pattern,
            fusion_pattern: advice.pattern.upstream(),
            advice: advice.advice.word(),
            best_variant: advice.best,
            other_product_advice: other.map(VariantAdvice::word),
            other_product_variant: other.map(|other| other.variant),
            variants: advice.variants.iter().map(VariantEntry::of).collect(),
        }
    }
}
