//! What starting a kernel costs.

use plan::{Accuracy, Case};
use tch::{Device, Kind, TchError, Tensor};

use super::{MIN_SQNR_DB, min_sqnr_db};
use crate::inputs;
use crate::refusal::Refusal;
use crate::verify::Distance;
use crate::workload::Workload;

/// An operation in place on one element, on a device with a queue. By the device's clock a step is
/// a kernel that does next to nothing, one after the other; what the host takes to start it is the
/// queueing time of the record's two clocks.
pub(super) struct Launch {
    value: Tensor,
    min_sqnr_db: f64,
}

impl Launch {
    /// One float32 element.
    pub(super) fn prepare(case: &Case, place: Device) -> Result<Self, Refusal> {
        let value = Tensor::f_ones([1], (Kind::Float, place))?;
        Ok(Self { value, min_sqnr_db: min_sqnr_db(case, MIN_SQNR_DB) })
    }
}

impl Workload for Launch {
    /// Changes the sign: nothing to allocate, and no number of steps overflows.
    fn step(&self) -> Result<Tensor, TchError> {
        self.value.shallow_clone().f_neg_()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        let before = self.value.f_double_value(&[0])?;
        let after = tch::no_grad(|| self.step())?.f_double_value(&[0])?;
        Distance::of([(-before, after)]).judge(self.min_sqnr_db, 1)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        inputs::bytes(&self.value)
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::neg_".to_owned()]
    }
}
