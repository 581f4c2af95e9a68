//! Inference and training: model × shape × (recipe × sparsity × output × compilation), in upstream's
//! order of shapes.

use super::{Common, Expansion, product};
use crate::case::Role;
use crate::config::{Config, ModelParams, ModelSuite};
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{Mode, ModelKind, Recipe, Sparsity};
use crate::work::{ModelWork, Work};

pub(super) fn expand(
    expansion: &mut Expansion,
    config: &Config,
    suite: &ModelSuite,
    params: &ModelParams,
) {
    let variants = variants(config.mode, suite, params);
    for (size_name, shape) in &params.shapes {
        let shape = canonical(params.model, *shape);
        let common = Common {
            config,
            name: params.name.as_deref(),
            workload: params.model.to_string(),
            size_name,
            dtype: params.dtype,
            device: params.device,
            profiling: params.profiling,
            settings: &params.settings,
        };
        for &variant in &variants {
            let role = if variant == Variant::BASELINE { Role::Baseline } else { Role::Candidate };
            let work = Work::Model(ModelWork { model: params.model, variant, shape });
            expansion.add(config, common.case(work, &shape.to_string(), role));
        }
    }
}

/// The cases of an entry, equal ones included.
pub(super) fn count(config: &Config, suite: &ModelSuite, params: &ModelParams) -> usize {
    product(&[params.shapes.len(), variants(config.mode, suite, params).len()])
}

/// The shape as the model uses it: the transformer block ignores n, so k stands for it, and shapes
/// that differ in n alone are one case.
fn canonical(model: ModelKind, shape: Shape) -> Shape {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) => shape,
        ModelKind::TransformerBlock => Shape { n: shape.k, ..shape },
    }
}

/// The baseline, then each recipe, then the sparse ones. Behind each of them its packed form, if the
/// recipe has one, and, if asked for, its form with a preallocated output (dense ones only) and its
/// compiled form.
fn variants(mode: Mode, suite: &ModelSuite, model: &ModelParams) -> Vec<Variant> {
    let recipes = || std::iter::once(Recipe::Baseline).chain(suite.recipes.iter().copied());
    let dense = recipes().map(Variant::eager);
    let sparse = suite.sparsities.iter().flat_map(|&sparsity| {
        recipes()
            .filter(move |&recipe| sparsity.pairs_with(recipe))
            .filter(move |recipe| *recipe != Recipe::Baseline || baseline_listed(suite, sparsity))
            .map(move |recipe| Variant { sparsity: Some(sparsity), ..Variant::eager(recipe) })
    });
    let inference = mode == Mode::Inference;
    let mut variants: Vec<Variant> = Vec::new();
    for eager in dense.chain(sparse) {
        let packed =
            (inference && model.packed && eager.sparsity.is_none() && eager.recipe.has_packed())
                .then_some(Variant { packed: true, ..eager });
        let out = (model.out && eager.sparsity.is_none())
            .then_some(Variant { preallocated: true, ..eager });
        let compiled = model.compile.iter().map(|&mode| Variant { compile: Some(mode), ..eager });
        for variant in std::iter::once(eager).chain(packed).chain(out).chain(compiled) {
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
    }
    variants
}

/// Upstream pairs block sparsity with the baseline always, 2:4 only with recipes that are listed.
fn baseline_listed(suite: &ModelSuite, sparsity: Sparsity) -> bool {
    sparsity == Sparsity::Block || suite.recipes.contains(&Recipe::Baseline)
}
