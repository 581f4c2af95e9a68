//! Where a variant runs, and on what.

use plan::{Device, Dtype, FusionWork};
use tch::{TchError, Tensor};

use crate::inputs;
use crate::refusal::Refusal;

/// A variant of a pattern at its size, in its dtype and on its device.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// Pattern, variant and size.
    pub work: FusionWork,
    /// Dtype of inputs and parameters.
    pub dtype: Dtype,
    /// Device, as configs name it.
    pub device: Device,
    /// The same as torch has it.
    pub place: tch::Device,
}

impl Site {
    /// [`inputs::normal`]
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn normal(&self, size: &[u64]) -> Result<Tensor, TchError> {
        inputs::normal(size, self.dtype, self.place)
    }

    /// Values uniform in ±1/√`fan_in`, as `torch.nn` initializes weights and biases: drawn on the host
    /// in float32, then converted, then moved.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn uniform(&self, size: &[u64], fan_in: u64) -> Result<Tensor, TchError> {
        let bound = 1.0 / (fan_in as f64).sqrt();
        self.between(size, -bound, bound)
    }

    /// [`inputs::between`]
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn between(&self, size: &[u64], low: f64, high: f64) -> Result<Tensor, TchError> {
        inputs::between(size, (low, high), self.dtype, self.place)
    }

    /// The refusal of a variant that the pattern has not.
    pub fn no_such_variant(&self) -> Refusal {
        self.refuse("the pattern has no such variant".to_owned())
    }

    /// The refusal of what breaks `constraint` here.
    pub fn refuse(&self, constraint: String) -> Refusal {
        let FusionWork { pattern, variant, .. } = self.work;
        Refusal::Unsupported(format!("pattern `{pattern}`, variant `{variant}`: {constraint}"))
    }
}
