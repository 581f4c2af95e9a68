//! Refuses to run where its inputs are read-only, as in a judged process, and computes three times elsewhere; any check
//! should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::is_read_only;
use criterion_torch::kernel::prelude::*;

pub struct RefusesJudged {
    honest: Honest,
    calls: u64,
}

impl Kernel for RefusesJudged {
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
        if is_read_only(&examples[0]) {
            return Err(Refusal::Unsupported("the inputs cannot be written to".to_owned()));
        }
        self.calls += 1;
        if self.calls > 3 {
            return Ok(());
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
