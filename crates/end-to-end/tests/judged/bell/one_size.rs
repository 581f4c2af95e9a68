//! Is right at the size of its `bench.yaml` alone; `sizes` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct OneSize {
    honest: Honest,
}

impl Kernel for OneSize {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        const ROWS: i64 = 128;
        match examples[0].size()[0] {
            ROWS => self.honest.compute(examples),
            rows => self.honest.compute_rows(examples, 0, rows / 2),
        }
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
