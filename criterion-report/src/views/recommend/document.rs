//! The document of a recommendation, which the tables are made of, too.

use std::collections::BTreeMap;

use plan::recommendation::{LinearLayers, Module, Objective, Phase};
use plan::{Device, Dtype};
use statistics::Ratio;

use super::block::{BlockResult, MeasuredBlock};
use super::files::torchao;
use super::{GroupResult, Recommendation, Way};
use crate::model::recommendation::{Candidate, State, bytes, over};
use crate::render::object::document;
use crate::render::units;

document! {
    /// Which recipe for which linear layer of a model, on one machine.
    pub struct Document<'a> = of(it: &'a Recommendation<'a>) [
        request = it.request;
        model_ns = it.groups.iter().map(|group| group.unquantized().ns()).sum::<f64>();
    ] {
        /// `criterion-torch/recommendation`.
        schema: &'static str = "criterion-torch/recommendation",
        /// 1; counts incompatible changes.
        version: u32 = 1,
        /// The name of the results that were read.
        baseline: &'a str = it.baseline,
        /// The model, or the file that describes it.
        pub model: &'a str = &request.model.name,
        /// `model_type` of that file.
        pub family: &'a str = &request.model.family,
        /// The device that was measured.
        pub device: Device = request.device,
        /// Dtype of the unquantized model.
        pub dtype: Dtype = request.dtype,
        /// How the model runs.
        pub way: Way = it.options.way,
        /// File stem of the config whose cases were weighed.
        config: &'a str = &request.stem,
        /// The phases of a request to the model.
        pub phases: &'a [Phase] = &request.phases,
        /// The objective of the choice.
        pub objective: Objective = request.objective,
        /// Fewest decibels that a recipe was to have.
        min_sqnr_db: Option<f64> = it.options.min_sqnr,
        /// Layers that have one recipe.
        pub groups: Vec<Group<'a>> =
            it.groups.iter().map(|group| Group::of(group, model_ns, request.device)).collect(),
        /// All linear layers: unquantized, with each recipe that all groups can have, as recommended.
        pub totals: Vec<Total> = totals(it),
        /// All combinations of recipes that no other one beats in both time and bytes of weights, the smallest first.
        pub front: Vec<FrontPoint> =
            it.front.iter().map(|state| FrontPoint::of(state, model_ns)).collect(),
        /// Mean time of a request over all combinations, in nanoseconds: that of recipes chosen at random.
        pub random_ns: f64 = it.groups.iter().map(|group| {
            group.candidates.iter().map(Candidate::ns).sum::<f64>() / group.candidates.len() as f64
        }).sum(),
        /// The recommended recipes as one recipe of a block; null where the blocks stay as they are, or have no such recipe.
        block_recipe: Option<String> = it.block_recipe.map(|it| it.to_string()),
        /// One block of the model in each phase, with the recommended recipes.
        pub blocks: Vec<Block<'a>> = it.blocks.iter().map(Block::of).collect(),
        /// Limits of what the numbers say.
        pub notes: Vec<String> = notes(it),
    }

    /// Layers that have one recipe.
    pub struct Group<'a> = of(it: &'a GroupResult<'a>, model_ns: f64, device: Device) [
        torchao = torchao(&it.chosen().variant, device);
        is_ours = torchao.is_none() && it.choice.chosen > 0;
        parameters = it.layers.iter().map(|it| it.weights()).sum::<u64>();
        item = |place: usize| Item::of(&it.candidates[place], it.unquantized(), parameters);
    ] {
        /// The name of the group.
        pub group: &'a str = it.name,
        /// Its layers.
        pub layers: &'a [&'a LinearLayers] = &it.layers,
        /// The recommended recipe.
        #[serde(flatten)]
        pub chosen: Item = item(it.choice.chosen),
        /// Share of the time that the unquantized linear layers take.
        pub time_share: f64 = it.unquantized().ns() / model_ns,
        /// Whether no other recipe may serve as well, by the intervals.
        pub decided: bool = it.choice.rivals.is_empty(),
        /// The other recipes that may serve as well.
        pub rivals: Vec<String> =
            it.choice.rivals.iter().map(|place| it.candidates[*place].variant.to_string()).collect(),
        /// The configuration in torchao 0.17; null where the layer stays as it is, or the recipe is ours.
        pub torchao: Option<String> = torchao.map(|it| it.text()),
        /// Whether torchao 0.17 has no configuration that computes the same on this device.
        pub ours: bool = is_ours,
        /// Every recipe that the group could have.
        candidates: Vec<Item> = (0..it.candidates.len()).map(item).collect(),
        /// The recipes that it could not have: the first shape at which they cannot be chosen, and why.
        pub refused: &'a BTreeMap<String, String> = &it.refused,
    }

    /// A combination of recipes.
    pub struct FrontPoint = of(it: &State, model_ns: f64) {
        /// How many times faster than the unquantized layers.
        pub speedup_factor: f64 = model_ns / it.ns,
        /// Bytes of weights.
        pub weight_bytes: u64 = it.bytes,
    }

    /// A recipe of a group.
    pub struct Item = of(it: &Candidate, unquantized: &Candidate, parameters: u64) {
        /// The recipe, and how it runs.
        pub recipe: String = it.variant.to_string(),
        /// How many times faster than the unquantized layers.
        #[serde(flatten)]
        pub speedup: Factor = Factor::of(it.over(unquantized)),
        /// Nanoseconds of a request.
        ns: f64 = it.ns(),
        /// Bytes of the weights of all layers.
        weight_bytes: u64 = it.bytes,
        /// Stored bits of a weight, with scales and zero points.
        pub bits_per_weight: f64 = 8.0 * it.bytes as f64 / parameters as f64,
        /// Decibels of the output, the lowest of all shapes; null where nothing differs, or nothing was compared.
        pub sqnr_db: Option<f64> = it.sqnr_db,
    }

    /// How many times faster, with the bounds of its 95 % interval.
    pub struct Factor = of(ratio: Ratio) {
        /// The other time over this one's.
        #[serde(rename = "speedup_factor")]
        pub ratio: f64 = ratio.ratio,
        /// Lower bound.
        #[serde(rename = "speedup_low")]
        pub low: f64 = ratio.low,
        /// Upper bound.
        #[serde(rename = "speedup_high")]
        pub high: f64 = ratio.high,
    }

    /// All linear layers under one choice.
    pub struct Total = of(name: &str, it: &[&Candidate], unquantized: &[&Candidate], phases: &[Phase]) {
        /// The recipe of all groups, or `recommended`.
        pub name: String = name.to_owned(),
        /// How many times faster than the unquantized layers.
        #[serde(flatten)]
        pub speedup: Factor = Factor::of(over(it.iter().copied(), unquantized.iter().copied())),
        /// Nanoseconds of a request.
        pub ns: f64 = it.iter().map(|it| it.ns()).sum(),
        /// Bytes of weights.
        pub weight_bytes: u64 = bytes(it.iter().copied()),
        /// Lowest decibels of a layer's output.
        pub sqnr_db: Option<f64> = it.iter().filter_map(|it| it.sqnr_db).reduce(f64::min),
        /// Joules of a request; null where a measurement has none.
        pub joules: Option<f64> = it.iter().map(|it| it.joules).sum(),
        /// Time and rate of each phase.
        pub phases: Vec<PhaseTotal> = (0..phases.len())
            .map(|place| PhaseTotal::of(it, place, &phases[place]))
            .collect(),
    }

    /// One block of the model in a phase. All but the phase is null where the block was not measured.
    pub struct Block<'a> = of(it: &'a BlockResult<'a>) [
        measured = it.measured.as_ref().ok();
    ] {
        /// The phase.
        pub phase: &'a Phase = it.phase,
        /// Nanoseconds of the unquantized block.
        pub baseline_ns: Option<f64> = measured.map(|it| it.baseline_ns),
        /// Share of that time that is not its linear layers'.
        pub other_share: Option<f64> = measured.map(|it| it.rest_ns() / it.baseline_ns),
        /// How many times faster the block should be: by its linear layers, measured one by one, and the rest of its time.
        pub predicted: Option<Factor> = measured.map(|it| Factor::of(it.predicted)),
        /// How many times faster the block is.
        pub measured: Option<Factor> = measured.map(|it| Factor::of(it.measured)),
        /// Nanoseconds that the recommended layers take in the block beyond those that they take one by one.
        pub excess_ns: Option<f64> = measured.map(MeasuredBlock::excess_ns),
        /// Whether the two differ by more than their intervals.
        pub differs: Option<bool> = measured.map(MeasuredBlock::is_other_than_predicted),
        /// Why the block was not measured.
        pub not_measured: Option<&'a str> = it.measured.as_ref().err().map(String::as_str),
    }

    /// All linear layers in one phase.
    pub struct PhaseTotal = of(it: &[&Candidate], place: usize, phase: &Phase) [
        parts = it.iter().flat_map(|it| &it.parts).filter(|part| part.phase == place);
        ns = parts.map(|part| part.ns()).sum::<f64>();
        tokens = phase.passes as f64 * phase.batch as f64 * phase.tokens as f64;
    ] {
        /// The name of the phase.
        pub phase: String = phase.name.clone(),
        /// Nanoseconds of all its passes in a request.
        pub ns: f64 = ns,
        /// Nanoseconds for each token.
        pub ns_per_token: f64 = ns / tokens,
        /// Tokens per second, of all sequences.
        pub tokens_per_s: f64 = 1e9 * tokens / ns,
    }
}

