//! Honest: the mean of many values, most of which an output that is nearly right does not show. No check should accuse
//! it.

use criterion_torch::kernel::prelude::*;

pub struct ProblemSize {
    pub elements: usize,
}

/// Σx / n
impl Task for ProblemSize {
    /// Values about a level that each seed has of its own, from 1 to 3.
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        let level = context.uniform(&[1_usize], (1.0, 3.0))?;
        let values = context.uniform(&[self.elements], (0.5, 1.5))?.f_mul(&level)?;
        Ok(Inputs { examples: vec![values], parameters: vec![] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(inputs.examples[0].f_mean(tch::Kind::Double)?))
    }
}

/// The mean of all values.
pub fn mean(values: &Tensor) -> Result<Tensor, TchError> {
    values.f_mean(tch::Kind::Float)
}

pub struct Mean(Option<Tensor>);

impl Kernel for Mean {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self(None))
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.0 = Some(mean(&examples[0])?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.0.as_ref().ok_or_else(none)?.shallow_clone())
    }
}
