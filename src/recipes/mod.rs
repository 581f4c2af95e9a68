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

use plan::{Device, Recipe};
use tch::{TchError, Tensor};

use crate::refusal::Refusal;

/// A linear layer without bias, as a recipe runs it.
pub trait LinearLayer {
    /// `x [.., k]` → `[.., n]`, in the dtype of `x`.
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError>;

    /// What the layer stores: weight, scales, zero points.
    fn tensors(&self) -> Vec<&Tensor>;

    /// The ATen ops that work on the weight.
    fn kernels(&self) -> &'static [&'static str];
}

/// The sizes of one linear layer at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearShape {
    /// Name of the module in upstream's model.
    pub name: &'static str,
    /// Rows of the input: batch times tokens.
    pub rows: u64,
    /// Input features.
    pub k: u64,
    /// Output features.
    pub n: u64,
}

/// Quantizes `weight [n, k]`, which is freed unless the layer keeps it.
///
/// Refuses what [`check`] refuses about the recipe itself.
pub fn quantize(recipe: Recipe, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
    Ok(match recipe {
        Recipe::Baseline => Box::new(Baseline { weight }),
        Recipe::Int8wo => Box::new(Int8wo::quantize(&weight)?),
        Recipe::Int8dq => Box::new(Int8dq::quantize(&weight)?),
        Recipe::Int8dqPrefillWoDecode
        | Recipe::Int4wo { .. }
        | Recipe::Float8wo
        | Recipe::Float8dqTensor
        | Recipe::Float8dqRow
        | Recipe::Gemlitewo { .. }
        | Recipe::Int8DynamicIntx { .. }
        | Recipe::Uintx { .. }
        | Recipe::Fp6 => return Err(unavailable(recipe)),
    })
}

/// Whether `recipe` can run a linear layer of this shape on this device, before anything is built.
pub fn check(recipe: Recipe, device: Device, linear: LinearShape) -> Result<(), Refusal> {
    match recipe {
        Recipe::Baseline | Recipe::Int8wo => Ok(()),
        Recipe::Int8dq => int8dq::check(device, linear),
        Recipe::Int8dqPrefillWoDecode
        | Recipe::Int4wo { .. }
        | Recipe::Float8wo
        | Recipe::Float8dqTensor
        | Recipe::Float8dqRow
        | Recipe::Gemlitewo { .. }
        | Recipe::Int8DynamicIntx { .. }
        | Recipe::Uintx { .. }
        | Recipe::Fp6 => Err(unavailable(recipe)),
    }
}

/// Bytes that a recipe keeps for a weight of `elements` at `dtype_bytes` each, scales aside.
pub fn stored_bytes(recipe: Recipe, elements: u64, dtype_bytes: u64) -> u64 {
    match recipe {
        Recipe::Int8wo | Recipe::Int8dq => elements,
        _ => elements.saturating_mul(dtype_bytes),
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

fn unavailable(recipe: Recipe) -> Refusal {
    Refusal::Unsupported(format!("recipe `{recipe}` is not available in this version"))
}
