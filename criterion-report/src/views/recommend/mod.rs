//! `recommend`: a recipe for each group of a model's linear layers, from the cases at their shapes.

mod block;
mod document;
mod files;
mod foreign;
pub mod text;

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, anyhow, bail, ensure};
use clap::ColorChoice;
use plan::recommendation::{LinearLayers, Phase, RecommendationRequest, Sensitivity};
use plan::{Mode, ModelKind, Recipe, Shape, Variant};
use serde::Serialize;
use statistics::Ratio;

use crate::model::recommendation::{Candidate, Choice, Part, State, TooFewBytes, choose, front};
use crate::model::{Entry, Row, gather, once};
use crate::read::Report;
use crate::read::recommendation::COMMAND;
use crate::render::units;
use block::BlockResult;
pub use document::{Document, FrontPoint, Total};
pub use files::{config, python};
pub use foreign::{llm_compressor, modelopt};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Fewest decibels of a recipe's output at every shape, besides the gates of the measurement
    #[arg(long, value_name = "DB", allow_negative_numbers = true)]
    pub min_sqnr: Option<f64>,
    /// How the model is to run; only recipes that were measured so are weighed
    #[arg(long = "as", value_enum, default_value = "eager", value_name = "WAY")]
    pub way: Way,
    /// Tables for people, Markdown, or JSON
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// When to colour the tables
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal
    Table,
    /// For a pull request
    Markdown,
    /// Everything, the recipes that were not chosen among it
    Json,
}

/// How a model runs. All of its layers run one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Operation by operation
    Eager,
    /// Captured in a CUDA graph
    Graph,
    /// Compiled by torch.compile's compiler
    Compiled,
}

impl Way {
    const fn of(variant: &Variant) -> Self {
        match (variant.compile, variant.graph) {
            (Some(_), _) => Self::Compiled,
            (None, true) => Self::Graph,
            (None, false) => Self::Eager,
        }
    }

    /// The way in a sentence: it runs …
    const fn words(self) -> &'static str {
        match self {
            Self::Eager => "eagerly",
            Self::Graph => "in a CUDA graph",
            Self::Compiled => "compiled",
        }
    }
}

/// A group of layers with the recipes that it may have, the unquantized layer first.
pub struct GroupResult<'a> {
    pub name: &'a str,
    pub layers: Vec<&'a LinearLayers>,
    pub candidates: Vec<Candidate>,
    /// The other recipes, and why each is not a candidate.
    pub refused: BTreeMap<String, String>,
    pub choice: Choice,
}

impl GroupResult<'_> {
    pub fn unquantized(&self) -> &Candidate {
        &self.candidates[0]
    }

    pub fn chosen(&self) -> &Candidate {
        &self.candidates[self.choice.chosen]
    }
}

/// The answer to a request.
pub struct Recommendation<'a> {
    pub request: &'a RecommendationRequest,
    pub options: &'a Options,
    /// The name of the results.
    pub baseline: &'a str,
    pub groups: Vec<GroupResult<'a>>,
    /// The combinations of recipes that no other one beats in both time and bytes, the smallest first.
    pub front: Vec<State>,
    /// The recommended recipes as one of a block, if there is such a recipe.
    pub block_recipe: Option<Recipe>,
    /// One block in each phase.
    pub blocks: Vec<BlockResult<'a>>,
    /// Cases whose times are partly those of other programs.
    pub contended: usize,
}

impl<'a> Recommendation<'a> {
    pub fn new(
        report: &'a Report,
        request: &'a RecommendationRequest,
        options: &'a Options,
    ) -> Result<Self> {
        let weighing = Weighing { request, options, cases: cases(report, request)? };
        let layers = gather(&request.model.layers, |layers| &layers.group).into_iter();
        let groups: Result<Vec<_>> = layers.map(|layers| weighing.weigh(layers)).collect();
        let mut groups = groups?;
        let candidates: Vec<_> = groups.iter().map(|it| it.candidates.clone()).collect();
        let front = front(&candidates);
        let choices = choose(&candidates, &front, request.objective);
        let choices = choices.map_err(|TooFewBytes { least }| {
            anyhow!(
                "the memory limit is too small: the linear layers have at least {} of weights\n  \
                 ask for more memory, or for smaller recipes",
                units::bytes(least)
            )
        })?;
        groups.iter_mut().zip(choices).for_each(|(group, choice)| group.choice = choice);
        let entries = weighing.cases.values().flat_map(|(_, entries)| entries);
        let contended = entries.filter(|it| it.row.is_contended()).count();
        let recipe = block::recipe(request, &groups);
        let block = |phase| BlockResult { phase, measured: weighing.block(report, &recipe, phase) };
        let blocks = request.phases.iter().map(block).collect();
        let block_recipe = recipe.ok().map(|(_, recipe)| recipe);
        let baseline = &report.baseline;
        Ok(Self { request, options, baseline, groups, front, block_recipe, blocks, contended })
    }

