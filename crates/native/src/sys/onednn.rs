//! Layers that oneDNN computes itself: what it can, and its calls.

use torch_sys::C_tensor;

use super::Status;

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

/// The dtypes that oneDNN computes with on this CPU; 0 is no.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct OnednnDtypes {
    /// libtorch has oneDNN.
    pub built: i32,
    /// bfloat16.
    pub bf16: i32,
    /// float16.
    pub fp16: i32,
}

/// A post-op of oneDNN: nothing.
pub const POST_OP_NONE: i32 = 0;
/// A post-op of oneDNN: max(x, 0).
pub const POST_OP_RELU: i32 = 1;
/// A post-op of oneDNN: GELU with erf.
pub const POST_OP_GELU: i32 = 2;

unsafe extern "C" {
    /// The dtypes that oneDNN computes with. `out` must be writable.
    pub fn ctn_onednn_dtypes(out: *mut OnednnDtypes) -> Status;
    /// A linear layer's weight in oneDNN's own layout. `out` must be writable.
    pub fn ctn_onednn_reorder_linear(
        weight: *const C_tensor,
        rows: i64,
        out: *mut *mut C_tensor,
    ) -> Status;
    /// A convolution's weight in oneDNN's own layout. `input_size` points to four sizes, `out` must be writable.
    pub fn ctn_onednn_reorder_convolution(
        weight: *const C_tensor,
        with: *const Convolution,
        input_size: *const i64,
        out: *mut *mut C_tensor,
    ) -> Status;
    /// A linear layer with a post-op. `bias` may be null, `out` must be writable.
    pub fn ctn_onednn_linear(
        input: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        post_op: i32,
        out: *mut *mut C_tensor,
    ) -> Status;
    /// A convolution with a post-op. `bias` may be null, `out` must be writable.
    pub fn ctn_onednn_convolution(
        input: *const C_tensor,
        weight: *const C_tensor,
        bias: *const C_tensor,
        with: *const Convolution,
        post_op: i32,
        out: *mut *mut C_tensor,
    ) -> Status;
}
