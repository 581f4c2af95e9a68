//! The strategy: what to do with a pattern at a place.

use plan::{Dtype, FusionVariant, Pattern};
use serde::Serialize;

use super::Where;
use crate::model::{PatternAdvice, Point, Speedup, VariantAdvice};

/// What to do with a pattern at a place.
#[derive(Serialize)]
pub(super) struct Strategy<'a> {
    #[serde(flatten)]
    place: Where<'a>,
    pattern: Pattern,
    fusion_pattern: &'static str,
    advice: &'static str,
    best_variant: Option<FusionVariant>,
    variants: Vec<OfVariant>,
}

impl<'a> Strategy<'a> {
    pub(super) fn of(advice: &'a PatternAdvice) -> Self {
        Self {
            place: Where::of(&advice.place),
            pattern: advice.pattern,
            fusion_pattern: advice.pattern.upstream(),
            advice: advice.advice.word(),
            best_variant: advice.best,
            variants: advice.variants.iter().map(OfVariant::of).collect(),
        }
    }
}

/// What to do with one of its variants, and why.
#[derive(Serialize)]
struct OfVariant {
    variant: FusionVariant,
    fuses: bool,
    advice: &'static str,
    cases: usize,
    cases_with_speedup: usize,
    lowest: Option<Case>,
    highest: Option<Case>,
    gaining: Vec<Case>,
    losing: Vec<Case>,
    undecided: Vec<Case>,
}

impl OfVariant {
    fn of(of: &VariantAdvice) -> Self {
        let cases = |points: Vec<&Point>| points.into_iter().map(Case::of).collect();
        Self {
            variant: of.variant,
            fuses: of.fuses,
            advice: of.advice.word(),
            cases: of.cases,
            cases_with_speedup: of.points.len(),
            lowest: of.lowest().map(Case::of),
            highest: of.highest().map(Case::of),
            gaining: cases(of.gaining()),
            losing: cases(of.losing()),
            undecided: cases(of.undecided()),
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
