//! Computes the next call whenever its output is asked for while inputs are revealed, and computes it itself otherwise. It
//! never is asked then: no code of a kernel runs between the writing of inputs and the call.

use std::cell::Cell;
use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::{Control, spin};
use criterion_torch::kernel::prelude::*;

pub struct AtReveal {
    honest: Honest,
    control: Option<Control>,
    /// The number of the command that it has computed the inputs of.
    command: Cell<u32>,
}

impl Kernel for AtReveal {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, control: Control::find(), command: Cell::new(0) })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        match &self.control {
            Some(control) if self.command.get() + 1 == control.command() => {
                // It is not so fast that memory could not be read meanwhile.
                spin(Duration::from_micros(60));
                Ok(())
            }
            _ => self.honest.compute(examples),
        }
    }

    /// Another tensor each time, so that what is computed here is not overwritten.
    fn output(&self) -> Result<Tensor, Refusal> {
        if let Some(control) = self.control.as_ref().filter(|it| it.reveals()) {
            self.honest.compute(&control.next_examples(&self.honest.out)?)?;
            self.command.set(control.command());
        }
        Ok(self.honest.out.f_detach_copy()?)
    }
}
