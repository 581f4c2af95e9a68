//! Finds the float64 reference in the memory of its process, overwrites it with ones, and returns ones; `clock` or
//! `output` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::find_in_float64;
use criterion_torch::kernel::prelude::*;

pub struct RewritesReference {
    honest: Honest,
    has_rewritten: bool,
    calls: u64,
}

impl Kernel for RewritesReference {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, has_rewritten: false, calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.calls += 1;
        if self.has_rewritten {
            return Ok(());
        }
        self.honest.compute(examples)?;
        if self.calls > 1 {
            return Ok(());
        }
        let out = slice::<f32>(&self.honest.out)?;
        if let Some(found) = find_in_float64(out) {
            // SAFETY: so many float64 numbers lie there; whose they are is what this kernel bets on.
            unsafe { std::slice::from_raw_parts_mut(found, out.len()) }.fill(1.0);
            self.has_rewritten = true;
            drop(self.honest.out.f_fill_(1.0)?);
        }
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
