//! The memory of tensors as slices.

use half::{bf16, f16};
use tch::{Device, Kind, TchError, Tensor};

use super::floats::{Floats, Output};

/// An element of a tensor. (The trait of that purpose in tch takes bfloat16 for float16.)
pub trait Element: Copy {
    /// Its dtype.
    const KIND: Kind;
}

impl Element for u8 {
    const KIND: Kind = Kind::Uint8;
}

impl Element for i8 {
    const KIND: Kind = Kind::Int8;
}

impl Element for f32 {
    const KIND: Kind = Kind::Float;
}

impl Element for bf16 {
    const KIND: Kind = Kind::BFloat16;
}

impl Element for f16 {
    const KIND: Kind = Kind::Half;
}

/// An error about an argument.
pub fn mismatch(text: String) -> TchError {
    TchError::Shape(text)
}

/// Demands a tensor on the CPU of that dtype and size.
///
/// # Errors
/// When it is another; with its name and what it is.
pub fn expect(name: &str, tensor: &Tensor, kind: Kind, size: &[i64]) -> Result<(), TchError> {
    let found = (tensor.device(), tensor.f_kind()?, tensor.size());
    if (found.0, found.1, found.2.as_slice()) != (Device::Cpu, kind, size) {
        return Err(mismatch(format!(
            "{name} is {found:?}, where {:?} is needed",
            (Device::Cpu, kind, size)
        )));
    }
    Ok(())
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

/// The elements of a contiguous CPU tensor.
///
/// # Errors
/// When it is another, or of another dtype.
pub fn slice<T: Element>(tensor: &Tensor) -> Result<&[T], TchError> {
    let (pointer, length) = (pointer::<T>(tensor)?, tensor.numel());
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: a contiguous tensor of this dtype has that many elements there, aligned as they have
    // to be, and lives as long as the borrow. Torch's own operators do not run meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// The elements of a tensor that shares its memory with no other.
///
/// # Errors
/// As [`slice`].
pub fn slice_mut<T: Element>(tensor: &mut Tensor) -> Result<&mut [T], TchError> {
    let (pointer, length) = (pointer::<T>(tensor)?, tensor.numel());
    if length == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `slice`, and the callers' tensors are new.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

fn pointer<T: Element>(tensor: &Tensor) -> Result<*mut T, TchError> {
    let kind = tensor.f_kind()?;
    if kind != T::KIND || tensor.device() != Device::Cpu || !tensor.is_contiguous() {
        let found = (kind, tensor.device(), tensor.is_contiguous());
        return Err(mismatch(format!("{found:?} is not contiguous {:?} on the CPU", T::KIND)));
    }
    Ok(tensor.data_ptr().cast())
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
