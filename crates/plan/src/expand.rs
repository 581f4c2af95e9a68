//! From configs to a plan: model × shape × (recipe × sparsity × output × compilation), in
//! upstream's order of shapes and with the siblings of a shape together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::case::{Case, Group, Plan, Role};
use crate::config::{Config, Diagnostic, Diagnostics, ModelParams};
use crate::id::{self, Variant};
use crate::shape::Shape;
use crate::words::{Mode, ModelKind, Recipe, Sparsity};

/// Reads and expands `files`.
///
/// # Errors
/// Every error of every file.
pub fn load(files: &[PathBuf]) -> Result<Plan, Diagnostics> {
    let mut configs = Vec::new();
    let mut errors = Vec::new();
    for file in files {
        match Config::read(file) {
            Ok(config) => configs.push(config),
            Err(found) => errors.extend(found.0),
        }
    }
    if !errors.is_empty() {
        return Err(Diagnostics(errors));
    }
    expand(&configs)
}

/// Expands `configs` in their order.
///
/// # Errors
/// Cases that share an id but not their settings, or that criterion would write into one place.
pub fn expand(configs: &[Config]) -> Result<Plan, Diagnostics> {
    let mut expansion = Expansion::default();
    for config in configs {
        for model in &config.models {
            expansion.add(config, model);
        }
    }
    let plan = Plan { groups: expansion.groups };
    if let Some((first, second)) = id::collision(plan.cases()) {
        let file = expansion.files.get(&second.id.group).map_or(Path::new(""), PathBuf::as_path);
        let message = format!("`{}` and `{}` are one directory", first.id, second.id);
        let remedy = "rename one of the two configs";
        expansion.errors.push(Diagnostic::whole_file(file, message, remedy));
    }
    if expansion.errors.is_empty() { Ok(plan) } else { Err(Diagnostics(expansion.errors)) }
}

#[derive(Default)]
struct Expansion {
    groups: Vec<Group>,
    /// Where the group with this id and parameter stands in `groups`.
    index: HashMap<(String, String), usize>,
    /// Which file a criterion group came from.
    files: HashMap<String, PathBuf>,
    errors: Vec<Diagnostic>,
}

impl Expansion {
    fn add(&mut self, config: &Config, model: &ModelParams) {
        let group = id::group(config.mode, &config.stem, model.model, model.device);
        if let Some(other) = self.clash(&group, &config.file) {
            let message = format!("its cases have the same ids as those of {}", other.display());
            let remedy = "rename one of the two files: the stem is part of every id";
            self.complain(Diagnostic::whole_file(&config.file, message, remedy));
            return;
        }
        let variants = variants(config, model);
        for (name, shape) in &model.shapes {
            let shape = &canonical(model.model, *shape);
            let parameter = id::parameter(model.dtype, *shape);
            let slot = self.slot(&group, &parameter);
            for variant in &variants {
                let case = case(config, model, *variant, (name, *shape), &group);
                self.place(slot, case, &config.file);
            }
        }
    }

    /// The other file that already has this criterion group, if there is one.
    fn clash(&mut self, group: &str, file: &Path) -> Option<PathBuf> {
        let owner = self.files.entry(group.to_owned()).or_insert_with(|| file.to_owned());
        (owner != file).then(|| owner.clone())
    }

    fn slot(&mut self, group: &str, parameter: &str) -> usize {
        let key = (group.to_owned(), parameter.to_owned());
        *self.index.entry(key).or_insert_with(|| {
            self.groups.push(Group { cases: Vec::new() });
            self.groups.len() - 1
        })
    }

