//! Whether to fuse: what the speed-ups of all sizes and dtypes at one place amount to.
//!
//! A speed-up *gains* where its whole interval is at least 1.1, upstream's moderate benefit; it
//! *loses* where the whole interval is below 0.95. For a variant's measured cases:
//!
//! | some gain | the others | advice |
//! |---|---|---|
//! | yes | each is at least 0.95 with its whole interval, or there are none | fuse |
//! | yes | one loses, or may | fuse conditionally: where it gains |
//! | no | no interval reaches 1.1, and one loses | avoid |
//! | no | no interval reaches 1.1, and each is at least 0.95 | indifferent |
//! | no | anything else, and nothing at all | inconclusive |
//!
//! Hence an advice stands wherever in their intervals the true speed-ups lie. A case without a
//! speed-up is no evidence; how many there are is said beside the advice.
//!
//! Whether to fuse a pattern is for the variants to say that fuse and whose product is computed by
//! the library of the unfused operations' ([`FusionResult::same_product`]). The cases of a variant
//! by another product are judged by themselves: they are faster or slower for two reasons at once,
//! and answer whether to take that product. If the control `mkldnn-unfused` ran at the same size,
//! the gain of fusing over `mkldnn` is derived and stated ([`VariantAdvice::over_control`]),
//! without a vote: it is not a measured pair. Variants without a vote are `faster`, `slower`,
//! `depends`. Neither has a compiled one a vote: which of its operations are fused is the
//! compiler's choice, and is not known.

use std::fmt;

use plan::{CompileMode, Dtype, FusionShape, FusionVariant, FusionWork, Pattern};
use serde::{Deserialize, Serialize};
use statistics::{Band, Benefit};

use super::FusionResult;
use crate::model::{ExecutionContext, Interval, Speedup, gather, speedup::SpeedupBounds};
use crate::order::Order as _;
use crate::render::object::document;
use crate::render::words::words;

words! {
    /// The advice on a variant, or on a pattern; later ones are better. Variants without a vote are
    /// described in words of speed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    Advice {
        /// It loses somewhere and gains nowhere.
        Avoid = "avoid",
        /// As `Avoid`, without a vote.
        Slower = "slower",
        /// It neither gains nor loses.
        Indifferent = "indifferent",
        /// The intervals leave it open, or there are none.
        Inconclusive = "inconclusive",
        /// It gains somewhere, and loses elsewhere or may.
        Conditional = "fuse conditionally",
        /// As `Conditional`, without a vote.
        Depends = "depends",
        /// It gains somewhere and loses nowhere.
        Fuse = "fuse",
        /// As `Fuse`, without a vote.
        Faster = "faster",
    }
}

impl Advice {
    const fn of_speed(self) -> Self {
        match self {
            Self::Avoid => Self::Slower,
            Self::Conditional => Self::Depends,
            Self::Fuse => Self::Faster,
            other => other,
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

fn gains(case: Benefit) -> bool {
    case.lowest() >= Band::Moderate
}

fn loses(case: Benefit) -> bool {
    case.highest() == Band::Slower
}

/// Whether its interval leaves open that it gains, or that it loses.
fn is_open(case: Benefit) -> bool {
    let may_gain = case.highest() >= Band::Moderate && !gains(case);
    let may_lose = case.lowest() == Band::Slower && !loses(case);
    may_gain || may_lose
}

/// The speed-up of a case; its size is as ids have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Size, as ids have it.
    pub size: String,
    /// Dtype.
    pub dtype: Dtype,
    /// Speed-up over `unfused`.
    #[serde(rename = "speedup_factor")]
    pub ratio: f64,
    #[serde(flatten, with = "SpeedupBounds")]
    pub interval: Interval,
}

impl fmt::Display for Point {
    /// `f32 512x1024x1024`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype.short(), self.size)
    }
}

/// The advice with all that is known of it: a machine's profile holds what its advice was made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    size: String,
    dtype: Dtype,
    #[serde(flatten)]
    speedup: Speedup,
    dimensions: FusionShape,
}

impl Evidence {
    fn new(dtype: Dtype, dimensions: FusionShape, speedup: Speedup) -> Self {
        Self { size: dimensions.to_string(), dtype, speedup, dimensions }
    }

    fn point(&self) -> Point {
        let Speedup { ratio, interval, .. } = self.speedup;
        Point { size: self.size.clone(), dtype: self.dtype, ratio, interval }
    }
}

