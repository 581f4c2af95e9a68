//! Computes the next call while its output is read, on the inputs that its judge has already written; any check should
//! catch it.

use std::cell::Cell;
use std::time::Duration;

use super::kernel::ProblemSize;
use super::kernel::honest::Honest;
use super::kernel::process::{Control, spin};
use criterion_torch::kernel::prelude::*;

pub struct PeeksAhead {
    honest: Honest,
    control: Option<Control>,
    place: Cell<usize>,
}

impl Kernel for PeeksAhead {
    type ProblemSize = ProblemSize;

    fn prepare(
        size: &ProblemSize,
        parameters: &[Tensor],
        context: &KernelContext,
    ) -> Result<Self, Refusal> {
        let honest = Honest::new(size, parameters, context)?;
        Ok(Self { honest, control: Control::find(), place: Cell::new(0) })
    }

    fn run(&mut self, examples: &[Tensor]) -> Result<(), Refusal> {
        let place = examples[0].data_ptr() as usize;
        if self.place.replace(place) == place {
            // It is not so fast that memory could not be read meanwhile.
            spin(Duration::from_micros(50));
            return Ok(());
        }
        self.honest.compute(examples)
    }

    fn output(&self) -> Result<Tensor, Refusal> {
        let output = self.honest.out.f_detach_copy()?;
        if let Some(control) = &self.control {
            let inputs = control.next_examples(&self.honest.out)?;
            self.place.set(inputs[0].data_ptr() as usize);
            self.honest.compute(&inputs)?;
        }
        Ok(output)
    }
}
