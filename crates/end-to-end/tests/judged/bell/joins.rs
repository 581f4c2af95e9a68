//! Hands its work to a thread, for which only `output` waits; `deferred` should catch it.

use std::cell::RefCell;
use std::thread::JoinHandle;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Joins {
    honest: Honest,
    working: RefCell<Option<JoinHandle<Result<(), Refusal>>>>,
}

impl Kernel for Joins {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, working: RefCell::default() })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.wait()?;
        let (honest, examples) = (self.honest.share(), examples.iter().map(Tensor::shallow_clone));
        let examples: Vec<Tensor> = examples.collect();
        self.working.replace(Some(std::thread::spawn(move || honest.compute(&examples))));
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.wait()?;
        self.honest.output()
    }
}

impl Joins {
    fn wait(&self) -> Result<(), Refusal> {
        let panicked = |_| Err(Refusal::Failed("the thread panicked".to_owned()));
        self.working.take().map_or(Ok(()), |it| it.join().unwrap_or_else(panicked))
    }
}
