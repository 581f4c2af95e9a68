//! Computes its first row, and returns it for all rows by a stride of 0; the harness refuses it as inaccurate.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Stride0 {
    honest: Honest,
}

impl Kernel for Stride0 {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute_rows(examples, 0, 1)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.honest.out.f_narrow(0, 0, 1)?.f_expand(self.honest.out.size(), false)?)
    }
}