/// The name of the recommended choice among the totals.
pub const RECOMMENDED: &str = "recommended";

fn totals(it: &Recommendation<'_>) -> Vec<Total> {
    let of = |candidate: fn(&GroupResult<'_>) -> usize| -> Vec<&Candidate> {
        it.groups.iter().map(|group| &group.candidates[candidate(group)]).collect()
    };
    let (unquantized, chosen) = (of(|_| 0), of(|group| group.choice.chosen));
    let total =
        |name: &str, of: &[&Candidate]| Total::of(name, of, &unquantized, &it.request.phases);
    let single = it.single();
    let single = single.iter().map(|(variant, of)| total(&variant.to_string(), of));
    single.chain([total(RECOMMENDED, &chosen)]).collect()
}

fn notes(it: &Recommendation<'_>) -> Vec<String> {
    let weights = it.request.weights.as_ref().map_or_else(
        || "random weights".to_owned(),
        |folder| format!("weights of {} (first, middle and last layer)", folder.display()),
    );
    let notes = [
        "times are sums of linear layers measured one by one: attention, norms and embeddings are \
         not among them"
            .to_owned(),
        format!(
            "accuracy is that of one layer at a time with {weights} and random inputs: it says \
             nothing about perplexity"
        ),
    ];
    let elsewhere = it.request.sensitivity.is_some().then(|| {
        "the file of --sensitivity counts before the accuracy measured here, for the layers and \
         recipes that it names"
            .to_owned()
    });
    let contended = (it.contended > 0).then(|| {
        let cases = units::count(it.contended, "case");
        format!("other programs took the CPUs from {cases}: measure again without them")
    });
    let quantized = it.groups.iter().filter(|group| group.choice.chosen > 0);
    let of_module = |layers: &&LinearLayers| match layers.module {
        Module::Linear | Module::Conv1d => None,
        Module::Tied => Some(format!(
            "{} has the weight of the embedding, which stays: quantized it is one more weight",
            layers.fqn
        )),
        Module::Mixture => Some(format!(
            "{}: torchao finds it in transformers 4; from 5 on it is part of one tensor",
            layers.fqn
        )),
    };
    let modules = quantized.flat_map(|group| &group.layers).filter_map(of_module);
    notes.into_iter().chain(elsewhere).chain(modules).chain(contended).collect()
}
