//! Inputs of a model, and the pieces that weights and inputs are both made of.

use plan::{Dtype, ModelKind, Shape};
use tch::{Device, Kind, TchError, Tensor};

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

/// Normally distributed values of the model's input size, drawn on the host from torch's default
/// generator directly in `dtype` (as `torch.randn(…, dtype=…)` does) and then moved, so that
/// every device sees the same numbers.
pub fn random(
    model: ModelKind,
    shape: Shape,
    dtype: Dtype,
    device: Device,
) -> Result<Tensor, TchError> {
    let size: Vec<i64> =
        plan::input_size(model, shape).into_iter().map(dimension).collect::<Result<_, _>>()?;
    Tensor::f_randn(&size, (kind(dtype), Device::Cpu))?.f_to_device(device)
}
