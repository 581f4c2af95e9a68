//! Skips calls that follow another one at once, as in a timed batch; `batches` or `output` should catch it.

use std::time::{Duration, Instant};

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct ByGap {
    honest: Honest,
    ended: Option<Instant>,
}

impl Kernel for ByGap {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, ended: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        if self.ended.is_none_or(|it| it.elapsed() > GAP) {
            self.honest.compute(examples)?;
        }
        self.ended = Some(Instant::now());
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}

/// The longest pause inside of a batch, in a build without optimization.
const GAP: Duration = Duration::from_micros(10);
