//! Scales with an unneeded copy of the input.

use super::kernel::ProblemSize;
use criterion_torch::kernel::prelude::*;

pub struct Scaled {
    y: Option<Tensor>,
}

impl Kernel for Scaled {
    type ProblemSize = ProblemSize;

    fn prepare(_: &ProblemSize, _: &[Tensor], _: &KernelContext) -> Result<Self, Refusal> {
        Ok(Self { y: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut copy = examples[0].f_empty_like()?;
        copy.f_copy_(&examples[0])?;
        self.y = Some(copy.f_mul_scalar(2.0)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.y.as_ref().ok_or_else(none)?.shallow_clone())
    }
}
