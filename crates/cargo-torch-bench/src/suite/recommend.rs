//! `recommend`: the products of a model, measured with every recipe, and which recipe each layer takes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::time::SystemTime;

use clap::{ArgAction, Args};
use plan::architecture::{self, ArchitectureError};
use plan::recommendation::{
    self, Block, LinearLayers, ModelLayers, Objective, Phase, RecommendationRequest, Sensitivity,
};
use plan::{Device, Dtype, Mode, Recipe, Shape, with_unit_of_bytes, without_repetition};
use serde::Deserialize;

use super::{Config, Measured, Suite, device, list, weights};
use crate::bench;
use crate::error::{Error, Result};
use crate::files;
use crate::workspace::{self, Workspace};

const STEM: &str = "recommend";
/// The config of a block has this file stem, as [`RecommendationRequest::block_stem`] says.
const BLOCK_STEM: &str = "recommend-block";
/// How products and block are measured: with weights that no cache holds.
const MEASURING: &str = "cache: cold\nenergy: false\nsampling: { target: 0.02 }\n";
/// Share of the budget that the block has.
const BLOCK_SHARE: f64 = 0.2;

#[derive(Debug, PartialEq, Args)]
pub struct Options {
    /// The model: config.json of Hugging Face, or a YAML file of its linear layers
    #[arg(value_name = "FILE")]
    model: PathBuf,
    /// Forward passes: NAME:TOKENS or NAME:TOKENSxPASSES
    ///
    /// Tokens of each sequence in a pass, and how many such passes a request takes: by default 256
    /// of one token, and one of more.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        action = ArgAction::Set,
        value_parser = pass,
        default_value = "prefill:2048,decode:1"
    )]
    phase: Vec<Pass>,
    /// Sequences in a pass
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        action = ArgAction::Set,
        value_parser = clap::value_parser!(u64).range(1..=1 << 20),
        default_value = "1"
    )]
    batch: Vec<u64>,
    /// The aim: fastest, smallest:5% (more time than the fastest), or memory:2GiB (of weights)
    #[arg(long, value_name = "WORD", value_parser = objective, default_value = "fastest")]
    objective: Objective,
    /// Time to measure in, e.g. `90s`
    #[arg(long, value_name = "TIME", default_value = "5min")]
    budget: String,
    /// Recipes to choose from, beside the unquantized model [default: those that may pay on the device]
    #[arg(long, value_name = "LIST", value_delimiter = ',', action = ArgAction::Set)]
    recipes: Vec<String>,
    /// Accuracy of layers with recipes, in YAML or JSON; it counts instead of the one measured here
    #[arg(long, value_name = "FILE")]
    sensitivity: Option<PathBuf>,
    /// The model's *.safetensors: the accuracy of some layers is checked with their real weights
    #[arg(long, value_name = "FOLDER")]
    weights: Option<PathBuf>,
    /// Dtype of the unquantized model
    #[arg(long, value_name = "DTYPE", value_parser = dtype, default_value = "bfloat16")]
    dtype: Dtype,
    /// Device: cpu, cuda
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device)]
    device: Device,
    /// How the model is to run: eager, graph (a CUDA graph), or compiled (by torch.compile's compiler)
    #[arg(long = "as", value_name = "WAY", value_parser = ["eager", "graph", "compiled"], default_value = "eager")]
    way: String,
    /// Folder of recommendation.json and the files that reproduce it
    #[arg(long, short, value_name = "FOLDER", default_value = "recommendation")]
    pub output: PathBuf,
    /// Show the layers, the products and the time, and measure nothing
    #[arg(long)]
    plan: bool,
    /// Print criterion's output, which otherwise goes to bench.log
    #[arg(long)]
    verbose: bool,
}

/// Forward passes of one size, whatever the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pass {
    name: String,
    tokens: u64,
    passes: u64,
}

/// Passes of one token in a request, by default.
const GENERATED: u64 = 256;

