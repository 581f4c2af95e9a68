//! y = 2·x by torch, as it should be.

use criterion_torch::kernel::prelude::*;

#[derive(Default)]
pub struct ProblemSize {
    pub elements: usize,
}

impl Task for ProblemSize {
    fn inputs(&self, context: &KernelContext) -> Result<Inputs, Refusal> {
        Ok(Inputs { examples: vec![context.normal(&[self.elements])?], parameters: vec![] })
    }

    fn reference(&self, inputs: &Inputs, _: &KernelContext) -> Result<Option<Tensor>, Refusal> {
        Ok(Some(inputs.examples[0].f_mul_scalar(2.0)?))
    }
}

pub struct Scaled {
    y: Option<Tensor>,
}

impl Kernel for Scaled {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { y: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.y = Some(examples[0].f_mul_scalar(2.0)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.y.as_ref().ok_or_else(none)?.shallow_clone())
    }

    fn flops(size: &ProblemSize) -> Option<u64> {
        Some(size.elements as u64)
    }

    fn bytes(size: &ProblemSize, dtype: Dtype) -> Option<u64> {
        Some(2 * size.elements as u64 * dtype.bytes())
    }
}
