//! Inference and training: model × shape × (recipe × sparsity × output × compilation), in upstream's
//! order of shapes.

use std::slice::from_ref;

use super::listing::{Draft, Listing, Place};
use crate::config::{ModelParams, ModelSuite};
use crate::diagnostic::Diagnostic;
use crate::shape::Shape;
use crate::variant::Variant;
use crate::words::{Device, Dtype, Mode, ModelKind, Recipe, Sparsity};
use crate::work::{ModelWork, Work};

pub(super) struct Models<'a> {
    params: &'a ModelParams,
    variants: Vec<Variant>,
}

impl<'a> Models<'a> {
    pub(super) fn new(mode: Mode, suite: &ModelSuite, params: &'a ModelParams) -> Self {
        Self { params, variants: variants(mode, suite, params) }
    }
}

impl Listing for Models<'_> {
    type Kernel = ModelKind;
    type Size = (String, Shape);
    type Way = Variant;

    fn axes(&self) -> (&[ModelKind], &[Device], &[Dtype]) {
        let ModelParams { model, device, dtype, .. } = self.params;
        (from_ref(model), from_ref(device), from_ref(dtype))
    }

    fn sizes(&self, _model: ModelKind) -> impl Iterator<Item = &(String, Shape)> {
        self.params.shapes.iter()
    }

    fn ways(&self, _model: ModelKind, _device: Device) -> Vec<Variant> {
        self.variants.clone()
    }

    fn draft(&self, place: &Place<'_, Self>, variant: &Variant) -> Result<Draft, Diagnostic> {
        let (model, (size_name, shape)) = (place.kernel, place.size);
        let shape = canonical(model, *shape);
        Ok(Draft {
            name: self.params.name.clone(),
            workload: model.to_string(),
            size_name: size_name.clone(),
            size: shape.to_string(),
            work: Work::Model(ModelWork { model, variant: *variant, shape }),
            profiling: self.params.profiling,
            settings: self.params.settings.clone(),
            config_hash: place.config.hash.clone(),
        })
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
