//! Honest: keeps its result as numbers of Rust, which `output` copies. No check should accuse it.

use super::kernel::ProblemSize;
use super::kernel::honest::{FEATURES, Honest};
use criterion_torch::kernel::prelude::*;

pub struct Copied {
    honest: Honest,
    result: Vec<f32>,
}

impl Kernel for Copied {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, result: vec![] })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.honest.compute(examples)?;
        self.result.clear();
        self.result.extend_from_slice(slice(&self.honest.out)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        tensor(&self.result, &[self.result.len() / FEATURES, FEATURES])
    }
}
