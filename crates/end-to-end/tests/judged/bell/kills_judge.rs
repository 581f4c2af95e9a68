//! Kills its judge in its 20th call; it may not be measured.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::judge;
use criterion_torch::kernel::prelude::*;

pub struct KillsJudge {
    honest: Honest,
    calls: u64,
}

impl Kernel for KillsJudge {
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
        if let Some(judge) = judge().filter(|_| self.calls == 20) {
            // SAFETY: sends a signal.
            unsafe { libc::kill(judge, libc::SIGKILL) };
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
