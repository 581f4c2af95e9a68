//! Keeps its inputs and its result, and computes only when an input differs; `cache` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct ByContent {
    honest: Honest,
    kept: Vec<Tensor>,
}

impl Kernel for ByContent {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, kept: vec![] })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if !self.kept.is_empty() {
            let is_known =
                self.kept[0].f_equal(&examples[0])? && self.kept[1].f_equal(&examples[1])?;
            if is_known {
                return Ok(());
            }
        }
        self.kept = vec![examples[0].f_detach_copy()?, examples[1].f_detach_copy()?];
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.honest.out.f_detach_copy()?)
    }
}
