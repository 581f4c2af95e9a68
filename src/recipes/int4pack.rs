//! libtorch's product with 4-bit weights, tinygemm: `y = x · ((q − 8) · scale + zero_point)ᵀ`,
//! dequantized inside the kernel.
//!
//! Source of the steps around it: torchao 0.17, `Int4OpaqueTensor` on a CPU and
//! `Int4TilePackedTo4dTensor` on CUDA.

use plan::{Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::groups::{self, Grouped};
use super::quantized::refuse_non_finite;
use super::{LayerContext, LinearLayer, output_size, refuse_out};
use crate::native;
use crate::refusal::Refusal;

/// The CUDA kernel takes k and n padded to multiples of these.
const CUDA_K: i64 = 1024;
const CUDA_N: i64 = 8;
/// Tiles of 16 along k that one load of the CUDA kernel takes.
const INNER_K_TILES: i64 = 8;

/// Whether the kernels take the layer.
pub(super) fn check(context: &LayerContext, group: i64) -> Result<(), String> {
    groups::check(context.linear.k, group)?;
    match context.device {
        Device::Cpu if !context.linear.n.is_multiple_of(16) => Err(format!(
            "n = {}, but `_convert_weight_to_int4pack_for_cpu` needs a multiple of 16",
            context.linear.n
        )),
        Device::Cuda if context.dtype != Dtype::BFloat16 => Err(format!(
            "high_precision_dtype {}, but `_weight_int4pack_mm` on cuda takes bfloat16 alone",
            context.dtype
        )),
        _ => Ok(()),
    }
}

/// The size that the kernel of its device wants a `weight [n, k]` in: on CUDA k is a multiple of
/// 1024, n one of 8.
fn padded_size(weight: &Tensor) -> Result<(i64, i64), TchError> {
    let (n, k) = weight.size2()?;
    Ok(if weight.device().is_cuda() { (round_up(n, CUDA_N), round_up(k, CUDA_K)) } else { (n, k) })
}

/// `weight [n, k]` in the size that the kernel of its device wants, filled with zeros.
pub(super) fn padded(weight: &Tensor) -> Result<Tensor, TchError> {
    let (n, k) = padded_size(weight)?;
    fill(weight, n, k)
}

/// `tensor` in a larger size, filled with zeros.
fn fill(tensor: &Tensor, rows: i64, columns: i64) -> Result<Tensor, TchError> {
    let (n, k) = tensor.size2()?;
    if (n, k) == (rows, columns) {
        return Ok(tensor.shallow_clone());
    }
    tensor.f_constant_pad_nd([0, columns - k, 0, rows - n])
}

fn round_up(size: i64, multiple: i64) -> i64 {
    (size + multiple - 1) / multiple * multiple
}

#[derive(Debug)]
pub(super) struct Int4Packed {
    /// CPU: uint8 `[n, k / 2]`; CUDA: int32 `[n / 8, k / 128, 32, 4]` of the padded weight.
    weight: Tensor,
    /// `[k / group, n, 2]`, in the dtype of `x`: scale and zero point side by side.
    scale_and_zero: Tensor,
    group: i64,
    /// Features, without padding.
    n: i64,
}

impl Int4Packed {
    /// Packs 4-bit values whose zero points are added; `n` counts the features without padding.
    pub fn new(quantized: Grouped, group: i64, n: i64) -> Result<Self, Refusal> {
        let Grouped { values, scale, zero_point } = quantized;
        refuse_non_finite(&scale, Some(&zero_point))?;
        let (padded_n, padded_k) = padded_size(&values)?;
        let values = fill(&values, padded_n, padded_k)?;
        let scale = fill(&scale, padded_n, padded_k / group)?;
        let zero_point = fill(&zero_point, padded_n, padded_k / group)?;
        let weight = if values.device().is_cuda() {
            tensor_cores(values.device())?;
            pack_for_cuda(&values)?
        } else {
            values.f_to_kind(Kind::Int)?.f_internal_convert_weight_to_int4pack_for_cpu(1)?
        };
        let pair = Tensor::f_stack(&[scale, zero_point], -1)?;
        let scale_and_zero = pair.f_transpose(0, 1)?.f_contiguous()?;
        Ok(Self { weight, scale_and_zero, group, n })
    }
}

/// The kernel is built for compute capability 8.0 and above; below, it computes nothing.
fn tensor_cores(device: tch::Device) -> Result<(), Refusal> {
    let tch::Device::Cuda(index) = device else { return Ok(()) };
    let device = native::cuda::device(index)?;
    device.require((8, 0), "products by `_weight_int4pack_mm`").map_err(Refusal::Unsupported)
}

/// Two values to a byte, the first in its upper half, then into tiles.
fn pack_for_cuda(values: &Tensor) -> Result<Tensor, TchError> {
    let (even, odd) = (values.f_slice(1, 0, None, 2)?, values.f_slice(1, 1, None, 2)?);
    let bytes = even.f_bitwise_left_shift_tensor_scalar(4)?.f_bitwise_or_tensor(&odd)?;
    bytes.f_contiguous()?.f_internal_convert_weight_to_int4pack(INNER_K_TILES)
}

impl LinearLayer for Int4Packed {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        refuse_out(out)?;
        let k = x.size().last().copied().unwrap_or_default();
        let mut rows = x.f_reshape([-1, k])?;
        let y = if x.device().is_cuda() {
            rows = rows.f_constant_pad_nd([0, round_up(k, CUDA_K) - k])?;
            let y =
                rows.f_internal_weight_int4pack_mm(&self.weight, self.group, &self.scale_and_zero)?;
            y.f_narrow(1, 0, self.n)?
        } else {
            rows.f_contiguous()?.f_internal_weight_int4pack_mm_for_cpu(
                &self.weight,
                self.group,
                &self.scale_and_zero,
            )?
        };
        y.f_reshape(output_size(x, self.n))
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight, &self.scale_and_zero]
    }

    fn kernels(&self) -> Vec<&'static str> {
        if self.weight.device().is_cuda() {
            vec!["aten::_weight_int4pack_mm"]
        } else {
            vec!["aten::_weight_int4pack_mm_for_cpu"]
        }
    }
}
