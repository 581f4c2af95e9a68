//! The strategy: what to do with a pattern at a place.

use plan::{Dtype, FusionVariant, Pattern};
use serde::Serialize;

use super::Where;
use crate::model::{OverControl, PatternAdvice, Point, Speedup, VariantAdvice};

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
    variants: Vec<OfVariant>,
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
            variants: advice.variants.iter().map(OfVariant::of).collect(),
        }
    }
}

/// What to do with one of its variants, and why.
#[derive(Serialize)]
struct OfVariant {
    variant: FusionVariant,
    fuses: bool,
    same_product: Option<bool>,
    votes: bool,
    advice: &'static str,
    cases: usize,
    cases_with_speedup: usize,
    lowest: Option<Case>,
    highest: Option<Case>,
    gaining: Vec<Case>,
    losing: Vec<Case>,
    undecided: Vec<Case>,
    over_control: Vec<Over>,
}

impl OfVariant {
    fn of(of: &VariantAdvice) -> Self {
        let cases = |points: Vec<&Point>| points.into_iter().map(Case::of).collect();
        Self {
            variant: of.variant,
            fuses: of.fuses,
            same_product: of.same_product,
            votes: of.votes(),
            advice: of.word(),
            cases: of.cases,
            cases_with_speedup: of.points.len(),
            lowest: of.lowest().map(Case::of),
            highest: of.highest().map(Case::of),
            gaining: cases(of.gaining()),
            losing: cases(of.losing()),
            undecided: cases(of.undecided()),
            over_control: of.over_control.iter().map(Over::of).collect(),
        }
    }
}

/// The speed-up of a case.
#[derive(Serialize)]
struct Case {
    size: String,
    dtype: Dtype,
    speedup_factor: f64,
    speedup_low: f64,
    speedup_high: f64,
}

impl Case {
    fn of(point: &Point) -> Self {
        let Speedup { ratio, interval, .. } = point.speedup;
        Self {
            size: point.size.to_string(),
            dtype: point.dtype,
            speedup_factor: ratio,
            speedup_low: interval.low,
            speedup_high: interval.high,
        }
    }
}

/// What fusing adds over the control of the same product: derived, not measured.
#[derive(Serialize)]
struct Over {
    size: String,
    dtype: Dtype,
    speedup_low: f64,
    speedup_high: f64,
}

impl Over {
    fn of(over: &OverControl) -> Self {
        Self {
            size: over.size.to_string(),
            dtype: over.dtype,
            speedup_low: over.interval.low,
            speedup_high: over.interval.high,
        }
    }
}
