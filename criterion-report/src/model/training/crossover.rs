//! From which shapes on a recipe gains: the measured speed-ups of a grid of shapes, and between them those
//! that a cost model predicts, with casts and products apart where both were measured.

use std::collections::{BTreeMap, BTreeSet};

use plan::{Dtype, ModelKind, ModelSizes, Pass, Shape};
use statistics::Verdict;

use super::cost::{Cost, Load, ModelError, Sample, Terms, without};
use super::result::TrainingResult;
use crate::model::gain::Gain;
use crate::model::view::gather;

/// Doublings beyond the largest measured M that are predicted, too.
const BEYOND: u32 = 2;
/// Most rows and columns of a map.
const MOST: usize = 24;

/// The map of one recipe: M in every row, K × N in every column. The speed-ups are over the baseline that is
/// run the same way: compiled recipes are compared with the compiled baseline.
#[derive(Debug, Clone)]
pub struct Crossover<'r, 'a> {
    /// A result of the recipe, for its names and its place.
    pub of: &'r TrainingResult<'a>,
    pub prediction: Prediction,
    pub ms: Vec<u64>,
    pub kns: Vec<(u64, u64)>,
    /// Row by row.
    pub fields: Vec<Field>,
    /// The largest measured M: rows below it are extrapolated.
    pub largest_m: u64,
}

/// A speed-up of the forward and backward pass at a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    pub shape: Shape,
    pub measured: Option<Gain>,
    /// The place of the measured case among the report's entries.
    pub place: Option<usize>,
    pub predicted: f64,
    /// Whether M, K or N lies outside of what was measured.
    pub is_outside: bool,
}

/// What predicts the speed-up of a recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    model: ModelKind,
    dtype: Dtype,
    /// Forward and backward pass of the baseline.
    pub baseline: Cost,
    pub recipe: RecipeCost,
    pub errors: Errors,
}

/// The forward and backward pass of a recipe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecipeCost {
    /// The sum of casts and products, each measured by itself.
    Parts { casts: Cost, products: Cost },
    /// As a whole, where casts or products were not measured at enough shapes.
    Whole(Cost),
}

/// The errors of the predictions at shapes that were left out of the fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    pub baseline: Option<ModelError>,
    pub casts: Option<ModelError>,
    pub products: Option<ModelError>,
    pub whole: Option<ModelError>,
    /// Of the speed-up, against the measured one.
    pub speedup: Option<ModelError>,
}

/// The part of a column in which a recipe gains, among the M that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gains {
    Everywhere,
    Nowhere,
    /// From this M on, and not below.
    From(u64),
    /// Up to this M, and not above.
    UpTo(u64),
    /// Here and there, without an order.
    Scattered,
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

impl<'r, 'a> Crossover<'r, 'a> {
    /// The map of a recipe's results at all shapes: of one config, model, dtype and place.
    pub fn of(results: &[&'r TrainingResult<'a>]) -> Result<Self, NoCrossover> {
        let of = results[0];
        if of.is_emulated() {
            return Err(NoCrossover::Emulated);
        }
        let prediction = Prediction::of(results)?;
        let measured: BTreeMap<(u64, u64, u64), &TrainingResult<'_>> = results
            .iter()
            .filter(|it| gain(it).is_some())
            .map(|it| (mkn(it.key.work.shape), *it))
            .collect();
        let known: Vec<(u64, u64, u64)> = measured.keys().copied().collect();
        let (ms, kns) = (rows(&known), columns(of.key.work.model, &known));
        let largest_m = known.iter().map(|it| it.0).max().unwrap_or(0);
        let field = |m: u64, (k, n): (u64, u64)| {
            let shape = Shape { m, k, n };
            let result = measured.get(&(m, k, n));
            Some(Field {
                shape,
                measured: result.and_then(|it| gain(it)),
                place: result.and_then(|it| it.place(Pass::ForwardBackward)),
                predicted: prediction.speedup(shape)?,
                is_outside: m > largest_m,
            })
        };
        let fields = ms.iter().flat_map(|&m| kns.iter().map(move |&kn| (m, kn)));
        let fields: Option<Vec<Field>> = fields.map(|(m, kn)| field(m, kn)).collect();
        let fields = fields.ok_or(NoCrossover::NoSizes)?;
        Ok(Self { of, prediction, ms, kns, fields, largest_m })
    }

