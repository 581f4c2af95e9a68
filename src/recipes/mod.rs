//! Quantization recipes: each turns the weight of a linear layer into a [`LinearLayer`].
//!
//! Formulas, dtypes and the order of operations are those of torchao 0.17 (version 1 of its
//! configurations) in eager mode, because the speed of exactly that sequence is what is measured.
//! A recipe never falls back: what it cannot do it refuses, by name and value.

mod affine;
mod baseline;
mod int8dq;
mod int8wo;

pub use baseline::Baseline;
pub use int8dq::Int8dq;
pub use int8wo::Int8wo;

use plan::{Device, LinearShape, Recipe};
use tch::{TchError, Tensor};

use crate::refusal::Refusal;

/// A linear layer without bias, as a recipe runs it.
pub trait LinearLayer {
    /// `x [.., k]` → `[.., n]`, in the dtype of `x`.
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError>;

    /// [`forward`](Self::forward), whose last operation writes into `out [.., n]`, contiguous and
    /// in the dtype of `x`, by that operation's own out form: the same kernel, the same bits, and
    /// no allocation for the result.
    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError>;

    /// What the layer stores: weight, scales, zero points.
    fn tensors(&self) -> Vec<&Tensor>;

    /// The ATen ops that work on the weight.
    fn kernels(&self) -> &'static [&'static str];
}

/// Quantizes `weight [n, k]`, which is freed unless the layer keeps it.
///
/// Refuses what [`check`] refuses about the recipe itself.
pub fn quantize(recipe: Recipe, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    Ok(match built(recipe)? {
        Built::Baseline => Box::new(Baseline { weight }),
        Built::Int8wo => Box::new(Int8wo::quantize(&weight)?),
        Built::Int8dq => Box::new(Int8dq::quantize(&weight)?),
    })
}

/// Whether `recipe` can run a linear layer of this shape on this device, before anything is built.
pub fn check(recipe: Recipe, device: Device, linear: LinearShape) -> Result<(), Refusal> {
    match built(recipe)? {
        Built::Baseline | Built::Int8wo => Ok(()),
        Built::Int8dq => int8dq::check(device, linear),
    }
}

/// The size of a layer's output: that of `x` with `n` features.
fn output_size(x: &Tensor, n: i64) -> Vec<i64> {
    let mut size = x.size();
    if let Some(features) = size.last_mut() {
        *features = n;
    }
    size
}

/// `out [.., n]` as a matrix `[rows, n]` on the same storage.
fn as_rows(out: &Tensor, n: i64) -> Result<Tensor, TchError> {
    out.f_view([-1, n])
}

/// The recipes that this version has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// No quantization.
    Baseline,
    /// int8 weights.
    Int8wo,
    /// int8 weights and activations.
    Int8dq,
}

/// The one list of what is built and what is not.
///
/// # Errors
/// Unsupported, for a recipe that this version does not have.
pub fn built(recipe: Recipe) -> Result<Built, Refusal> {
    match recipe {
        Recipe::Baseline => Ok(Built::Baseline),
        Recipe::Int8wo => Ok(Built::Int8wo),
        Recipe::Int8dq => Ok(Built::Int8dq),
        Recipe::Int8dqPrefillWoDecode
        | Recipe::Int4wo { .. }
        | Recipe::Float8wo
        | Recipe::Float8dqTensor
        | Recipe::Float8dqRow
        | Recipe::Gemlitewo { .. }
        | Recipe::Int8DynamicIntx { .. }
        | Recipe::Uintx { .. }
        | Recipe::Fp6 => {
            Err(Refusal::Unsupported(format!("recipe `{recipe}` is not available in this version")))
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) mod testing {
    use tch::{Device, Kind, Tensor};

    /// Whether oneDNN's int8 products are exact on this CPU: without VNNI they saturate, int8dq
    /// computes something else, and its check has to say so.
    pub fn integer_products_are_exact() -> bool {
        let fill = |size, value: i64| Tensor::full(size, value, (Kind::Int8, Device::Cpu));
        let sums = fill([32, 64], 127).internal_int_mm(&fill([64, 32], -127));
        let exact = Tensor::full([32, 32], -127 * 127 * 64, (Kind::Int, Device::Cpu));
        sums.equal(&exact)
    }
}
