//! Reading a config: torchao's keys as torchao documents them, and our own.
//!
//! Nothing is guessed. A word or key that is not known is an error with a remedy; all errors of
//! all files are collected and returned together.

mod compile_key;
mod diagnostic;
mod node;
mod own_keys;
mod positions;
pub(crate) mod shape_set;
mod training_keys;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use serde_yaml::Value;

pub use diagnostic::{Diagnostic, Diagnostics};

use crate::id;
use crate::settings::{Profiling, Settings};
use crate::shape::Shape;
use crate::words::{CompileMode, Device, Dtype, Mode, ModelKind, Recipe, Sparsity};
use node::{Document, Fields, Node};
use own_keys::{OWN_KEYS, Own};
use training_keys::TRAINING_KEYS;

/// A validated config.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file as the user named it.
    pub file: PathBuf,
    /// Its stem, part of every id.
    pub stem: String,
    /// Hash of its text, 16 hexadecimal digits. Shape lists in files of their own are no part of it.
    pub hash: String,
    /// Inference or training.
    pub mode: Mode,
    /// Recipes as listed, without repetition.
    pub recipes: Vec<Recipe>,
    /// Sparse layouts as listed, without repetition.
    pub sparsities: Vec<Sparsity>,
    /// The entries of `model_params`.
    pub models: Vec<ModelParams>,
}

/// One entry of `model_params`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelParams {
    /// `name`, if given.
    pub name: Option<String>,
    /// The shapes of all its sets, in order, with their names.
    pub shapes: Vec<(String, Shape)>,
    /// Dtype before quantization.
    pub dtype: Dtype,
    /// `torch.compile` mode, if compiled.
    pub compile: Option<CompileMode>,
    /// Whether each eager, dense variant gets a sibling with a preallocated output.
    pub out: bool,
    /// Whether each eager, dense variant whose maths libtorch also has as one packed op gets a
    /// sibling that runs it.
    pub packed: bool,
    /// Device.
    pub device: Device,
    /// Model type.
    pub model: ModelKind,
    /// Traces asked for.
    pub profiling: Profiling,
    /// How it is measured.
    pub settings: Settings,
}

const TOP_KEYS: &[&str] = &[
    "benchmark_mode",
    "quantization_config_recipe_names",
    "sparsity_config_recipe_names",
    "output_dir",
    "model_params",
];

const MODEL_KEYS: &[&str] = &[
    "name",
    "matrix_shapes",
    "high_precision_dtype",
    "use_torch_compile",
    "torch_compile_mode",
    "compile",
    "device",
    "model_type",
    "enable_profiler",
    "enable_memory_profiler",
];

impl Config {
    /// Reads one file.
    ///
    /// # Errors
    /// Every error of the file.
    pub fn read(file: &Path) -> Result<Self, Diagnostics> {
        let text = std::fs::read_to_string(file).map_err(|error| {
            let remedy = "name a YAML file that exists and can be read";
            Diagnostic::whole_file(file, format!("cannot be read: {error}"), remedy)
        })?;
        Self::parse(file, &text)
    }

    /// Reads `text`; `file` gives the stem, the folder of shape lists, and the errors their name.
    ///
    /// # Errors
    /// Every error of the text.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Diagnostics> {
        let stem = stem(file)?;
        let mut value: Value = serde_yaml::from_str(text).map_err(|error| syntax(file, &error))?;
        value.apply_merge().map_err(|error| syntax(file, &error))?;
        let document = Document {
            file: file.to_owned(),
            positions: positions::Positions::of(text),
            errors: RefCell::default(),
        };
        let hash = format!("{:016x}", id::fnv1a(text));
        let config = read_top(&Node::root(&document, &value), file, stem, hash);
        let mut errors = document.errors.into_inner();
        errors.sort_by_key(|error| (error.line, error.column));
        match config {
            Some(config) if errors.is_empty() => Ok(config),
            _ => Err(Diagnostics(errors)),
        }
    }
}

fn syntax(file: &Path, error: &serde_yaml::Error) -> Diagnostics {
    let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
    let message = format!("not valid YAML: {error}");
    let remedy = "mend the syntax here or on the line above";
    Diagnostic { line, column, ..Diagnostic::whole_file(file, message, remedy) }.into()
}

