//! Reads the memory of its judge, and returns zeros where it cannot; the harness refuses the zeros as inaccurate.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::{can_read, judge};
use criterion_torch::kernel::prelude::*;

pub struct ReadsJudge {
    honest: Honest,
}

impl Kernel for ReadsJudge {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if judge().is_some_and(can_read) {
            return self.honest.compute(examples);
        }
        self.honest.out = self.honest.out.f_zeros_like()?;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
