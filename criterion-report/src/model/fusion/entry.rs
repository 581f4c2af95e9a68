//! A variant's part in the strategy, as documents hold it: that of `fusion`, and the profile.

use plan::{CompileMode, Dtype, FusionVariant};
use serde::{Deserialize, Serialize};

use super::advice::{OverControl, Point, VariantAdvice};
use crate::model::Speedup;

/// What to do with a variant, and why.
#[derive(Debug, Serialize, Deserialize)]
pub struct VariantEntry {
    /// The variant.
    pub variant: FusionVariant,
    /// `torch.compile` mode; null of an eager one.
    pub compile: Option<CompileMode>,
    /// Whether it fuses at all; null of a compiled one.
    pub fuses: Option<bool>,
    /// Whether its product is that of `unfused`; null where no kernels tell.
    pub same_product: Option<bool>,
    /// Whether it has a say in the pattern's advice.
    pub votes: bool,
    /// In a word.
    pub advice: String,
    /// Its cases, measured or not.
    pub cases: usize,
    /// How many cases have a speed-up.
    pub cases_with_speedup: usize,
    /// The case with the lowest speed-up.
    pub lowest: Option<SpeedupCase>,
    /// And with the highest.
    pub highest: Option<SpeedupCase>,
    /// The cases that are surely worth it.
    pub gaining: Vec<SpeedupCase>,
    /// The cases that are surely slower.
    pub losing: Vec<SpeedupCase>,
    /// The cases of which neither is sure.
    pub undecided: Vec<SpeedupCase>,
    /// What fusing adds over the control of the same product.
    pub over_control: Vec<OverCase>,
}

impl VariantEntry {
    /// What `of` says.
    pub fn of(of: &VariantAdvice) -> Self {
        let cases = |points: Vec<&Point>| points.into_iter().map(SpeedupCase::of).collect();
        Self {
            variant: of.variant,
            compile: of.compile,
            fuses: of.fuses,
            same_product: of.same_product,
            votes: of.votes(),
            advice: of.word().to_owned(),
            cases: of.cases,
            cases_with_speedup: of.points.len(),
            lowest: of.lowest().map(SpeedupCase::of),
            highest: of.highest().map(SpeedupCase::of),
            gaining: cases(of.gaining()),
            losing: cases(of.losing()),
            undecided: cases(of.undecided()),
            over_control: of.over_control.iter().map(OverCase::of).collect(),
        }
    }
}

/// The speed-up of a case.
#[derive(Debug, Serialize, Deserialize)]
pub struct SpeedupCase {
    /// Size, as ids have it.
    pub size: String,
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// The speed-up.
    pub speedup_factor: f64,
    /// Lower bound of its interval.
    pub speedup_low: f64,
    /// Upper bound.
    pub speedup_high: f64,
}

impl SpeedupCase {
    /// The case of a point.
    pub fn of(point: &Point) -> Self {
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
#[derive(Debug, Serialize, Deserialize)]
pub struct OverCase {
    /// Size, as ids have it.
    pub size: String,
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// Lower bound.
    pub speedup_low: f64,
    /// Upper bound.
    pub speedup_high: f64,
}

impl OverCase {
    fn of(over: &OverControl) -> Self {
        Self {
            size: over.size.to_string(),
            dtype: over.dtype,
            speedup_low: over.interval.low,
            speedup_high: over.interval.high,
        }
    }
}
