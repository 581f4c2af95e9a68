//! Keeps a state that makes each call 4 µs slower than the one before, up to 4 ms; `drift` or `batches` should catch it.

use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::spin;
use criterion_torch::kernel::prelude::*;

pub struct Grows {
    honest: Honest,
    calls: u64,
}

impl Kernel for Grows {
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
        spin(Duration::from_micros(4 * self.calls.min(1000)));
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