/// The gain of fusing if its product is oneDNN's: `mkldnn` over `mkldnn-unfused`, the quotient of two
/// speed-ups over `unfused`. It is derived, not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverControl {
    /// Size, as ids have it.
    pub size: String,
    /// Dtype.
    pub dtype: Dtype,
    /// From the lowest of the one over the highest of the other to the highest over the lowest:
    /// wherever in their intervals the two speed-ups lie, their quotient lies in here.
    #[serde(flatten, with = "SpeedupBounds")]
    pub interval: Interval,
}

impl OverControl {
    fn new(fused: &Evidence, control: &Evidence) -> Option<Self> {
        let (own, base) = (fused.speedup.interval, control.speedup.interval);
        let same = fused.dtype == control.dtype && fused.dimensions == control.dimensions;
        same.then(|| Self {
            size: fused.size.clone(),
            dtype: fused.dtype,
            interval: Interval { low: own.low / base.high, high: own.high / base.low },
        })
    }
}

document! {
    /// The advice on a variant at a place, and its evidence: cases by the product of the unfused
    /// operations, or cases by another.
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct VariantAdvice = of(
        variant: FusionVariant,
        fuses: Option<bool>,
        same_product: Option<bool>,
        speedups: Vec<Evidence>
    ) [
        those = |are: fn(Benefit) -> bool| {
            let own = speedups.iter().filter(|it| are(it.speedup.benefit()));
            own.map(Evidence::point).collect()
        };
        by_ratio = |a: &&Evidence, b: &&Evidence| a.speedup.ratio.total_cmp(&b.speedup.ratio);
        votes = fuses == Some(true) && same_product == Some(true);
        advice = Advice::of(speedups.iter().map(|it| it.speedup.benefit()));
    ] {
        /// The variant.
        pub variant: FusionVariant = variant,
        /// Mode of `torch.compile`; null if eager.
        pub compile: Option<CompileMode> = None,
        /// Whether it runs fewer operations than `unfused`; null if compiled.
        pub fuses: Option<bool> = fuses,
        /// Whether its product comes from the library of `unfused` in all these cases; null if no recorded
        /// kernel tells.
        pub same_product: Option<bool> = same_product,
        /// Whether it says something about fusing: it fuses, and its product is that of `unfused`.
        pub votes: bool = votes,
        /// The advice.
        pub advice: Advice = if votes { advice } else { advice.of_speed() },
        /// Its cases, measured or not.
        pub cases: usize = speedups.len(),
        /// The cases that have a speed-up.
        pub cases_with_speedup: usize = speedups.len(),
        /// The case of the lowest speed-up.
        pub lowest: Option<Point> = speedups.iter().min_by(by_ratio).map(Evidence::point),
        /// The case of the highest speed-up.
        pub highest: Option<Point> = speedups.iter().max_by(by_ratio).map(Evidence::point),
        /// Cases that gain: the whole interval is at least 1.1.
        pub gaining: Vec<Point> = those(gains),
        /// Cases that lose: the whole interval is below 0.95.
        pub losing: Vec<Point> = those(loses),
        /// Cases whose interval leaves open whether they gain or lose.
        pub undecided: Vec<Point> = those(is_open),
        /// `mkldnn` by another product: what fusing adds, if its control ran at the same size.
        pub over_control: Vec<OverControl> = Vec::new(),
        /// In the report's order.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(skip))]
        pub speedups: Option<Vec<Evidence>> = Some(speedups),
    }
}

