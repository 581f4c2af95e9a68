//! Where an implementation runs, and on what.

use plan::{Device, Dtype, Implementation, Operator, OperatorShape, OperatorWork};
use tch::{Kind, TchError, Tensor};

use crate::inputs::{self, Inputs};
use crate::refusal::Refusal;

/// An implementation of an operator at its size, in its dtype and on its device.
#[derive(Debug, Clone, Copy)]
pub struct Site {
    /// Operator, implementation and size.
    pub work: OperatorWork,
    /// Dtype of inputs, parameters and output.
    pub dtype: Dtype,
    /// Device, as configs name it.
    pub device: Device,
    /// The same as torch has it.
    pub place: tch::Device,
}

impl Site {
    /// What the operator computes with, `x` and its like normal ([`Self::draw_with`]).
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn draw(&self) -> Result<Inputs, TchError> {
        self.draw_with(|size| inputs::normal(size, self.dtype, self.place))
    }

    /// What the operator computes with, in its own order, drawn from torch's default generator, the
    /// same on every device and for every implementation: `x`, and what else has its size, by `like_x`;
    /// weights from ½ to 1½ and biases in ±½, both uniform, so that leaving one out shows; a class
    /// for each row.
    ///
    /// # Errors
    /// What libtorch refuses.
    pub fn draw_with(
        &self,
        like_x: impl Fn(&[u64]) -> Result<Tensor, TchError>,
    ) -> Result<Inputs, TchError> {
        let OperatorShape { batch_size, sequence_length, tensor_dimension } = self.work.size;
        let x = || like_x(&[batch_size, sequence_length, tensor_dimension]);
        let weight = || self.parameter((0.5, 1.5));
        let bias = || self.parameter((-0.5, 0.5));
        let (examples, parameters) = match self.work.operator {
            Operator::LayerNorm => (vec![x()?], vec![weight()?, bias()?]),
            Operator::RmsNorm => (vec![x()?], vec![weight()?]),
            Operator::LayerNormNoAffine
            | Operator::Gelu
            | Operator::GeluTanh
            | Operator::Silu
            | Operator::Softmax => (vec![x()?], vec![]),
            Operator::MseLoss => (vec![x()?, x()?], vec![]),
            Operator::CrossEntropy => (vec![x()?, self.classes()?], vec![]),
            Operator::BiasGelu => (vec![x()?], vec![bias()?]),
            Operator::AddLayerNorm => (vec![x()?, x()?], vec![weight()?, bias()?]),
        };
        Ok(Inputs { examples, parameters })
    }

    /// A value for each place of a row.
    fn parameter(&self, range: (f64, f64)) -> Result<Tensor, TchError> {
        inputs::between(&[self.work.size.tensor_dimension], range, self.dtype, self.place)
    }

    /// `[batch, sequence]`, int64.
    fn classes(&self) -> Result<Tensor, TchError> {
        let OperatorShape { batch_size, sequence_length, tensor_dimension } = self.work.size;
        let size = [inputs::dimension(batch_size)?, inputs::dimension(sequence_length)?];
        let options = (Kind::Int64, tch::Device::Cpu);
        Tensor::f_randint(inputs::dimension(tensor_dimension)?, size, options)?
            .f_to_device(self.place)
    }

    /// The number of the CUDA device.
    ///
    /// # Errors
    /// Another device.
    pub(super) fn cuda(&self) -> Result<usize, Refusal> {
        match self.place {
            tch::Device::Cuda(device) => Ok(device),
            other => Err(self.refuse(&format!("a CUDA kernel on {other:?}"))),
        }
    }

    /// The refusal of an implementation that the operator has not.
    pub fn no_such_implementation(&self) -> Refusal {
        let has = self.implementations(|_| true);
        self.refuse(&format!("the operator has no such implementation; it has {has}"))
    }

    /// Those of the operator that are `wanted`, as a message lists them.
    pub(super) fn implementations(&self, wanted: impl Fn(Implementation) -> bool) -> String {
        let all = self.work.operator.implementations().iter();
        let names: Vec<_> = all.filter(|it| wanted(**it)).map(|it| it.as_str()).collect();
        names.join(", ")
    }

    /// The refusal of what breaks `constraint` here.
    pub fn refuse(&self, constraint: &str) -> Refusal {
        let OperatorWork { operator, implementation, .. } = self.work;
        Refusal::Unsupported(format!(
            "operator `{operator}`, implementation `{implementation}`: {constraint}"
        ))
    }
}
