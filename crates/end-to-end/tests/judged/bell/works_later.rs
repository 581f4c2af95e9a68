//! Computes, and leaves a thread that works from 5 to 55 ms after the last call; `threads` should catch it.

use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::{Worker, spin};
use criterion_torch::kernel::prelude::*;

pub struct WorksLater {
    honest: Honest,
    worker: Worker,
}

impl Kernel for WorksLater {
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
    if rest < Duration::from_millis(5) {
        std::thread::sleep(Duration::from_millis(1));
    } else {
        spin(Duration::from_millis(1));
    }
    rest < Duration::from_millis(55)
}
