//! Configs of inference and training: torchao's keys as torchao documents them. A model at a shape is
//! measured in its variants: recipe × sparsity × output × CUDA graph × compilation.

use std::path::Path;

use super::entry::Entry;
use super::model::{ModelParams, ModelStep, refuse};
use super::node::{Fields, Node};
use super::own_keys::{self, CommonSettings, OWN_KEYS};
use super::training_params::{self, Training};
use super::{at_the_top, compile_key, emulation, shape_set, top};
use crate::linears::ModelSizes;
use crate::settings::Profiling;
use crate::shape::Shape;
use crate::user::UserFiles;
use crate::variant::Variant;
use crate::words::{
    CompileMode, Device, Dtype, Mode, ModelKind, Recipe, Sparsity, UnknownWord, UserWord,
    without_repetition,
};

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

/// Our own keys that concern models in inference alone.
const SIBLING_KEYS: &[&str] = &["out", "packed", "cuda_graph", "unquantized_dtypes"];

/// Settings and variants of every model of a config.
#[derive(Clone)]
struct Outer {
    own: CommonSettings,
    /// The baseline, then each recipe, then the sparse ones.
    eager: Vec<Variant>,
    /// Whether each dense variant gets a sibling with a preallocated output.
    out: bool,
    /// Whether each dense variant whose maths libtorch also has as one packed op gets a sibling that
    /// runs it; none where the config does not say.
    packed: Option<bool>,
    /// Whether each eager variant gets a sibling whose step is captured in a CUDA graph.
    cuda_graph: bool,
    /// The dtypes in which the unquantized model is a sibling, too, besides its own.
    unquantized: Vec<Dtype>,
    /// Present in training mode.
    training: Option<Training>,
}

pub(super) fn read(
    node: &Node<'_>,
    mode: Mode,
    folder: &Path,
    user_files: &UserFiles,
) -> Option<Vec<ModelParams>> {
    let keys = [TOP_KEYS, SIBLING_KEYS, training_params::KEYS, training_params::OWN_KEYS].concat();
    let fields = top(node, &keys, KEY, &[MODEL_KEYS, compile_key::KEYS].concat())?;
    let recipe = |node: &Node<'_>| {
        let recipe = node.named(&node.string()?, |text| user_files.recipe(text))?;
        taken(node, recipe, mode)
    };
    let recipes = words(&fields, "quantization_config_recipe_names", recipe);
    let sparsities = words(&fields, "sparsity_config_recipe_names", |node: &Node<'_>| node.word());
    let eager = eager(&recipes, &sparsities);
    let training = training_params::read(&fields, mode, &recipes, &sparsities);
    if mode == Mode::Training {
        refuse(&fields, SIBLING_KEYS, Mode::Inference);
    }
    let own = CommonSettings::default();
    let (out, packed, cuda_graph, unquantized) = (false, None, false, Vec::new());
    let mut outer = Outer { own, eager, out, packed, cuda_graph, unquantized, training };
    fields.update("output_dir", &mut outer.own.settings.output_dir, Node::string);
    outer.read(&fields);
    // A list in the tutorial, one mapping in the README.
    let of_package = Context { mode, folder, user_files };
    fields.entries(KEY, "model", |entry| read_model(entry, &of_package, outer.clone()))
}

/// The recipe, if it quantizes in this mode.
fn taken(node: &Node<'_>, recipe: Recipe, mode: Mode) -> Option<Recipe> {
    if recipe.takes(mode) {
        return Some(recipe);
    }
    let takes: Vec<_> = Recipe::examples().filter(|it| it.takes(mode)).collect();
    let takes: Vec<_> = takes.iter().map(Recipe::to_string).collect();
    let remedy = match mode {
        Mode::Training => format!("those of {mode} are: {}", takes.join(", ")),
        _ => format!("write `benchmark_mode: {}`, or delete it", Mode::Training),
    };
    node.error(format!("`{recipe}` is no recipe of {mode}"), remedy)
}

