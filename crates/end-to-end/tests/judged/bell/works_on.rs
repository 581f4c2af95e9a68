//! Computes, and leaves a thread that works until 50 ms after the last call; `threads` should catch it.

use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::{Worker, spin};
use criterion_torch::kernel::prelude::*;

pub struct WorksOn {
    honest: Honest,
    worker: Worker,
}

impl Kernel for WorksOn {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, worker: Worker::new(work) })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)?;
        self.worker.begin();
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

fn work(rest: Duration) -> bool {
    spin(Duration::from_micros(100));
    rest < Duration::from_millis(50)
}
