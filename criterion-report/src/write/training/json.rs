//! The document of `--format json`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::calibration::Skyline;
use crate::model::training::{
    Cost, Crossover, Gains, ModelError, Rate, RecipeCost, TrainingResult, scaling_repr,
};
use crate::model::{Entry, Interval, Place, Report, Row};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// `criterion-torch/training`.
    schema: &'static str,
    /// 1; counts incompatible changes.
    version: u32,
    /// The name of the results that were read.
    baseline: &'a str,
    /// A recipe at a shape each.
    results: Vec<ResultOf<'a>>,
    /// From which shapes a recipe gains: a map for each recipe.
    crossovers: Vec<CrossoverOf<'a>>,
    /// Cases that a run selected and did not reach, and why.
    missing: BTreeMap<&'a str, &'a str>,
}

/// A recipe at a shape.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ResultOf<'a> {
    /// Stem of the config's name.
    config: &'a str,
    /// Kind of model.
    model: String,
    m: u64,
    k: u64,
    n: u64,
    /// Dtype before quantization.
    dtype: &'static str,
    /// Machine and way.
    place: Place,
    /// Recipe and how it is run.
    variant: String,
    /// Whether its times say nothing about the recipe's speed.
    emulated: bool,
    /// torchao's description of the operands' scaling, of float8 recipes.
    scaling_repr: Option<String>,
    /// By the name of the part of a step.
    passes: BTreeMap<String, PassOf>,
    /// The casts' time over that of the baseline's forward and backward pass.
    casts_share: Option<f64>,
    /// Lower bound of its interval.
    casts_share_low: Option<f64>,
    /// Upper bound of its interval.
    casts_share_high: Option<f64>,
    /// Bytes of activations that the forward pass keeps for the backward pass, the input among them.
    saved_bytes: Option<u64>,
    /// Decibels of the output against float64.
    output_sqnr_db: Option<plan::Stat>,
    /// Decibels of the input's gradient.
    grad_input_sqnr_db: Option<plan::Stat>,
    /// Decibels of the parameters' gradients, the lowest.
    grad_weight_sqnr_db: Option<plan::Stat>,
    /// Operations of the three products per second, in 10⁹.
    gflops: Option<f64>,
    /// Of the peak that this machine was measured to reach in the dtype before quantization.
    peak_share: Option<f64>,
    /// By how much forward and backward take longer than both together, relatively.
    additivity_excess: Option<f64>,
    /// The difference that the intervals allow.
    additivity_allowed: Option<f64>,
}

/// A part of a training step.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PassOf {
    full_id: String,
    /// How it ended.
    outcome: &'static str,
    /// Why it has no time.
    reason: Option<String>,
    /// Median of a step.
    time_ns: Option<f64>,
    /// Lower bound of its interval.
    time_low_ns: Option<f64>,
    /// Upper bound of its interval.
    time_high_ns: Option<f64>,
    /// Over the same part of the baseline; of the casts over its forward and backward pass.
    speedup: Option<f64>,
    /// Lower bound of its interval.
    speedup_low: Option<f64>,
    /// Upper bound of its interval.
    speedup_high: Option<f64>,
    /// Why it has no speed-up.
    no_speedup: Option<String>,
}