/// The facts of a config and its package that each entry is read with.
struct Context<'c> {
    mode: Mode,
    folder: &'c Path,
    user_files: &'c UserFiles,
}

/// The words of the package's own recipes and models that `entries` name.
pub(super) fn user_words(entries: &[ModelParams]) -> Vec<UserWord> {
    let models = entries.iter().flat_map(|entry| &entry.kernels);
    let models = models.filter_map(|step| match step.model {
        ModelKind::User(word) => Some(word),
        _ => None,
    });
    let ways = entries.iter().flat_map(|entry| entry.ways.iter().flatten());
    let recipes = ways.filter_map(|way| match way.recipe {
        Recipe::User(word) => Some(word),
        _ => None,
    });
    without_repetition(models.chain(recipes))
}

impl Outer {
    fn read(&mut self, fields: &Fields<'_>) {
        own_keys::apply(fields, &mut self.own);
        fields.update("out", &mut self.out, Node::boolean);
        fields.update("packed", &mut self.packed, |node| node.boolean().map(Some));
        fields.update("cuda_graph", &mut self.cuda_graph, Node::boolean);
        if let Some(dtypes) = fields.dtypes("unquantized_dtypes").flatten() {
            self.unquantized = dtypes;
        }
        if let Some(training) = &mut self.training {
            training.read(fields);
            self.own.settings.training = Some(training.settings.clone());
        }
    }

    /// The baseline, also in other dtypes if asked for, and the recipes. Behind each eager variant follow its packed form, if the recipe has one, and, if asked for, its
    /// form with a preallocated output (dense ones only), that in a CUDA graph, that of torch's autograd, and its
    /// compiled forms. A device without CUDA graphs has that form, too: it is reported as unsupported.
    fn variants(&self, device: Device, dtype: Dtype, compile: &[CompileMode]) -> Vec<Variant> {
        let packs = |recipe: Recipe| {
            let usual = self.packed.unwrap_or_else(|| recipe.is_usually_packed(device));
            self.training.is_none() && recipe.has_packed() && usual
        };
        let training = self.training.as_ref();
        let autograd = training.is_some_and(|training| training.autograd);
        let settings = training.map(|training| &training.settings);
        let others = self.unquantized.iter().filter(|other| **other != dtype);
        let others = others.map(|&other| Variant { dtype: Some(other), ..Variant::BASELINE });
        let (baseline, recipes) = self.eager.split_at(1);
        let all = baseline.iter().copied().chain(others).chain(recipes.iter().copied());
        let forms = all.flat_map(|eager| {
            let emulated = emulation::is_emulated(eager.recipe, settings, device);
            let eager = Variant { emulated, ..eager };
            let dense = eager.sparsity.is_none();
            let packed =
                (dense && packs(eager.recipe)).then_some(Variant { packed: true, ..eager });
            let out = (training.is_none() && self.out && dense)
                .then_some(Variant { preallocated: true, ..eager });
            let graph =
                (training.is_none() && self.cuda_graph).then_some(Variant { graph: true, ..eager });
            let autograd = autograd.then_some(Variant { autograd: true, ..eager });
            let compiled =
                compile.iter().map(move |&mode| Variant { compile: Some(mode), ..eager });
            let ways = std::iter::once(eager).chain(packed).chain(out).chain(graph);
            ways.chain(autograd).chain(compiled)
        });
        without_repetition(forms)
    }
}

/// Upstream pairs block sparsity with the baseline always, 2:4 only with recipes that are listed.
fn eager(recipes: &[Recipe], sparsities: &[Sparsity]) -> Vec<Variant> {
    let all = || std::iter::once(Recipe::Baseline).chain(recipes.iter().copied());
    let sparse = sparsities.iter().flat_map(|&sparsity| {
        let has_baseline = sparsity == Sparsity::Block || recipes.contains(&Recipe::Baseline);
        all()
            .filter(move |&recipe| sparsity.pairs_with(recipe))
            .filter(move |&recipe| has_baseline || recipe != Recipe::Baseline)
            .map(move |recipe| Variant { sparsity: Some(sparsity), ..Variant::eager(recipe) })
    });
    all().map(Variant::eager).chain(sparse).collect()
}

