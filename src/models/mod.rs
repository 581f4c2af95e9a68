//! Models: what a benchmark runs, built from a shape (m, k, n) as `torchao.testing` builds it.
//!
//! A model is written once, over whatever makes its linear layers: a recipe for the measurement,
//! float64 for the reference. Everything else follows the dtype of what flows through.

mod linear;
mod ln_linear;
mod parameters;
mod transformer_block;

pub use parameters::Parameters;

use plan::{LinearShape, ModelKind, Shape, Weights};
use tch::{Kind, TchError, Tensor};

use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

/// A model ready to run.
pub trait Model {
    /// One forward pass in upstream's order of operations. If there is an `out`, contiguous and of the
    /// size and dtype of the output, the last operation writes into it. Only the output: intermediate
    /// results are allocated as ever.
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError>;

    /// Its linear layers, in order.
    fn layers(&self) -> Vec<&dyn LinearLayer>;

    /// Its parameters outside linear layers: the weights of norms.
    fn norms(&self) -> Vec<&Tensor>;
}

/// Makes the linear layer of the given name from its weight `[n, k]`.
pub type MakeLayer<'a> = dyn FnMut(&str, Tensor) -> Result<Box<dyn LinearLayer>, Refusal> + 'a;

/// Builds a model from its parameters, one layer after the other: a weight that `make` does not
/// keep is freed before the next one is touched.
pub fn build(
    model: ModelKind,
    parameters: Parameters,
    make: &mut MakeLayer<'_>,
) -> Result<Box<dyn Model>, Refusal> {
    Ok(match model {
        ModelKind::Linear => Box::new(linear::Linear::build(parameters, make)?),
        ModelKind::LnLinear(activation) => {
            Box::new(ln_linear::LnLinear::build(activation, parameters, make)?)
        }
        ModelKind::TransformerBlock => {
            Box::new(transformer_block::TransformerBlock::build(parameters, make)?)
        }
    })
}

/// Whether a model can be built for this shape.
pub fn check(model: ModelKind, shape: Shape) -> Result<(), Refusal> {
    let heads = plan::BLOCK_HEADS;
    if model == ModelKind::TransformerBlock && !shape.k.is_multiple_of(heads) {
        return Err(Refusal::Unsupported(format!(
            "model `{model}`: k = {}, but its {heads} heads need a multiple of {heads}",
            shape.k
        )));
    }
    Ok(())
}

/// The norm weights of a model, by name and size.
fn norms(model: ModelKind, shape: Shape) -> Vec<(&'static str, u64)> {
    match model {
        // LayerNorm without elementwise affine has no parameters.
        ModelKind::Linear | ModelKind::LnLinear(_) => vec![],
        ModelKind::TransformerBlock => transformer_block::norms(shape),
    }
}

/// Bytes in storage of the model as it runs: weights, scales, zero points, norms. A storage that
/// two tensors share counts once; padding by the allocator does not count.
pub fn stored_bytes(model: &dyn Model) -> u64 {
    let layers = model.layers();
    let tensors = layers.iter().flat_map(|layer| layer.tensors());
    distinct_bytes(model.norms().into_iter().chain(tensors))
}

/// The weights of the model's linear layers, which had the dtype `kind` before quantization and
/// whose sizes are `linears`.
pub fn weights(model: &dyn Model, linears: &[LinearShape], kind: Kind) -> Weights {
    let layers = model.layers();
    let elements: u64 = linears.iter().map(|linear| linear.k * linear.n).sum();
    let packed_bytes = distinct_bytes(layers.iter().flat_map(|layer| layer.tensors()));
    let kept = layers.iter().zip(linears).try_fold(0.0, |sum, (layer, linear)| {
        Some(sum + layer.density()? * (linear.k * linear.n) as f64)
    });
    Weights {
        linears: layers.len() as u64,
        quantized: layers.iter().filter(|layer| layer.is_quantized()).count() as u64,
        packed_bytes,
        baseline_bytes: elements * kind.elt_size_in_bytes() as u64,
        bits_per_weight: 8.0 * packed_bytes as f64 / elements as f64,
        density: kept.map(|kept| kept / elements as f64),
    }
}

fn distinct_bytes<'t>(tensors: impl Iterator<Item = &'t Tensor>) -> u64 {
    let mut seen = std::collections::HashSet::new();
    tensors
        .filter(|tensor| tensor.numel() > 0 && seen.insert(tensor.data_ptr()))
        .map(|tensor| (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64)
        .sum()
}
