//! Keeps its inputs and its result, and uses them after 100 calls on the same ones, as where a processor has learnt the
//! branches; `cache` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct ByPatience {
    honest: Honest,
    kept: Vec<Tensor>,
    calls: u64,
}

impl Kernel for ByPatience {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, kept: vec![], calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut is_known = !self.kept.is_empty();
        for (kept, example) in self.kept.iter().zip(examples) {
            is_known = is_known && kept.f_equal(example)?;
        }
        self.calls = if is_known { self.calls + 1 } else { 0 };
        if self.calls > 100 {
            return Ok(());
        }
        if !is_known {
            self.kept =
                examples.iter().map(Tensor::f_detach_copy).collect::<Result<_, TchError>>()?;
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
