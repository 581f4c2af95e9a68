//! An operator by one of its implementations: the workload of operators.

use plan::{Accuracy, Case, Gate, OperatorWork};
use tch::{TchError, Tensor};

use super::compiled::Eager;
use super::{Displaced, Refusal, Workload, moved, trials};
use crate::inputs::Inputs;
use crate::operators::{self, Site, Tolerance};
use crate::step::Step;
use crate::verify::{self, Reference};
use crate::{device, inputs};

pub(super) struct Operator {
    step: Step,
    /// What the step reads.
    tensors: Vec<Tensor>,
    site: Site,
    seed: i64,
    inputs_bytes: u64,
    parameters_bytes: u64,
    expected: Expected,
    min_sqnr_db: f64,
}

/// What the output should be, and what is allowed to each of these values.
struct Expected {
    reference: Reference,
    tolerance: Tolerance,
}

/// Where the case runs, and what it computes with: nothing is drawn where a tool is missing.
pub(super) fn drawn(case: &Case, work: &OperatorWork) -> Result<(Site, Inputs), Refusal> {
    let place = device::resolve(case.device)?;
    let site = Site { work: *work, dtype: case.dtype, device: case.device, place };
    operators::tools(&site)?;
    let _drawing = inputs::seeded(case.settings.seed);
    let inputs = site.draw()?;
    Ok((site, inputs))
}

impl Operator {
    pub(super) fn prepare(case: &Case, work: &OperatorWork) -> Result<Self, Refusal> {
        let (site, inputs) = drawn(case, work)?;
        let expected = tch::no_grad(|| Expected::new(&site, &inputs))?;
        let (inputs_bytes, parameters_bytes) = (inputs.example_bytes(), inputs.parameter_bytes());
        let default = operators::min_sqnr_db(work, case.dtype);
        let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(default);
        let drawn = inputs.tensors();
        let mut step = operators::build(&site, inputs)?;
        let tensors = step.reads.take().unwrap_or(drawn);
        Ok(Self {
            step,
            tensors,
            site,
            seed: case.settings.seed,
            inputs_bytes,
            parameters_bytes,
            expected,
            min_sqnr_db,
        })
    }

    /// The output, an example to each place of the first dimension: a row, or the one number.
    fn examples(&self, output: &Tensor) -> Result<Tensor, TchError> {
        if self.site.work.operator.is_loss() {
            return output.f_reshape([1]);
        }
        flat(output)
    }

    /// The gate of the case's own output, value by value.
    fn own(&self, examples: &Tensor) -> Result<Gate, Refusal> {
        let (Expected { reference, tolerance }, size) = (&self.expected, self.site.work.size);
        let selected = reference.select(examples)?;
        let mut worst = trials::values(tolerance, reference.output()).worst(&selected)?;
        worst.index = match worst.index[..] {
            [row, column] => {
                let (row, length) = (reference.row(row)?, inputs::dimension(size.sequence_length)?);
                vec![row / length, row % length, column]
            }
            _ => vec![],
        };
        trials::gate(OWN.to_owned(), size, worst)
    }
}

/// What the record calls the case's inputs.
const OWN: &str = "own";

/// `[rows, dim]`
fn flat(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_flatten(0, -2)
}

impl Expected {
    /// The formula in float64: of some rows, and of a loss of all of them.
    fn new(site: &Site, inputs: &Inputs) -> Result<Self, Refusal> {
        let OperatorWork { operator, size, .. } = site.work;
        let examples = inputs.examples.iter().map(|it| {
            // Of classes, there is one to a row.
            if it.f_is_floating_point()? { flat(it) } else { it.f_reshape([-1]) }
        });
        let inputs = Inputs {
            examples: examples.collect::<Result<_, TchError>>()?,
            parameters: inputs.parameters.iter().map(Tensor::shallow_clone).collect(),
        };
        let of = |rows: &[i64]| -> Result<(Tensor, Tolerance), TchError> {
            let inputs = inputs.in_float64(&Tensor::f_from_slice(rows)?)?;
            let output = operators::composed(operator, &inputs)?;
            let tolerance = Tolerance::new(site, &inputs, &output)?;
            Ok((output, tolerance))
        };
        let (row, rows) = (size.tensor_dimension, size.rows());
        if operator.is_loss() {
            let (loss, tolerance) = mean(rows, row, of)?;
            let reference = Reference::new(Tensor::f_from_slice(&[0_i64])?, loss);
            return Ok(Self { reference, tolerance });
        }
        let rows = verify::rows(rows, site.work.flops() / rows.max(1), row);
        let (output, tolerance) = of(&rows)?;
        let rows = Tensor::f_from_slice(&rows)?.f_to_device(site.place)?;
        Ok(Self { reference: Reference::new(rows, output), tolerance })
    }
}

/// The mean over all rows, block by block, of what is a mean over each block; so is what is allowed.
fn mean(
    rows: u64,
    row: u64,
    of_block: impl Fn(&[i64]) -> Result<(Tensor, Tolerance), TchError>,
) -> Result<(Tensor, Tolerance), TchError> {
    let block = (plan::cost::REFERENCE_ELEMENTS / row.max(1)).max(1).min(rows.max(1));
    let (mut sum, mut allowed) = (0.0, 0.0);
    let mut start = 0;
    loop {
        let end = rows.min(start + block);
        let of: Vec<i64> = (start.cast_signed()..end.cast_signed()).collect();
        let (loss, tolerance) = of_block(&of)?;
        let part = (end - start) as f64 / rows as f64;
        sum += loss.f_double_value(&[])? * part;
        allowed += tolerance.allowed.f_double_value(&[])? * part;
        start = end;
        if start >= rows {
            let allowed = Tensor::f_from_slice(&[allowed])?;
            return Ok((Tensor::f_from_slice(&[sum])?, Tolerance { allowed, ..tolerance }));
        }
    }
}

impl Eager for Operator {
    fn tensors(&self) -> Vec<Tensor> {
        self.tensors.iter().map(Tensor::shallow_clone).collect()
    }

    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        let examples = self.examples(output)?;
        let accuracy = self.expected.reference.judge(&examples, self.min_sqnr_db)?;
        Ok(Accuracy { gates: vec![self.own(&examples)?], ..accuracy })
    }
}

impl Workload for Operator {
    fn step(&self) -> Result<Tensor, TchError> {
        self.step.run()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        let output = tch::no_grad(|| self.step.run_over_nan())?;
        let mut accuracy = self.judge(&output)?;
        drop(output);
        let passed = trials::pass(&self.site, self.seed, &operators::build)?;
        passed.cover(&self.step.kernels)?;
        accuracy.gates.extend(passed.gates);
        Ok(accuracy)
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        moved(&self.tensors)
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
#[path = "operator_memory_tests.rs"]
mod memory_tests;
#[cfg(test)]
#[path = "operator_own_tests.rs"]
mod own_tests;
#[cfg(test)]
#[path = "operator_tests.rs"]
mod tests;
