//! The tensors that a training step computes, each against float64.

use plan::{Accuracy, Case, ModelSizes, ModelWork, Pass, Recipe, TensorAccuracy, TrainingSettings};
use tch::{Device, Tensor};

use super::reference::{self, Reference};
use super::{Judge, gates};
use crate::inputs;
use crate::models::{self, Parameters, Passed, TrainedNetwork};
use crate::recipes::{self, Product};
use crate::refusal::Refusal;

/// The demands on the tensors of a part of a training step, in their order: output, gradient of the input, gradients of
/// the parameters, as far as the part has them.
#[derive(Debug)]
pub struct TrainedJudge(Vec<(String, Judge)>);

/// Unquantized parameters, input and the output's gradient.
pub struct Drawn<'d> {
    /// In the dtype of the case.
    pub parameters: &'d Parameters,
    /// The input.
    pub input: &'d Tensor,
    /// The output's gradient.
    pub grad_output: &'d Tensor,
}

impl TrainedJudge {
    /// Runs the part in float64, of the unquantized model: of a forward pass some rows, else all, as the gradient of
    /// a parameter sums over them.
    pub fn new(case: &Case, work: &ModelWork, drawn: &Drawn<'_>) -> Result<Self, Refusal> {
        if super::is_done() {
            return Ok(Self(Vec::new()));
        }
        let sizes = models::sizes(work.model, work.shape)?;
        let network =
            models::train(work.model, drawn.parameters.for_float64()?, &mut |_, weight| {
                let weight = inputs::float64(&weight)?;
                let settings = TrainingSettings::default();
                Ok(Box::new(recipes::trained_with(Recipe::Baseline, &settings, false, weight)?))
            })?;
        let mut judges = Vec::new();
        let mut judge = |name: String, product, reference: Reference| {
            let compared = reference.output().numel();
            let gate = gates::min_trained_sqnr_db(case, work, product, compared)?;
            judges.push((name, Judge::new(case, reference, gate)));
            Ok::<(), Refusal>(())
        };
        if work.runs() == Some(Pass::Forward) {
            let reference = forward(&*network, &sizes, drawn)?;
            judge("output".to_owned(), Product::Output, reference)?;
            return Ok(Self(judges));
        }
        let input = inputs::float64(drawn.input)?;
        let Passed { output, saved } = network.forward(&input)?;
        let grad_output = inputs::float64(drawn.grad_output)?;
        let gradients = network.backward(&input, &saved, &grad_output)?;
        drop(saved);
        let whole =
            |tensor: Tensor| Ok::<_, Refusal>(Reference::whole(tensor.f_to_device(Device::Cpu)?));
        if work.runs() != Some(Pass::Backward) {
            judge("output".to_owned(), Product::Output, whole(output)?)?;
        }
        judge("grad_input".to_owned(), Product::GradInput, whole(gradients.input)?)?;
        for (name, gradient) in
            names(&*network, work, &sizes)?.into_iter().zip(gradients.parameters)
        {
            judge(format!("grad_{name}"), Product::GradWeight, whole(gradient)?)?;
        }
        Ok(Self(judges))
    }

    /// The accuracy of each tensor, when all are near enough; of the one that is nearest to its gate before all.
    pub fn judge(&self, tensors: &[Tensor]) -> Result<Accuracy, Refusal> {
        if tensors.len() != self.0.len() {
            let (found, expected) = (tensors.len(), self.0.len());
            return Err(Refusal::Failed(format!(
                "it computes {found} tensors, and its reference {expected}"
            )));
        }
        let mut nearest = None::<Accuracy>;
        let mut all = Vec::new();
        for ((name, judge), tensor) in self.0.iter().zip(tensors) {
            let tensor = tensor.f_detach()?.f_to_device(Device::Cpu)?;
            let accuracy = judge.accuracy_of(&tensor).map_err(|refusal| match refusal {
                Refusal::Failed(what) => Refusal::Failed(format!("{name}: {what}")),
                other => other,
            })?;
            all.push(TensorAccuracy {
                name: name.clone(),
                sqnr_db: accuracy.sqnr_db,
                max_abs_error: accuracy.max_abs_error,
                relative_error: accuracy.relative_error,
                min_sqnr_db: accuracy.min_sqnr_db,
            });
            let margin = |it: &Accuracy| it.sqnr_db.0 - it.min_sqnr_db;
            if nearest.as_ref().is_none_or(|it| margin(&accuracy) < margin(it)) {
                nearest = Some(accuracy);
            }
        }
        let nearest = nearest.ok_or_else(|| Refusal::Failed("it computes nothing".to_owned()))?;
        Ok(Accuracy { tensors: all, ..nearest })
    }
}

/// Some rows of the output.
fn forward(
    network: &dyn TrainedNetwork,
    sizes: &ModelSizes,
    drawn: &Drawn<'_>,
) -> Result<Reference, Refusal> {
    let rows = Tensor::f_from_slice(&reference::model_rows(sizes))?;
    let place = rows.f_to_device(drawn.input.device())?;
    let input = inputs::float64(&drawn.input.f_index_select(0, &place)?)?;
    let output = network.forward(&input)?.output.f_to_device(Device::Cpu)?;
    Ok(Reference::new(rows, output))
}

/// The names of the parameters in the order of their gradients: `weight` where there is one.
fn names(
    network: &dyn TrainedNetwork,
    work: &ModelWork,
    sizes: &ModelSizes,
) -> Result<Vec<String>, Refusal> {
    let norms = models::architecture(work.model)?.norms(work.shape);
    let (layers, linears) = (network.layers().len(), sizes.linears.len());
    if (layers, network.norms().len()) != (linears, norms.len()) {
        return Err(Refusal::Failed(format!(
            "it has {layers} linear layers and {} norms, but its sizes say {linears} and {}",
            network.norms().len(),
            norms.len()
        )));
    }
    if let ([_], []) = (sizes.linears.as_slice(), norms.as_slice()) {
        return Ok(vec!["weight".to_owned()]);
    }
    let linears = sizes.linears.iter().map(|it| it.name);
    Ok(linears
        .chain(norms.iter().map(|(name, _)| *name))
        .map(|it| format!("{it}_weight"))
        .collect())
}