fn pass(text: &str) -> std::result::Result<Pass, String> {
    let usage = || format!("`{text}` is not NAME:TOKENS or NAME:TOKENSxPASSES, e.g. decode:1x256");
    let count = |text: &str| text.parse().ok().filter(|it| (1..=1_u64 << 32).contains(it));
    let (name, sizes) = text.split_once(':').ok_or_else(usage)?;
    let (tokens, passes) = sizes.split_once('x').map_or((sizes, None), |(a, b)| (a, Some(b)));
    let tokens = count(tokens).ok_or_else(usage)?;
    let passes = match passes {
        Some(passes) => count(passes).ok_or_else(usage)?,
        None if tokens == 1 => GENERATED,
        None => 1,
    };
    if name.is_empty() {
        return Err(usage());
    }
    Ok(Pass { name: name.to_owned(), tokens, passes })
}

fn objective(text: &str) -> std::result::Result<Objective, String> {
    const USAGE: &str = "use fastest, smallest:5% or memory:2GiB";
    let usage = || USAGE.to_owned();
    match text.split_once(':') {
        None if text == "fastest" => Ok(Objective::Fastest),
        Some(("smallest", share)) => {
            let percent: f64 =
                share.strip_suffix('%').and_then(|it| it.parse().ok()).ok_or_else(usage)?;
            let is_share = (0.0..=1000.0).contains(&percent);
            is_share.then_some(Objective::Smallest { within: percent / 100.0 }).ok_or_else(usage)
        }
        Some(("memory", size)) => {
            let bytes = with_unit_of_bytes(size).and_then(|(count, unit)| {
                let bytes = count.parse::<f64>().ok()? * unit as f64;
                (1.0..1e18).contains(&bytes).then_some(bytes as u64)
            });
            bytes.map(|bytes| Objective::Memory { bytes }).ok_or_else(usage)
        }
        _ => Err(usage()),
    }
}

fn dtype(text: &str) -> std::result::Result<Dtype, String> {
    Dtype::among(Dtype::ALL, text).map_err(|unknown| format!("{unknown}: {}", unknown.remedy))
}

pub fn command(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    options.check_recipes(workspace.root())?;
    let mut request = options.request(options.read()?);
    request.sensitivity = options.sensitivity(&request.model)?;
    let mut suite = options.suite(&request)?;
    let block = options.has_block(&request);
    eprint!("{}", shown(&request));
    match &block {
        Ok(()) => eprintln!(
            "then one block with the recommended recipes: a fifth of --budget {} is for it, the rest for the products",
            options.budget
        ),
        Err(why) => eprintln!("no block is measured: {why}"),
    }
    if let Some(folder) = &options.weights {
        let folder = workspace::current_folder()?.join(folder);
        suite.weights = weights::find(&folder, &request.model)?;
        let names: Vec<&str> = suite.weights.iter().map(|it| &*it.tensor).collect();
        eprintln!("accuracy is checked with {}", names.join(", "));
        request.weights = Some(folder);
    }
    if options.plan {
        return suite.planned(workspace);
    }
    let folder = workspace::current_folder()?.join(&options.output);
    files::make_folder(&folder)?;
    let measured = suite.measure(workspace)?;
    let text = serde_json::to_string(&request).map_err(failed)?;
    files::write(&recommendation::file(&measured.results.records), text)?;
    let block = block.map_or(Ok(None), |()| options.measure_block(workspace, &request, &measured));
    let words = ["recommend", "--as", &options.way, "--output"].map(OsString::from);
    let words = [&words[..], &[folder.into_os_string()]].concat();
    let reported = measured.reported(&[words])?;
    let of_block = block?.into_iter().filter(|status| !status.success());
    Ok(measured.end(&of_block.chain(reported).collect::<Vec<_>>()))
}

fn failed(error: impl ToString) -> Error {
    Error::new(error.to_string())
}

/// The part of the report's JSON that a block needs.
#[derive(Deserialize)]
struct Decision {
    block_recipe: Option<Recipe>,
}

impl Options {
    /// Measures one block of each phase with the recipes that the measured products recommend.
    fn measure_block(
        &self,
        workspace: &Workspace,
        request: &RecommendationRequest,
        products: &Measured<'_>,
    ) -> Result<Option<ExitStatus>> {
        let json = products.output(&["recommend", "--format", "json"])?;
        let decision: Decision = serde_json::from_slice(&json).map_err(failed)?;
        let Some(recipe) = decision.block_recipe else { return Ok(None) };
        let suite = Suite {
            stem: BLOCK_STEM,
            ..self.suite_of(self.block_config(request, recipe)?, BLOCK_SHARE)?
        };
        Ok(Some(suite.measure(workspace)?.status))
    }

