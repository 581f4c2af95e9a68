//! `gemlitewo-{4|8}-{group}`: weights only, dequantized inside a kernel of our own.
//!
//! Source of the numbers: torchao 0.17, `UIntxWeightOnlyConfig`, which packs for gemlite's Triton
//! kernels: 4 bits by half-quadratic quantization in groups, 8 bits symmetric per row. Upstream
//! runs on CUDA alone and in float16 or bfloat16; on the CPU the product is
//! [`weight_mm`](kernels::cpu::weight_mm), which takes float32, too, and on CUDA
//! [`gemlite`](kernels::cuda::gemlite). With 8 bits upstream has no groups; the one in the
//! recipe's name has no effect.

use plan::{Device, Dtype, LinearShape};
use tch::{Kind, TchError, Tensor};

use super::affine::{self, Range};
use super::quantized::refuse_non_finite;
use super::{LayerContext, LinearLayer, Quantized, ZeroPoint, filled, gemlitewo_cuda, groups, hqq};
use crate::refusal::Refusal;
use kernels::cpu::weight_mm::PackedWeight;

/// Groups that upstream accepts.
const GROUPS: [i64; 6] = [32, 64, 128, 256, 512, 1024];
/// Columns of a weight come in multiples of this, also where a row has one scale.
const COLUMNS: u64 = 32;
/// 8 bits: as [`Range::WEIGHT`], with the smallest scale that upstream asks for.
const EIGHT_BITS: Range = Range { eps: 1e-5, ..Range::WEIGHT };

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// 4 or 8.
    pub bits: u8,
    /// Weights that share a scale; with 8 bits a row does.
    pub group: i64,
    /// HQQ's solver in float16.
    pub fp16_solver: bool,
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        match (context.device, context.dtype) {
            (Device::Cpu, _) | (Device::Cuda, Dtype::BFloat16 | Dtype::Float16) => {}
            (Device::Cuda, dtype) => {
                return Err(format!("dtype {dtype}, but its kernel on cuda takes bf16 and f16"));
            }
            (device, _) => {
                return Err(format!("device {device}, but its kernels are for cpu and cuda"));
            }
        }
        if !GROUPS.contains(&self.group) {
            return Err(format!("group {}, but upstream has {GROUPS:?}", self.group));
        }
        let LinearShape { k, .. } = context.linear;
        match self.bits {
            4 => groups::check(k, self.group),
            _ if k.is_multiple_of(COLUMNS) => Ok(()),
            _ => Err(format!("k = {k}, but with 8 bits {COLUMNS} must divide it")),
        }
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        if self.bits == 8 {
            let (scale, _) = affine::choose_scale(weight, EIGHT_BITS)?;
            let values = affine::quantize(weight, &scale, None, EIGHT_BITS)?;
            let scale = scale.f_unsqueeze(-1)?;
            return Ok(Some(Quantized { values, scale, zero_point: ZeroPoint::None }));
        }
        let solver = if self.fp16_solver { Kind::Half } else { hqq::solver_kind(weight.device()) };
        let solved = hqq::solve(weight, self.group, self.bits, solver)?;
        let kind = weight.f_kind()?;
        Ok(Some(Quantized {
            values: solved.values,
            scale: solved.scale.f_to_kind(kind)?,
            zero_point: ZeroPoint::Subtracted(solved.zero.f_to_kind(kind)?),
        }))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let kind = weight.f_kind()?;
        let quantized = self
            .quantize(&weight)?
            .ok_or_else(|| Refusal::Failed("nothing was quantized".to_owned()))?;
        drop(weight);
        refuse_non_finite(&quantized.scale, quantized.zero_point.tensor())?;
        if quantized.values.device().is_cuda() {
            return gemlitewo_cuda::layer(quantized);
        }
        let Quantized { values, scale, zero_point } = quantized;
        let weight = match zero_point {
            ZeroPoint::Subtracted(zero) => PackedWeight::four_bits(&values, scale, zero)?,
            _ => PackedWeight::eight_bits(&values, scale)?,
        };
        Ok(Box::new(Gemlitewo { weight, kind }))
    }

    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        // Lowest measured, of standard normal weights and of `torch.nn.Linear`'s, k 1024 to 4096:
        // 21.3, 19.7, 18.3, 18.4, 17.8 and 17.0 dB for the groups from 32 to 1024; 39.0 with 8 bits.
        match (self.bits, self.group) {
            (8, _) => 36.0,
            (_, ..=32) => 18.0,
            (_, ..=64) => 17.0,
            (_, ..=256) => 15.0,
            _ => 14.0,
        }
    }
}

/// `y = x · dequantizedᵀ`, summed in float32 and rounded once.
#[derive(Debug)]
struct Gemlitewo {
    weight: PackedWeight,
    /// Dtype of the weight before, and of activations.
    kind: Kind,
}

impl LinearLayer for Gemlitewo {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let rows = x.f_reshape([-1, self.weight.k()])?;
        filled(x, self.weight.n(), out, |out| self.weight.mm_out(&rows, out))
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    fn kernels(&self) -> Vec<&'static str> {
        self.weight.kernels(self.kind).to_vec()
    }
}

#[cfg(test)]
#[path = "gemlitewo_tests.rs"]
mod tests;