/// The map of a recipe.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CrossoverOf<'a> {
    config: &'a str,
    model: String,
    dtype: &'static str,
    place: Place,
    variant: String,
    /// Why there is none; the rest is absent then.
    reason: Option<String>,
    #[serde(flatten)]
    map: Option<MapOf>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MapOf {
    /// Cost of the baseline's forward and backward pass.
    baseline_cost: CostOf,
    /// Cost of the casts; null where the recipe's cost is known as a whole only.
    casts_cost: Option<CostOf>,
    /// Cost of the products.
    products_cost: Option<CostOf>,
    /// Cost of the recipe as a whole, where its parts were not measured.
    whole_cost: Option<CostOf>,
    /// Error of the predicted speed-up at shapes that were left out of the fit.
    speedup_error: Option<ModelError>,
    /// Where it gains, by K and N.
    gains: Vec<GainsOf>,
    /// The speed-ups.
    fields: Vec<FieldOf>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CostOf {
    #[serde(flatten)]
    cost: Cost,
    /// Error at shapes that were left out of the fit.
    error: Option<ModelError>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct GainsOf {
    k: u64,
    n: u64,
    /// `everywhere`, `nowhere`, `from`, `up_to` or `scattered`: among the measured M.
    gains: &'static str,
    /// The M of `from` and `up_to`.
    m: Option<u64>,
    /// If it gains nowhere among the measured M: that from which it is predicted to.
    predicted_beyond_m: Option<u64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FieldOf {
    m: u64,
    k: u64,
    n: u64,
    /// The measured speed-up of forward and backward pass.
    measured: Option<f64>,
    /// Lower bound of its interval.
    measured_low: Option<f64>,
    /// Upper bound of its interval.
    measured_high: Option<f64>,
    /// The predicted one.
    predicted: f64,
    /// Whether M lies beyond those measured.
    is_outside: bool,
}

impl<'a> Document<'a> {
    pub fn of(report: &'a Report, results: &[TrainingResult<'a>], skylines: &[Skyline]) -> Self {
        let mut all = Vec::new();
        for block in TrainingResult::blocks(results) {
            let of = |(variant, crossover): (String, Result<Crossover<'_, 'a>, _>)| {
                let first = block[0];
                CrossoverOf {
                    config: first.config,
                    model: first.key.work.model.to_string(),
                    dtype: first.key.dtype.plain(),
                    place: first.key.place.clone(),
                    variant,
                    reason: crossover.as_ref().err().map(ToString::to_string),
                    map: crossover.ok().map(|it| MapOf::of(&it)),
                }
            };
            all.extend(Crossover::all(&block).into_iter().map(of));
        }
        let missing = report.missing.iter();
        Self {
            schema: "criterion-torch/training",
            version: 1,
            baseline: &report.baseline,
            results: results.iter().map(|it| ResultOf::of(it, skylines)).collect(),
            crossovers: all,
            missing: missing.map(|it| (&*it.full_id, &*it.reason)).collect(),
        }
    }
}

impl<'a> ResultOf<'a> {
    fn of(of: &TrainingResult<'a>, skylines: &[Skyline]) -> Self {
        let work = of.key.work;
        let settings =
            of.parts().next().and_then(|it| it.row.record.case.settings.training.as_ref());
        let share = of.casts_share();
        let bounds = share.and_then(|it| it.interval);
        let rate = Rate::of(of, skylines);
        let additivity = of.additivity();
        let sqnr = |tensor: fn(&Row) -> Option<f64>| of.sqnr_db(tensor).map(plan::Stat);
        Self {
            config: of.config,
            model: work.model.to_string(),
            m: work.shape.m,
            k: work.shape.k,
            n: work.shape.n,
            dtype: of.key.dtype.plain(),
            place: of.key.place.clone(),
            variant: of.variant(),
            emulated: of.is_emulated(),
            scaling_repr: scaling_repr(&work, of.key.dtype, settings),
            passes: of.parts().filter_map(PassOf::of).collect(),
            casts_share: share.map(|it| it.value),
            casts_share_low: bounds.map(|it| it.low),
            casts_share_high: bounds.map(|it| it.high),
            saved_bytes: of.saved_bytes(),
            output_sqnr_db: sqnr(Row::output_sqnr_db),
            grad_input_sqnr_db: sqnr(Row::grad_input_sqnr_db),
            grad_weight_sqnr_db: sqnr(Row::grad_weight_sqnr_db),
            gflops: rate.map(|it| it.gflop_per_s),
            peak_share: rate.and_then(|it| it.peak_share),
            additivity_excess: additivity.map(|it| it.excess),
            additivity_allowed: additivity.map(|it| it.allowed),
        }
    }
}

impl PassOf {
    fn of(entry: &Entry<'_>) -> Option<(String, Self)> {
        let time = entry.row.time.as_ref().ok();
        let bounds: Option<Interval> = time.and_then(|it| it.interval);
        let speedup = entry.speedup();
        let why = entry.comparison.and_then(|it| it.speedup.as_ref().err());
        let pass = Self {
            full_id: entry.row.full_id().to_owned(),
            outcome: entry.row.record.outcome.status(),
            reason: entry.row.reason(),
            time_ns: time.map(|it| it.median_ns),
            time_low_ns: bounds.map(|it| it.low),
            time_high_ns: bounds.map(|it| it.high),
            speedup: speedup.map(|it| it.ratio),
            speedup_low: speedup.map(|it| it.interval.low),
            speedup_high: speedup.map(|it| it.interval.high),
            no_speedup: why.map(ToString::to_string),
        };
        Some((entry.row.pass()?.to_string(), pass))
    }
}

impl MapOf {
    fn of(of: &Crossover<'_, '_>) -> Self {
        let prediction = &of.prediction;
        let errors = prediction.errors;
        let cost = |cost: Cost, error: Option<ModelError>| CostOf { cost, error };
        let (casts_cost, products_cost, whole_cost) = match prediction.recipe {
            RecipeCost::Parts { casts, products } => {
                (Some(cost(casts, errors.casts)), Some(cost(products, errors.products)), None)
            }
            RecipeCost::Whole(whole) => (None, None, Some(cost(whole, errors.whole))),
        };
        let gains = of.kns.iter().enumerate().map(|(column, &(k, n))| {
            let (gains, m) = match of.gains(column) {
                Gains::Everywhere => ("everywhere", None),
                Gains::Nowhere => ("nowhere", None),
                Gains::From(m) => ("from", Some(m)),
                Gains::UpTo(m) => ("up_to", Some(m)),
                Gains::Scattered => ("scattered", None),
            };
            GainsOf { k, n, gains, m, predicted_beyond_m: of.beyond(column) }
        });
        let fields = of.fields.iter().map(|field| FieldOf {
            m: field.shape.m,
            k: field.shape.k,
            n: field.shape.n,
            measured: field.measured.map(|it| it.ratio),
            measured_low: field.measured.map(|it| it.interval.low),
            measured_high: field.measured.map(|it| it.interval.high),
            predicted: field.predicted,
            is_outside: field.is_outside,
        });
        Self {
            baseline_cost: cost(prediction.baseline, errors.baseline),
            casts_cost,
            products_cost,
            whole_cost,
            speedup_error: errors.speedup,
            gains: gains.collect(),
            fields: fields.collect(),
        }
    }
}
