//! Hands its work to a thread that nobody waits for, after a first call that is honest; `output`, `deferred` or
//! `threads` should catch it.

use std::thread::JoinHandle;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Abandons {
    honest: Honest,
    working: Option<JoinHandle<Result<(), Refusal>>>,
    has_run: bool,
}

impl Kernel for Abandons {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, working: None, has_run: false })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if !std::mem::replace(&mut self.has_run, true) {
            return self.honest.compute(examples);
        }
        if self.working.as_ref().is_none_or(JoinHandle::is_finished) {
            let examples: Vec<Tensor> = examples.iter().map(Tensor::shallow_clone).collect();
            let honest = self.honest.share();
            self.working = Some(std::thread::spawn(move || honest.compute(&examples)));
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
