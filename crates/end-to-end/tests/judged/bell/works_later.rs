//! Computes, and leaves a thread that sleeps for 5 ms before it works for 50 ms; `threads` should catch it.

use std::thread::JoinHandle;
use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::spin;
use criterion_torch::kernel::prelude::*;

pub struct WorksLater {
    honest: Honest,
    working: Option<JoinHandle<()>>,
}

impl Kernel for WorksLater {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, working: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)?;
        if self.working.as_ref().is_none_or(JoinHandle::is_finished) {
            self.working = Some(std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                spin(Duration::from_millis(50));
            }));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
