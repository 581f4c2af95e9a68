//! The gates of an operator's implementation: small inputs of every kind, judged value by value.

use std::collections::BTreeSet;

use plan::{Gate, OperatorShape, Stat};
use tch::Tensor;

use super::Refusal;
use crate::inputs::{self, Inputs};
use crate::operators::{self, Site, Tolerance, Trial};
use crate::step::Step;
use crate::verify::{Values, Worst};

/// What makes an implementation: [`operators::build`], or a test's own.
pub(super) type Build<'a> = &'a dyn Fn(&Site, Inputs) -> Result<Step, Refusal>;

/// What an implementation has passed.
#[derive(Debug)]
pub(super) struct Passed {
    /// One for each kind of inputs.
    pub gates: Vec<Gate>,
    /// The kernels that computed on any of them.
    kernels: BTreeSet<String>,
}

impl Passed {
    /// Demands that these kernels, the case's, are among those that were tried.
    ///
    /// # Errors
    /// Failed, with the first that is not.
    pub(super) fn cover(&self, kernels: &[String]) -> Result<(), Refusal> {
        let Some(untried) = kernels.iter().find(|it| !self.kernels.contains(*it)) else {
            return Ok(());
        };
        let tried: Vec<_> = self.kernels.iter().map(String::as_str).collect();
        Err(Refusal::Failed(format!(
            "`{untried}` runs at this size, but on none of the small inputs, which `{}` passed",
            tried.join("`, `")
        )))
    }
}

/// Tries the site's implementation on every kind of small inputs.
///
/// # Errors
/// Failed, with inputs, size and value of the first gate that is not passed; what the implementation
/// refuses.
pub(super) fn pass(site: &Site, seed: i64, build: Build) -> Result<Passed, Refusal> {
    let mut passed = Passed { gates: Vec::new(), kernels: BTreeSet::new() };
    for trial in operators::trials(site) {
        let (kernels, worst) = worst(&trial, seed, build)?;
        passed.kernels.extend(kernels);
        passed.gates.push(gate(trial.name(), trial.site.work.size, worst)?);
    }
    Ok(passed)
}

/// The gate of `inputs` of this size whose worst value is this.
///
/// # Errors
/// Failed, where that is further from its reference than is allowed.
pub(super) fn gate(inputs: String, size: OperatorShape, worst: Worst) -> Result<Gate, Refusal> {
    // A ratio that is no number must not pass, hence the question put this way round.
    if worst.ratio <= 1.0 {
        let size = vec![size.batch_size, size.sequence_length, size.tensor_dimension];
        return Ok(Gate { inputs, size, worst: Stat(worst.ratio) });
    }
    let Worst { index, output, reference, allowed, .. } = worst;
    let mut what = format!(
        "inaccurate: of {inputs} inputs of {size}, the output at {index:?} is {output:e} instead of \
         {reference:e}"
    );
    if reference.is_finite() {
        what += &format!(", which may err by {allowed:.3e}");
    }
    Err(Refusal::Failed(what))
}

/// The kernels that compute on these inputs, and the worst value of their output.
fn worst(trial: &Trial, seed: i64, build: Build) -> Result<(Vec<String>, Worst), Refusal> {
    let site = &trial.site;
    let inputs = {
        let _drawing = inputs::seeded(seed);
        trial.draw()?
    };
    let in_float64 = inputs.all_in_float64()?;
    let step = build(site, inputs)?;
    let output = tch::no_grad(|| step.run())?;
    let reference = tch::no_grad(|| operators::composed(site.work.operator, &in_float64))?;
    let tolerance = Tolerance::new(site, &in_float64, &reference)?;
    Ok((step.kernels, values(&tolerance, &reference).worst(&output)?))
}

/// What each value of an output has to be whose reference this is.
pub(super) fn values<'a>(tolerance: &'a Tolerance, reference: &'a Tensor) -> Values<'a> {
    let Tolerance { ref allowed, largest, infinity_may_be_nan } = *tolerance;
    Values { reference, allowed, largest, infinity_may_be_nan }
}
