//! `per_layer-…`: a recipe for each linear layer.

use plan::{Dtype, LayerRecipe, LinearShape, Recipe};
use tch::{Kind, TchError, Tensor};

use super::LinearLayer;
use crate::refusal::Refusal;

pub(super) struct Scheme(pub &'static [LayerRecipe]);

impl super::Scheme for Scheme {
    fn eager(&self, _weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Err(Refusal::Failed("a recipe for each layer needs the name of the layer".to_owned()))
    }

    /// The lowest of all layers.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        let gate = |it: &LayerRecipe| super::min_sqnr_db(it.recipe, dtype);
        // A recipe that is none of inference is refused before.
        self.0.iter().filter_map(|it| gate(it).ok()).fold(f64::INFINITY, f64::min)
    }
}

/// Refuses a recipe for a layer that the model does not have.
pub fn check_layers(recipe: Recipe, linears: &[LinearShape]) -> Result<(), Refusal> {
    let is_lacking = |it: &&LayerRecipe| linears.iter().all(|own| own.name != it.layer.as_str());
    match recipe.named_layers().iter().find(is_lacking) {
        Some(LayerRecipe { layer, .. }) => {
            let names: Vec<&str> = linears.iter().map(|it| it.name).collect();
            Err(Refusal::Unsupported(format!(
                "recipe `{recipe}`: the model has no layer `{layer}`; its layers are {}",
                names.join(", ")
            )))
        }
        None => Ok(()),
    }
}

/// A layer in another dtype than the model's.
pub(super) struct Converted {
    pub layer: Box<dyn LinearLayer>,
    pub kind: Kind,
}

impl LinearLayer for Converted {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let y = self.layer.forward(&x.f_to_kind(self.kind)?, None)?;
        match out {
            None => y.f_to_kind(x.f_kind()?),
            Some(out) => out.shallow_clone().f_copy_(&y).map(|()| out.shallow_clone()),
        }
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.layer.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        self.layer.kernels()
    }

    fn note(&self) -> Option<String> {
        self.layer.note()
    }

    fn is_quantized(&self) -> bool {
        self.layer.is_quantized()
    }
}
