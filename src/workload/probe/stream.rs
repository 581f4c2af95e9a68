//! STREAM's operations: on the host by our own kernels, on a device by torch's.

use std::cell::RefCell;

use plan::{Accuracy, Case, Probe, ProbeWork};
use tch::{Device, Kind, TchError, Tensor};

use super::{MIN_SQNR_DB, min_sqnr_db};
use crate::refusal::Refusal;
use crate::verify::{self, Distance, Reference};
use crate::workload::Workload;
use crate::{inputs, native};
use kernels::cpu::stream::{self, SCALAR, Stream};

/// Several passes over arrays in the host's memory.
pub(super) struct HostStream {
    /// A step changes the array that is written, and nobody else has it.
    stream: RefCell<Stream>,
    passes: u64,
    inputs_bytes: u64,
    /// What a step returns: the arrays are no tensors that could be handed out and written to
    /// later.
    nothing: Tensor,
    min_sqnr_db: f64,
}

impl HostStream {
    /// Arrays of `work.size` bytes each.
    pub(super) fn prepare(case: &Case, work: &ProbeWork) -> Result<Self, Refusal> {
        let elements = usize::try_from(work.size / case.dtype.bytes())
            .map_err(|_| TchError::Shape(format!("arrays of {} bytes", work.size)))?;
        Ok(Self {
            stream: RefCell::new(Stream::new(work.probe, elements)?),
            passes: work.passes,
            inputs_bytes: work.memory_bytes(case.dtype),
            nothing: Tensor::f_empty([0], (Kind::Float, Device::Cpu))?,
            min_sqnr_db: min_sqnr_db(case, MIN_SQNR_DB),
        })
    }
}

impl Workload for HostStream {
    fn step(&self) -> Result<Tensor, TchError> {
        self.stream.borrow_mut().run(self.passes)?;
        Ok(self.nothing.shallow_clone())
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        drop(self.step()?);
        let stream = self.stream.borrow();
        let written = stream.output();
        let found = written.iter().map(|value| f64::from(*value));
        Distance::of(stream.reference().zip(found)).judge(self.min_sqnr_db, written.len() as u64)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        self.inputs_bytes
    }

    fn kernels(&self) -> Vec<String> {
        self.stream.borrow().kernels().iter().map(|&name| name.to_owned()).collect()
    }
}

/// One pass over arrays in a device's memory, by the operation of torch that makes it in one.
pub(super) struct DeviceStream {
    operation: Probe,
    x: Tensor,
    y: Tensor,
    /// On the host: torch hands it to the kernel as an argument.
    scalar: Tensor,
    output: Tensor,
    reference: Reference,
    min_sqnr_db: f64,
}

impl DeviceStream {
    /// Arrays of `work.size` bytes each, drawn where they lie.
    pub(super) fn prepare(case: &Case, work: &ProbeWork, place: Device) -> Result<Self, Refusal> {
        let elements = work.size / case.dtype.bytes();
        let size = [inputs::dimension(elements)?];
        let options = (Kind::Float, place);
        let (x, y) = {
            let _drawing = inputs::seeded(case.settings.seed);
            (Tensor::f_rand(size, options)?, Tensor::f_rand(size, options)?)
        };
        let rows = Tensor::f_from_slice(&verify::rows(elements, 2, 1))?.f_to_device(place)?;
        let some = |array: &Tensor| Vec::<f32>::try_from(array.f_index_select(0, &rows)?);
        let (some_x, some_y) = (some(&x)?, some(&y)?);
        let float64 = stream::float64(work.probe)?;
        let pairs = some_x.iter().zip(&some_y);
        let results: Vec<f64> = pairs.map(|(x, y)| float64((*x).into(), (*y).into())).collect();
        let reference = Tensor::f_from_slice(&results)?;
        Ok(Self {
            operation: work.probe,
            x,
            y,
            scalar: Tensor::f_scalar_tensor(f64::from(SCALAR), (Kind::Float, Device::Cpu))?,
            // An element that is not written fails the check.
            output: Tensor::f_full(size, f64::NAN, options)?,
            reference: Reference::new(rows, reference),
            min_sqnr_db: min_sqnr_db(case, MIN_SQNR_DB),
        })
    }
}

impl Workload for DeviceStream {
    fn step(&self) -> Result<Tensor, TchError> {
        let Self { x, y, scalar, .. } = self;
        let mut output = self.output.shallow_clone();
        match self.operation {
            Probe::Scale => drop(x.f_mul_out(&output, scalar)?),
            Probe::Add => drop(x.f_add_out(&output, y)?),
            Probe::Triad => native::triad::triad(&mut output, x, y, SCALAR.into())
                .map_err(|error| TchError::Torch(error.to_string()))?,
            _ => output.f_copy_(x)?,
        }
        Ok(output)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.reference.judge(&tch::no_grad(|| self.step())?, self.min_sqnr_db)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        [&self.x, &self.y, &self.output].map(inputs::bytes).iter().sum()
    }

    fn kernels(&self) -> Vec<String> {
        let kernel = match self.operation {
            Probe::Scale => "aten::mul",
            Probe::Add | Probe::Triad => "aten::add",
            _ => "aten::copy_",
        };
        vec![kernel.to_owned()]
    }
}
