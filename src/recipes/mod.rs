//! Quantization recipes: each turns the weight of a linear layer into a [`LinearLayer`].
//!
//! Formulas, dtypes and the order of operations are those of torchao 0.17 in eager mode (version 1
//! of its int8 configurations; other numerics are recipes of their own, such as `int8wo-v2`),
//! because the speed of exactly that sequence is what is measured. A recipe never falls back: what
//! it cannot do it refuses, by name and value.
//!
//! A file such as `benches/recipes/float16wo.rs` adds a recipe to a package. Its spelling is its word in configs:
//!
//! ```
//! use criterion_torch::recipes::prelude::*;
//!
//! pub const SPELLING: &str = "float16wo";
//!
//! pub struct Recipe;
//!
//! impl Scheme for Recipe {
//!     fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
//!         Ok(Box::new(Float16(weight.f_to_kind(Kind::Half)?)))
//!     }
//!
//!     fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
//!         40.0
//!     }
//! }
//!
//! struct Float16(Tensor);
//!
//! impl LinearLayer for Float16 {
//!     fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
//!         linear(x, &self.0.f_to_kind(x.f_kind()?)?, out)
//!     }
//!
//!     fn tensors(&self) -> Vec<&Tensor> {
//!         vec![&self.0]
//!     }
//!
//!     fn kernels(&self) -> Vec<&'static str> {
//!         vec!["aten::_to_copy", "aten::linear"]
//!     }
//! }
//! ```

mod affine;
mod baseline;
mod bitpack;
mod block_scaled;
mod block_scaled_cuda;
mod block_sparse;
mod blocks;
mod e2m1;
mod float8;
mod float8_speed;
mod float8dq;
mod float8wo;
mod fp6;
mod gemlitewo;
mod gemlitewo_cuda;
mod groups;
mod hqq;
mod int4pack;
mod int4wo;
mod int8;
mod int8dq;
mod int8wo;
mod intx;
mod per_layer;
mod quantized;
mod saturation;
mod scheme;
mod semi_sparse;
mod training;
mod uintx;
mod user;

#[doc(hidden)]
pub use blocks::{Blocks, Scaling, tensor_scale};
pub(crate) use per_layer::check_layers;
pub use quantized::{Quantized, ZeroPoint, refuse_non_finite};
#[doc(hidden)]
pub use saturation::integer_products_are_exact;
pub use scheme::{LayerContext, Scheme};
#[doc(hidden)]
pub use training::{
    Casts, Gradients, Operand, Product, Products, Side, TrainedLinear, TrainingScheme,
    check_trained, trained, trained_min_sqnr_db, trained_with,
};
pub(crate) use user::Registry;
#[doc(hidden)]
pub use user::{UserDefinition, number};

pub use plan::{Device, Dtype, LinearShape, Sparsity, Variant};
use plan::{Int8Numerics, Recipe};
pub use tch::{self, Kind, TchError, Tensor};

use crate::inputs;
pub use crate::refusal::Refusal;

/// The imports of a recipe's file, as in the [example](super).
pub mod prelude {
    pub use super::{
        Device, Dtype, Kind, LayerContext, LinearLayer, LinearShape, Quantized, Refusal, Scheme,
        Sparsity, TchError, Tensor, Variant, ZeroPoint, linear, output_size, refuse_non_finite,
        refuse_out, tch,
    };
}

/// A linear layer without bias, as a recipe runs it. The [example](self) has one.
pub trait LinearLayer {
    /// `x [.., k]` → `[.., n]`, in the dtype of `x`. If there is an `out [.., n]`, contiguous and of
    /// that dtype, the last operation writes into it, by its own out form: the same kernel, the same
    /// bits, and no allocation for the result. That is an error where [`Scheme::writes_out`] is false.
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError>;

    /// The tensors that the layer stores: weight, scales, zero points, indices.
    fn tensors(&self) -> Vec<&Tensor>;

    /// The ATen ops that work on the weight, and kernels of our own (`criterion_torch::…`).
    fn kernels(&self) -> Vec<&'static str>;

    /// A remark for the reader of a result, such as why a slower kernel ran.
    fn note(&self) -> Option<String> {
        None
    }

    /// Whether the weight is quantized.
    fn is_quantized(&self) -> bool {
        true
    }