    fn block_config(&self, request: &RecommendationRequest, recipe: Recipe) -> Result<String> {
        let mut text = format!(
            "# Written by `cargo torch-bench recommend`.\nbenchmark_mode: inference\n\
             quantization_config_recipe_names: [\"{recipe}\"]\n{MEASURING}model_params:\n"
        );
        for phase in &request.phases {
            let Block { model, shape: Shape { m, k, n } } =
                request.block(phase).map_err(Error::new)?;
            text += &format!(
                "  - model_type: {model}\n    device: {}\n    high_precision_dtype: {}\n    \
                 matrix_shapes: [{{ name: custom, shapes: [[{m}, {k}, {n}]] }}]  # [m, k, n]\n",
                self.device, self.dtype,
            );
        }
        Ok(text)
    }

    fn read(&self) -> Result<ModelLayers> {
        let text = files::read(&self.model)?;
        let is_yaml = self.model.extension().is_some_and(|it| it == "yml" || it == "yaml");
        let read = if is_yaml { architecture::layers_of_yaml } else { architecture::read };
        read(&text, &name(&self.model)).map_err(|error| mistake(&self.model, error))
    }

    fn sensitivity(&self, model: &ModelLayers) -> Result<Option<Sensitivity>> {
        let Some(file) = &self.sensitivity else { return Ok(None) };
        let read = architecture::sensitivity(&files::read(file)?, "", model);
        read.map(Some).map_err(|error| mistake(file, error))
    }

    /// Refuses words that no config can have. Those of the package in `root` are known to its build script.
    fn check_recipes(&self, root: &Path) -> Result<()> {
        for word in &self.recipes {
            let (what, remedy) = match word.parse::<Recipe>() {
                Ok(recipe) if recipe.takes(Mode::Inference) => continue,
                Err(_) if root.join("benches/recipes").is_dir() => continue,
                Ok(_) => (format!("`{word}` is no recipe of inference"), "remove it".to_owned()),
                Err(unknown) => (unknown.to_string(), unknown.remedy),
            };
            return Err(Error::usage(format!("--recipes: {what}")).remedy(remedy));
        }
        Ok(())
    }

    fn request(&self, model: ModelLayers) -> RecommendationRequest {
        let phases: Vec<Phase> = (self.batch.iter().copied())
            .flat_map(|batch| self.phase.iter().map(move |it| it.at(batch)))
            .collect();
        RecommendationRequest {
            schema: recommendation::SCHEMA.to_owned(),
            version: recommendation::VERSION,
            model,
            phases,
            objective: self.objective,
            device: self.device,
            dtype: self.dtype,
            stem: STEM.to_owned(),
            sensitivity: None,
            weights: None,
            asked: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs(),
        }
    }

    fn suite(&self, request: &RecommendationRequest) -> Result<Suite> {
        if self.way == "graph" && self.device != Device::Cuda {
            let what = format!("--as graph: {} has no CUDA graphs", self.device);
            return Err(Error::usage(what).remedy("add --device cuda, or leave --as out"));
        }
        let share = if self.has_block(request).is_ok() { 1.0 - BLOCK_SHARE } else { 1.0 };
        let mut suite = self.suite_of(self.config(request), share)?;
        // The fewest bytes, or those that fit, may be those of a slower recipe.
        if matches!(request.objective, Objective::Fastest) {
            suite.arguments.push("--fastest".into());
        }
        Ok(suite)
    }

    /// Whether one block is measured, or why not.
    fn has_block(&self, request: &RecommendationRequest) -> std::result::Result<(), String> {
        if self.way != "eager" {
            return Err(format!("a recipe for each layer runs eagerly, not {}", self.way));
        }
        request.phases.iter().try_for_each(|phase| request.block(phase).map(drop))
    }

    /// The suite of a config that has a share of the budget.
    fn suite_of(&self, text: String, share: f64) -> Result<Suite> {
        let configs = vec![Config { mode: "inference", text }];
        let seconds = (bench::budget_s(&self.budget)? * share).max(1.0);
        let arguments = bench::with_budget(&[], Some(&format!("{seconds}s")))?;
        let (verbose, weights) = (self.verbose, Vec::new());
        Ok(Suite { command: STEM, stem: STEM, configs, verbose, arguments, weights })
    }

