//! Exits where its inputs are read-only, as in a judged process; `process` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::is_read_only;
use criterion_torch::kernel::prelude::*;

pub struct ExitsJudged {
    honest: Honest,
}

impl Kernel for ExitsJudged {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if is_read_only(&examples[0]) {
            std::process::exit(0);
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
