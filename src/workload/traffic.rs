//! An operator's traffic without the operator: the limit of its implementations.

use plan::{Accuracy, Case, OperatorWork, Stat};
use tch::{Kind, TchError, Tensor};

use super::operator::drawn;
use super::{Refusal, Workload};
use crate::operators::{self, Site};
use crate::step::Step;

pub(super) struct Traffic {
    step: Step,
    site: Site,
    inputs_bytes: u64,
    /// What a step leaves; none of a pass that leaves nothing.
    expected: Option<Tensor>,
}

/// Decibels that are demanded of what has to be equal: the highest that a config may.
const EQUAL_DB: f64 = 200.0;

impl Traffic {
    pub(super) fn prepare(case: &Case, work: &OperatorWork) -> Result<Self, Refusal> {
        let (site, inputs) = drawn(case, work)?;
        let expected = operators::passed(&site, &inputs)?;
        let inputs_bytes = inputs.example_bytes();
        let step = operators::build(&site, inputs)?;
        Ok(Self { step, site, inputs_bytes, expected })
    }
}

/// The elements as whole numbers, which equal themselves whatever they stand for.
fn bits(tensor: &Tensor) -> Result<Tensor, TchError> {
    match tensor.f_kind()? {
        Kind::Int64 => Ok(tensor.shallow_clone()),
        Kind::Float => tensor.f_view_dtype(Kind::Int),
        _ => tensor.f_view_dtype(Kind::Int16),
    }
}

/// Demands equal bits.
fn equal(expected: &Tensor, output: &Tensor, is_loss: bool) -> Result<(), Refusal> {
    let differing = bits(output)?.f_ne_tensor(&bits(expected)?)?;
    let differing = differing.f_count_nonzero(None::<i64>)?.f_int64_value(&[])?;
    match (differing, is_loss) {
        (0, _) => Ok(()),
        (_, true) => Err(Refusal::Failed("not every byte was read once".to_owned())),
        (_, false) => {
            let all = output.numel();
            Err(Refusal::Failed(format!("{differing} of {all} values are not passed on")))
        }
    }
}

impl Workload for Traffic {
    fn step(&self) -> Result<Tensor, TchError> {
        self.step.run()
    }

    /// Every bit has to have arrived. Where a pass leaves nothing, no row is checked, and no figure is
    /// a number.
    fn check(&self) -> Result<Accuracy, Refusal> {
        let is_loss = self.site.work.operator.is_loss();
        let output =
            tch::no_grad(|| if is_loss { self.step.run() } else { self.step.run_over_nan() })?;
        let (sqnr_db, error, rows_checked) = match &self.expected {
            Some(expected) => {
                equal(expected, &output, is_loss)?;
                (f64::INFINITY, 0.0, self.site.work.size.rows())
            }
            None => (f64::NAN, f64::NAN, 0),
        };
        Ok(Accuracy {
            sqnr_db: Stat(sqnr_db),
            max_abs_error: Stat(error),
            relative_error: Stat(error),
            rmse: None,
            min_sqnr_db: EQUAL_DB,
            rows_checked,
            gates: vec![],
            eager: None,
        })
    }

    /// w and b are not read.
    fn weights_bytes(&self) -> u64 {
        0
    }

    fn inputs_bytes(&self) -> u64 {
        self.inputs_bytes
    }

    fn kernels(&self) -> Vec<String> {
        self.step.kernels.clone()
    }
}

#[cfg(test)]
#[path = "traffic_tests.rs"]
mod tests;
