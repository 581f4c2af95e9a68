//! Computes half of its rows and leaves zeros in the others; the harness refuses it as inaccurate.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Half {
    honest: Honest,
}

impl Kernel for Half {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let mut honest = Honest::new(size, parameters, context)?;
        honest.out = honest.out.f_zeros_like()?;
        Ok(Self { honest })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let half = examples[0].size()[0] / 2;
        self.honest.compute_rows(examples, 0, half)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