    /// The map of each recipe in a block of results, or why there is none; the unquantized model is no recipe.
    pub fn all(block: &[&'r TrainingResult<'a>]) -> Vec<(String, Result<Self, NoCrossover>)> {
        let candidates = block.iter().copied().filter(|it| !it.is_unquantized());
        let recipes = gather(candidates, |it| it.variant());
        recipes.iter().map(|of| (of[0].variant(), Self::of(of))).collect()
    }

    /// The name of a row: `+` marks an M beyond those measured.
    pub fn row_name(&self, m: u64) -> String {
        if m > self.largest_m { format!("{m}+") } else { m.to_string() }
    }

    /// The fields of a column, M ascending.
    pub fn column(&self, column: usize) -> impl Iterator<Item = &Field> {
        self.fields.iter().skip(column).step_by(self.kns.len())
    }

    /// Where a column gains; only M that lie inside the measured ones count.
    pub fn gains(&self, column: usize) -> Gains {
        let inside = self.column(column).filter(|field| !field.is_outside);
        let gains: Vec<(u64, bool)> = inside.map(|field| (field.shape.m, field.gains())).collect();
        let changes = gains.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
        match (changes, gains.first(), gains.last()) {
            (0, Some((_, true)), _) => Gains::Everywhere,
            (0, ..) => Gains::Nowhere,
            (1, _, Some((_, true))) => {
                Gains::From(gains.iter().find(|(_, gains)| *gains).map_or(0, |(m, _)| *m))
            }
            (1, ..) => Gains::UpTo(gains.iter().rfind(|(_, gains)| *gains).map_or(0, |(m, _)| *m)),
            _ => Gains::Scattered,
        }
    }

    /// The M beyond the measured ones from which a column is predicted to gain, if it gains nowhere among
    /// them.
    pub fn beyond(&self, column: usize) -> Option<u64> {
        let nowhere = self.gains(column) == Gains::Nowhere;
        let mut outside = self.column(column).filter(|field| field.is_outside);
        outside.find(|field| nowhere && field.gains()).map(|field| field.shape.m)
    }
}

impl Field {
    /// The measured speed-up, else the predicted one.
    pub fn speedup(&self) -> f64 {
        self.measured.map_or(self.predicted, |it| it.ratio)
    }

    /// Whether the recipe is faster: by the interval where it was measured.
    pub fn gains(&self) -> bool {
        match &self.measured {
            Some(gain) => gain.verdict() == Verdict::Faster,
            None => self.predicted > 1.0,
        }
    }
}

