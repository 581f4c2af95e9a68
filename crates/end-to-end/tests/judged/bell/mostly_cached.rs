//! Keeps its inputs and its result, and of calls on inputs that it knows computes each third one; `cache` or `batches`
//! should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::{Honest, words};
use criterion_torch::kernel::prelude::*;

pub struct MostlyCached {
    honest: Honest,
    kept: Vec<Tensor>,
    calls: u64,
}

impl Kernel for MostlyCached {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, kept: vec![], calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if let [x, y] = &self.kept[..]
            && words(x) == words(&examples[0])
            && words(y) == words(&examples[1])
        {
            self.calls += 1;
            return if self.calls.is_multiple_of(3) {
                self.honest.compute(examples)
            } else {
                Ok(())
            };
        }
        self.kept = vec![examples[0].f_detach_copy()?, examples[1].f_detach_copy()?];
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.honest.out.f_detach_copy()?)
    }
}
