//! The forward pass of a model: the workload of inference.

use std::sync::{Mutex, PoisonError};

use plan::{Accuracy, Case, LinearShape, Variant, Weights};
use tch::{TchError, Tensor};

use super::{Refusal, Workload};
use crate::models::{self, Model, Parameters};
use crate::verify::{self, Distance, Reference};
use crate::{device, inputs, recipes};

pub(super) struct Forward {
    model: Box<dyn Model>,
    input: Tensor,
    /// What steps write into, where it is preallocated.
    output: Option<Tensor>,
    linears: Vec<LinearShape>,
    reference: Reference,
    min_sqnr_db: f64,
    /// What pruning has done to the weights.
    pruning: Option<String>,
}

/// Torch's default generator belongs to the process: seeding it and drawing from it are one step.
static GENERATOR: Mutex<()> = Mutex::new(());

impl Forward {
    pub(super) fn prepare(case: &Case) -> Result<Self, Refusal> {
        let device = device::resolve(case.device)?;
        let (mut parameters, input) = draw(case, device)?;
        let mut pruning = None;
        if let Some(sparsity) = case.sparsity {
            // The reference is that of the pruned model: it is the arithmetic that is checked.
            let sqnr_db = parameters.prune(case.model, case.shape, sparsity)?;
            pruning = Some(format!(
                "accuracy is against the pruned weights; pruning alone ({sparsity}, by magnitude) \
                 leaves the weights a signal-to-noise ratio of {sqnr_db:.1} dB"
            ));
        }
        let reference = Reference::compute(case, &parameters, &input)?;
        let model = models::build(case.model, parameters, &mut |name, weight| {
            recipes::named_layer(Variant::of(case), name, weight)
        })?;
        let output = case
            .preallocated
            .then(|| inputs::unwritten_output(case.model, case.shape, case.dtype, device))
            .transpose()?;
        let compared = reference.output().numel();
        let default = verify::min_sqnr_db(case.model, case.dtype, case.recipe, compared);
        let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(default);
        let linears = plan::linears(case.model, case.shape);
        Ok(Self { model, input, output, linears, reference, min_sqnr_db, pruning })
    }
}

/// Parameters and input, in this order, from the case's seed.
fn draw(case: &Case, device: tch::Device) -> Result<(Parameters, Tensor), TchError> {
    let _drawing = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    tch::manual_seed(case.settings.seed);
    let parameters = Parameters::random(case.model, case.shape, case.dtype, device)?;
    let input = inputs::random(case.model, case.shape, case.dtype, device)?;
    Ok((parameters, input))
}

fn bytes(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64
}

impl Workload for Forward {
    fn step(&self) -> Result<Tensor, TchError> {
        let Some(output) = &self.output else { return self.model.forward(&self.input) };
        let mut output = output.shallow_clone();
        self.model.forward_out(&self.input, &mut output)?;
        Ok(output)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        let output = tch::no_grad(|| self.step())?;
        let (nonfinite, all) = (verify::nonfinite(&output)?, output.numel());
        if nonfinite > 0 {
            let what = format!("{nonfinite} of {all} outputs are NaN or infinite");
            return Err(Refusal::Failed(what));
        }
        let selected = self.reference.select(&output)?;
        let distance = Distance::between(self.reference.output(), &selected)?;
        let (rows, gate) = (self.reference.rows(), self.min_sqnr_db);
        // A ratio that is no number must not pass, hence the question put this way round.
        if distance.sqnr_db >= gate {
            return Ok(distance.accuracy(gate, rows));
        }
        let Distance { sqnr_db, max_abs_error, relative_error } = distance;
        Err(Refusal::Failed(format!(
            "inaccurate: {sqnr_db:.1} dB signal-to-noise ratio is below the gate of {gate:.1} dB \
             (largest error {max_abs_error:.3e}, relative error {relative_error:.3e}, {rows} rows \
             against float64); if it is good enough, lower `min_sqnr_db`"
        )))
    }

    fn weights_bytes(&self) -> u64 {
        models::stored_bytes(&*self.model)
    }

    fn weights(&self) -> Option<Weights> {
        Some(models::weights(&*self.model, &self.linears, self.input.kind()))
    }

    fn inputs_bytes(&self) -> u64 {
        bytes(&self.input)
    }

    fn outputs_bytes(&self) -> u64 {
        self.output.as_ref().map_or(0, bytes)
    }

    fn kernels(&self) -> Vec<String> {
        let mut kernels = Vec::new();
        for kernel in self.model.layers().iter().flat_map(|layer| layer.kernels()) {
            if !kernels.iter().any(|known| known == kernel) {
                kernels.push((*kernel).to_owned());
            }
        }
        kernels
    }

    fn notes(&self) -> Vec<String> {
        self.pruning.iter().cloned().collect()
    }
}

#[cfg(test)]
#[path = "forward_tests.rs"]
mod tests;
