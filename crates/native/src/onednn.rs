//! oneDNN's linear layer and convolution with an operation fused onto their result, on the CPU.
//!
//! The result is written once, with the post-op already applied. Both take a weight as it is, or one that was prepared:
//! laid out by `reorder_…` as oneDNN wants it for an expected input, which otherwise happens in every call. A prepared
//! weight is opaque (layout `mkldnn`): it has a size and a dtype, but no strides and no storage that dense operations
//! could read; `to_dense` undoes it. It may be used with other inputs than the expected one, then slower.
//!
//! Without gradients: with a weight or input that requires one, both refuse unless inside of `tch::no_grad`.

use tch::{Kind, Tensor};

use super::border::{self, In, Out, Status, optional};
use super::error::Error;

unsafe extern "C" {
    fn ctn_onednn_dtypes(out: *mut Dtypes) -> Status;
    fn ctn_onednn_reorder_linear(weight: In, rows: i64, out: Out) -> Status;
    fn ctn_onednn_reorder_convolution(
        weight: In,
        with: *const Convolution,
        input_size: *const [i64; 4],
        out: Out,
    ) -> Status;
    fn ctn_onednn_linear(input: In, weight: In, bias: In, post_op: PostOp, out: Out) -> Status;
    fn ctn_onednn_convolution(
        input: In,
        weight: In,
        bias: In,
        with: *const Convolution,
        post_op: PostOp,
        out: Out,
    ) -> Status;
}

/// The dtypes that oneDNN computes with on this CPU; `built` where libtorch has oneDNN.
#[repr(C)]
#[derive(Default)]
struct Dtypes {
    built: bool,
    bf16: bool,
    fp16: bool,
}

/// How a convolution in two dimensions walks over its input, each as [height, width].
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution {
    /// Zeros on both sides.
    pub padding: [i64; 2],
    /// Steps between outputs.
    pub stride: [i64; 2],
    /// Steps between the inputs of one output.
    pub dilation: [i64; 2],
    /// Parts that channels are split into.
    pub groups: i64,
}

/// An operation applied to the result before it is written.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostOp {
    /// Nothing.
    None = 0,
    /// max(x, 0).
    Relu = 1,
    /// The exact x · Φ(x), with erf.
    Gelu = 2,
}

/// Whether libtorch's oneDNN computes with that dtype on this CPU; the reason when it does not.
///
/// float32 always, the halves where libtorch says so, which heeds `ONEDNN_MAX_CPU_ISA`, too: bfloat16 from AVX-512 (BW,
/// VL, DQ) or AVX-NE-CONVERT on, float16 from AVX512-FP16 or AVX-NE-CONVERT on. Elsewhere the functions here fail.
pub fn supports(kind: Kind) -> Result<(), String> {
    // SAFETY: `out` is writable.
    let dtypes: Dtypes = border::value(|out| unsafe { ctn_onednn_dtypes(out) })
        .map_err(|error| format!("libtorch cannot say what its oneDNN supports: {error}"))?;
    if !dtypes.built {
        return Err("this libtorch is built without oneDNN".to_owned());
    }
    match kind {
        Kind::Float => Ok(()),
        Kind::BFloat16 if dtypes.bf16 => Ok(()),
        Kind::Half if dtypes.fp16 => Ok(()),
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
pub fn reorder_linear_weight(weight: &Tensor, rows: i64) -> Result<Tensor, Error> {
    // SAFETY: the weight lives during the call.
    border::tensor(|out| unsafe { ctn_onednn_reorder_linear(weight.as_ptr(), rows, out) })
}

/// A weight [outputs, inputs / groups, height, width] prepared for inputs of that size, [batch, inputs, height, width].
pub fn reorder_convolution_weight(
    weight: &Tensor,
    with: &Convolution,
    input_size: [i64; 4],
) -> Result<Tensor, Error> {
    // SAFETY: the arguments live during the call.
    border::tensor(|out| unsafe {
        ctn_onednn_reorder_convolution(weight.as_ptr(), with, &input_size, out)
    })
}

/// post_op(input · weightᵀ + bias): input [.., inputs], weight [outputs, inputs] dense or prepared, bias `[outputs]`.
///
/// One dtype for all, [supported](supports). The result is contiguous.
pub fn linear_pointwise(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    post_op: PostOp,
) -> Result<Tensor, Error> {
    let (input, weight, bias) = (input.as_ptr(), weight.as_ptr(), optional(bias));
    // SAFETY: the tensors live during the call; a bias may be null.
    border::tensor(|out| unsafe { ctn_onednn_linear(input, weight, bias, post_op, out) })
}

/// post_op(convolution of input with weight + bias): input [batch, inputs, height, width], weight
/// [outputs, inputs / groups, height, width] dense or prepared, bias `[outputs]`.
///
/// One dtype for all, [supported](supports). The result is channels-last when the input or the dense weight is, and
/// always with a prepared weight; an input that is not channels-last then is copied first.
pub fn convolution_pointwise(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    with: &Convolution,
    post_op: PostOp,
) -> Result<Tensor, Error> {
    let (input, weight, bias) = (input.as_ptr(), weight.as_ptr(), optional(bias));
    // SAFETY: the arguments live during the call; a bias may be null.
    border::tensor(|out| unsafe { ctn_onednn_convolution(input, weight, bias, with, post_op, out) })
}

#[cfg(test)]
#[path = "onednn_tests.rs"]
mod tests;
