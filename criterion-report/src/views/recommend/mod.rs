//! `recommend`: a recipe for each group of a model's linear layers, from the cases at their shapes.

mod document;
mod files;
pub mod text;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::ColorChoice;
use indexmap::IndexMap;
use plan::recommendation::{LinearLayers, Phase, RecommendationRequest};
use plan::{Mode, ModelKind, Shape, Variant};
use serde::Serialize;

use crate::model::recommendation::{Candidate, Choice, Part, TooFewBytes, choose};
use crate::model::{Entry, gather, once};
use crate::read::Report;
use crate::read::recommendation::COMMAND;
use crate::render::units;
pub use document::Document;
pub use files::{config, python};

#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Fewest decibels of a recipe's output at every shape, besides the gates of the measurement
    #[arg(long, value_name = "DB", allow_negative_numbers = true)]
    pub min_sqnr: Option<f64>,
    /// How the model is to run; only recipes that were measured so are weighed
    #[arg(long = "as", value_enum, default_value = "eager", value_name = "WAY")]
    pub way: Way,
    /// Tables for people, Markdown for a pull request, or JSON
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
    /// The same tables
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
    /// The other recipes, and why each is none of them.
    pub refused: Vec<(String, String)>,
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

/// A candidate of each group.
type Weighed<'a> = [&'a Candidate];

/// The answer to a request.
pub struct Recommendation<'a> {
    pub request: &'a RecommendationRequest,
    pub min_sqnr: Option<f64>,
    pub way: Way,
    /// The name of the results.
    pub baseline: &'a str,
    pub groups: Vec<GroupResult<'a>>,
    /// Cases whose times are partly those of other programs.
    pub contended: usize,
}

impl<'a> Recommendation<'a> {
    pub fn new(
        report: &'a Report,
        request: &'a RecommendationRequest,
        options: &Options,
    ) -> Result<Self> {
        let weighing = Weighing { request, options, cases: cases(report, request)? };
        let layers = gather(&request.model.layers, |layers| &layers.group).into_iter();
        let weighed: Vec<_> =
            layers.map(|layers| Ok((weighing.weigh(&layers)?, layers))).collect::<Result<_>>()?;
        let candidates: Vec<_> = weighed.iter().map(|((it, _), _)| it.clone()).collect();
        let choices = choose(&candidates, request.objective).map_err(|TooFewBytes { least }| {
            anyhow!(
                "the memory limit is too small: the linear layers have at least {} of weights\n  \
                 ask for more memory, or for smaller recipes",
                units::bytes(least)
            )
        })?;
        let group = |(((candidates, refused), layers), choice): ((_, Vec<&'a LinearLayers>), _)| {
            GroupResult { name: &layers[0].group, layers, candidates, refused, choice }
        };
        let entries = weighing.cases.values().flat_map(|it| &it.entries);
        Ok(Self {
            request,
            min_sqnr: options.min_sqnr,
            way: options.way,
            baseline: &report.baseline,
            contended: entries.filter(|it| it.row.is_contended()).count(),
            groups: weighed.into_iter().zip(choices).map(group).collect(),
        })
    }

    /// One candidate of each group.
    pub fn chosen(&self) -> Vec<&Candidate> {
        self.groups.iter().map(GroupResult::chosen).collect()
    }

    /// The variants that every group may have, with the candidates of all groups.
    pub fn single(&self) -> Vec<(Variant, Vec<&Candidate>)> {
        let variants = self.groups.first().into_iter().flat_map(|group| &group.candidates);
        let of = |variant: Variant| -> Option<Vec<&Candidate>> {
            let own = self.groups.iter();
            own.map(|it| it.candidates.iter().find(|it| it.variant == variant)).collect()
        };
        variants.filter_map(|it| Some((it.variant, of(it.variant)?))).collect()
    }
}

/// The cases at a shape: the baseline, then its siblings.
struct Cases<'a> {
    entries: Vec<Entry<'a>>,
    baseline_ns: f64,
}

/// The products of a request: layers, the place of a phase, and how often the product runs in a request.
fn products<'a>(
    layers: &'a LinearLayers,
    phases: &'a [Phase],
) -> impl Iterator<Item = (usize, &'a Phase, f64)> {
    let runs = |phase: &Phase| phase.passes as f64 * layers.runs(phase) as f64;
    let phases = phases.iter().enumerate();
    phases.map(move |(place, phase)| (place, phase, runs(phase))).filter(|(.., runs)| *runs > 0.0)
}

