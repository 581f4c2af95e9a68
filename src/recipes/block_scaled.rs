//! `mxfp8`, `mxfp4`, `nvfp4`: weights and activations in blocks that share a scale, the activations quantized
//! at every call; `mxfp8wo`, `mxfp4wo`, `nvfp4wo`: the weights alone.
//!
//! Source: torchao 0.17, `MXDynamicActivationMXWeightConfig`, `NVFP4DynamicActivationNVFP4WeightConfig` and
//! `NVFP4WeightOnlyConfig`, with their defaults. Upstream has no weight-only configuration of mxfp8 and mxfp4:
//! theirs is nvfp4's with their numbers. Dynamic recipes are emulated on a CPU: both operands are dequantized
//! and multiplied in the dtype of the model, as in upstream's own emulation.
//!
//! The codes are decoded by a table, which upstream does by operations on bits; the numbers are the same.

use plan::{BlockFormat, Device, Dtype};
use tch::{Kind, TchError, Tensor};

use super::blocks::Blocks;
use super::{LayerContext, LinearLayer, block_scaled_cuda, filled, linear, refuse_non_finite};
use crate::native::cuda;
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    pub format: BlockFormat,
    pub weight_only: bool,
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        self.check_dtype(context.dtype)?;
        let block = u64::from(self.format.block());
        let rows = if self.format == BlockFormat::Nvfp4 { 16 } else { 1 };
        for (dimension, size, multiple) in
            [("k", context.linear.k, block), ("n", context.linear.n, rows)]
        {
            if size % multiple != 0 {
                let format = self.format;
                return Err(format!(
                    "{dimension} = {size}, but {format} takes multiples of {multiple}"
                ));
            }
        }
        match context.device {
            Device::Cuda if !self.weight_only => on_cuda(context),
            _ => Ok(()),
        }
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let kind = weight.f_kind()?;
        let weight = quantize_weight(self.format, &weight)?;
        Ok(match self.weight_only {
            true => Box::new(WeightOnly { weight, kind }),
            false if weight.codes.device().is_cuda() => block_scaled_cuda::layer(weight, kind)?,
            false => Box::new(Emulated { weight }),
        })
    }

    /// The lowest value measured on a CPU, over 117 seeds in seven shapes of 1024 outputs and more, from
    /// 64×32×16 to 1×4096×1024, uniform and normal weights, float32 and bfloat16, in dB:
    ///
    /// | format | activations quantized | weight-only |
    /// |---|---|---|
    /// | mxfp8 | 27.5 | 30.1 |
    /// | mxfp4 | 14.7 | 17.6 |
    /// | nvfp4 | 15.9 | 18.8 |
    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        match (self.format, self.weight_only) {
            (BlockFormat::Mxfp8, false) => 24.0,
            (BlockFormat::Mxfp8, true) => 27.0,
            (BlockFormat::Mxfp4, false) => 12.0,
            (BlockFormat::Mxfp4, true) => 15.0,
            (BlockFormat::Nvfp4, false) => 13.0,
            (BlockFormat::Nvfp4, true) => 16.0,
        }
    }
}

impl Scheme {
    /// Upstream's rules: `to_mx` and `nvfp4_quantize` take two dtypes, the products of mxfp8 and mxfp4 one.
    fn check_dtype(self, dtype: Dtype) -> Result<(), String> {
        let format = self.format;
        let wide = self.weight_only || format == BlockFormat::Nvfp4;
        match dtype {
            Dtype::BFloat16 => Ok(()),
            Dtype::Float32 if wide => Ok(()),
            _ if wide => Err(format!("dtype {dtype}, but {format} is of bfloat16 or float32")),
            _ => Err(format!("dtype {dtype}, but {format} products need bfloat16")),
        }
    }
}

/// Constraints of libtorch's product of blocks.
fn on_cuda(context: &LayerContext) -> Result<(), String> {
    if !context.linear.n.is_multiple_of(16) {
        return Err(format!(
            "n = {}, but products of blocks on cuda take multiples of 16",
            context.linear.n
        ));
    }
    // An absent device is not this recipe's to report.
    match cuda::device(0) {
        Ok(device) => device.require((10, 0), "products of blocks"),
        Err(_) => Ok(()),
    }
}

/// The blocks of a weight that a layer can be built of.
fn quantize_weight(format: BlockFormat, weight: &Tensor) -> Result<Blocks, Refusal> {
    let blocks = Blocks::quantize(format, weight)?;
    if let Some(scale) = &blocks.tensor_scale
        && !scale.f_reciprocal()?.f_double_value(&[])?.is_finite()
    {
        let text = "the weight is all zero or too small: its nvfp4 scale, amax / 2688, has no finite \
                    reciprocal";
        return Err(Refusal::Unsupported(text.to_owned()));
    }
    refuse_non_finite(&blocks.block_scales()?, None)?;
    Ok(blocks)
}

/// `y = x · dequantized(weight)ᵀ`: eager mode dequantizes the whole weight on every call.
#[derive(Debug)]
struct WeightOnly {
    weight: Blocks,
    /// The dtype of the weight it came from, which the product is computed in.
    kind: Kind,
}

impl LinearLayer for WeightOnly {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        linear(x, &self.weight.dequantize(self.kind)?, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        kernels(self.weight.format(), "aten::linear")
    }
}

/// The product of what the blocks of activation and weight stand for. nvfp4's scales of the tensors are
/// multiplied with afterwards, as upstream does after the product of blocks.
#[derive(Debug)]
struct Emulated {
    weight: Blocks,
}

impl LinearLayer for Emulated {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let (k, kind) = (x.size().last().copied().unwrap_or_default(), x.f_kind()?);
        let rows = Blocks::quantize(self.weight.format(), &x.f_reshape([-1, k])?)?;
        let weight = self.weight.without_tensor_scale(kind)?;
        let (n, _) = weight.size2()?;
        let (rows, weight, scale) = (
            rows.without_tensor_scale(kind)?,
            weight.f_tr()?,
            rows.scale_of_product(&self.weight)?,
        );
        filled(x, n, out, |out| {
            drop(match scale {
                None => rows.f_mm_out(out, &weight)?,
                Some(scale) => rows.f_mm(&weight)?.f_mul_out(out, &scale.f_to_kind(kind)?)?,
            });
            Ok(())
        })
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        kernels(self.weight.format(), "aten::mm")
    }
}

/// Kernels of a dense product, with those that read the codes of its weight.
fn kernels(format: BlockFormat, product: &'static str) -> Vec<&'static str> {
    let decode = if format == BlockFormat::Mxfp8 { "aten::_to_copy" } else { "aten::index_select" };
    vec![decode, "aten::mul", product]
}

#[cfg(test)]
#[path = "block_scaled_tests.rs"]
mod tests;
