//! Keeps the results of the first three inputs that it is given, and computes nothing for others; `output` should catch
//! it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct KnowsThree {
    honest: Honest,
    known: Vec<[Tensor; 3]>,
    last: usize,
}

impl Kernel for KnowsThree {
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
        if self.known.len() == 3 {
            return Ok(());
        }
        self.honest.compute(examples)?;
        let entry = [
            examples[0].f_detach_copy()?,
            examples[1].f_detach_copy()?,
            self.honest.out.f_detach_copy()?,
        ];
        self.last = self.known.len();
        self.known.push(entry);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        Ok(self.known[self.last][2].f_detach_copy()?)
    }
}