/// The cases at every shape of a request.
fn cases<'a>(
    report: &'a Report,
    request: &'a RecommendationRequest,
) -> Result<IndexMap<Shape, Cases<'a>>> {
    let (mut found, mut missing) = (IndexMap::new(), Vec::new());
    for layers in &request.model.layers {
        for (_, phase, _) in products(layers, &request.phases) {
            let shape = layers.shape(phase);
            if found.contains_key(&shape) {
                continue;
            }
            match cases_at(report, request, shape) {
                Ok(cases) => drop(found.insert(shape, cases)),
                Err(why) => {
                    missing.push(format!("  {shape} ({} in {}): {why}", layers.fqn, phase.name));
                }
            }
        }
    }
    let stem = &request.stem;
    let missing = once(missing);
    ensure!(
        missing.is_empty(),
        "`linear` in {} on {} has no time in the results of the config `{stem}`, [m, k, n]:\n{}\n  \
         `{COMMAND}` measures it",
        request.dtype.plain(),
        request.device,
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
    shape: Shape,
) -> Result<Cases<'a>, String> {
    let is_meant = |entry: &Entry<'_>| {
        let case = &entry.row.record.case;
        let work = case.work.model();
        let is_product = work.is_some_and(|it| it.model == ModelKind::Linear && it.shape == shape);
        let place = (case.mode, case.device, &case.config);
        is_product && place == (Mode::Inference, request.device, &request.stem)
    };
    let mut entries: Vec<_> = report.entries().filter(is_meant).collect();
    let is_baseline =
        |it: &&Entry<'_>| it.row.is_baseline() && it.row.record.case.dtype == request.dtype;
    let baseline = *entries.iter().find(is_baseline).ok_or("its baseline has no record")?;
    let why = || baseline.row.reason().unwrap_or_else(|| "its baseline has no time".to_owned());
    let baseline_ns = baseline.row.called_ns().ok_or_else(why)?;
    let key = |entry: &Entry<'_>| {
        let id = &entry.row.record.case.id;
        (id.group.clone(), id.parameter.clone())
    };
    entries.retain(|it| key(it) == key(&baseline));
    Ok(Cases { entries, baseline_ns })
}

struct Weighing<'a> {
    request: &'a RecommendationRequest,
    options: &'a Options,
    cases: IndexMap<Shape, Cases<'a>>,
}

impl Weighing<'_> {
    /// The recipes that layers of one group may have, and those that they may not have, with the reasons.
    fn weigh(&self, layers: &[&LinearLayers]) -> Result<(Vec<Candidate>, Vec<(String, String)>)> {
        let way = self.options.way;
        let shapes = layers
            .iter()
            .flat_map(|it| products(it, &self.request.phases).map(|(_, phase, _)| it.shape(phase)));
        let entries = shapes.flat_map(|shape| &self.cases[&shape].entries);
        let variants = once(entries.filter_map(|it| it.row.variant()));
        let variants = variants.into_iter().filter(|it| Way::of(it) == way);
        let is_plain = |it: &Variant| {
            let Variant { compile, graph, .. } = *it;
            *it == Variant { compile, graph, ..Variant::BASELINE }
        };
        let (unquantized, others): (Vec<_>, Vec<_>) = variants.partition(is_plain);
        let group = &layers[0].group;
        let Some((&first, rest)) = unquantized.split_first() else {
            bail!(
                "`{group}` has no unquantized case that runs {}\n  name another way with --as",
                way.words()
            );
        };
        let first = self.candidate(first, layers).map_err(anyhow::Error::msg);
        let mut candidates = vec![first.with_context(|| format!("`{group}`, unquantized"))?];
        let mut refused = Vec::new();
        for &variant in rest.iter().chain(&others) {
            match self.candidate(variant, layers) {
                Ok(candidate) => candidates.push(candidate),
                Err(why) => refused.push((variant.to_string(), why)),
            }
        }
        Ok((candidates, refused))
    }

    /// The variant at all shapes of the layers, or why they cannot have it.
    fn candidate(&self, variant: Variant, layers: &[&LinearLayers]) -> Result<Candidate, String> {
        let mut candidate = Candidate { variant, parts: Vec::new(), bytes: 0, sqnr_db: None };
        for layers in layers {
            // A recipe may store a weight otherwise for another number of rows.
            let mut bytes = 0;
            for (place, phase, runs) in products(layers, &self.request.phases) {
                let shape = layers.shape(phase);
                let Cases { entries, baseline_ns } = &self.cases[&shape];
                let entry = entries.iter().find(|it| it.row.variant() == Some(variant));
                let at = |why: String| format!("{shape}: {why}");
                let entry = entry.ok_or_else(|| at("not measured".to_owned()))?;
                let (speedup, sqnr_db) = self.measured(entry).map_err(at)?;
                let weights = &entry.row.record.weights;
                let weights = weights.as_ref().ok_or_else(|| at(NO_WEIGHTS.to_owned()))?;
                bytes = bytes.max(weights.packed_bytes);
                candidate.sqnr_db = candidate.sqnr_db.into_iter().chain(sqnr_db).reduce(f64::min);
                let baseline_ns = runs * baseline_ns;
                candidate.parts.push(Part { phase: place, shape, baseline_ns, speedup });
            }
            candidate.bytes = candidate.bytes.saturating_add(bytes.saturating_mul(layers.count));
        }
        Ok(candidate)
    }

    /// Speed-up over the baseline and decibels of a case that may be chosen.
    fn measured(&self, entry: &Entry<'_>) -> Result<(statistics::Ratio, Option<f64>), String> {
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
        let speedup = match entry.comparison.map(|it| &it.speedup) {
            None => statistics::Ratio { ratio: 1.0, low: 1.0, high: 1.0 },
            Some(Ok(speedup)) => speedup.for_callers(),
            Some(Err(why)) => return Err(why.to_string()),
        };
        let sqnr_db = row.accuracy().map(|it| it.sqnr_db.0);
        match self.options.min_sqnr.filter(|_| !row.is_unquantized()) {
            Some(least) if sqnr_db.is_none_or(|db| db.is_nan() || db < least) => {
                let db = sqnr_db.map_or_else(|| "unknown".to_owned(), units::decibels);
                Err(format!("{db} dB, below --min-sqnr {least}"))
            }
            _ => Ok((speedup, sqnr_db)),
        }
    }
}

const NO_WEIGHTS: &str = "its record has no bytes of weights; measure it again";
