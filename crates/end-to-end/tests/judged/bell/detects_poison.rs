//! Computes only when its output holds NaN, which says that somebody looks at it; `output`, `batches` or `clock` should
//! catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct DetectsPoison {
    honest: Honest,
}

impl Kernel for DetectsPoison {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if !self.honest.out.f_double_value(&[0, 0])?.is_nan() {
            return Ok(());
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
