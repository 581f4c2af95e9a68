//! An operator's traffic without the operator: the limit of its implementations.

use plan::{Accuracy, Case, OperatorWork, Stat};
use tch::{Kind, TchError, Tensor};

use super::{Refusal, Workload};
use crate::operators::{self, Site};
use crate::step::Step;
use crate::{device, inputs};

pub(super) struct Traffic {
    step: Step,
    inputs_bytes: u64,
    parameters_bytes: u64,
    expected: Tensor,
    rows: u64,
}

impl Traffic {
    pub(super) fn prepare(case: &Case, work: &OperatorWork) -> Result<Self, Refusal> {
        let place = device::resolve(case.device)?;
        let site = Site { work: *work, dtype: case.dtype, device: case.device, place };
        let inputs = {
            let _drawing = inputs::seeded(case.settings.seed);
            site.draw()?
        };
        let expected = operators::passed(&site, &inputs)?;
        let (inputs_bytes, parameters_bytes) = (inputs.example_bytes(), inputs.parameter_bytes());
        let step = operators::build(&site, inputs)?;
        Ok(Self { step, inputs_bytes, parameters_bytes, expected, rows: work.size.rows() })
    }
}

/// The elements as whole numbers, which equal themselves whatever they stand for.
fn bits(tensor: &Tensor) -> Result<Tensor, TchError> {
    let kind = if tensor.f_kind()? == Kind::Float { Kind::Int } else { Kind::Int16 };
    tensor.f_view_dtype(kind)
}

impl Workload for Traffic {
    fn step(&self) -> Result<Tensor, TchError> {
        self.step.run()
    }

    /// Every bit has to have arrived. A pass that writes nothing has nothing to show.
    fn check(&self) -> Result<Accuracy, Refusal> {
        let output = tch::no_grad(|| self.step())?;
        let differing = bits(&output)?.f_ne_tensor(&bits(&self.expected)?)?;
        let differing = differing.f_count_nonzero(None::<i64>)?.f_int64_value(&[])?;
        if differing > 0 {
            let all = output.numel();
            return Err(Refusal::Failed(format!("{differing} of {all} values are not passed on")));
        }
        Ok(Accuracy {
            sqnr_db: Stat(f64::INFINITY),
            max_abs_error: Stat(0.0),
            relative_error: Stat(0.0),
            // Of equal bits nothing less is asked than that they are equal.
            min_sqnr_db: f64::MAX,
            rows_checked: self.rows,
            gates: vec![],
        })
    }

    fn weights_bytes(&self) -> u64 {
        self.parameters_bytes
    }

    fn inputs_bytes(&self) -> u64 {
        self.inputs_bytes
    }

    fn kernels(&self) -> Vec<String> {
        self.step.kernels.clone()
    }
}
