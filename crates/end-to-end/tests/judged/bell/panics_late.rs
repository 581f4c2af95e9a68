//! Panics in its 20th call; the harness says so.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct PanicsLate {
    honest: Honest,
    calls: u64,
}

impl Kernel for PanicsLate {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.calls += 1;
        assert!(self.calls != 20, "the 20th call");
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
