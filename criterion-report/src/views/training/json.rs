//! The document of `--format json`.

use std::collections::BTreeMap;

use crate::model::{Entry, ExecutionContext, Row};
use crate::read::Report;
use crate::render::object::document;
use crate::views::training::{
    Cost, Crossover, Field, Gains, ModelError, RecipeCost, TrainingResult, scaling_repr,
};

document! {
    pub struct Document<'a> =
    of(report: &'a Report, results: &[TrainingResult<'a>]) {
        /// `criterion-torch/training`.
        schema: &'static str = "criterion-torch/training",
        /// 1; counts incompatible changes.
        version: u32 = 1,
        /// The name of the results that were read.
        baseline: &'a str = &report.baseline,
        /// A recipe at a shape each.
        results: Vec<ResultOf<'a>> = results.iter().map(ResultOf::of).collect(),
        /// From which shapes a recipe gains: a map for each recipe.
        crossovers: Vec<CrossoverOf<'a>> = crossovers(results),
        /// Cases that a run selected and did not reach, and why.
        missing: BTreeMap<&'a str, &'a str> =
            report.missing.iter().map(|it| (&*it.full_id, &*it.reason)).collect(),
    }

    /// A recipe at a shape.
    struct ResultOf<'a> = of(of: &TrainingResult<'a>) [
        work = of.key.work;
        share = of.casts_share();
        bounds = share.and_then(|it| it.interval);
        rate = of.rate;
        additivity = of.additivity();
        sqnr = |tensor: fn(&Row) -> Option<f64>| of.sqnr_db(tensor).map(plan::JsonFloat);
    ] {
        /// Stem of the config's name.
        config: &'a str = of.config,
        /// Kind of model.
        model: String = work.model.to_string(),
        m: u64 = work.shape.m,
        k: u64 = work.shape.k,
        n: u64 = work.shape.n,
        /// Dtype before quantization.
        dtype: &'static str = of.key.dtype.plain(),
        /// Machine and way.
        place: ExecutionContext = of.key.place.clone(),
        /// Recipe and how it is run.
        variant: String = of.variant(),
        /// Whether its times say nothing about the recipe's speed.
        emulated: bool = of.is_emulated(),
        /// torchao's description of the operands' scaling, of float8 recipes.
        scaling_repr: Option<String> = {
            let settings = of.first().row.record.case.settings.training.as_ref();
            scaling_repr(&work, of.key.dtype, settings)
        },
        /// By the name of the part of a step.
        passes: BTreeMap<String, PassOf> = of.parts().filter_map(pass).collect(),
        /// The casts' time over that of the baseline's forward and backward pass.
        casts_share: Option<f64> = share.map(|it| it.value),
        /// Lower bound of its interval.
        casts_share_low: Option<f64> = bounds.map(|it| it.low),
        /// Upper bound of its interval.
        casts_share_high: Option<f64> = bounds.map(|it| it.high),
        /// Bytes of activations that the forward pass keeps for the backward pass, the input among them.
        saved_bytes: Option<u64> = of.saved_bytes(),
        /// Decibels of the output against float64.
        output_sqnr_db: Option<plan::JsonFloat> = sqnr(Row::output_sqnr_db),
        /// Decibels of the input's gradient.
        grad_input_sqnr_db: Option<plan::JsonFloat> = sqnr(Row::grad_input_sqnr_db),
        /// Decibels of the parameters' gradients, the lowest.
        grad_weight_sqnr_db: Option<plan::JsonFloat> = sqnr(Row::grad_weight_sqnr_db),
        /// Operations of the three products per second, in 10⁹.
        gflops: Option<f64> = rate.map(|it| it.gflop_per_s),
        /// A share of the peak that this machine was measured to reach in the dtype before quantization.
        peak_share: Option<f64> = rate.and_then(|it| it.peak_share),
        /// By how much forward and backward take longer than both together, relatively.
        additivity_excess: Option<f64> = additivity.map(|it| it.excess),
        /// The difference that the intervals allow.
        additivity_allowed: Option<f64> = additivity.map(|it| it.allowed),
    }

    /// A part of a training step.
    struct PassOf = of(entry: &Entry<'_>) [
        time = entry.row.time.as_ref().ok();
        bounds = time.and_then(|it| it.interval);
        speedup = entry.speedup();
    ] {
        full_id: String = entry.row.full_id().to_owned(),
        /// How it ended.
        outcome: &'static str = entry.row.record.outcome.status(),
        /// Why it has no time.
        reason: Option<String> = entry.row.reason(),
        /// Median of a step.
        time_ns: Option<f64> = time.map(|it| it.median_ns),
        /// Lower bound of its interval.
        time_low_ns: Option<f64> = bounds.map(|it| it.low),
        /// Upper bound of its interval.
        time_high_ns: Option<f64> = bounds.map(|it| it.high),
        /// Over the same part of the baseline; of the casts over its forward and backward pass.
        speedup: Option<f64> = speedup.map(|it| it.ratio),
        /// Lower bound of its interval.
        speedup_low: Option<f64> = speedup.map(|it| it.interval.low),
        /// Upper bound of its interval.
        speedup_high: Option<f64> = speedup.map(|it| it.interval.high),
        /// Why it has no speed-up.
        no_speedup: Option<String> =
            entry.comparison.and_then(|it| it.speedup.as_ref().err()).map(ToString::to_string),
    }

    /// The map of a recipe.
    struct CrossoverOf<'a> =
    of(first: &TrainingResult<'a>, variant: String, map: Result<MapOf, String>) {
        config: &'a str = first.config,
        model: String = first.key.work.model.to_string(),
        dtype: &'static str = first.key.dtype.plain(),
        place: ExecutionContext = first.key.place.clone(),
        variant: String = variant,
        /// Why there is none; the rest is absent then.
        reason: Option<String> = map.as_ref().err().cloned(),
        #[serde(flatten)]
        map: Option<MapOf> = map.ok(),
    }

    struct MapOf = of(of: &Crossover<'_, '_>) [
        prediction = &of.prediction;
        (casts, products, whole) = match prediction.recipe {
            RecipeCost::Parts { casts, products } => (Some(casts), Some(products), None),
            RecipeCost::Whole(whole) => (None, None, Some(whole)),
        };
    ] {
        /// Cost of the baseline's forward and backward pass.
        baseline_cost: Cost = prediction.baseline,
        /// Cost of the casts; null where the recipe's cost is known as a whole only.
        casts_cost: Option<Cost> = casts,
        /// Cost of the products.
        products_cost: Option<Cost> = products,
        /// Cost of the recipe as a whole, where its parts were not measured.
        whole_cost: Option<Cost> = whole,
        /// Error of the predicted speed-up at shapes that were left out of the fit.
        speedup_error: Option<ModelError> = prediction.speedup_error,
        /// The range in which it gains, by K and N.
        gains: Vec<GainsOf> =
            (0..of.kns.len()).map(|column| GainsOf::of(of, column)).collect(),
        /// The speed-ups.
        fields: Vec<FieldOf> = of.fields.iter().map(FieldOf::of).collect(),
    }

    struct GainsOf = of(of: &Crossover<'_, '_>, column: usize) [
        (k, n) = of.kns[column];
        (gains, m) = match of.gains(column) {
            Gains::Everywhere => ("everywhere", None),
            Gains::Nowhere => ("nowhere", None),
            Gains::From(m) => ("from", Some(m)),
            Gains::UpTo(m) => ("up_to", Some(m)),
            Gains::Scattered => ("scattered", None),
        };
    ] {
        k: u64 = k,
        n: u64 = n,
        /// `everywhere`, `nowhere`, `from`, `up_to` or `scattered`: among the measured M.
        gains: &'static str = gains,
        /// The M of `from` and `up_to`.
        m: Option<u64> = m,
        /// If it gains nowhere among the measured M: that from which it is predicted to.
        predicted_beyond_m: Option<u64> = of.beyond(column),
    }

    struct FieldOf = of(field: &Field) {
        m: u64 = field.shape.m,
        k: u64 = field.shape.k,
        n: u64 = field.shape.n,
        /// The measured speed-up of forward and backward pass.
        measured: Option<f64> = field.measured.map(|it| it.ratio),
        /// Lower bound of its interval.
        measured_low: Option<f64> = field.measured.map(|it| it.interval.low),
        /// Upper bound of its interval.
        measured_high: Option<f64> = field.measured.map(|it| it.interval.high),
        /// The predicted one.
        predicted: f64 = field.predicted,
        /// Whether M lies beyond those measured.
        is_outside: bool = field.is_outside,
    }
}

/// The maps of all recipes, or why there is none.
fn crossovers<'a>(results: &[TrainingResult<'a>]) -> Vec<CrossoverOf<'a>> {
    let of_block = |block: Vec<&TrainingResult<'a>>| {
        let maps = Crossover::all(&block).into_iter();
        let maps = maps.map(|(variant, map)| {
            let map = map.map(|it| MapOf::of(&it)).map_err(|why| why.to_string());
            CrossoverOf::of(block[0], variant, map)
        });
        maps.collect::<Vec<_>>()
    };
    TrainingResult::blocks(results).into_iter().flat_map(of_block).collect()
}

/// A part by its name.
fn pass(entry: &Entry<'_>) -> Option<(String, PassOf)> {
    Some((entry.row.pass()?.to_string(), PassOf::of(entry)))
}
