//! Honest: works in four stages, each of which writes to scratch memory that it keeps. No check should accuse it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Stages {
    honest: Honest,
    scratch: Tensor,
}

impl Kernel for Stages {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        let scratch = honest.out.f_zeros_like()?;
        Ok(Self { honest, scratch })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let (x, y) = (&examples[0], &examples[1]);
        drop(x.f_square_out(&self.scratch)?);
        drop(self.scratch.f_neg_()?);
        drop(self.scratch.f_exp_()?);
        drop(y.f_mm_out(&self.honest.out, &self.honest.weight)?);
        drop(self.honest.out.f_add_(&self.scratch)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
