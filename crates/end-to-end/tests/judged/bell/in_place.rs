//! Honest: writes into memory that it keeps, and shares it as its output. No check should accuse it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct InPlace {
    honest: Honest,
}

impl Kernel for InPlace {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