/// The words of a list, without repetition. Null entries mean "none", as upstream.
fn words<T: PartialEq>(
    fields: &Fields<'_>,
    key: &str,
    read: impl Fn(&Node<'_>) -> Option<T>,
) -> Vec<T> {
    let Some(node) = fields.get(key).filter(|node| !node.is_null()) else { return Vec::new() };
    let word = |item: &Node<'_>| match item.is_null() {
        true => Some(None),
        false => read(item).map(Some),
    };
    let words = node.read_each(word).unwrap_or_default().into_iter().flatten().flatten();
    without_repetition(words)
}

fn read_model(
    node: &Node<'_>,
    &Context { mode, folder, user_files }: &Context<'_>,
    mut outer: Outer,
) -> Option<ModelParams> {
    let (of_mode, of_other, other) = match mode {
        Mode::Training => (training_params::OWN_KEYS, SIBLING_KEYS, Mode::Inference),
        _ => (SIBLING_KEYS, training_params::OWN_KEYS, Mode::Training),
    };
    let keys = [MODEL_KEYS, compile_key::KEYS, OWN_KEYS, of_mode].concat();
    let mut others = at_the_top(&[TOP_KEYS, training_params::KEYS].concat());
    others.extend(
        of_other.iter().map(|key| (*key, format!("it has a meaning in {other} mode only"))),
    );
    let fields = node.mapping_beside(&keys, &others)?;
    outer.read(&fields);
    let shapes = read_shapes(&fields, folder);
    let compile = compile_key::read(&fields);
    let dtype = fields.read("high_precision_dtype", Node::dtype).unwrap_or(Dtype::BFloat16);
    let name = fields.read("name", Node::string);
    let device = |node: &Node<'_>| node.named(&node.string()?, Device::of_other_modes);
    let device = fields.read("device", device).unwrap_or(Device::Cpu);
    let model = |node: &Node<'_>| node.named(&node.string()?, |text| user_files.model(text));
    let model = fields.read("model_type", model).unwrap_or(ModelKind::Linear);
    if mode == Mode::Training && !model.is_trained() {
        node.report(format!("`{model}` is no model of {mode}"), "measure it in inference");
    }
    let profiling = Profiling {
        profiler: fields.flag("enable_profiler"),
        memory: fields.flag("enable_memory_profiler"),
    };
    let compile = compile?;
    let ways = outer.variants(device, dtype, &compile);
    refuse_unknown_layers(node, model, &ways);
    let step = |pass| ModelStep { model, pass };
    let steps = outer.training.map(|it| it.passes.into_iter().map(|it| step(Some(it))).collect());
    Some(Entry {
        name,
        kernels: steps.unwrap_or_else(|| vec![step(None)]),
        sizes: shapes?,
        ways: Some(ways),
        compile,
        dtypes: vec![dtype],
        devices: vec![device],
        profiling,
        settings: outer.own.settings,
    })
}

/// An error for each layer that a recipe names and the model does not have. A package's model has its layers when it runs.
fn refuse_unknown_layers(node: &Node<'_>, model: ModelKind, ways: &[Variant]) {
    let Some(sizes) = ModelSizes::new(model, Shape::new(1, 1, 1)) else { return };
    let known: Vec<&str> = sizes.linears.iter().map(|it| it.name).collect();
    let recipes = without_repetition(ways.iter().map(|way| way.recipe)).into_iter();
    for named in recipes.flat_map(Recipe::named_layers) {
        let layer = named.layer.as_str();
        if !known.contains(&layer) {
            let unknown = UnknownWord::new("layer", layer, known.iter().copied());
            node.report(format!("`{model}` has no linear layer `{layer}`"), unknown.remedy);
        }
    }
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
