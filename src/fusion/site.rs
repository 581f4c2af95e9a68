//! Where a variant runs, and on what.

use plan::{Device, Dtype, FusionWork};
use tch::{Kind, TchError, Tensor};

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
    /// Normally distributed values, drawn on the host from torch's default generator directly in the
    /// dtype, then moved: every device sees the same numbers.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn normal(&self, size: &[u64]) -> Result<Tensor, TchError> {
        let size = size.iter().map(|&it| inputs::dimension(it)).collect::<Result<Vec<_>, _>>()?;
        Tensor::f_randn(size, (inputs::kind(self.dtype), tch::Device::Cpu))?.f_to_device(self.place)
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

    /// Values uniform from `low` to `high`, drawn as [`Self::uniform`]'s.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn between(&self, size: &[u64], low: f64, high: f64) -> Result<Tensor, TchError> {
        let size = size.iter().map(|&it| inputs::dimension(it)).collect::<Result<Vec<_>, _>>()?;
        let mut values = Tensor::f_empty(size, (Kind::Float, tch::Device::Cpu))?;
        values.f_uniform_(low, high)?.f_to_kind(inputs::kind(self.dtype))?.f_to_device(self.place)
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

/// What a pattern computes with.
#[derive(Debug)]
pub struct Inputs {
    /// x, or Q, K and V. No place of the first dimension influences another, nor does a head of
    /// attention.
    pub examples: Vec<Tensor>,
    /// Weights, bias, statistics, in the pattern's own order.
    pub parameters: Vec<Tensor>,
}

impl Inputs {
    /// Examples and parameters by name, for a pattern that knows how many it has.
    ///
    /// # Errors
    /// There are more or fewer.
    pub fn into_parts<const EXAMPLES: usize, const PARAMETERS: usize>(
        self,
    ) -> Result<([Tensor; EXAMPLES], [Tensor; PARAMETERS]), TchError> {
        let wrong = |found: Vec<Tensor>| {
            TchError::Shape(format!("inputs of another pattern: {} tensors", found.len()))
        };
        let examples = self.examples.try_into().map_err(wrong)?;
        let parameters = self.parameters.try_into().map_err(wrong)?;
        Ok((examples, parameters))
    }

    /// These examples alone, with all parameters, in float64 on the host. Layouts may change.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn in_float64(&self, rows: &Tensor) -> Result<Self, TchError> {
        let double =
            |tensor: &Tensor| tensor.f_to_device(tch::Device::Cpu)?.f_to_kind(Kind::Double);
        let select = |tensor: &Tensor| {
            let rows = rows.f_to_device(tensor.device())?;
            double(&tensor.f_index_select(0, &rows)?)
        };
        Ok(Self {
            examples: self.examples.iter().map(select).collect::<Result<_, _>>()?,
            parameters: self.parameters.iter().map(double).collect::<Result<_, _>>()?,
        })
    }

    /// Bytes of the examples.
    pub fn example_bytes(&self) -> u64 {
        self.examples.iter().map(inputs::bytes).sum()
    }

    /// Bytes of the parameters before anything is folded or reordered.
    pub fn parameter_bytes(&self) -> u64 {
        self.parameters.iter().map(inputs::bytes).sum()
    }
}
