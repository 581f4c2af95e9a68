//! Whether to fuse: what the speed-ups of all sizes and dtypes at one place amount to.
//!
//! A speed-up *gains* where its whole interval is at least 1.1, upstream's moderate benefit; it
//! *loses* where the whole interval is below 0.95. Of a variant's measured cases:
//!
//! | some gain | the others | advice |
//! |---|---|---|
//! | yes | each is at least 0.95 with its whole interval, or there are none | fuse |
//! | yes | one loses, or may | fuse conditionally: where it gains |
//! | no | no interval reaches 1.1, and one loses | avoid |
//! | no | no interval reaches 1.1, and each is at least 0.95 | indifferent |
//! | no | anything else, and nothing at all | inconclusive |
//!
//! So an advice stands wherever in their intervals the true speed-ups lie. A case without a
//! speed-up is no evidence; how many there are is said beside the advice.
//!
//! Whether to fuse a pattern is for the variants to say that fuse and whose product is computed by
//! the library of the unfused operations' ([`FusionResult::same_product`]). The cases of a variant
//! by another product are judged by themselves: they are faster or slower for two reasons at once,
//! and answer whether to take that product. Where the control `mkldnn-unfused` ran at the same size,
//! what fusing adds to `mkldnn` is derived and said ([`VariantAdvice::over_control`]), without a
//! vote: it is no measured pair. Variants without a vote are `faster`, `slower`, `depends`. Neither has
//! a compiled one a vote: which of its operations are fused is the compiler's choice, and is not known.

use std::fmt;

use plan::{CompileMode, Dtype, FusionShape, FusionVariant, Pattern};
use serde::{Deserialize, Serialize};
use statistics::{Band, Benefit};

use super::document::Strategy;
use super::result::FusionResult;
use crate::model::place::Place;
use crate::model::speedup::Speedup;
use crate::model::time::Interval;
use crate::model::view::gather;

/// What to do with a variant, or with a pattern. The later, the better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Advice {
    /// It loses somewhere and gains nowhere.
    Avoid,
    /// It neither gains nor loses.
    Indifferent,
    /// The intervals leave it open, or there are none.
    Inconclusive,
    /// It gains somewhere, and loses elsewhere or may.
    Conditional,
    /// It gains somewhere and loses nowhere.
    Fuse,
}

impl Advice {
    /// All of them, the worst first.
    pub const ALL: [Self; 5] =
        [Self::Avoid, Self::Indifferent, Self::Inconclusive, Self::Conditional, Self::Fuse];

    /// The one that is called so, whether of fusing or of speed.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| [it.word(), it.word_of_speed()].contains(&word))
    }

    /// `fuse`, `fuse conditionally`, `indifferent`, `avoid`, `inconclusive`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fuse => "fuse",
            Self::Conditional => "fuse conditionally",
            Self::Indifferent => "indifferent",
            Self::Avoid => "avoid",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// The same of what does not fuse, or not only: `faster`, `depends`, `indifferent`, `slower`,
    /// `inconclusive`.
    pub const fn word_of_speed(self) -> &'static str {
        match self {
            Self::Fuse => "faster",
            Self::Conditional => "depends",
            Self::Avoid => "slower",
            Self::Indifferent | Self::Inconclusive => self.word(),
        }
    }

    /// The table above.
    pub fn of(cases: impl IntoIterator<Item = Benefit>) -> Self {
        let cases: Vec<Benefit> = cases.into_iter().collect();
        let any = |is: fn(Benefit) -> bool| cases.iter().copied().any(is);
        let harmless = cases.iter().all(|case| case.lowest() >= Band::Minimal);
        if any(gains) {
            if harmless { Self::Fuse } else { Self::Conditional }
        } else if any(|case| case.highest() >= Band::Moderate) {
            Self::Inconclusive
        } else if any(loses) {
            Self::Avoid
        } else if harmless && !cases.is_empty() {
            Self::Indifferent
        } else {
            Self::Inconclusive
        }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

fn gains(case: Benefit) -> bool {
    case.lowest() >= Band::Moderate
}

fn loses(case: Benefit) -> bool {
    case.highest() == Band::Slower
}

/// The speed-up of one case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// Size.
    pub size: FusionShape,
    /// Speed-up over the unfused operations.
    pub speedup: Speedup,
}

impl fmt::Display for Point {
    /// `f32 512x1024x1024`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype.short(), self.size)
    }
}

