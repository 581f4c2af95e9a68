//! Weights of −1, 0 or 1, with one scale for each group along k: the mean magnitude of the group.

use criterion_torch::recipes::prelude::*;

/// The word in a config, such as `ternary-64`. `<group>` is a whole number, and a field of `Recipe`.
pub const SPELLING: &str = "ternary-<group>";

pub struct Recipe {
    /// Weights that share a scale.
    pub group: i64,
}

impl Scheme for Recipe {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        let (k, group) = (context.linear.k, self.group.unsigned_abs());
        match k % group {
            0 => Ok(()),
            _ => Err(format!("k = {k}, but the group, {group}, must divide it")),
        }
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let (n, k) = weight.size2()?;
        let weight = weight.f_reshape([n, k / self.group, self.group])?;
        let magnitude = weight.f_abs()?.f_mean_dim([-1].as_slice(), true, None::<Kind>)?;
        let scale = magnitude.f_clamp_min(1e-5)?;
        let values = weight.f_div(&scale)?.f_round()?.f_clamp(-1, 1)?.f_to_kind(Kind::Int8)?;
        Ok(Box::new(Ternary { values, scale }))
    }

    /// 8 dB in theory for weights that are uniform, as those of a new linear layer are.
    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        6.0
    }
}

/// `y = x · (q · scale)ᵀ`: the whole weight is made anew in every call.
struct Ternary {
    /// `[n, groups, group]`, int8.
    values: Tensor,
    /// `[n, groups, 1]`, in the dtype before quantization.
    scale: Tensor,
}

impl LinearLayer for Ternary {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let weight = self.values.f_to_kind(x.f_kind()?)?.f_mul(&self.scale)?;
        linear(x, &weight.f_flatten(1, 2)?, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.values, &self.scale]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_to_copy", "aten::mul", "aten::linear"]
    }
}