    /// Several models may break one rule in the same words; once is enough.
    fn complain(&mut self, error: Diagnostic) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Adds the case, or lets the identical case that is there already stand for it too.
    fn place(&mut self, slot: usize, case: Case, file: &Path) {
        let cases = &mut self.groups[slot].cases;
        let Some(twin) = cases.iter_mut().find(|twin| twin.id == case.id) else {
            cases.push(case);
            return;
        };
        if Variant::of(twin) != Variant::of(&case) {
            let message = format!("two variants are shortened to one id, `{}`", case.id);
            let remedy = "put one of the recipes into a config with a shorter name";
            self.complain(Diagnostic::whole_file(file, message, remedy));
            return;
        }
        let differences = twin.settings.differences(&case.settings);
        if !differences.is_empty() {
            let keys = differences.join("`, `");
            let message = format!("`{}` is asked for twice, with a different `{keys}`", case.id);
            let remedy = "put the second model into a config of its own";
            self.complain(Diagnostic::whole_file(file, message, remedy));
            return;
        }
        twin.profiling.profiler |= case.profiling.profiler;
        twin.profiling.memory |= case.profiling.memory;
        append(&mut twin.names, case.names);
        append(&mut twin.shape_names, case.shape_names);
    }
}

/// The shape as the model uses it: the transformer block ignores n, so k stands for it, and shapes
/// that differ in n alone are one case.
fn canonical(model: ModelKind, shape: Shape) -> Shape {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) => shape,
        ModelKind::TransformerBlock => Shape { n: shape.k, ..shape },
    }
}

/// Adds what is not there yet.
fn append(names: &mut Vec<String>, more: Vec<String>) {
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

/// The baseline, then each recipe, then the sparse ones. Behind each of them its packed form, if the
/// recipe has one, and, if asked for, its form with a preallocated output (dense ones only) and its
/// compiled form.
fn variants(config: &Config, model: &ModelParams) -> Vec<Variant> {
    let recipes = || std::iter::once(Recipe::Baseline).chain(config.recipes.iter().copied());
    let dense = recipes().map(Variant::eager);
    let sparse = config.sparsities.iter().flat_map(|&sparsity| {
        recipes()
            .filter(move |&recipe| sparsity.pairs_with(recipe))
            .filter(move |recipe| *recipe != Recipe::Baseline || baseline_listed(config, sparsity))
            .map(move |recipe| Variant { sparsity: Some(sparsity), ..Variant::eager(recipe) })
    });
    let inference = config.mode == Mode::Inference;
    let mut variants: Vec<Variant> = Vec::new();
    for eager in dense.chain(sparse) {
        let packed =
            (inference && model.packed && eager.sparsity.is_none() && eager.recipe.has_packed())
                .then_some(Variant { packed: true, ..eager });
        let out = (model.out && eager.sparsity.is_none())
            .then_some(Variant { preallocated: true, ..eager });
        let compiled = model.compile.map(|mode| Variant { compile: Some(mode), ..eager });
        for variant in std::iter::once(eager).chain(packed).chain(out).chain(compiled) {
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
    }
    variants
}

/// Upstream pairs block sparsity with the baseline always, 2:4 only with recipes that are listed.
fn baseline_listed(config: &Config, sparsity: Sparsity) -> bool {
    sparsity == Sparsity::Block || config.recipes.contains(&Recipe::Baseline)
}

fn case(
    config: &Config,
    model: &ModelParams,
    variant: Variant,
    (shape_name, shape): (&str, Shape),
    group: &str,
) -> Case {
    let baseline = variant == Variant::BASELINE;
    Case {
        id: id::case_id(group, variant, &id::parameter(model.dtype, shape)),
        config: config.stem.clone(),
        config_hash: config.hash.clone(),
        names: model.name.iter().cloned().collect(),
        role: if baseline { Role::Baseline } else { Role::Candidate },
        mode: config.mode,
        model: model.model,
        recipe: variant.recipe,
        sparsity: variant.sparsity,
        compile: variant.compile,
        packed: variant.packed,
        preallocated: variant.preallocated,
        dtype: model.dtype,
        device: model.device,
        shape,
        shape_names: vec![shape_name.to_owned()],
        profiling: model.profiling,
        settings: model.settings.clone(),
    }
}
