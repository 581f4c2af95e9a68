//! The decision as a whole: one block of the model with the recommended recipes against the unquantized block.

use plan::recommendation::{Block, LinearLayers, Phase, RecommendationRequest};
use plan::{Recipe, Variant};
use statistics::{Ratio, mad_sd, median, quotient};

use super::{Cases, GroupResult, Weighing, cases_at};
use crate::model::gather;
use crate::model::recommendation::{TimeEstimate, predicted};
use crate::read::Report;

/// One block in a phase.
pub struct BlockResult<'a> {
    pub phase: &'a Phase,
    /// Its times, or why there are none.
    pub measured: Result<MeasuredBlock, String>,
}

/// Times of a block, in nanoseconds, and how many times faster it is with the recommended recipes.
pub struct MeasuredBlock {
    /// The unquantized block.
    pub baseline_ns: f64,
    /// Its linear layers, measured one by one.
    pub linear_ns: f64,
    /// The recommended ones, measured one by one.
    pub chosen_ns: f64,
    pub predicted: Ratio,
    pub measured: Ratio,
}

impl MeasuredBlock {
    /// Nanoseconds of the unquantized block that are not its linear layers'.
    pub fn rest_ns(&self) -> f64 {
        (self.baseline_ns - self.linear_ns).max(0.0)
    }

    /// Nanoseconds that the recommended layers take in the block beyond those that they take one by one.
    pub fn excess_ns(&self) -> f64 {
        self.baseline_ns / self.measured.ratio - self.rest_ns() - self.chosen_ns
    }

    /// Whether both intervals leave no doubt that the block gains more or less than predicted.
    pub fn is_other_than_predicted(&self) -> bool {
        let between = quotient(&self.measured, &self.predicted);
        between.low > 1.0 || between.high < 1.0
    }
}

/// The layers of a block with their variants.
type Layers<'a> = Vec<(&'a LinearLayers, Variant)>;

/// The layers of a block as recommended, and one recipe that gives each its own; or why there is none.
pub fn recipe<'a>(
    request: &'a RecommendationRequest,
    groups: &[GroupResult<'_>],
) -> Result<(Layers<'a>, Recipe), String> {
    let variant_of = |layers: &LinearLayers| {
        let group = groups.iter().find(|it| it.name == layers.group);
        group.map_or(Variant::BASELINE, |it| it.chosen().variant)
    };
    let layers = request.model.block_layers()?.into_iter();
    let layers: Layers<'a> = layers.map(|layers| (layers, variant_of(layers))).collect();
    if layers.iter().all(|(_, variant)| *variant == Variant::BASELINE) {
        return Err("its layers stay as they are".to_owned());
    }
    let recipe =
        RecommendationRequest::block_recipe(layers.iter().map(|(layers, it)| (&*layers.fqn, *it)));
    let recipe = recipe.map_err(|unknown| format!("no recipe of a block: {}", unknown.remedy))?;
    Ok((layers, recipe))
}

impl Weighing<'_> {
    /// The block in a phase, with the recommended recipes.
    pub fn block(
        &self,
        report: &Report,
        recommended: &Result<(Layers<'_>, Recipe), String>,
        phase: &Phase,
    ) -> Result<MeasuredBlock, String> {
        let request = self.request;
        let Block { model, shape } = request.block(phase)?;
        let (layers, recipe) = recommended.as_ref().map_err(String::clone)?;
        let cases = cases_at(report, request, &request.block_stem(), (model, shape))?;
        let own = cases.1.iter().find(|it| it.row.variant().is_some_and(|it| it.recipe == *recipe));
        let own = own.ok_or("it was not measured with the recommended recipes")?;
        if let Some(reason) = own.row.reason() {
            return Err(format!("with the recommended recipes: {reason}"));
        }
        let measured = own.comparison.ok_or("it has no pair with its baseline")?;
        let measured = measured.speedup.as_ref().map_err(ToString::to_string)?.for_callers();
        let layers = layers.iter().map(|(layers, variant)| (layers.shape(phase), *variant));
        let mut products = Vec::new();
        for same in gather(layers, |it| (it.0, it.1.to_string())) {
            let ((shape, variant), count) = (same[0], same.len() as f64);
            let cases = &self.cases[&shape];
            let entry = cases.1.iter().find(|it| it.row.variant() == Some(variant));
            let speedup = self.measured(entry.ok_or("a layer was not measured")?)?.0;
            let TimeEstimate { ns, half_width_ns } = time_of_baseline(cases);
            let time = TimeEstimate { ns: count * ns, half_width_ns: count * half_width_ns };
            products.push((time, speedup));
        }
        let block = time_of_baseline(&cases);
        Ok(MeasuredBlock {
            baseline_ns: block.ns,
            linear_ns: products.iter().map(|(time, _)| time.ns).sum(),
            chosen_ns: products.iter().map(|(time, it)| time.ns / it.ratio).sum(),
            predicted: predicted(block, &products),
            measured,
        })
    }
}

/// The time of a group's baseline: the median of its own time and of those beside each sibling, which are of other moments.
fn time_of_baseline((baseline_ns, entries): &Cases<'_>) -> TimeEstimate {
    let pairs = entries.iter().flat_map(|it| &it.row.record.pairs);
    let steps_ns = pairs.filter_map(|it| it.called.as_ref().map(|it| it.steps_ns).or(it.steps_ns));
    let times: Vec<f64> = steps_ns.map(|(other, _)| other).chain([*baseline_ns]).collect();
    TimeEstimate { ns: median(&times), half_width_ns: 1.96 * mad_sd(&times) }
}
