//! Skips two of three calls where its inputs can be written to, as in the process of a harness; `clock` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::is_read_only;
use criterion_torch::kernel::prelude::*;

pub struct SkipsALittle {
    honest: Honest,
    calls: u64,
}

impl Kernel for SkipsALittle {
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
        if self.calls > 3 && !self.calls.is_multiple_of(3) && !is_read_only(&examples[0]) {
            return Ok(());
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