/// The gain of fusing if its product is oneDNN's: `mkldnn` over `mkldnn-unfused`, the quotient of two
/// speed-ups over `unfused`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverControl {
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// Size.
    pub size: FusionShape,
    /// From the lowest of the one over the highest of the other to the highest over the lowest:
    /// wherever in their intervals the two speed-ups lie, their quotient lies in here.
    pub interval: Interval,
}

impl OverControl {
    fn of(fused: &Point, control: &Point) -> Option<Self> {
        let (own, base) = (fused.speedup.interval, control.speedup.interval);
        let same = fused.dtype == control.dtype && fused.size == control.size;
        same.then(|| Self {
            dtype: fused.dtype,
            size: fused.size,
            interval: Interval { low: own.low / base.high, high: own.high / base.low },
        })
    }
}

/// The advice on a variant at a place, and its evidence: cases by the product of the unfused
/// operations, or cases by another.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantAdvice {
    /// The variant.
    pub variant: FusionVariant,
    /// `torch.compile` mode, if it is compiled.
    pub compile: Option<CompileMode>,
    /// Whether it fuses at all ([`FusionResult::fuses`]).
    pub fuses: Option<bool>,
    /// Whether its product is that of `unfused` in all these cases
    /// ([`FusionResult::same_product`]).
    pub same_product: Option<bool>,
    /// What to do with it.
    pub advice: Advice,
    /// Its cases, measured or not.
    pub cases: usize,
    /// The cases with a speed-up, in the report's order.
    pub points: Vec<Point>,
    /// The cases of `mkldnn` by another product, if its control ran, too.
    pub over_control: Vec<OverControl>,
}

impl VariantAdvice {
    /// One for the cases by each kind of product.
    fn all(
        variant: FusionVariant,
        compile: Option<CompileMode>,
        results: &[&FusionResult<'_>],
    ) -> Vec<Self> {
        let of = |same_product: Option<bool>| {
            let own = |it: &&FusionResult<'_>| {
                (it.key.work.variant, it.key.work.compile) == (variant, compile)
                    && it.same_product() == same_product
            };
            let own: Vec<&FusionResult<'_>> = results.iter().copied().filter(own).collect();
            (!own.is_empty()).then(|| Self::of(variant, compile, same_product, &own))
        };
        [Some(true), Some(false), None].into_iter().filter_map(of).collect()
    }

    fn of(
        variant: FusionVariant,
        compile: Option<CompileMode>,
        same_product: Option<bool>,
        results: &[&FusionResult<'_>],
    ) -> Self {
        let points: Vec<Point> = results
            .iter()
            .filter_map(|result| {
                let speedup = *result.speedup.as_ref().ok()?;
                Some(Point { dtype: result.key.dtype, size: result.key.work.size, speedup })
            })
            .collect();
        Self {
            variant,
            compile,
            fuses: compile.is_none().then(|| results.iter().any(|it| it.fuses() == Some(true))),
            same_product,
            advice: Advice::of(points.iter().map(|point| point.speedup.benefit())),
            cases: results.len(),
            points,
            over_control: Vec::new(),
        }
    }

    /// Whether it says something about fusing: it fuses, and its product is that of `unfused`.
    pub fn votes(&self) -> bool {
        self.fuses == Some(true) && self.same_product == Some(true)
    }

    /// Whether it says what another product is worth.
    pub fn is_other_product(&self) -> bool {
        self.same_product == Some(false)
    }

    /// The variant in full: `unfused+compile`.
    pub fn name(&self) -> String {
        let Self { variant, compile, .. } = self;
        compile.map_or_else(|| variant.to_string(), |mode| format!("{variant}+{}", mode.suffix()))
    }

    /// The word for its advice, which of what has no vote does not speak of fusing.
    pub fn word(&self) -> &'static str {
        if self.votes() { self.advice.word() } else { self.advice.word_of_speed() }
    }

    /// The case of the lowest speed-up.
    pub fn lowest(&self) -> Option<&Point> {
        self.points.iter().min_by(|a, b| a.speedup.ratio.total_cmp(&b.speedup.ratio))
    }

    /// The case of the highest speed-up.
    pub fn highest(&self) -> Option<&Point> {
        self.points.iter().max_by(|a, b| a.speedup.ratio.total_cmp(&b.speedup.ratio))
    }

    /// Cases that gain: the whole interval is at least 1.1.
    pub fn gaining(&self) -> Vec<&Point> {
        self.points.iter().filter(|point| gains(point.speedup.benefit())).collect()
    }

    /// Cases that lose: the whole interval is below 0.95.
    pub fn losing(&self) -> Vec<&Point> {
        self.points.iter().filter(|point| loses(point.speedup.benefit())).collect()
    }

