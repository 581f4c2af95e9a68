//! An operator by one of its implementations: the workload of operators.

use plan::{Accuracy, Case, OperatorWork};
use tch::{TchError, Tensor};

use super::{Refusal, Workload, trials};
use crate::inputs::Inputs;
use crate::operators::{self, Site};
use crate::step::Step;
use crate::verify::{self, Reference};
use crate::{device, inputs};

pub(super) struct Operator {
    step: Step,
    site: Site,
    seed: i64,
    inputs_bytes: u64,
    parameters_bytes: u64,
    reference: Reference,
    min_sqnr_db: f64,
}

impl Operator {
    pub(super) fn prepare(case: &Case, work: &OperatorWork) -> Result<Self, Refusal> {
        let place = device::resolve(case.device)?;
        let site = Site { work: *work, dtype: case.dtype, device: case.device, place };
        let inputs = {
            let _drawing = inputs::seeded(case.settings.seed);
            site.draw()?
        };
        let reference = reference(&site, &inputs)?;
        let (inputs_bytes, parameters_bytes) = (inputs.example_bytes(), inputs.parameter_bytes());
        let default = operators::min_sqnr_db(work.operator, case.dtype);
        let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(default);
        let step = operators::build(&site, inputs)?;
        let seed = case.settings.seed;
        Ok(Self { step, site, seed, inputs_bytes, parameters_bytes, reference, min_sqnr_db })
    }

    /// The output, an example to each place of the first dimension: a row, or the one number.
    fn examples(&self, output: &Tensor) -> Result<Tensor, TchError> {
        if self.site.work.operator.is_loss() {
            return output.f_reshape([1]);
        }
        flat(output)
    }
}

/// `[rows, dim]`
fn flat(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_flatten(0, -2)
}

/// The formula in float64: of some rows, and of a loss of all of them.
fn reference(site: &Site, inputs: &Inputs) -> Result<Reference, Refusal> {
    let OperatorWork { operator, size, .. } = site.work;
    let examples = inputs.examples.iter().map(|it| {
        // Of classes, there is one to a row.
        if it.f_is_floating_point()? { flat(it) } else { it.f_reshape([-1]) }
    });
    let inputs = Inputs {
        examples: examples.collect::<Result<_, TchError>>()?,
        parameters: inputs.parameters.iter().map(Tensor::shallow_clone).collect(),
    };
    let in_float64 = |rows: &[i64]| -> Result<Tensor, TchError> {
        let inputs = inputs.in_float64(&Tensor::f_from_slice(rows)?)?;
        tch::no_grad(|| operators::composed(operator, &inputs))
    };
    if operator.is_loss() {
        let loss = mean(size.rows(), size.tensor_dimension, in_float64)?;
        return Ok(Reference::new(Tensor::f_from_slice(&[0_i64])?, loss));
    }
    let (row, rows) = (size.tensor_dimension, size.rows());
    let rows = verify::rows(rows, site.work.flops() / rows.max(1), row);
    let output = in_float64(&rows)?;
    Ok(Reference::new(Tensor::f_from_slice(&rows)?.f_to_device(site.place)?, output))
}

/// The mean over all rows, block by block, of what is a mean over each block.
fn mean(
    rows: u64,
    row: u64,
    of_block: impl Fn(&[i64]) -> Result<Tensor, TchError>,
) -> Result<Tensor, TchError> {
    let block = (plan::cost::REFERENCE_ELEMENTS / row.max(1)).max(1).min(rows.max(1));
    let mut sum = 0.0;
    let mut start = 0;
    while start < rows {
        let end = rows.min(start + block);
        let block: Vec<i64> = (start.cast_signed()..end.cast_signed()).collect();
        sum += of_block(&block)?.f_double_value(&[])? * (end - start) as f64;
        start = end;
    }
    Tensor::f_from_slice(&[sum / rows as f64])
}

impl Workload for Operator {
    fn step(&self) -> Result<Tensor, TchError> {
        self.step.run()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        let output = tch::no_grad(|| self.step())?;
        let accuracy = self.reference.judge(&self.examples(&output)?, self.min_sqnr_db)?;
        let gates = trials::pass(&self.site, self.seed, &operators::build)?;
        Ok(Accuracy { gates, ..accuracy })
    }

    fn weights_bytes(&self) -> u64 {
        self.parameters_bytes
    }

    fn inputs_bytes(&self) -> u64 {
        self.inputs_bytes
    }

    fn outputs_bytes(&self) -> u64 {
        self.step.output_bytes
    }

    fn kernels(&self) -> Vec<String> {
        self.step.kernels.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.step.notes.clone()
    }
}

#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;
