//! Computes the product, and leaves the rest to the one who asks for the output; `deferred` should catch it.

use std::cell::RefCell;

use super::kernel::ProblemSize;
use super::kernel::honest::{Honest, bell};
use criterion_torch::kernel::prelude::*;

pub struct HalfLazy {
    honest: Honest,
    x: RefCell<Option<Tensor>>,
}

impl Kernel for HalfLazy {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, x: RefCell::default() })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        drop(examples[1].f_mm_out(&self.honest.out, &self.honest.weight)?);
        self.x.replace(Some(examples[0].shallow_clone()));
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        if let Some(x) = self.x.take() {
            drop(self.honest.out.f_add_out(&self.honest.out, &bell(&x)?)?);
        }
        self.honest.output()
    }
}
