//! Inputs of a model, its output where that is allocated beforehand, and the pieces that weights and inputs are both made of.

use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// Torch's default generator belongs to the process: seeding it and drawing from it are one step.
static GENERATOR: Mutex<()> = Mutex::new(());

/// Seeds torch's default generator, which is the caller's alone until the guard is dropped.
pub fn seeded(seed: i64) -> MutexGuard<'static, ()> {
    let drawing = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::manual_seed(seed);
    drawing
}

/// Bytes of a tensor's elements.
pub fn bytes(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64
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
    let size = dimensions(plan::input_size(model, shape))?;
    Tensor::f_randn(&size, (kind(dtype), Device::Cpu))?.f_to_device(device)
}

/// A tensor of the model's output size for a step to write into. It holds NaN, so that an element
/// that is not written fails the check, and its pages are mapped before anything is timed.
pub fn unwritten_output(
    model: ModelKind,
    shape: Shape,
    dtype: Dtype,
    device: Device,
) -> Result<Tensor, TchError> {
    let size = dimensions(plan::output_size(model, shape))?;
    Tensor::f_full(&size, f64::NAN, (kind(dtype), device))
}

fn dimensions(size: Vec<u64>) -> Result<Vec<i64>, TchError> {
    size.into_iter().map(dimension).collect()
}
