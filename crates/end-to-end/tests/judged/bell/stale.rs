//! Returns the output of the call before; `output` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Stale {
    honest: Honest,
    before: Option<Tensor>,
    calls: u64,
}

impl Kernel for Stale {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, before: None, calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.before = if self.calls == 0 { None } else { Some(self.honest.out.f_detach_copy()?) };
        self.calls += 1;
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.before.as_ref().unwrap_or(&self.honest.out).f_detach_copy()?)
    }
}
