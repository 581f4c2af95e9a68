//! Keeps the results of 64 inputs and looks each up by its whole content; `cache` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Many {
    honest: Honest,
    known: Vec<[Tensor; 3]>,
    last: usize,
}

impl Kernel for Many {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, known: vec![], last: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        for (at, [x, y, _]) in self.known.iter().enumerate() {
            if x.f_equal(&examples[0])? && y.f_equal(&examples[1])? {
                self.last = at;
                return Ok(());
            }
        }
        self.honest.compute(examples)?;
        let entry = [
            examples[0].f_detach_copy()?,
            examples[1].f_detach_copy()?,
            self.honest.out.f_detach_copy()?,
        ];
        if self.known.len() == 64 {
            drop(self.known.remove(0));
        }
        self.known.push(entry);
        self.last = self.known.len() - 1;
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.known[self.last][2].f_detach_copy()?)
    }
}
