//! Training with operands in blocks that share a scale, along the inner dimension of each product.
//!
//! `mxfp8-emulated-rceil` is torchao's `MXFP8_EMULATED_RCEIL`: in version 0.17 `mx_mm` with emulated products. All
//! three products cast both operands to mxfp8 with scales that are rounded up, dequantize them, and multiply in the
//! dtype of the model. `mxfp8` is the same with `_scaled_mm_v2`, on CUDA alone.
//!
//! `nvfp4` casts both operands of all three products to nvfp4 with round to nearest even: blocks of 16 with an e4m3
//! scale each, and a scale of the tensor. It is neither of torchao's own trainings exactly: its main branch has
//! `nvfp4_mm_triton`, on CUDA alone, which also turns the operands of grad_weight by a random Hadamard transform,
//! rounds grad_output stochastically, gives the weight scales of blocks of 16×16, and saves 4-bit operands for the
//! backward pass. None of these four is built here.
//!
//! Lowest signal-to-noise ratios measured on a CPU, in dB, as in `float8.rs`, of output, grad_input and grad_weight:
//!
//! | recipe                      | output | grad_input | grad_weight | gate |
//! |-----------------------------|--------|------------|-------------|------|
//! | mxfp8, mxfp8-emulated-rceil | 27.5   | 27.3       | 27.9        | 26   |
//! | nvfp4                       | 16.5   | 16.4       | 16.3        | 15   |

use plan::{BlockFormat, Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::{Operand, Product, Side, TrainingScheme};
use crate::native::cuda;
use crate::recipes::blocks::{Blocks, Scaling, tensor_scale};
use crate::recipes::{LayerContext, block_scaled_cuda};

/// The least scale of a tensor in nvfp4. Zeros, which gradients can be, would have none, and become NaN.
const LEAST_TENSOR_SCALE: f64 = 1e-30;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// mxfp8 or nvfp4.
    pub format: BlockFormat,
    /// Whether operands are dequantized for products in the dtype of the model.
    pub emulated: bool,
}

impl TrainingScheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        let (format, linear) = (self.format, context.linear);
        match context.dtype {
            Dtype::BFloat16 => {}
            Dtype::Float32 if self.emulated => {}
            dtype if self.emulated => {
                return Err(format!("dtype {dtype}, but {format} is of bfloat16 or float32"));
            }
            dtype => return Err(format!("dtype {dtype}, but {format} products need bfloat16")),
        }
        let block = u64::from(format.block());
        for (name, size) in [("k", linear.k), ("n", linear.n), ("the number of rows", linear.rows)]
        {
            if size % block != 0 {
                return Err(format!(
                    "{name} is {size}, but {format} takes multiples of {block} in training, where each product \
                     sums over another dimension"
                ));
            }
        }
        if self.emulated {
            return Ok(());
        }
        if context.device != Device::Cuda {
            let remedy = match format {
                BlockFormat::Mxfp8 => "; train with `mxfp8-emulated-rceil` there",
                _ => "",
            };
            return Err(format!("{} has no product of blocks{remedy}", context.device));
        }
        // An absent device is not this recipe's to report.
        match cuda::device(0) {
            Ok(device) => device.require((10, 0), "products of blocks"),
            Err(_) => Ok(()),
        }
    }

    fn cast(&self, _: Product, side: Side, matrix: &Tensor) -> Result<Operand, TchError> {
        // Blocks run along the last dimension, so that of a right operand is its inner one.
        let matrix = match side {
            Side::Left => matrix.f_contiguous()?,
            Side::Right => matrix.f_tr()?.f_contiguous()?,
        };
        Ok(Operand::Blocks(match self.format {
            BlockFormat::Nvfp4 => {
                let scale = tensor_scale(&matrix)?.f_clamp_min(LEAST_TENSOR_SCALE)?;
                Blocks::nvfp4(&matrix, Some(scale))?
            }
            format => Blocks::mx(format, &matrix, Scaling::Rceil)?,
        }))
    }

    fn multiply(
        &self,
        _: Product,
        left: &Operand,
        right: &Operand,
        kind: Kind,
    ) -> Result<Tensor, TchError> {
        let (Operand::Blocks(left), Operand::Blocks(right)) = (left, right) else {
            return Err(TchError::Kind("operands of another recipe".to_owned()));
        };
        let product = match self.emulated {
            true => {
                let right = right.without_tensor_scale(kind)?;
                left.without_tensor_scale(kind)?.f_mm(&right.f_tr()?)?
            }
            false => {
                let scales = [left, right].map(Blocks::swizzled_scales);
                let [left_scales, right_scales] = scales;
                block_scaled_cuda::product((left, &left_scales?), (right, &right_scales?), kind)?
            }
        };
        match left.scale_of_product(right)? {
            None => Ok(product),
            Some(scale) => product.f_mul(&scale.f_to_kind(kind)?),
        }
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec![if self.emulated { "aten::mm" } else { "aten::_scaled_mm_v2" }]
    }

    fn min_sqnr_db(&self, _: Product, _: Dtype) -> f64 {
        match self.format {
            BlockFormat::Mxfp8 => 26.0,
            BlockFormat::Mxfp4 | BlockFormat::Nvfp4 => 15.0,
        }
    }
}
