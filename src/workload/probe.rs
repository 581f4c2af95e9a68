//! A limit of the machine: the workload of calibration.

use plan::{Accuracy, Case, Device, ProbeWork};
use tch::{TchError, Tensor};

use super::{Refusal, Workload};
use crate::verify::{self, Reference};
use crate::{device, inputs};

/// Torch's product of two square matrices.
pub(super) struct Probe {
    a: Tensor,
    b: Tensor,
    reference: Reference,
    min_sqnr_db: f64,
}

/// Whether the probe can run on the device.
pub(super) fn check(work: &ProbeWork, device: Device) -> Result<(), Refusal> {
    match (work.probe, device) {
        (plan::Probe::Matmul, _) => Ok(()),
        (probe, _) => Err(Refusal::Unsupported(format!("probe `{probe}`: not built"))),
    }
}

impl Probe {
    pub(super) fn prepare(case: &Case, work: &ProbeWork) -> Result<Self, Refusal> {
        let place = device::resolve(case.device)?;
        let n = inputs::dimension(work.size)?;
        let draw = || {
            let host = (inputs::kind(case.dtype), tch::Device::Cpu);
            Tensor::f_randn([n, n], host)?.f_to_device(place)
        };
        let (a, b) = {
            let _drawing = inputs::seeded(case.settings.seed);
            (draw()?, draw()?)
        };
        let rows = verify::rows(work.size, 2 * work.size * work.size, work.size);
        let rows = Tensor::f_from_slice(&rows)?.f_to_device(place)?;
        let double =
            |tensor: &Tensor| tensor.f_to_device(tch::Device::Cpu)?.f_to_kind(tch::Kind::Double);
        let output = double(&a.f_index_select(0, &rows)?)?.f_mm(&double(&b)?)?;
        let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(match case.dtype {
            plan::Dtype::Float32 => 100.0,
            plan::Dtype::BFloat16 => 40.0,
            plan::Dtype::Float16 => 60.0,
        });
        Ok(Self { a, b, reference: Reference::new(rows, output), min_sqnr_db })
    }
}

impl Workload for Probe {
    fn step(&self) -> Result<Tensor, TchError> {
        self.a.f_mm(&self.b)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.reference.judge(&tch::no_grad(|| self.step())?, self.min_sqnr_db)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        inputs::bytes(&self.a) + inputs::bytes(&self.b)
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::mm".to_owned()]
    }
}
