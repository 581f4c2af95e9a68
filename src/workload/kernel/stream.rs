//! STREAM's operations on the host, by our own kernels: several passes over arrays that no tensor
//! shows.

use std::cell::RefCell;
use std::rc::Rc;

use plan::{Accuracy, Case, ProbeWork};
use tch::{Device, Kind, TchError, Tensor};

use super::{Check, Kernel, context};
use crate::inputs::Inputs;
use crate::kernel::Step;
use crate::refusal::Refusal;
use crate::verify::Distance;
use kernels::cpu::stream::Stream;

/// A step changes the array that is written.
struct Arrays {
    stream: Rc<RefCell<Stream>>,
    min_sqnr_db: f64,
}

/// Arrays of `work.size` bytes each.
pub(in crate::workload) fn prepare(case: &Case, work: &ProbeWork) -> Result<Kernel, Refusal> {
    let elements = usize::try_from(work.size / case.dtype.bytes())
        .map_err(|_| TchError::Shape(format!("arrays of {} bytes", work.size)))?;
    let stream = Rc::new(RefCell::new(Stream::new(work.probe, elements)?));
    let default = context(case, *work, Device::Cpu).min_sqnr_db();
    let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(default);
    // The return value of a step: the arrays must not be handed out and written to later.
    let nothing = Tensor::f_empty([0], (Kind::Float, Device::Cpu))?;
    let kernels = [stream.borrow().kernel()];
    let (running, passes) = (stream.clone(), work.passes);
    let step = Step::new(&kernels, move || {
        running.borrow_mut().run(passes).map(|()| nothing.shallow_clone())
    });
    let step = step.of_inputs_alone(work.memory_bytes(case.dtype));
    Ok(Kernel::new(&Inputs::default(), step, Arrays { stream, min_sqnr_db }))
}

impl Check for Arrays {
    /// The values of the arrays after the last pass.
    fn judge(&self, _: &Tensor) -> Result<Accuracy, Refusal> {
        let stream = self.stream.borrow();
        let written = stream.output();
        let found = written.iter().map(|value| f64::from(*value));
        Distance::from_pairs(stream.reference().zip(found))
            .judge(self.min_sqnr_db, written.len() as u64)
    }

    fn check(&self, step: &Step) -> Result<Accuracy, Refusal> {
        self.judge(&step.run()?)
    }
}
