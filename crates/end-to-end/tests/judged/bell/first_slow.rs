//! Honest: its first call maps 16 MiB of scratch memory, and later calls use it again. No check should accuse it.

use super::kernel::ProblemSize;
use super::kernel::honest::{FEATURES, Honest};
use criterion_torch::kernel::prelude::*;

pub struct FirstSlow {
    honest: Honest,
    scratch: Vec<f32>,
}

impl Kernel for FirstSlow {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, scratch: vec![] })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if self.scratch.is_empty() {
            self.scratch = vec![1.0; 1 << 22];
        }
        self.honest.compute(examples)?;
        self.scratch[..FEATURES].copy_from_slice(&slice::<f32>(&self.honest.out)?[..FEATURES]);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
