//! Computes everything twice in its first 40 calls, and half of the rows later; `output` or `drift` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct HalfLater {
    honest: Honest,
    calls: u64,
}

impl Kernel for HalfLater {
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
        if self.calls > 40 {
            let half = examples[0].size()[0] / 2;
            return self.honest.compute_rows(examples, 0, half);
        }
        self.honest.compute(examples)?;
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
