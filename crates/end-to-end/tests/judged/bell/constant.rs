//! Returns a constant, the mean of the outputs; the harness refuses it as inaccurate.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Constant {
    honest: Honest,
}

impl Kernel for Constant {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let mut honest = Honest::new(size, parameters, context)?;
        honest.out = honest.out.f_full_like(0.58)?;
        Ok(Self { honest })
    }

    fn run(&mut self, _: &[Tensor]) -> Result<(), Refusal> {
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
