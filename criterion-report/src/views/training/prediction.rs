//! The speed-up of a recipe at any shape, from costs that were fitted to what was measured.

use plan::{Dtype, ModelKind, ModelSizes, Pass, Shape};

use super::TrainingResult;
use super::cost::{Cost, Load, ModelError, Sample, Terms, without};
use crate::model::{Gain, fingerprint};

/// A predictor of a recipe's speed-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    model: ModelKind,
    dtype: Dtype,
    /// Forward and backward pass of the baseline.
    pub baseline: Cost,
    pub recipe: RecipeCost,
    /// Error of the speed-up, against the measured one, at shapes that were left out of the fit.
    pub speedup_error: Option<ModelError>,
}

/// The forward and backward pass of a recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecipeCost {
    /// The sum of casts and products, each measured by itself.
    Parts { casts: Cost, products: Cost },
    /// As a whole, where casts or products were not measured at enough shapes.
    Whole(Cost),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCrossover {
    #[error(
        "emulated: its products run dequantized on this device, so its time is not the recipe's"
    )]
    Emulated,
    #[error("the sizes of a package's own model are not known")]
    NoSizes,
    #[error(
        "`forward_backward` was measured at {found} of the {needed} shapes that a cost model needs"
    )]
    FewShapes { found: usize, needed: usize },
}

/// The shapes that a cost model needs: one more than a cost has parts, so that one can be left out.
const FEWEST: usize = 4;

/// A recipe's measurements at a shape.
#[derive(Clone, Copy)]
struct Point {
    load: Load,
    baseline_ns: f64,
    whole_ns: f64,
    casts_ns: Option<f64>,
    products_ns: Option<f64>,
    speedup: Option<f64>,
}

impl Prediction {
    pub fn from_results(results: &[&TrainingResult<'_>]) -> Result<Self, NoCrossover> {
        let of = results[0];
        let (model, dtype) = (of.key.work.model, of.key.dtype);
        let point = |it: &&TrainingResult<'_>| {
            let ns = |pass: Pass| it.time(pass).map(|time| time.median_ns);
            let load = load(model, dtype, it.key.work.shape).ok_or(NoCrossover::NoSizes);
            let baseline = it.part(Pass::ForwardBackward)?.unquantized?;
            // The costs of both sides are those of one machine.
            if fingerprint(&baseline.record) != it.machine() {
                return None;
            }
            let baseline_ns = baseline.time.as_ref().ok()?.median_ns;
            let whole_ns = ns(Pass::ForwardBackward)?;
            let speedup = gain(it).map(|it| it.ratio);
            let (casts_ns, products_ns) = (ns(Pass::Casts), ns(Pass::Products));
            let point =
                |load| Point { load, baseline_ns, whole_ns, casts_ns, products_ns, speedup };
            Some(load.map(point))
        };
        let points: Vec<Point> = results.iter().filter_map(point).collect::<Result<_, _>>()?;
        let few = NoCrossover::FewShapes { found: points.len(), needed: FEWEST };
        if points.len() < FEWEST {
            return Err(few);
        }
        let (baseline, recipe) = fit(&points, Cost::with_error).ok_or(few)?;
        let errors = (0..points.len()).filter_map(|out| {
            let (baseline, recipe) = fit(&without(&points, out), Cost::fit)?;
            let Point { load, speedup, .. } = points[out];
            Some(baseline.ns(load) / recipe.ns(load) / speedup? - 1.0)
        });
        Ok(Self { model, dtype, baseline, recipe, speedup_error: ModelError::from_errors(errors) })
    }

    /// The baseline's time over the recipe's; `None` of a model whose sizes are not known.
    pub fn speedup(&self, shape: Shape) -> Option<f64> {
        let load = load(self.model, self.dtype, shape)?;
        Some(self.baseline.ns(load) / self.recipe.ns(load))
    }
}

impl RecipeCost {
    fn ns(&self, of: Load) -> f64 {
        match self {
            Self::Parts { casts, products } => casts.ns(of) + products.ns(of),
            Self::Whole(whole) => whole.ns(of),
        }
    }
}

/// The speed-up of forward and backward pass.
pub fn gain(of: &TrainingResult<'_>) -> Option<Gain> {
    of.part(Pass::ForwardBackward)?.quantization?.gain.as_ref().ok().copied()
}

/// The costs of the baseline and of the recipe.
fn fit(points: &[Point], fit: fn(&[Sample], Terms) -> Option<Cost>) -> Option<(Cost, RecipeCost)> {
    let cost = |of: fn(&Point) -> Option<f64>, terms: Terms| {
        let sample = |it: &Point| Some(Sample { work: it.load, ns: of(it)? });
        fit(&points.iter().map(sample).collect::<Option<Vec<_>>>()?, terms)
    };
    let casts = cost(|it| it.casts_ns, Terms::Casts);
    let products = cost(|it| it.products_ns, Terms::Products);
    let recipe = match (casts, products) {
        (Some(casts), Some(products)) => RecipeCost::Parts { casts, products },
        _ => RecipeCost::Whole(cost(|it| Some(it.whole_ns), Terms::Products)?),
    };
    Some((cost(|it| Some(it.baseline_ns), Terms::Products)?, recipe))
}

/// The load of a step, over all linear layers of the model.
fn load(model: ModelKind, dtype: Dtype, shape: Shape) -> Option<Load> {
    let linears = ModelSizes::new(model, shape)?.linears;
    let mut load = Load::default();
    for it in linears {
        let [m, k, n] = [it.rows, it.k, it.n].map(|size| size as f64);
        load.flops += 6.0 * m * k * n;
        load.bytes += (m * k + n * k + m * n) * dtype.bytes() as f64;
    }
    Some(load)
}
