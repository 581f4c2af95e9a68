//! The gates of an implementation that is judged value by value: small inputs of every kind.

use std::collections::BTreeSet;

use plan::Gate;
use tch::Tensor;

use crate::inputs::Inputs;
use crate::kernel::{ByValue, Computation, KernelContext, Shipped, Step, Trial};
use crate::refusal::Refusal;

/// Builds an implementation: [`Computation::build`], or a test's own.
pub(super) type Build<'a, W> = &'a dyn Fn(&KernelContext<W>, Inputs) -> Result<Step, Refusal>;

#[derive(Debug)]
pub(super) struct Passed {
    /// One for each kind of inputs.
    pub gates: Vec<Gate>,
    /// Errors of libtorch's own operations against float64, in a sentence for each kind of inputs.
    pub findings: Vec<String>,
    kernels: BTreeSet<String>,
}

impl Passed {
    /// Demands that these kernels, the case's, are among those that were tried.
    pub(super) fn cover(&self, kernels: &[String]) -> Result<(), Refusal> {
        let Some(untried) = kernels.iter().find(|it| !self.kernels.contains(*it)) else {
            return Ok(());
        };
        let tried: Vec<_> = self.kernels.iter().map(String::as_str).collect();
        Err(Refusal::Failed(format!(
            "`{untried}` runs at this size, but ran on none of the small inputs, which `{}` passed",
            tried.join("`, `")
        )))
    }
}

/// Tries the context's implementation on every kind of small inputs.
pub(super) fn pass<W: Shipped>(
    context: &KernelContext<W>,
    build: Build<W>,
) -> Result<Passed, Refusal> {
    let mut passed = Passed { gates: Vec::new(), findings: Vec::new(), kernels: BTreeSet::new() };
    let operation = context.work.operation();
    let Some(judge) = operation.by_value() else { return Ok(passed) };
    for trial in judge.trials(context) {
        let (kernels, gate) = gate(judge, &trial, build)?;
        passed.kernels.extend(kernels);
        match gate {
            Ok(gate) => passed.gates.push(gate),
            Err(Refusal::Failed(what)) if trial.is_special && judge.is_of_libtorch(context) => {
                passed
                    .findings
                    .push(format!("a finding about libtorch, which is timed all the same: {what}"));
            }
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(passed)
}

/// The reference on these inputs, which every kernel that ships with the library has.
pub(super) fn reference(computation: &dyn Computation, inputs: &Inputs) -> Result<Tensor, Refusal> {
    let none = || Refusal::Failed("it has no reference".to_owned());
    computation.reference(inputs.share())?.ok_or_else(none)
}

/// The kernels that compute on these inputs, and the gate that their output passes or does not.
fn gate<W: Shipped>(
    judge: &dyn ByValue<W>,
    trial: &Trial<W>,
    build: Build<W>,
) -> Result<(Vec<String>, Result<Gate, Refusal>), Refusal> {
    let (context, inputs) = (&trial.context, trial.inputs()?);
    let in_float64 = inputs.all_in_float64()?;
    let step = build(context, inputs)?;
    let output = tch::no_grad(|| step.run())?;
    let reference = reference(context, &in_float64)?;
    let tolerance = judge.tolerance(context, &in_float64, &reference)?;
    Ok((step.kernels, tolerance.gate(&trial.name, tolerance.worst(&output)?)))
}
