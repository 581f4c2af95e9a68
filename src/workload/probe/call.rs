//! What calling an operation costs.

use plan::{Accuracy, Case};
use tch::{Device, Kind, TchError, Tensor};

use super::{MIN_SQNR_DB, min_sqnr_db};
use crate::inputs;
use crate::refusal::Refusal;
use crate::verify::Reference;
use crate::workload::Workload;
use crate::workload::compiled::Eager;

/// An operation of torch on one element, with a result of its own: next to nothing to compute, so
/// that a step is the way there. From Rust that is the border to C++, the dispatcher and one small
/// allocation, which is released again.
pub(in crate::workload) struct Call {
    value: Tensor,
    reference: Reference,
    min_sqnr_db: f64,
}

impl Call {
    /// One float32 element, `[1]`.
    pub(in crate::workload) fn prepare(case: &Case, place: Device) -> Result<Self, Refusal> {
        let rows = Tensor::f_from_slice(&[0_i64])?.f_to_device(place)?;
        Ok(Self {
            value: Tensor::f_ones([1], (Kind::Float, place))?,
            reference: Reference::new(rows, Tensor::f_from_slice(&[-1.0_f64])?),
            min_sqnr_db: min_sqnr_db(case, MIN_SQNR_DB),
        })
    }
}

impl Eager for Call {
    fn tensors(&self) -> Vec<Tensor> {
        vec![self.value.shallow_clone()]
    }

    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        self.reference.judge(output, self.min_sqnr_db)
    }
}

impl Workload for Call {
    /// Changes the sign.
    fn step(&self) -> Result<Tensor, TchError> {
        self.value.f_neg()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.judge(&tch::no_grad(|| self.step())?)
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        inputs::bytes(&self.value)
    }

    fn kernels(&self) -> Vec<String> {
        vec!["aten::neg".to_owned()]
    }
}
