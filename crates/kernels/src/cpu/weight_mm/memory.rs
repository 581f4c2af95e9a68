//! The numbers of tensors.

use half::{bf16, f16};
use tch::{Kind, TchError, Tensor};

use super::floats::{Floats, Output};
use crate::cpu::memory::{expect, pointer, slice};

/// An error about an argument.
pub fn mismatch(text: String) -> TchError {
    TchError::Shape(text)
}

/// Demands a tensor on the CPU of that size and a dtype that [`floats`] reads.
///
/// # Errors
/// When it is another; with its name and what it is.
pub fn expect_floats(name: &str, tensor: &Tensor, size: &[i64]) -> Result<(), TchError> {
    let kind = tensor.f_kind()?;
    if !matches!(kind, Kind::Float | Kind::BFloat16 | Kind::Half) {
        return Err(mismatch(format!("{name} is {}", not_supported(kind))));
    }
    expect(name, tensor, kind, size)
}

/// The numbers of a contiguous CPU tensor.
///
/// # Errors
/// When it is another, or of a dtype other than float32, bfloat16 and float16.
pub fn floats(tensor: &Tensor) -> Result<Floats<'_>, TchError> {
    match tensor.f_kind()? {
        Kind::Float => Ok(Floats::Float(slice(tensor)?)),
        Kind::BFloat16 => Ok(Floats::BFloat16(slice(tensor)?)),
        Kind::Half => Ok(Floats::Half(slice(tensor)?)),
        other => Err(mismatch(not_supported(other))),
    }
}

/// Where the numbers of a contiguous CPU tensor are.
///
/// # Errors
/// As [`floats`].
pub fn output(tensor: &mut Tensor) -> Result<Output, TchError> {
    match tensor.f_kind()? {
        Kind::Float => Ok(Output::Float(pointer::<f32>(tensor)?)),
        Kind::BFloat16 => Ok(Output::BFloat16(pointer::<bf16>(tensor)?)),
        Kind::Half => Ok(Output::Half(pointer::<f16>(tensor)?)),
        other => Err(mismatch(not_supported(other))),
    }
}

fn not_supported(kind: Kind) -> String {
    format!("{kind:?}, where float32, bfloat16 or float16 is needed")
}