    /// Share of the weights that the layer stores; none for a dense layout.
    fn density(&self) -> Option<f64> {
        None
    }
}

/// The recipes of the bench target's package.
static OWN: Registry<dyn Scheme> = Registry::new("recipe");

/// Has the recipes of a bench target's package known.
pub(crate) fn register(recipes: &'static [UserDefinition<dyn Scheme>]) {
    OWN.set(recipes);
}

/// The recipe's implementation: where a new one is entered.
fn scheme(recipe: Recipe) -> Result<Box<dyn Scheme>, Refusal> {
    Ok(match recipe {
        Recipe::Baseline => Box::new(baseline::Scheme),
        Recipe::Int8wo { numerics } => Box::new(int8wo::Scheme { numerics }),
        Recipe::Int8dq { numerics } => Box::new(int8dq::Scheme { numerics, decodes: false }),
        Recipe::Int8dqPrefillWoDecode => {
            Box::new(int8dq::Scheme { numerics: Int8Numerics::V1, decodes: true })
        }
        Recipe::Int4wo { group, numerics } => {
            Box::new(int4wo::Scheme { group: group.into(), numerics })
        }
        Recipe::Float8wo => Box::new(float8wo::Scheme),
        Recipe::Float8dqTensor => Box::new(float8dq::Scheme { per_row: false }),
        Recipe::Float8dqRow => Box::new(float8dq::Scheme { per_row: true }),
        Recipe::Gemlitewo { bits, group, fp16_solver } => {
            Box::new(gemlitewo::Scheme { bits, group: group.into(), fp16_solver })
        }
        Recipe::Int8DynamicIntx { bits, group, asymmetric } => {
            Box::new(intx::Scheme { bits, group: group.into(), asymmetric })
        }
        Recipe::Uintx { bits, group, hqq } => {
            Box::new(uintx::Scheme { bits, group: group.into(), hqq })
        }
        Recipe::Fp6 => Box::new(fp6::Scheme),
        Recipe::BlockScaled { format, weight_only } => {
            Box::new(block_scaled::Scheme { format, weight_only })
        }
        Recipe::Float8 { .. } | Recipe::Mxfp8EmulatedRceil => {
            return Err(Refusal::Unsupported(format!("`{recipe}` is a recipe of training")));
        }
        Recipe::PerLayer(layers) => Box::new(per_layer::Scheme(layers.named())),
        Recipe::User(word) => OWN.make(word)?,
    })
}

/// Whether the variant can run a linear layer in this context, before anything is built.
///
/// # Errors
/// Unsupported, with the constraint and the value that broke it.
#[doc(hidden)]
pub fn check(context: &LayerContext) -> Result<(), Refusal> {
    let variant = context.variant.of_layer(context.linear.name);
    let dtype = variant.dtype.unwrap_or(context.dtype);
    let context = &LayerContext { variant, dtype, ..*context };
    let Variant { recipe, sparsity, packed, .. } = variant;
    let scheme = scheme(recipe)?;
    let combination = match sparsity {
        Some(sparsity) if !sparsity.pairs_with(recipe) => {
            Err(format!("{sparsity}, which does not combine with this recipe"))
        }
        Some(sparsity) if packed => Err(format!("packed and {sparsity} at once")),
        None if packed && !recipe.has_packed() => Err("packed, but libtorch has no such op".into()),
        _ => Ok(()),
    };
    combination
        .and_then(|()| scheme.check(context))
        .map_err(|constraint| named(recipe, context.linear.name, &constraint))
}

fn named(recipe: Recipe, layer: &str, constraint: &str) -> Refusal {
    Refusal::Unsupported(format!("recipe `{recipe}`, layer `{layer}`: {constraint}"))
}

/// Builds the variant's layer from `weight [n, k]`, which is freed unless the layer keeps it, and
/// which [`prune`] has pruned where the variant is sparse.
#[doc(hidden)]
pub fn layer(variant: Variant, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    let scheme = scheme(variant.recipe)?;
    match variant.sparsity {
        Some(Sparsity::SemiSparse) => scheme.semi_sparse(weight),
        Some(Sparsity::Block) => scheme.block_sparse(weight),
        None if variant.packed => scheme.packed(weight),
        None => scheme.eager(weight),
    }
}