    /// The variants that every group may have, with the candidates of all groups.
    pub fn single(&self) -> Vec<(Variant, Vec<&Candidate>)> {
        let variants = self.groups[0].candidates.iter().map(|it| it.variant);
        let of = |variant: Variant| -> Option<Vec<&Candidate>> {
            let own = self.groups.iter();
            own.map(|it| it.candidates.iter().find(|it| it.variant == variant)).collect()
        };
        variants.filter_map(|variant| Some((variant, of(variant)?))).collect()
    }
}

/// The products of layers in a request: the place of the phase, the shape, and how often it runs.
fn products<'a>(
    layers: &'a LinearLayers,
    phases: &'a [Phase],
) -> impl Iterator<Item = (usize, Shape, f64)> + 'a {
    let product = |(place, phase): (usize, &Phase)| {
        let runs = phase.passes as f64 * layers.runs(phase) as f64;
        (place, layers.shape(phase), runs)
    };
    phases.iter().enumerate().map(product).filter(|(.., runs)| *runs > 0.0)
}

/// Nanoseconds of the baseline at a shape, and all cases of its group, the baseline first.
type Cases<'a> = (f64, Vec<Entry<'a>>);

/// The cases at every shape of a request.
fn cases<'a>(
    report: &'a Report,
    request: &'a RecommendationRequest,
) -> Result<HashMap<Shape, Cases<'a>>> {
    let (mut found, mut missing) = (HashMap::new(), Vec::new());
    for layers in &request.model.layers {
        for (place, shape, _) in products(layers, &request.phases) {
            if found.contains_key(&shape) {
                continue;
            }
            match cases_at(report, request, &request.stem, (ModelKind::Linear, shape)) {
                Ok(cases) => drop(found.insert(shape, cases)),
                Err(why) => {
                    let phase = &request.phases[place].name;
                    missing.push(format!("  {shape} ({} in {phase}): {why}", layers.fqn));
                }
            }
        }
    }
    ensure!(
        missing.is_empty(),
        "`linear` in {} on {} has no time in the results of the config `{}`, [m, k, n]:\n{}\n  \
         `{COMMAND}` measures it",
        request.dtype.plain(),
        request.device,
        request.stem,
        missing.join("\n"),
    );
    ensure!(
        !found.is_empty(),
        "the request asks for no layer in no phase\n  ask again: `{COMMAND}`"
    );
    Ok(found)
}

fn cases_at<'a>(
    report: &'a Report,
    request: &RecommendationRequest,
    stem: &str,
    work: (ModelKind, Shape),
) -> Result<Cases<'a>, String> {
    let is_meant = |entry: &Entry<'_>| {
        let record = &entry.row.record;
        let case = &record.case;
        let is_it = case.work.model().is_some_and(|it| (it.model, it.shape) == work);
        let place = (case.mode, case.device, &*case.config);
        is_it
            && place == (Mode::Inference, request.device, stem)
            && record.timestamp >= request.asked
    };
    let is_baseline =
        |it: &Entry<'_>| it.row.is_baseline() && it.row.record.case.dtype == request.dtype;
    let mut entries: Vec<_> = report.entries().filter(is_meant).collect();
    let baseline = entries.iter().find(|it| is_baseline(it)).ok_or("its baseline has no record")?;
    let why = || baseline.row.reason().unwrap_or_else(|| "its baseline has no time".to_owned());
    let baseline_ns = baseline.row.called_ns().ok_or_else(why)?;
    let id = &baseline.row.record.case.id;
    entries.retain(|it| {
        let own = &it.row.record.case.id;
        (&own.group, &own.parameter) == (&id.group, &id.parameter)
    });
    Ok((baseline_ns, entries))
}

struct Weighing<'a> {
    request: &'a RecommendationRequest,
    options: &'a Options,
    cases: HashMap<Shape, Cases<'a>>,
}

