//! Computes only when one of the first eight elements of its input is new; `output` or `cache` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct ByPeek {
    honest: Honest,
    head: Vec<f32>,
}

impl Kernel for ByPeek {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, head: vec![] })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let head = &slice::<f32>(&examples[0])?[..8];
        if self.head == head {
            return Ok(());
        }
        self.head = head.to_vec();
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
