//! oneDNN's linear layer and convolution with an operation fused onto their result, on the CPU.
//!
//! The result is written once, with the post-op already applied. Both take a weight as it is, or one that was prepared:
//! laid out by `reorder_…` as oneDNN wants it for an expected input, which otherwise happens in every call. A prepared
//! weight is opaque (layout `mkldnn`): it has a size and a dtype, but no strides and no storage that dense operations
//! could read; `to_dense` undoes it. It may be used with other inputs than the expected one, then slower.
//!
//! Without gradients: with a weight or input that requires one, both refuse unless inside of `tch::no_grad`.

use crate::sys as shim;
use tch::{Kind, Tensor};

pub use crate::sys::Convolution;

use super::error::{Error, check};
use super::tensor::{as_ptr, returned};

/// An operation applied to the result before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostOp {
    /// Nothing.
    None,
    /// max(x, 0).
    Relu,
    /// The exact x · Φ(x), with erf.
    Gelu,
}

impl PostOp {
    fn code(self) -> i32 {
        match self {
            Self::None => shim::POST_OP_NONE,
            Self::Relu => shim::POST_OP_RELU,
            Self::Gelu => shim::POST_OP_GELU,
        }
    }
}

/// Whether libtorch's oneDNN computes with that dtype on this CPU; the reason when it does not.
///
/// float32 always, the halves where libtorch says so, which heeds `ONEDNN_MAX_CPU_ISA`, too: bfloat16 from AVX-512 (BW,
/// VL, DQ) or AVX-NE-CONVERT on, float16 from AVX512-FP16 or AVX-NE-CONVERT on. Elsewhere the functions here fail.
pub fn supports(kind: Kind) -> Result<(), String> {
    let mut dtypes = shim::OnednnDtypes::default();
    // SAFETY: `dtypes` is writable.
    let status = unsafe { shim::ctn_onednn_dtypes(&mut dtypes) };
    check(status)
        .map_err(|error| format!("libtorch cannot say what its oneDNN supports: {error}"))?;
    if dtypes.built == 0 {
        return Err("this libtorch is built without oneDNN".to_owned());
    }
    match kind {
        Kind::Float => Ok(()),
        Kind::BFloat16 if dtypes.bf16 != 0 => Ok(()),
        Kind::Half if dtypes.fp16 != 0 => Ok(()),
        Kind::BFloat16 => Err("oneDNN has no bfloat16 on this CPU (needs avx512bw, avx512vl and \
                               avx512dq, or avx_ne_convert)"
            .to_owned()),
        Kind::Half => Err("oneDNN has no float16 on this CPU (needs avx512_fp16 or \
                           avx_ne_convert)"
            .to_owned()),
        other => {
            Err(format!("oneDNN's post-ops take float32, bfloat16 and float16, not {other:?}"))
        }
    }
}

/// A weight [outputs, inputs] prepared for inputs of that many rows.
///
/// # Errors
/// When the weight has another number of dimensions, is not dense on the CPU, or is of a dtype that oneDNN has not.
pub fn reorder_linear_weight(weight: &Tensor, rows: i64) -> Result<Tensor, Error> {
    // SAFETY: the weight lives during the call, and `out` is writable.
    let call = |out| unsafe { shim::ctn_onednn_reorder_linear(weight.as_ptr(), rows, out) };
    // SAFETY: the call hands over a new tensor.
    unsafe { returned(call) }
}

/// A weight [outputs, inputs / groups, height, width] prepared for inputs of that size, [batch, inputs, height, width].
///
/// # Errors
/// When the sizes do not fit each other, the weight is not dense on the CPU, or is of a dtype that oneDNN has not.
pub fn reorder_convolution_weight(
    weight: &Tensor,
    with: &Convolution,
    input_size: [i64; 4],
) -> Result<Tensor, Error> {
    let size = input_size.as_ptr();
    // SAFETY: the arguments live during the call, which reads four sizes, and `out` is writable.
    let call =
        |out| unsafe { shim::ctn_onednn_reorder_convolution(weight.as_ptr(), with, size, out) };
    // SAFETY: the call hands over a new tensor.
    unsafe { returned(call) }
}

/// post_op(input · weightᵀ + bias): input [.., inputs], weight [outputs, inputs] dense or prepared, bias [outputs].
///
/// One dtype for all, [supported](supports). The result is contiguous.
///
/// # Errors
/// When sizes, dtypes or devices do not fit each other, or oneDNN has no implementation for them on this CPU.
pub fn linear_pointwise(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    post_op: PostOp,
) -> Result<Tensor, Error> {
    let (input, weight, bias) = (input.as_ptr(), weight.as_ptr(), as_ptr(bias));
    let code = post_op.code();
    // SAFETY: the tensors live during the call, and `out` is writable.
    let call = |out| unsafe { shim::ctn_onednn_linear(input, weight, bias, code, out) };
    // SAFETY: the call hands over a new tensor.
    unsafe { returned(call) }
}

/// post_op(convolution of input with weight + bias): input [batch, inputs, height, width], weight
/// [outputs, inputs / groups, height, width] dense or prepared, bias [outputs].
///
/// One dtype for all, [supported](supports). The result is channels-last when the input or the dense weight is, and
/// always with a prepared weight; an input that is not channels-last then is copied first.
///
/// # Errors
/// When sizes, dtypes or devices do not fit each other, or oneDNN has no implementation for them on this CPU.
pub fn convolution_pointwise(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    with: &Convolution,
    post_op: PostOp,
) -> Result<Tensor, Error> {
    let (input, weight, bias) = (input.as_ptr(), weight.as_ptr(), as_ptr(bias));
    let code = post_op.code();
    // SAFETY: the arguments live during the call, and `out` is writable.
    let call = |out| unsafe { shim::ctn_onednn_convolution(input, weight, bias, with, code, out) };
    // SAFETY: the call hands over a new tensor.
    unsafe { returned(call) }
}

#[cfg(test)]
#[path = "onednn_tests.rs"]
mod tests;
