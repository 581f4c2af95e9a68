//! Returns its own input, into whose memory it has written the result; `inputs` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use criterion_torch::kernel::prelude::*;

pub struct Alias {
    honest: Honest,
    y: Option<Tensor>,
    place: usize,
    alias: Option<Tensor>,
}

impl Kernel for Alias {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, y: None, place: 0, alias: None })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let mut input = examples[1].shallow_clone();
        let place = input.data_ptr() as usize;
        if let Some(y) = self.y.as_ref().filter(|_| place == self.place) {
            input.f_copy_(y)?;
        }
        self.y = Some(input.f_detach_copy()?);
        self.place = place;
        self.honest.compute(examples)?;
        input.f_copy_(&self.honest.out)?;
        self.alias = Some(input);
        Ok(())
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("it has not run".to_owned());
        Ok(self.alias.as_ref().ok_or_else(none)?.shallow_clone())
    }
}