/// What was measured of a recipe at a shape.
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
    fn of(results: &[&TrainingResult<'_>]) -> Result<Self, NoCrossover> {
        let of = results[0];
        let (model, dtype) = (of.key.work.model, of.key.dtype);
        let point = |it: &&TrainingResult<'_>| {
            let ns = |pass: Pass| it.time(pass).map(|time| time.median_ns);
            let load = load(model, dtype, it.key.work.shape).ok_or(NoCrossover::NoSizes);
            let baseline = it.part(Pass::ForwardBackward)?.unquantized?;
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
        let (baseline, recipe) = fit(&points).ok_or(few)?;
        let errors = Errors::of(&points, &recipe);
        Ok(Self { model, dtype, baseline, recipe, errors })
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

impl Errors {
    fn of(points: &[Point], recipe: &RecipeCost) -> Self {
        let has_parts = matches!(recipe, RecipeCost::Parts { .. });
        let error =
            |of: fn(&Point) -> Option<f64>, terms: Terms| Cost::error(&samples(points, of), terms);
        let casts = error(|it| it.casts_ns, Terms::Casts).filter(|_| has_parts);
        let products = error(|it| it.products_ns, Terms::Products).filter(|_| has_parts);
        let whole = error(|it| Some(it.whole_ns), Terms::Products).filter(|_| !has_parts);
        let speedups = (0..points.len()).filter_map(|out| {
            let (baseline, recipe) = fit(&without(points, out))?;
            let Point { load, speedup, .. } = points[out];
            Some(baseline.ns(load) / recipe.ns(load) / speedup? - 1.0)
        });
        Self {
            baseline: error(|it| Some(it.baseline_ns), Terms::Products),
            casts,
            products,
            whole,
            speedup: ModelError::of(speedups),
        }
    }
}

/// The speed-up of forward and backward pass.
fn gain(of: &TrainingResult<'_>) -> Option<Gain> {
    of.part(Pass::ForwardBackward)?.quantization?.gain.as_ref().ok().copied()
}

/// The costs of the baseline and of the recipe.
fn fit(points: &[Point]) -> Option<(Cost, RecipeCost)> {
    let cost = |of: fn(&Point) -> Option<f64>, terms: Terms| {
        let samples = samples(points, of);
        let all = samples.len() == points.len();
        all.then(|| Cost::fit(&samples, terms)).flatten()
    };
    let casts = cost(|it| it.casts_ns, Terms::Casts);
    let products = cost(|it| it.products_ns, Terms::Products);
    let recipe = match (casts, products) {
        (Some(casts), Some(products)) => RecipeCost::Parts { casts, products },
        _ => RecipeCost::Whole(cost(|it| Some(it.whole_ns), Terms::Products)?),
    };
    Some((cost(|it| Some(it.baseline_ns), Terms::Products)?, recipe))
}

fn samples(points: &[Point], of: fn(&Point) -> Option<f64>) -> Vec<Sample> {
    points.iter().filter_map(|it| Some(Sample { work: it.load, ns: of(it)? })).collect()
}

/// The load of a step, over all linear layers of the model.
fn load(model: ModelKind, dtype: Dtype, shape: Shape) -> Option<Load> {
    let linears = ModelSizes::of(model, shape)?.linears;
    let mut load = Load::default();
    for it in linears {
        let [m, k, n] = [it.rows, it.k, it.n].map(|size| size as f64);
        load.flops += 6.0 * m * k * n;
        load.bytes += (m * k + n * k + m * n) * dtype.bytes() as f64;
    }
    Some(load)
}

const fn mkn(Shape { m, k, n }: Shape) -> (u64, u64, u64) {
    (m, k, n)
}

/// The measured M, the doublings between them, and some beyond.
fn rows(known: &[(u64, u64, u64)]) -> Vec<u64> {
    let mut ms: BTreeSet<u64> = known.iter().map(|it| it.0).collect();
    let (Some(&first), Some(&last)) = (ms.first(), ms.last()) else { return Vec::new() };
    let end = last.saturating_mul(1 << BEYOND);
    let doublings = std::iter::successors(Some(first), |m| m.checked_mul(2));
    ms.extend(doublings.take_while(|m| *m < last));
    let beyond = std::iter::successors(Some(last), |m| m.checked_mul(2));
    ms.extend(beyond.take_while(|m| *m <= end));
    ms.into_iter().take(MOST).collect()
}

/// Every measured K with every measured N; of a model whose layers do not have these sizes, the measured
/// ones.
fn columns(model: ModelKind, known: &[(u64, u64, u64)]) -> Vec<(u64, u64)> {
    let measured: BTreeSet<(u64, u64)> = known.iter().map(|it| (it.1, it.2)).collect();
    let ks: BTreeSet<u64> = known.iter().map(|it| it.1).collect();
    let ns: BTreeSet<u64> = known.iter().map(|it| it.2).collect();
    let is_free = matches!(model, ModelKind::Linear | ModelKind::LnLinear(_));
    if is_free && ks.len() * ns.len() <= MOST {
        ks.iter().flat_map(|&k| ns.iter().map(move |&n| (k, n))).collect()
    } else {
        measured.into_iter().take(MOST).collect()
    }
}
