//! Inputs of a model, and the pieces that weights and inputs are both made of.

use plan::{Dtype, ModelKind, Shape};
use tch::{Device, Kind, TchError, Tensor};

/// Tokens per batch element of a transformer block's input, as upstream fixes it.
pub const SEQUENCE_LENGTH: u64 = 16;

/// The torch kind of a plan's dtype.
pub const fn kind(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::Float32 => Kind::Float,
        Dtype::BFloat16 => Kind::BFloat16,
        Dtype::Float16 => Kind::Half,
    }
}

/// A dimension as torch takes it.
pub fn dimension(size: u64) -> Result<i64, TchError> {
    i64::try_from(size).map_err(|_| TchError::Shape(format!("{size} does not fit into 63 bits")))
}

/// The size of a model's input: `[m, k]`, or `[m, 16, k]` for a transformer block.
pub fn size(model: ModelKind, shape: Shape) -> Vec<u64> {
    match model {
        ModelKind::Linear | ModelKind::LnLinear(_) => vec![shape.m, shape.k],
        ModelKind::TransformerBlock => vec![shape.m, SEQUENCE_LENGTH, shape.k],
    }
}

/// Normally distributed values of the model's input size, drawn on the host from torch's default
/// generator directly in `dtype` (as `torch.randn(…, dtype=…)` does) and then moved, so that
/// every device sees the same numbers.
pub fn random(
    model: ModelKind,
    shape: Shape,
    dtype: Dtype,
    device: Device,
) -> Result<Tensor, TchError> {
    let size: Vec<i64> = size(model, shape).into_iter().map(dimension).collect::<Result<_, _>>()?;
    Tensor::f_randn(&size, (kind(dtype), Device::Cpu))?.f_to_device(device)
}