    /// The config of all products with all recipes.
    fn config(&self, request: &RecommendationRequest) -> String {
        let recipes = match (&self.recipes[..], self.device) {
            ([], Device::Cuda) => USUAL_ON_CUDA.map(str::to_owned).to_vec(),
            ([], _) => USUAL.map(str::to_owned).to_vec(),
            (named, _) => named.to_vec(),
        };
        let others = [Dtype::Float32, Dtype::BFloat16, Dtype::Float16];
        let others: Vec<_> = others.into_iter().filter(|it| *it != self.dtype).collect();
        let shapes: Vec<String> =
            shapes(request).iter().map(|it| format!("[{}, {}, {}]", it.m, it.k, it.n)).collect();
        let form = match &*self.way {
            "graph" => "    cuda_graph: true\n",
            "compiled" => "    use_torch_compile: true\n",
            _ => "",
        };
        format!(
            "# Written by `cargo torch-bench recommend`.\nbenchmark_mode: inference\n\
             quantization_config_recipe_names: {}\nunquantized_dtypes: {}\npacked: true\n\
             {MEASURING}model_params:\n  - model_type: linear\n    \
             device: {}\n    high_precision_dtype: {}\n{form}    matrix_shapes: [{{ name: custom, shapes: \
             {} }}]  # [m, k, n]\n",
            list(&recipes),
            list(&others),
            self.device,
            self.dtype,
            list(&shapes),
        )
    }
}

/// Recipes that may pay on a CPU: the others convert the whole weight at every step.
const USUAL: [&str; 5] = ["int8wo", "int8dq", "int4wo-64", "gemlitewo-4-64", "gemlitewo-8-64"];
/// Recipes that may pay on a GPU.
const USUAL_ON_CUDA: [&str; 7] = [
    "int8wo",
    "int8dq",
    "int4wo-64",
    "float8wo",
    "float8dq-row",
    "gemlitewo-4-64",
    "gemlitewo-8-64",
];

impl Pass {
    fn at(&self, batch: u64) -> Phase {
        Phase { name: self.name.clone(), tokens: self.tokens, batch, passes: self.passes }
    }
}

fn mistake(file: &Path, error: ArchitectureError) -> Error {
    let ArchitectureError { key, message, remedy, .. } = error;
    let place = if key.is_empty() { key } else { format!("{key}: ") };
    Error::usage(format!("{}: {place}{message}", file.display())).remedy(remedy)
}

/// The model's name: that of the folder of its config.json.
fn name(file: &Path) -> String {
    let of_folder = || file.parent().and_then(Path::file_name);
    let stem = file.file_stem().filter(|it| *it != "config");
    stem.or_else(of_folder).map_or_else(|| "model".to_owned(), |it| it.to_string_lossy().into())
}

/// The products that are measured, each once.
fn shapes(request: &RecommendationRequest) -> Vec<Shape> {
    let of_phase = |phase| request.model.layers.iter().map(move |it| it.shape(phase));
    without_repetition(request.phases.iter().flat_map(of_phase))
}

/// The layers and the products, before anything is measured.
fn shown(request: &RecommendationRequest) -> String {
    let ModelLayers { name, family, layers, .. } = &request.model;
    let quantizable: u64 = layers.iter().map(LinearLayers::parameters).sum();
    let mut text = format!(
        "{name} ({family}): {} parameters, {quantizable} of them in linear layers\n",
        request.model.parameters()
    );
    let width = layers.iter().map(|it| it.fqn.len()).max().unwrap_or_default();
    for LinearLayers { fqn, n, k, count, group, .. } in layers {
        let sizes = format!("[{n}, {k}]");
        text += &format!("  {fqn:width$}  {sizes:>16} × {count:<5} {group}\n");
    }
    let phases: Vec<String> = (request.phases.iter())
        .map(|it| format!("{} × {} ({} tokens × {})", it.passes, it.name, it.tokens, it.batch))
        .collect();
    let count = shapes(request).len();
    text += &format!("a request: {}; {count} different products\n", phases.join(", "));
    text
}

#[cfg(test)]
#[path = "recommend_tests.rs"]
mod tests;