impl<'a> Weighing<'a> {
    /// The recipes that layers of one group may have, and those that they may not have, with the reasons.
    fn weigh(&self, layers: Vec<&'a LinearLayers>) -> Result<GroupResult<'a>> {
        let shapes = layers.iter().flat_map(|it| products(it, &self.request.phases));
        let entries = shapes.flat_map(|(_, shape, _)| &self.cases[&shape].1);
        let way = self.options.way;
        let variants = once(entries.filter_map(|it| it.row.variant())).into_iter();
        let (unquantized, others): (Vec<_>, Vec<_>) =
            variants.filter(|it| Way::of(it) == way).partition(|it| {
                let Variant { compile, graph, .. } = *it;
                *it == Variant { compile, graph, ..Variant::BASELINE }
            });
        let name = &layers[0].group;
        let Some((&first, rest)) = unquantized.split_first() else {
            let way = way.words();
            bail!("`{name}` has no unquantized case that runs {way}\n  name another way with --as");
        };
        let first = self.candidate(first, &layers);
        let mut candidates = vec![first.map_err(|why| anyhow!("`{name}`, unquantized: {why}"))?];
        let mut refused = BTreeMap::new();
        for &variant in rest.iter().chain(&others) {
            match self.candidate(variant, &layers) {
                Ok(candidate) => candidates.push(candidate),
                Err(why) => drop(refused.insert(variant.to_string(), why)),
            }
        }
        Ok(GroupResult { name, layers, candidates, refused, choice: Choice::default() })
    }

    /// The variant at all shapes of the layers, or why they cannot have it.
    fn candidate(&self, variant: Variant, layers: &[&LinearLayers]) -> Result<Candidate, String> {
        let mut candidate =
            Candidate { variant, parts: Vec::new(), bytes: 0, sqnr_db: None, joules: Some(0.0) };
        for layers in layers {
            // A recipe may store a weight otherwise for another number of rows.
            let mut bytes = 0;
            for (phase, shape, runs) in products(layers, &self.request.phases) {
                let (baseline_ns, entries) = &self.cases[&shape];
                let entry = entries.iter().find(|it| it.row.variant() == Some(variant));
                let at = |why: String| format!("{shape}: {why}");
                let entry = entry.ok_or_else(|| at("not measured".to_owned()))?;
                let (speedup, of_weight) = self.measured(entry).map_err(at)?;
                let sqnr_db = self.decibels(entry.row, layers).map_err(at)?;
                bytes = bytes.max(of_weight);
                candidate.sqnr_db = candidate.sqnr_db.into_iter().chain(sqnr_db).reduce(f64::min);
                let baseline_ns = runs * baseline_ns;
                candidate.parts.push(Part { phase, shape, baseline_ns, speedup });
                let joules = entry.row.record.measures.energy.as_ref().map(|it| runs * it.joules);
                candidate.joules = candidate.joules.zip(joules).map(|(sum, own)| sum + own);
            }
            candidate.bytes = candidate.bytes.saturating_add(bytes.saturating_mul(layers.count));
        }
        Ok(candidate)
    }

    /// Decibels of the output of layers that are accurate enough. What was measured elsewhere comes first.
    fn decibels(&self, row: &Row, layers: &LinearLayers) -> Result<Option<f64>, String> {
        let accuracy = row.accuracy();
        let measured = accuracy.map(|it| it.sqnr_db.0);
        let Some(recipe) = row.variant().map(|it| it.recipe).filter(|_| !row.is_unquantized())
        else {
            return Ok(measured);
        };
        let of = |numbers| Sensitivity::of(numbers, layers, recipe);
        let elsewhere = self.request.sensitivity.as_ref();
        if let Some((it, limit)) = elsewhere.and_then(|it| Some((it, it.max_loss?)))
            && let Some(loss) = of(&it.loss).reduce(f64::max)
        {
            let why = || format!("a loss of {loss} in {}, above max_loss {limit}", layers.fqn);
            return if loss <= limit { Ok(measured) } else { Err(why()) };
        }
        let given = elsewhere.and_then(|it| of(&it.sqnr_db).reduce(f64::min));
        let is_of_weights = self.request.weights.is_some();
        if is_of_weights && given.is_none() && accuracy.is_none_or(|it| it.tensors.is_empty()) {
            return Err("its accuracy is of random weights: measure it again".to_owned());
        }
        // With random weights, a case that was measured has passed its own gate.
        let is_other = is_of_weights || given.is_some();
        let own = accuracy.filter(|_| is_other).map(|it| (it.min_sqnr_db, "the gate of"));
        let least = self.options.min_sqnr.map(|it| (it, "--min-sqnr")).or(own);
        let sqnr_db = given.or(measured);
        if let Some((least, name)) = least
            && sqnr_db.is_none_or(|db| db.is_nan() || db < least)
        {
            let db = sqnr_db.map_or_else(|| "unknown".to_owned(), units::decibels);
            return Err(format!("{db} dB, below {name} {least}"));
        }
        Ok(sqnr_db)
    }

    /// Speed-up over the baseline and bytes of the weight of a case that may be chosen.
    fn measured(&self, entry: &Entry<'_>) -> Result<(Ratio, u64), String> {
        let row = entry.row;
        let variant = row.variant().unwrap_or(Variant::BASELINE);
        if variant.sparsity.is_some() {
            return Err("pruned: its accuracy is against the pruned weights".to_owned());
        }
        if variant.preallocated {
            return Err("its output is allocated beforehand, which models do not do".to_owned());
        }
        let outcome = &row.record.outcome;
        if let Some(reason) = outcome.reason() {
            return Err(format!("{}: {reason}", outcome.status()));
        }
        let weights = row.record.weights.as_ref();
        let weights = weights.ok_or("its record has no bytes of weights; measure it again")?;
        let speedup = match entry.comparison.map(|it| &it.speedup) {
            None => Ratio::ONE,
            Some(Ok(speedup)) => speedup.for_callers(),
            Some(Err(why)) => return Err(why.to_string()),
        };
        Ok((speedup, weights.packed_bytes))
    }
}
