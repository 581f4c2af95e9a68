//! The gates of an operator's implementation: small inputs of every kind, judged value by value.

use plan::{Gate, Stat};

use super::Refusal;
use crate::inputs::{self, Inputs};
use crate::operators::{self, Site, Tolerance, Trial};
use crate::step::Step;
use crate::verify::{Values, Worst};

/// What makes an implementation: [`operators::build`], or a test's own.
pub(super) type Build<'a> = &'a dyn Fn(&Site, Inputs) -> Result<Step, Refusal>;

/// Tries the site's implementation on every kind of small inputs.
///
/// # Errors
/// Failed, with inputs, size and value of the first gate that is not passed; what the implementation
/// refuses.
pub(super) fn pass(site: &Site, seed: i64, build: Build) -> Result<Vec<Gate>, Refusal> {
    operators::trials(site).iter().map(|trial| gate(trial, seed, build)).collect()
}

fn gate(trial: &Trial, seed: i64, build: Build) -> Result<Gate, Refusal> {
    let worst = worst(trial, seed, build)?;
    let (inputs, size) = (trial.name(), trial.site.work.size);
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

/// The worst value of the output on these inputs.
fn worst(trial: &Trial, seed: i64, build: Build) -> Result<Worst, Refusal> {
    let site = &trial.site;
    let inputs = {
        let _drawing = inputs::seeded(seed);
        trial.draw()?
    };
    let in_float64 = inputs.all_in_float64()?;
    let output = tch::no_grad(|| build(site, inputs)?.run().map_err(Refusal::from))?;
    let reference = tch::no_grad(|| operators::composed(site.work.operator, &in_float64))?;
    let Tolerance { allowed, largest, infinity_may_be_nan } =
        Tolerance::new(site, &in_float64, &reference)?;
    let values = Values { reference: &reference, allowed: &allowed, largest, infinity_may_be_nan };
    Ok(values.worst(&output)?)
}
