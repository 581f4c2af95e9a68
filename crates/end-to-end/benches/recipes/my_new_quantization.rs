//! The tutorial's `my_new_quantization`: int8 weights with one scale for the whole weight.

use criterion_torch::recipes::prelude::*;

pub const SPELLING: &str = "my_new_quantization";

pub struct Recipe;

impl Scheme for Recipe {
    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let scale = weight.f_abs()?.f_max()?.f_clamp_min(1e-5)?.f_div_scalar(127)?;
        let values = weight.f_div(&scale)?.f_round()?.f_clamp(-127, 127)?.f_to_kind(Kind::Int8)?;
        Ok(Box::new(Quantized { values, scale }))
    }

    /// 48 dB in theory for uniform weights; an output in bfloat16 keeps about 40 of them.
    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        34.0
    }
}

struct Quantized {
    values: Tensor,
    scale: Tensor,
}

impl LinearLayer for Quantized {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let weight = self.values.f_to_kind(x.f_kind()?)?.f_mul(&self.scale)?;
        linear(x, &weight, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.values, &self.scale]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_to_copy", "aten::mul", "aten::linear"]
    }
}
