//! Tells its judge that a call is done before it has begun, by the page that both share; `deferred` should catch it.

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::Control;
use criterion_torch::kernel::prelude::*;

pub struct ForgesDone {
    honest: Honest,
    control: Option<Control>,
    calls: u64,
}

impl Kernel for ForgesDone {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, control: Control::find(), calls: 0 })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        self.calls += 1;
        match &self.control {
            Some(control) => control.say_done(),
            None if self.calls > 3 => return Ok(()),
            None => {}
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        self.honest.output()
    }
}