impl VariantAdvice {
    /// The advice on cases of one variant by one kind of product.
    fn of_cases(own: &[&FusionResult<'_>]) -> Self {
        let FusionWork { variant, compile, .. } = own[0].key.work;
        let speedups = own.iter().filter_map(|it| {
            let speedup = it.entry.speedup()?;
            Some(Evidence::new(it.key.dtype, it.key.work.size, *speedup))
        });
        let fuses = compile.is_none().then(|| own.iter().any(|it| it.fuses() == Some(true)));
        let advice = Self::of(variant, fuses, own[0].same_product(), speedups.collect());
        Self { compile, cases: own.len(), ..advice }
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

    /// Speed-ups of its cases; none where only the advice was kept.
    pub fn factors(&self) -> Vec<Speedup> {
        self.evidence().iter().map(|it| it.speedup).collect()
    }

    fn evidence(&self) -> &[Evidence] {
        self.speedups.as_deref().unwrap_or_default()
    }

    /// Geometric mean of the speed-ups; 0 without any.
    fn mean(&self) -> f64 {
        let sum: f64 = self.evidence().iter().map(|it| it.speedup.ratio.ln()).sum();
        let count = self.evidence().len();
        if count == 0 { 0.0 } else { (sum / count as f64).exp() }
    }
}

document! {
    /// The advice on a pattern at a place: the worth of its best variant, of those that fuse by the
    /// product of the unfused operations. A variant that runs as many operations as the unfused side, or
    /// more, or another product, says nothing about fusing; its own line says what it is worth.
    #[derive(Debug, Clone, PartialEq, Deserialize)]
    pub struct PatternAdvice = of(place: &ExecutionContext, pattern: Pattern, results: &[&FusionResult<'_>]) [
        variants = variants(pattern, results);
        own = best(&variants, |it| it.votes);
        other = best(&variants, VariantAdvice::is_other_product);
    ] {
        #[serde(flatten)]
        pub place: ExecutionContext = place.clone(),
        /// Our name of the pattern.
        pub pattern: Pattern = pattern,
        /// Upstream's name of it.
        fusion_pattern: String = pattern.upstream().to_owned(),
        /// The advice of `best_variant`; inconclusive without one.
        pub advice: Advice = own.map_or(Advice::Inconclusive, |best| best.advice),
        /// The variant with the best advice among those that have a vote and a speed-up; of several the
        /// one with the most speed-ups, then the one with the highest geometric mean.
        #[serde(rename = "best_variant")]
        pub best: Option<FusionVariant> = own.map(|best| best.variant),
        /// Whether to take another library's product: the advice of the best such variant, by the same order.
        pub other_product_advice: Option<Advice> = other.map(|best| best.advice),
        /// That variant.
        pub other_product_variant: Option<FusionVariant> = other.map(|best| best.variant),
        /// Every variant, in the pattern's order; one twice whose product is another in some cases.
        pub variants: Vec<VariantAdvice> = variants,
    }
}

impl PatternAdvice {
    /// The advice for every place and pattern of the results, in the order in which they appear.
    pub fn all(results: &[FusionResult<'_>]) -> Vec<Self> {
        let of = |results: Vec<&FusionResult<'_>>| {
            let key = &results[0].key;
            Self::of(&key.place, key.work.pattern, &results)
        };
        let blocks = gather(results, |it| (it.key.place.to_string(), it.key.work.pattern));
        blocks.into_iter().map(of).collect()
    }

    /// The advice without the speed-ups that it was made of.
    pub fn without_evidence(&self) -> Self {
        let mut without = self.clone();
        without.variants.iter_mut().for_each(|variant| variant.speedups = None);
        without
    }
}

/// The advice on each variant by each kind of product.
fn variants(pattern: Pattern, results: &[&FusionResult<'_>]) -> Vec<VariantAdvice> {
    // Eager before compiled in every mode; by the same product, by another, by who knows which.
    let order = |own: &Vec<&FusionResult<'_>>| {
        let FusionWork { variant, compile, .. } = own[0].key.work;
        let products = [Some(true), Some(false), None];
        let product = products.iter().position(|it| *it == own[0].same_product());
        let mode = CompileMode::ALL.iter().position(|it| Some(*it) == compile);
        (pattern.variants().iter().position(|it| *it == variant), mode, product)
    };
    let kind =
        |it: &&FusionResult<'_>| (it.key.work.variant, it.key.work.compile, it.same_product());
    let mut kinds = gather(results.iter().copied(), kind);
    kinds.order_by_key(order);
    let mut variants: Vec<VariantAdvice> =
        kinds.iter().map(|own| VariantAdvice::of_cases(own)).collect();
    compare_with_control(&mut variants);
    variants
}

/// Derives what fusing adds to `mkldnn` over its control.
fn compare_with_control(variants: &mut [VariantAdvice]) {
    let is = |it: &VariantAdvice, variant| it.variant == variant && it.is_other_product();
    let control = variants.iter().find(|it| is(it, FusionVariant::MkldnnUnfused));
    let Some(control) = control.map(|control| control.evidence().to_vec()) else { return };
    if let Some(fused) = variants.iter_mut().find(|it| is(it, FusionVariant::Mkldnn)) {
        let of = |own| control.iter().find_map(|control| OverControl::new(own, control));
        fused.over_control = fused.evidence().iter().filter_map(of).collect();
    }
}

/// The first of the best.
fn best(variants: &[VariantAdvice], counts: fn(&VariantAdvice) -> bool) -> Option<&VariantAdvice> {
    let compared = variants.iter().rev().filter(|it| counts(it) && it.cases_with_speedup > 0);
    compared.max_by(|a, b| {
        let order = a.advice.cmp(&b.advice).then(a.cases_with_speedup.cmp(&b.cases_with_speedup));
        order.then(a.mean().total_cmp(&b.mean()))
    })
}

#[cfg(test)]
#[path = "advice_tests.rs"]
mod tests;
