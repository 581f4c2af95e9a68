//! An operator's traffic without the operator: the limit of its implementations.

use plan::{Accuracy, Case, JsonFloat, OperatorWork};
use tch::Tensor;

use super::{Check, Kernel, tooled_context};
use crate::catalogue::{bits, passed};
use crate::kernel::{KernelContext, Shipped, Step, over_nan};
use crate::refusal::Refusal;

/// The output of a pass, if it leaves one.
pub(super) struct Passed {
    expected: Option<Tensor>,
    is_loss: bool,
    rows: u64,
}

/// Decibels that are demanded of what has to be equal: the highest that a config may.
const EQUAL_DB: f64 = 200.0;

pub(in crate::workload) fn prepare(case: &Case, work: &OperatorWork) -> Result<Kernel, Refusal> {
    let context = tooled_context(case, *work)?;
    Kernel::prepare(&context, |inputs| Ok(Passed::new(&context, passed(&context, inputs)?)))
}

impl Passed {
    pub(super) fn new(context: &KernelContext<OperatorWork>, expected: Option<Tensor>) -> Self {
        let parts = OperatorWork::parts(context);
        Self { expected, is_loss: parts.are_averaged, rows: parts.all }
    }
}

impl Check for Passed {
    /// Every bit has to have arrived. Where a pass leaves nothing, no row is checked, and no figure is
    /// a number.
    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        let (sqnr_db, error, rows_checked) = match &self.expected {
            Some(expected) => {
                // As whole numbers, which equal themselves whatever they stand for.
                let differing = bits(output)?.f_ne_tensor(&bits(expected)?)?;
                let differing = differing.f_count_nonzero(None::<i64>)?.f_int64_value(&[])?;
                if differing > 0 {
                    return Err(Refusal::Failed(match self.is_loss {
                        true => "not every byte was read once".to_owned(),
                        false => {
                            format!("{differing} of {} values are not passed on", output.numel())
                        }
                    }));
                }
                (f64::INFINITY, 0.0, self.rows)
            }
            None => (f64::NAN, f64::NAN, 0),
        };
        Ok(Accuracy {
            sqnr_db: JsonFloat(sqnr_db),
            max_abs_error: JsonFloat(error),
            relative_error: JsonFloat(error),
            rmse: None,
            min_sqnr_db: EQUAL_DB,
            rows_checked,
            gates: vec![],
            tensors: vec![],
            eager: None,
        })
    }

    fn check(&self, step: &Step) -> Result<Accuracy, Refusal> {
        let output = if self.is_loss { step.run()? } else { over_nan(|| step.run())? };
        self.judge(&output)
    }
}

#[cfg(test)]
#[path = "passed_tests.rs"]
mod tests;
