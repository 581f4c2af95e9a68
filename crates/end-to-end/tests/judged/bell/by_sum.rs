//! Computes only when the sum of its inputs is new; `cache` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::{Honest, sum};
use criterion_torch::kernel::prelude::*;

pub struct BySum {
    honest: Honest,
    sum: f64,
}

impl Kernel for BySum {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, sum: f64::NAN })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let sum = sum(examples)?;
        if std::mem::replace(&mut self.sum, sum) == sum {
            return Ok(());
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.honest.out.f_detach_copy()?)
    }
}
