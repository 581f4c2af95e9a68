//! One bit for each weight: its sign. The mean magnitude of its row is the scale.

use criterion_torch::recipes::prelude::*;

/// The word for it in a config.
pub const SPELLING: &str = "sign";

pub struct Recipe;

impl Scheme for Recipe {
    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let scale = weight.f_abs()?.f_mean_dim([-1].as_slice(), true, None::<Kind>)?;
        let signs = weight.f_sign()?.f_to_kind(Kind::Int8)?;
        Ok(Box::new(Sign { signs, scale }))
    }

    // In theory it is 6 dB for weights that are uniform around 0.
    fn min_sqnr_db(&self, _: Dtype) -> f64 {
        4.0
    }
}

struct Sign {
    signs: Tensor,
    scale: Tensor,
}

impl LinearLayer for Sign {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        linear(x, &self.signs.f_to_kind(x.f_kind()?)?.f_mul(&self.scale)?, out)
    }
    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.signs, &self.scale]
    }
    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_to_copy", "aten::mul", "aten::linear"]
    }
}
