//! Configs of inference and training: torchao's keys as torchao documents them.

use std::path::Path;

use super::node::{Fields, Node, without_repetition};
use super::own_keys::{self, OWN_KEYS, Own};
use super::training_keys::{self, TRAINING_KEYS};
use super::{at_the_top, compile_key, shape_set, top};
use crate::settings::{Profiling, Settings};
use crate::shape::Shape;
use crate::words::{CompileMode, Device, Dtype, Mode, ModelKind, Recipe, Sparsity};

/// Models, and what each is measured with.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSuite {
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
    /// Modes of `torch.compile`: each eager variant gets a sibling compiled in each.
    pub compile: Vec<CompileMode>,
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

pub(super) const KEY: &str = "model_params";

const TOP_KEYS: &[&str] = &[
    "quantization_config_recipe_names",
    "sparsity_config_recipe_names",
    "output_dir",
    "model_params",
];

const MODEL_KEYS: &[&str] = &[
    "name",
    "matrix_shapes",
    "high_precision_dtype",
    "device",
    "model_type",
    "enable_profiler",
    "enable_memory_profiler",
];

/// Our own keys that concern models alone.
const SIBLING_KEYS: &[&str] = &["out", "packed"];

/// What they say: which cases there are.
#[derive(Clone, Copy)]
struct Siblings {
    out: bool,
    packed: bool,
}

impl Siblings {
    /// These, with what `fields` says on top.
    fn with(self, fields: &Fields<'_>) -> Self {
        Self {
            out: fields.read("out", Node::boolean).unwrap_or(self.out),
            packed: fields.read("packed", Node::boolean).unwrap_or(self.packed),
        }
    }
}

pub(super) fn read(node: &Node<'_>, mode: Mode, folder: &Path) -> Option<ModelSuite> {
    let keys = [TOP_KEYS, SIBLING_KEYS, TRAINING_KEYS].concat();
    let fields = top(node, &keys, KEY, &[MODEL_KEYS, compile_key::KEYS].concat())?;
    let mut own = Own::default();
    if let Some(output_dir) = fields.read("output_dir", Node::string) {
        own.settings.output_dir = output_dir;
    }
    own.settings.training = training_keys::read(&fields, mode);
    own_keys::apply(&fields, &mut own);
    let siblings = Siblings { out: false, packed: true }.with(&fields);
    // A list in the tutorial, one mapping in the README.
    let models = fields.entries(KEY, "model", |entry| read_model(entry, folder, &own, siblings));
    Some(ModelSuite {
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
    let word = |item: &Node<'_>| if item.is_null() { Some(None) } else { item.word().map(Some) };
    let words = node.each(word).unwrap_or_default().into_iter().flatten().flatten();
    without_repetition(words)
}

fn read_model(
    node: &Node<'_>,
    folder: &Path,
    outer: &Own,
    siblings: Siblings,
) -> Option<ModelParams> {
    let keys = [MODEL_KEYS, compile_key::KEYS, OWN_KEYS, SIBLING_KEYS].concat();
    let others = at_the_top(&[TOP_KEYS, TRAINING_KEYS].concat());
    let fields = node.mapping_beside(&keys, &others)?;
    let mut own = outer.clone();
    own_keys::apply(&fields, &mut own);
    let Siblings { out, packed } = siblings.with(&fields);
    let shapes = read_shapes(&fields, folder);
    let compile = compile_key::read(&fields);
    Some(ModelParams {
        name: fields.read("name", Node::string),
        dtype: fields.read("high_precision_dtype", Node::dtype).unwrap_or(Dtype::BFloat16),
        device: fields.word_or("device", Device::Cpu),
        model: fields.word_or("model_type", ModelKind::Linear),
        profiling: Profiling {
            profiler: fields.flag("enable_profiler"),
            memory: fields.flag("enable_memory_profiler"),
        },
        out,
        packed,
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
    let mut shapes = Some(Vec::new());
    for set in node.list()? {
        // All are read before any error ends this, so that each error is reported.
        let set = shape_set::read(&set, folder).filter(|set| node.has_room(set.count));
        shapes = shapes.zip(set).map(|(mut shapes, set)| {
            shapes.extend(set.shapes);
            shapes
        });
    }
    let shapes = shapes?;
    if shapes.is_empty() {
        return node.error("no shape".to_owned(), "list at least one shape set with a shape");
    }
    Some(shapes)
}
