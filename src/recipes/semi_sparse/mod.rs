//! 2:4 sparsity: of every four consecutive weights of a row two are zero.
//!
//! On CUDA the weight is compressed and multiplied by cuSPARSELt, as in
//! `torch.sparse.SparseSemiStructuredTensorCUSPARSELT`. libtorch has no such product on a CPU, so
//! there the compressed weight is expanded at each call by a kernel of ours, and multiplied dense:
//! that saves memory, and can save time only where reading the weight is what takes it.

mod compressed;
mod cslt;

pub(super) use compressed::Stored;
pub(super) use cslt::{Cslt, OnCuda};

use plan::{Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::LayerContext;
use crate::native::cuda;
use crate::refusal::Refusal;

/// The share of a weight that stays: two of four.
pub(super) const DENSITY: f64 = 0.5;

/// Whether a weight can be stored and multiplied like this in the context. `multiple` is what cuSPARSELt
/// demands of both its sizes: 16 with elements of 16 bits, 32 with 8 bits.
pub(super) fn check(context: &LayerContext, multiple: u64) -> Result<(), String> {
    let (k, n) = (context.linear.k, context.linear.n);
    check_width(k)?;
    if context.device != Device::Cuda {
        return Ok(());
    }
    for (dimension, size) in [("k", k), ("n", n)] {
        if size % multiple != 0 {
            return Err(format!(
                "{dimension} = {size}, but `_cslt_sparse_mm` on cuda needs a multiple of {multiple}"
            ));
        }
    }
    match cuda::device(0) {
        Ok(device) => device.require((8, 0), "2:4 sparse products by cuSPARSELt"),
        // An absent device is not this recipe's to report.
        Err(_) => Ok(()),
    }
}

fn check_width(k: u64) -> Result<(), String> {
    match k % 4 {
        0 => Ok(()),
        _ => Err(format!("k = {k}, but 2:4 sparsity needs a multiple of 4")),
    }
}

/// Whether a weight that is not quantized can be stored like this in the context.
pub(super) fn check_unquantized(context: &LayerContext) -> Result<(), String> {
    if context.device == Device::Cuda && context.dtype == Dtype::Float32 {
        return Err(format!(
            "weights of {}, but `_cslt_sparse_mm` on cuda takes bfloat16 or float16",
            context.dtype
        ));
    }
    check(context, 16)
}

/// `weight [n, k]`, of each four the two of largest magnitude, of equals the earlier.
pub(super) fn prune(weight: &Tensor) -> Result<Tensor, Refusal> {
    let k = weight.size2()?.1;
    check_width(k.unsigned_abs()).map_err(Refusal::Unsupported)?;
    let fours = weight.f_reshape([-1, 4])?;
    let pruned = fours.f_scatter_value(-1, &by_magnitude(&fours)?.f_narrow(-1, 2, 2)?, 0)?;
    Ok(pruned.f_view_as(weight)?)
}

/// The places of each four, largest magnitude first, of equals the earlier.
fn by_magnitude(fours: &Tensor) -> Result<Tensor, TchError> {
    fours.f_to_kind(Kind::Float)?.f_abs()?.f_argsort_stable(true, -1, true)
}

#[cfg(test)]
mod tests;
