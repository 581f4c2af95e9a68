//! Operators over the rows of a tensor, its last dimension, each with what memory it takes in one
//! pass: a row is read once from where it lies, and again from the nearest cache.
//!
//! Arithmetic is float32 for half dtypes, too, and results are rounded once; those between two
//! bfloat16 numbers, at equal distances, to either.

mod affine;
mod cross_entropy;
mod exponentials;
mod interleaved;
mod layout;
mod moments;
mod mse_loss;
mod normalization;
mod pass;
mod row_buffer;
mod softmax;
#[cfg(test)]
mod tests;

use std::ops::Range;

use half::{bf16, f16};
use tch::{Device, Kind, TchError, Tensor};

use super::Capability;
use super::parallel::{GRAIN, for_each_part, for_each_row, threads};
use super::vector::{Kernel, unsupported};
use layout::RowPointers;

pub use cross_entropy::cross_entropy;
pub use mse_loss::mse_loss;
pub use normalization::normalize;
pub use softmax::softmax;

/// Runs a kernel on each thread's part of the rows.
///
/// # Safety
/// All that the kernels ask for but the instructions, also those of different parts together.
unsafe fn run<K: Kernel<Output = ()>>(
    capability: Capability,
    rows: &RowPointers,
    kernel: impl Fn(Range<usize>) -> K + Sync,
) -> Result<(), TchError> {
    capability.demand()?;
    for_each_part(rows.count, step(rows), |part| {
        // SAFETY: just looked for; the rest is the caller's promise.
        unsafe { capability.run(kernel(part)) };
    })
}

/// Rows at whose multiples a thread's part may begin, so that no part is smaller than is worth it.
fn step(rows: &RowPointers) -> usize {
    let parts = rows.elements().div_ceil(GRAIN).max(1);
    if parts >= threads() { 1 } else { rows.count.div_ceil(parts).max(1) }
}

/// The sum of what a kernel returns for each block, in the order of blocks: the same on any number
/// of threads.
///
/// # Safety
/// All that the kernels ask for but the instructions.
unsafe fn total<K: Kernel<Output = f64>>(
    capability: Capability,
    blocks: usize,
    kernel: impl Fn(usize) -> K + Sync,
) -> Result<f64, TchError> {
    capability.demand()?;
    let mut sums = vec![0.0; blocks];
    for_each_row(&mut sums, 1, |block, sum| {
        // SAFETY: just looked for; the rest is the caller's promise.
        sum[0] = unsafe { capability.run(kernel(block)) };
    })?;
    Ok(sums.iter().sum())
}

/// Writes the one element of `out`, rounded to its dtype once.
fn write_scalar(value: f64, kind: Kind, out: &mut Tensor) -> Result<(), TchError> {
    let found = (out.f_kind()?, out.size());
    if found != (kind, vec![]) || out.device() != Device::Cpu {
        let device = out.device();
        return Err(TchError::Shape(format!(
            "out is {found:?} on {device:?}, where ({kind:?}, []) on the CPU is needed"
        )));
    }
    let to = out.data_ptr();
    match kind {
        // SAFETY: a tensor without dimensions has one element, of this dtype, here and below.
        Kind::Float => unsafe { to.cast::<f32>().write(value as f32) },
        // SAFETY: the same.
        Kind::BFloat16 => unsafe { to.cast::<bf16>().write(bf16::from_f64(value)) },
        // SAFETY: the same.
        Kind::Half => unsafe { to.cast::<f16>().write(f16::from_f64(value)) },
        other => return Err(unsupported(other)),
    }
    Ok(())
}