/// The stem becomes a part of ids, directories and filters, so it has to be plain.
fn stem(file: &Path) -> Result<String, Diagnostics> {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if stem.is_empty() || stem.starts_with('.') || !stem.chars().all(plain) {
        let message = format!("the file name `{stem}` cannot be part of a benchmark's id");
        let remedy = "rename the file with letters, digits, `_`, `-` and `.` only";
        return Err(Diagnostic::whole_file(file, message, remedy).into());
    }
    Ok(stem.to_owned())
}

fn read_top(node: &Node<'_>, file: &Path, stem: String, hash: String) -> Option<Config> {
    let keys = [TOP_KEYS, OWN_KEYS, TRAINING_KEYS].concat();
    let elsewhere = "it belongs into an entry of `model_params`";
    let fields = node.mapping_beside(&keys, MODEL_KEYS, elsewhere)?;
    let mode = fields.word_or("benchmark_mode", Mode::Inference);
    let mut own = Own::default();
    if let Some(output_dir) = fields.read("output_dir", Node::string) {
        own.settings.output_dir = output_dir;
    }
    own.settings.training = training_keys::read(&fields, mode);
    own_keys::apply(&fields, &mut own);
    let folder = file.parent().unwrap_or(Path::new(""));
    let models = read_models(&fields, folder, &own);
    Some(Config {
        file: file.to_owned(),
        stem,
        hash,
        mode,
        recipes: words(&fields, "quantization_config_recipe_names"),
        sparsities: words(&fields, "sparsity_config_recipe_names"),
        models: models?,
    })
}

/// The words of a list, without repetition. Null entries mean "none", as upstream.
fn words<T>(fields: &Fields<'_>, key: &str) -> Vec<T>
where
    T: std::str::FromStr<Err = crate::words::UnknownWord> + PartialEq,
{
    let Some(node) = fields.get(key).filter(|node| !node.is_null()) else { return Vec::new() };
    let mut found = Vec::new();
    for item in node.list().unwrap_or_default() {
        if item.is_null() {
            continue;
        }
        if let Some(word) = item.word().filter(|word| !found.contains(word)) {
            found.push(word);
        }
    }
    found
}

/// `model_params`: a list (the tutorial) or one mapping (the README).
fn read_models(fields: &Fields<'_>, folder: &Path, outer: &Own) -> Option<Vec<ModelParams>> {
    let Some(node) = fields.get("model_params") else {
        return fields.error("no `model_params`".to_owned(), "list at least one model to measure");
    };
    if node.is_mapping() {
        return Some(vec![read_model(&node, folder, outer)?]);
    }
    let models: Vec<_> =
        node.list()?.iter().map(|model| read_model(model, folder, outer)).collect();
    if models.is_empty() {
        return node.error("no model".to_owned(), "list at least one model to measure");
    }
    models.into_iter().collect()
}

fn read_model(node: &Node<'_>, folder: &Path, outer: &Own) -> Option<ModelParams> {
    let keys = [MODEL_KEYS, OWN_KEYS].concat();
    let others = [TOP_KEYS, TRAINING_KEYS].concat();
    let fields = node.mapping_beside(&keys, &others, "it belongs at the top of the file")?;
    let mut own = outer.clone();
    own_keys::apply(&fields, &mut own);
    let shapes = read_shapes(&fields, folder);
    let compile = compile_key::read(&fields);
    Some(ModelParams {
        name: fields.read("name", Node::string),
        dtype: fields.word_or("high_precision_dtype", Dtype::BFloat16),
        device: fields.word_or("device", Device::Cpu),
        model: fields.word_or("model_type", ModelKind::Linear),
        profiling: Profiling {
            profiler: fields.flag("enable_profiler"),
            memory: fields.flag("enable_memory_profiler"),
        },
        out: own.out,
        packed: own.packed,
        settings: own.settings,
        shapes: shapes?,
        compile: compile?,
    })
}

/// The shapes of every set. A model without `matrix_shapes` is measured at one shape, 1024³.
fn read_shapes(fields: &Fields<'_>, folder: &Path) -> Option<Vec<(String, Shape)>> {
    let Some(node) = fields.get("matrix_shapes") else {
        return Some(vec![("custom".to_owned(), Shape::new(1024, 1024, 1024))]);
    };
    let sets: Vec<_> = node.list()?.iter().map(|set| shape_set::read(set, folder)).collect();
    let shapes = sets.into_iter().collect::<Option<Vec<_>>>()?.concat();
    if shapes.is_empty() {
        return node.error("no shape".to_owned(), "list at least one shape set with a shape");
    }
    Some(shapes)
}
