//! The layer that the implementations of the product share.

#![allow(dead_code, reason = "every kernel uses its own part")]

use criterion_torch::kernel::prelude::*;

/// A layer and the one token that it is given.
pub struct Layer {
    /// `[out, in]`, as `torch.nn.Linear` has it.
    pub weight: Tensor,
    /// `[in]`
    pub x: Tensor,
}

impl Layer {
    /// Normally distributed; the weights such that outputs have the variance of the input.
    pub fn draw(
        out_features: usize,
        in_features: usize,
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        if out_features == 0 || in_features == 0 {
            return Err(context.unsupported(&format!(
                "a layer {out_features}×{in_features}, but out_features and in_features have to be \
                 1 or more"
            )));
        }
        if context.dtype == Dtype::Float8E4M3Fn {
            let text = "the output has the weights' precision, and in 8 bits it says nothing";
            return Err(context.unsupported(text));
        }
        let weight = context.normal(&[out_features, in_features])?;
        let weight = weight.f_mul_scalar((in_features as f64).powf(-0.5))?;
        Ok(Self { weight, x: context.normal(&[in_features])? })
    }

    /// In float64, by products first and sums after them, a few rows at a time.
    pub fn reference(&self) -> Result<Tensor, Refusal> {
        let double =
            |tensor: &Tensor| tensor.f_to_device(tch::Device::Cpu)?.f_to_kind(tch::Kind::Double);
        let x = double(&self.x)?;
        let rows = self.weight.f_split(64, 0)?;
        let sums = rows
            .iter()
            .map(|rows| double(rows)?.f_mul(&x)?.f_sum_dim_intlist(-1, false, tch::Kind::Double));
        Ok(Tensor::f_cat(&sums.collect::<Result<Vec<_>, _>>()?, 0)?)
    }
}

/// A product and a sum for each weight.
pub fn flops(out_features: usize, in_features: usize) -> u64 {
    2 * out_features as u64 * in_features as u64
}

/// The weights and the input read once, the output written once.
pub fn bytes(out_features: usize, in_features: usize, dtype: Dtype) -> u64 {
    let (out, of) = (out_features as u64, in_features as u64);
    (out * of + of + out) * dtype.bytes()
}
