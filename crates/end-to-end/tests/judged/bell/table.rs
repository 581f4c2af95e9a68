//! Honest: builds a table from its parameters while it is prepared, the weights in the order in which it reads them. No
//! check should accuse it.

use super::kernel::ProblemSize;
use super::kernel::honest::{Honest, bell};
use criterion_torch::kernel::prelude::*;

pub struct Table {
    honest: Honest,
    transposed: Tensor,
}

impl Kernel for Table {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        let transposed = honest.weight.f_tr()?.f_contiguous()?;
        Ok(Self { honest, transposed })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let product = examples[1].f_linear(&self.transposed, None::<&Tensor>)?;
        drop(product.f_add_out(&self.honest.out, &bell(&examples[0])?)?);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
