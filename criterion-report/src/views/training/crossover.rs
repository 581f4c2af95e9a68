//! From which shapes on a recipe gains: the measured speed-ups of a grid of shapes, and between them those
//! that a cost model predicts, with casts and products apart where both were measured.

use std::collections::{BTreeMap, BTreeSet};

use plan::{ModelKind, Pass, Shape};
use statistics::Verdict;

use super::TrainingResult;
use super::prediction::{NoCrossover, Prediction, gain};
use crate::model::{Gain, gather};
use crate::order::Sorted as _;

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

impl<'r, 'a> Crossover<'r, 'a> {
    /// The map of a recipe's results at all shapes: of one config, model, dtype and place.
    pub fn from_results(results: &[&'r TrainingResult<'a>]) -> Result<Self, NoCrossover> {
        let of = results[0];
        if of.is_emulated() {
            return Err(NoCrossover::Emulated);
        }
        let prediction = Prediction::from_results(results)?;
        let measured: BTreeMap<(u64, u64, u64), &TrainingResult<'_>> = results
            .iter()
            .filter(|it| gain(it).is_some())
            .map(|it| (mkn(it.key.work.shape), *it))
            .sorted_map();
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
        recipes.iter().map(|of| (of[0].variant(), Self::from_results(of))).collect()
    }

    /// The name of a row: `+` marks an M beyond those measured.
    pub fn row_name(&self, m: u64) -> String {
        if m > self.largest_m { format!("{m}+") } else { m.to_string() }
    }

    /// The fields of a column, M ascending.
    pub fn column(&self, column: usize) -> impl Iterator<Item = &Field> {
        self.fields.iter().skip(column).step_by(self.kns.len())
    }

    /// The range in which a column gains; only M that lie inside the measured ones count.
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

const fn mkn(Shape { m, k, n }: Shape) -> (u64, u64, u64) {
    (m, k, n)
}

/// The measured M, the doublings between them, and some beyond.
fn rows(known: &[(u64, u64, u64)]) -> Vec<u64> {
    let mut ms: BTreeSet<u64> = known.iter().map(|it| it.0).sorted_set();
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
    let measured: BTreeSet<(u64, u64)> = known.iter().map(|it| (it.1, it.2)).sorted_set();
    let ks: BTreeSet<u64> = known.iter().map(|it| it.1).sorted_set();
    let ns: BTreeSet<u64> = known.iter().map(|it| it.2).sorted_set();
    let is_free = matches!(model, ModelKind::Linear | ModelKind::LnLinear(_));
    if is_free && ks.len() * ns.len() <= MOST {
        ks.iter().flat_map(|&k| ns.iter().map(move |&n| (k, n))).collect()
    } else {
        measured.into_iter().take(MOST).collect()
    }
}
