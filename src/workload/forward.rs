//! The forward pass of a model: the workload of inference.

use std::collections::BTreeSet;

use plan::recommendation::StoredWeight;
use plan::{Accuracy, Case, ModelFacts, ModelSizes, ModelWork, Weights};
use tch::Tensor;

use super::traceable::Eager;
use super::{Displaced, Refusal, Workload, each_once, moved, stored};
use crate::models::{self, Network, Parameters};
use crate::verify::{self, Judge, Reference};
use crate::{device, inputs, recipes};

pub(super) struct Forward {
    model: Box<dyn Network>,
    input: Tensor,
    /// The output that steps write into, if it is preallocated.
    output: Option<Tensor>,
    sizes: ModelSizes,
    facts: Option<ModelFacts>,
    judge: Judge,
    /// The case, to be checked with weights of a real model, too.
    stored: (Case, Vec<StoredWeight>),
    pruning: Option<String>,
}

impl Forward {
    pub(super) fn prepare(case: &Case, work: &ModelWork) -> Result<Self, Refusal> {
        let device = device::resolve(case.device)?;
        let sizes = models::sizes(work.model, work.shape)?;
        let (mut parameters, input) = draw(case, work, &sizes, device)?;
        let mut pruning = None;
        if let Some(sparsity) = work.variant.sparsity {
            // The reference is that of the pruned model: it is the arithmetic that is checked.
            let sqnr_db = parameters.prune(work.model, work.shape, sparsity)?;
            pruning = Some(format!(
                "accuracy is against the pruned weights; pruning alone ({sparsity}, by magnitude) \
                 leaves the weights a signal-to-noise ratio of {sqnr_db:.1} dB"
            ));
        }
        let reference = Reference::of_model(work, &parameters, &input)?;
        let model = models::build(work.model, parameters, &mut |name, weight| {
            recipes::named_layer(work.variant, name, weight)
        })?;
        let output = work
            .variant
            .preallocated
            .then(|| inputs::unwritten_output(&sizes, case.dtype, device))
            .transpose()?;
        let compared = reference.output().numel();
        let default = verify::min_sqnr_db(work.model, case.dtype, work.variant.recipe, compared)?;
        let judge = Judge::new(case, reference, default);
        // The facts of a built-in model follow from the case.
        let facts = (!case.work.has_known_cost()).then(|| ModelFacts {
            flops: sizes.flops(),
            output_elements: sizes.output.iter().fold(1, |all, &it| all.saturating_mul(it)),
        });
        let stored = (case.clone(), stored::listed(work)?);
        Ok(Self { model, input, output, sizes, facts, judge, stored, pruning })
    }

    /// Whether the output is where the case wants it, and the model what its sizes say: its costs and
    /// its memory are counted by those.
    fn refuse_other(&self, output: &Tensor) -> Result<(), Refusal> {
        let failed = |what: String| Err(Refusal::Failed(what));
        let (size, layers) = (output.size(), self.model.layers().len());
        if !size.iter().map(|&it| it.unsigned_abs()).eq(self.sizes.output.iter().copied()) {
            return failed(format!(
                "its output is {size:?}, but its sizes say {:?}",
                self.sizes.output
            ));
        }
        if layers != self.sizes.linears.len() {
            return failed(format!(
                "it has {layers} linear layers, but its sizes say {}",
                self.sizes.linears.len()
            ));
        }
        match &self.output {
            Some(given) if given.data_ptr() != output.data_ptr() => failed(
                "its output is not in the tensor that it was given; write into `out`, or say that \
                 it cannot: `writes_out` of the recipe"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }
}

/// Parameters and input, in this order, from the case's seed.
fn draw(
    case: &Case,
    work: &ModelWork,
    sizes: &ModelSizes,
    device: tch::Device,
) -> Result<(Parameters, Tensor), Refusal> {
    let _drawing = inputs::seeded(case.settings.seed);
    let parameters = Parameters::random(work.model, work.shape, case.dtype, device)?;
    let input = inputs::normal(&sizes.input, case.dtype, device)?;
    Ok((parameters, input))
}

impl Eager for Forward {
    fn tensors(&self) -> Vec<Tensor> {
        let layers = self.model.layers();
        let stored = layers.iter().flat_map(|layer| layer.tensors());
        let all = std::iter::once(&self.input).chain(stored).chain(self.model.norms());
        all.map(Tensor::shallow_clone).collect()
    }

    fn judge(&self, outputs: &[Tensor]) -> Result<Accuracy, Refusal> {
        match outputs {
            [output] => {
                self.refuse_other(output)?;
                let drawn = self.judge.accuracy_of(output)?;
                let ((case, weights), gate) = (&self.stored, drawn.min_sqnr_db);
                let Some(work) = case.work.model() else { return Ok(drawn) };
                let real = stored::accuracy(case, work, weights, &self.input, gate)?;
                Ok(real.unwrap_or(drawn))
            }
            _ => Err(Refusal::Failed(format!("{} outputs, not one", outputs.len()))),
        }
    }
}

impl Workload for Forward {
    fn step(&self) -> Result<Tensor, Refusal> {
        Ok(self.model.forward(&self.input, self.output.as_ref())?)
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.judge(&[tch::no_grad(|| self.step())?])
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        let output = self.output.iter().map(Tensor::shallow_clone);
        moved(&self.tensors().into_iter().chain(output).collect::<Vec<_>>())
    }

    fn weights_bytes(&self) -> u64 {
        models::stored_bytes(&*self.model)
    }

    fn weights(&self) -> Option<Weights> {
        Some(models::weights(&*self.model, &self.sizes.linears, self.input.kind()))
    }

    fn inputs_bytes(&self) -> u64 {
        inputs::bytes(&self.input)
    }

    fn outputs_bytes(&self) -> u64 {
        self.output.as_ref().map_or(0, inputs::bytes)
    }

    fn model(&self) -> Option<ModelFacts> {
        self.facts
    }

    fn kernels(&self) -> Vec<String> {
        each_once(self.model.layers().iter().flat_map(|layer| layer.kernels()))
    }

    fn notes(&self) -> Vec<String> {
        let layers = self.model.layers();
        let notes: BTreeSet<_> = layers.iter().filter_map(|layer| layer.note()).collect();
        self.pruning.iter().cloned().chain(notes).collect()
    }
}

#[cfg(test)]
#[path = "forward_tests.rs"]
mod tests;
