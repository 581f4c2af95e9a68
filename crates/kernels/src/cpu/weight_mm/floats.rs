//! The numbers of tensors of several dtypes, read and written as float32.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use tch::{Kind, TchError, Tensor};

use crate::cpu::memory::{expect, pointer, slice};

/// Numbers of one of torch's dtypes.
#[derive(Debug, Clone, Copy)]
pub enum Floats<'a> {
    Float(&'a [f32]),
    BFloat16(&'a [bf16]),
    Half(&'a [f16]),
}

impl Floats<'_> {
    /// `into.len()` numbers from the index `at` on. Inlined, so that it is compiled for the caller's
    /// instruction set: small groups have many scales.
    #[inline(always)]
    pub fn read(self, at: usize, into: &mut [f32]) {
        match self {
            Self::Float(from) => into.copy_from_slice(&from[at..at + into.len()]),
            Self::BFloat16(from) => {
                for (into, from) in into.iter_mut().zip(&from[at..]) {
                    *into = f32::from_bits(u32::from(from.to_bits()) << 16);
                }
            }
            Self::Half(from) => from[at..at + into.len()].convert_to_f32_slice(into),
        }
    }

    /// The cache lines of `count` numbers from the index `at` on, as far as there are so many.
    #[inline(always)]
    pub fn lines(self, at: usize, count: usize) -> impl Iterator<Item = *const u8> {
        const LINE: usize = 64;
        let (first, all, size) = match self {
            Self::Float(numbers) => (numbers.as_ptr().cast::<u8>(), numbers.len(), 4),
            Self::BFloat16(numbers) => (numbers.as_ptr().cast(), numbers.len(), 2),
            Self::Half(numbers) => (numbers.as_ptr().cast(), numbers.len(), 2),
        };
        let end = (at + count).min(all) * size;
        (at * size..end).step_by(LINE).map(move |byte| first.wrapping_add(byte))
    }
}

/// An output, whose numbers are rounded to nearest, ties to even. Several threads may write to it.
#[derive(Debug, Clone, Copy)]
pub enum Output {
    Float(*mut f32),
    BFloat16(*mut bf16),
    Half(*mut f16),
}

// SAFETY: a pointer that is written to only by `write`, whose callers answer for races.
unsafe impl Send for Output {}
// SAFETY: the same.
unsafe impl Sync for Output {}

impl Output {
    /// Writes one number.
    ///
    /// # Safety
    /// `index` lies inside the memory that this points to, and nobody else uses that element.
    #[inline(always)]
    pub unsafe fn write(self, index: usize, value: f32) {
        match self {
            // SAFETY: the caller's promise, here and below.
            Self::Float(to) => unsafe { to.add(index).write(value) },
            // SAFETY: the same.
            Self::BFloat16(to) => unsafe { to.add(index).write(bf16::from_f32(value)) },
            // SAFETY: the same.
            Self::Half(to) => unsafe { to.add(index).write(f16::from_f32(value)) },
        }
    }
}

/// Demands a tensor on the CPU of that size and a dtype that [`floats`] reads.
pub fn expect_floats(name: &str, tensor: &Tensor, size: &[i64]) -> Result<(), TchError> {
    let kind = tensor.f_kind()?;
    if !matches!(kind, Kind::Float | Kind::BFloat16 | Kind::Half) {
        return Err(TchError::Shape(format!("{name} is {}", not_supported(kind))));
    }
    expect(name, tensor, kind, size)
}

/// The numbers of a contiguous CPU tensor.
pub fn floats(tensor: &Tensor) -> Result<Floats<'_>, TchError> {
    match tensor.f_kind()? {
        Kind::Float => Ok(Floats::Float(slice(tensor)?)),
        Kind::BFloat16 => Ok(Floats::BFloat16(slice(tensor)?)),
        Kind::Half => Ok(Floats::Half(slice(tensor)?)),
        other => Err(TchError::Shape(not_supported(other))),
    }
}

/// A contiguous CPU tensor as an output.
pub fn output(tensor: &mut Tensor) -> Result<Output, TchError> {
    match tensor.f_kind()? {
        Kind::Float => Ok(Output::Float(pointer::<f32>(tensor)?)),
        Kind::BFloat16 => Ok(Output::BFloat16(pointer::<bf16>(tensor)?)),
        Kind::Half => Ok(Output::Half(pointer::<f16>(tensor)?)),
        other => Err(TchError::Shape(not_supported(other))),
    }
}

fn not_supported(kind: Kind) -> String {
    format!("{kind:?}, where float32, bfloat16 or float16 is needed")
}