    /// Cases of which the interval leaves open whether they gain or lose.
    pub fn undecided(&self) -> Vec<&Point> {
        let open = |case: Benefit| {
            let may_gain = case.highest() >= Band::Moderate && !gains(case);
            let may_lose = case.lowest() == Band::Slower && !loses(case);
            may_gain || may_lose
        };
        self.points.iter().filter(|point| open(point.speedup.benefit())).collect()
    }

    /// Geometric mean of the speed-ups; 0 without any.
    fn mean(&self) -> f64 {
        let sum: f64 = self.points.iter().map(|point| point.speedup.ratio.ln()).sum();
        if self.points.is_empty() { 0.0 } else { (sum / self.points.len() as f64).exp() }
    }
}

/// The advice on a pattern at a place: the worth of its best variant, of those that fuse by the
/// product of the unfused operations. A variant that runs as many operations as the unfused side, or
/// more, or another product, says nothing about fusing; its own line says what it is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Strategy", try_from = "Strategy")]
pub struct PatternAdvice {
    /// Where.
    pub place: Place,
    /// The pattern.
    pub pattern: Pattern,
    /// What to do: the advice of `best`; inconclusive without one.
    pub advice: Advice,
    /// The variant with the best advice among those that have a vote and a speed-up; of several the
    /// one with the most speed-ups, then the one with the highest geometric mean.
    pub best: Option<FusionVariant>,
    /// Every variant, in the pattern's order; one twice whose product is another in some cases.
    pub variants: Vec<VariantAdvice>,
}

impl PatternAdvice {
    /// The advice for every place and pattern of the results, in the order in which they appear.
    pub fn all(results: &[FusionResult<'_>]) -> Vec<Self> {
        let of = |results: Vec<&FusionResult<'_>>| {
            let key = &results[0].key;
            Self::of(&key.place, key.work.pattern, &results)
        };
        let blocks = gather(results, |it| (&it.key.place, it.key.work.pattern));
        blocks.into_iter().map(of).collect()
    }

    fn of(place: &Place, pattern: Pattern, results: &[&FusionResult<'_>]) -> Self {
        let mut variants: Vec<VariantAdvice> = pattern
            .variants()
            .iter()
            .flat_map(|&variant| modes().map(move |compile| (variant, compile)))
            .flat_map(|(variant, compile)| VariantAdvice::all(variant, compile, results))
            .collect();
        compare_with_control(&mut variants);
        let best = best(&variants, VariantAdvice::votes);
        Self {
            place: place.clone(),
            pattern,
            advice: best.map_or(Advice::Inconclusive, |best| best.advice),
            best: best.map(|best| best.variant),
            variants,
        }
    }

    /// The line of `best`.
    pub fn best_variant(&self) -> Option<&VariantAdvice> {
        best(&self.variants, VariantAdvice::votes)
    }

    /// The best of those with another product than `unfused`, by the same order.
    pub fn best_of_other_product(&self) -> Option<&VariantAdvice> {
        best(&self.variants, VariantAdvice::is_other_product)
    }
}

/// Eager, then compiled in every mode.
fn modes() -> impl Iterator<Item = Option<CompileMode>> {
    std::iter::once(None).chain(CompileMode::ALL.iter().copied().map(Some))
}

/// Derives what fusing adds to `mkldnn` over its control.
fn compare_with_control(variants: &mut [VariantAdvice]) {
    let is = |it: &VariantAdvice, variant| it.variant == variant && it.is_other_product();
    let control = variants.iter().find(|it| is(it, FusionVariant::MkldnnUnfused));
    let Some(control) = control.map(|control| control.points.clone()) else { return };
    if let Some(fused) = variants.iter_mut().find(|it| is(it, FusionVariant::Mkldnn)) {
        let of = |point| control.iter().find_map(|control| OverControl::of(point, control));
        fused.over_control = fused.points.iter().filter_map(of).collect();
    }
}

fn best(variants: &[VariantAdvice], counts: fn(&VariantAdvice) -> bool) -> Option<&VariantAdvice> {
    variants.iter().filter(|it| counts(it) && !it.points.is_empty()).reduce(better)
}

/// The first, unless the second is better.
fn better<'v>(first: &'v VariantAdvice, second: &'v VariantAdvice) -> &'v VariantAdvice {
    let order = first.advice.cmp(&second.advice);
    let order = order.then(first.points.len().cmp(&second.points.len()));
    if order.then(first.mean().total_cmp(&second.mean())).is_lt() { second } else { first }
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
