//! Honest: takes one to four passes, and which number depends on its input. No check should accuse it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct DataDependent {
    honest: Honest,
}

impl Kernel for DataDependent {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let passes = 1 + slice::<f32>(&examples[0])?[0].to_bits() % 4;
        (0..passes).try_for_each(|_| self.honest.compute(examples))
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
