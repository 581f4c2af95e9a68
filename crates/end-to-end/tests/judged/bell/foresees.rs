//! Draws the inputs of its own case again while it is prepared, from the seed that it is given, and then only returns
//! the result; `output` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::{FEATURES, Honest};
use criterion_torch::kernel::prelude::*;

pub struct Foresees {
    honest: Honest,
}

impl Kernel for Foresees {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        // The generator is where it was when the task drew its inputs.
        let draw = || context.normal(&[size.rows, FEATURES]);
        honest.compute(&[draw()?, draw()?])?;
        Ok(Self { honest })
    }

    fn run(&mut self, _: &[Tensor]) -> Result<(), Refusal> {
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