/// [`layer`], the layer's name beside the recipe's in what it refuses.
#[doc(hidden)]
pub fn named_layer(
    variant: Variant,
    name: &str,
    weight: Tensor,
) -> Result<Box<dyn LinearLayer>, Refusal> {
    let variant = variant.of_layer(name);
    let kind = variant.dtype.map(inputs::kind).filter(|kind| *kind != weight.kind());
    let made = match kind {
        None => layer(variant, weight),
        Some(kind) => layer(variant, weight.f_to_kind(kind)?)
            .map(|layer| Box::new(per_layer::Converted { layer, kind }) as Box<dyn LinearLayer>),
    };
    made.map_err(|refusal| match refusal {
        Refusal::Unsupported(constraint) => named(variant.recipe, name, &constraint),
        other => other,
    })
}

/// The numbers of a quantized weight `[n, k]`, before packing; none where the recipe has none.
#[doc(hidden)]
pub fn quantize(recipe: Recipe, weight: &Tensor) -> Result<Option<Quantized>, Refusal> {
    Ok(scheme(recipe)?.quantize(weight)?)
}

/// The numbers of a quantized activation `[.., k]`; none where the recipe leaves it alone.
#[doc(hidden)]
pub fn quantize_activation(recipe: Recipe, x: &Tensor) -> Result<Option<Quantized>, Refusal> {
    Ok(scheme(recipe)?.quantize_activation(x)?)
}

/// `weight [n, k]` with what the layout cannot hold set to zero, by magnitude.
#[doc(hidden)]
pub fn prune(sparsity: Sparsity, weight: &Tensor) -> Result<Tensor, Refusal> {
    match sparsity {
        Sparsity::SemiSparse => semi_sparse::prune(weight),
        Sparsity::Block => block_sparse::prune(weight),
    }
}

/// Whether the recipe's eager layer can write into a preallocated output ([`Scheme::writes_out`]).
#[doc(hidden)]
pub fn writes_out(recipe: Recipe) -> Result<bool, Refusal> {
    Ok(scheme(recipe)?.writes_out())
}

/// The recipe's accuracy gate on a plain linear layer ([`Scheme::min_sqnr_db`]).
#[doc(hidden)]
pub fn min_sqnr_db(recipe: Recipe, dtype: Dtype) -> Result<f64, Refusal> {
    Ok(scheme(recipe)?.min_sqnr_db(dtype))
}

/// The size of a layer's output: that of `x` with `n` features.
///
/// ```
/// use criterion_torch::recipes::{Tensor, output_size};
///
/// assert_eq!(output_size(&Tensor::from_slice(&[1.0, 2.0]), 7), [7]);
/// ```
pub fn output_size(x: &Tensor, n: i64) -> Vec<i64> {
    let mut size = x.size();
    if let Some(features) = size.last_mut() {
        *features = n;
    }
    size
}

/// `x · weightᵀ`, by `torch.nn.functional.linear`, into `out` where there is one. The [example](self) uses it.
pub fn linear(x: &Tensor, weight: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
    match out {
        None => x.f_linear(weight, None::<&Tensor>),
        Some(out) => x.f_linear_out(out, weight, None::<&Tensor>),
    }
}

/// The output `[.., n]` of a kernel that writes `[rows, n]`; into one of its own, where none is given.
fn filled(
    x: &Tensor,
    n: i64,
    out: Option<&Tensor>,
    write: impl FnOnce(&mut Tensor) -> Result<(), TchError>,
) -> Result<Tensor, TchError> {
    let out = match out {
        Some(out) => out.shallow_clone(),
        None => Tensor::f_empty(output_size(x, n), (x.f_kind()?, x.device()))?,
    };
    write(&mut out.f_view([-1, n])?)?;
    Ok(out)
}

/// Refuses an output that is given, for operations without an out form.
///
/// ```
/// use criterion_torch::recipes::refuse_out;
///
/// assert!(refuse_out(None).is_ok());
/// ```
pub fn refuse_out(out: Option<&Tensor>) -> Result<(), TchError> {
    match out {
        None => Ok(()),
        Some(_) => {
            Err(TchError::Kind("the last operation of this layer has no out form".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
