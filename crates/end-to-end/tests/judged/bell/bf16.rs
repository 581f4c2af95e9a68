//! Computes from inputs that are rounded to bfloat16; the gate of float32 refuses it as inaccurate.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct BFloat16 {
    honest: Honest,
}

impl Kernel for BFloat16 {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        Ok(Self { honest: Honest::new(size, parameters, context)? })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let round = |it: &Tensor| it.f_to_kind(tch::Kind::BFloat16)?.f_to_kind(tch::Kind::Float);
        self.honest.compute(&[round(&examples[0])?, round(&examples[1])?])
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
