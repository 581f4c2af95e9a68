//! The trait that every recipe's file implements, a package's too.

use plan::{Device, Dtype, LinearShape, Sparsity, Variant};
use tch::{TchError, Tensor};

use super::{LinearLayer, Quantized};
use crate::refusal::Refusal;

/// The layer, dtype and device that a recipe is applied to.
///
/// ```
/// use criterion_torch::recipes::LayerContext;
///
/// /// For a [`Scheme::check`](criterion_torch::recipes::Scheme::check).
/// fn divides(group: u64, context: &LayerContext) -> Result<(), String> {
///     match context.linear.k % group {
///         0 => Ok(()),
///         _ => Err(format!("k = {}, but the group, {group}, must divide it", context.linear.k)),
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct LayerContext {
    /// The case's variant.
    pub variant: Variant,
    /// Device.
    pub device: Device,
    /// Dtype before quantization.
    pub dtype: Dtype,
    /// The linear layer.
    pub linear: LinearShape,
}

/// A recipe: what it does to the weight of a linear layer. One implementation in each file beside
/// this one, and in each file of a package's `benches/recipes`, as in the [example](super).
pub trait Scheme {
    /// Whether the layer can be built and run in this context, before anything is. The error is the
    /// constraint and the value that broke it (`k = 100, but the group must divide it`); recipe and
    /// layer are named around it. By default every dense layer can.
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        match context.variant.sparsity {
            Some(sparsity) => Err(format!("{sparsity}, but its weights are stored densely")),
            None => Ok(()),
        }
    }

    /// The numbers of a quantized `weight [n, k]`, before they are packed; none where the weight
    /// stays as it is, or where nobody asks for them. This is the recipe's maths, faithful to upstream
    /// also where upstream gives NaN.
    fn quantize(&self, _weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        Ok(None)
    }

    /// The numbers of a quantized activation `[.., k]`; none where activations are left alone.
    fn quantize_activation(&self, _x: &Tensor) -> Result<Option<Quantized>, TchError> {
        Ok(None)
    }

    /// The layer as upstream's eager mode runs it, or as near as this device has it, of a `weight [n, k]`
    /// in the dtype of the case, which is freed unless the layer keeps it.
    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal>;

    /// The recipe's maths by libtorch's packed op, for recipes with [`plan::Recipe::has_packed`].
    fn packed(&self, _weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Err(Refusal::Unsupported("this recipe has no packed variant".to_owned()))
    }

    /// The layer of a weight that [`super::prune`] has pruned to 2:4.
    fn semi_sparse(&self, _weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Err(no_layout(Sparsity::SemiSparse))
    }

    /// The layer of a weight that [`super::prune`] has pruned by blocks.
    fn block_sparse(&self, _weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Err(no_layout(Sparsity::Block))
    }

    /// Whether the eager layer can write into a preallocated output ([`LinearLayer::forward`]).
    fn writes_out(&self) -> bool {
        true
    }

    /// The smallest signal-to-noise ratio, in dB, that a thousand and more outputs of a `linear` model
    /// may have against their float64 reference: a few dB below the lowest that random weights were
    /// measured to give.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64;
}

fn no_layout(sparsity: Sparsity) -> Refusal {
    Refusal::Unsupported(format!("this recipe has no {sparsity} layout"))
}
