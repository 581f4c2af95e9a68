//! A pattern, fused or not: the workload of fusion.

use plan::{Accuracy, Case, FusionShape, FusionWork};
use tch::{TchError, Tensor};

use super::compiled::Eager;
use super::{Displaced, Refusal, Workload, moved};
use crate::fusion::{self, Site};
use crate::inputs::Inputs;
use crate::step::Step;
use crate::verify::{self, Reference};
use crate::{device, inputs};

pub(super) struct Fusion {
    step: Step,
    /// What the step reads. Of a variant that folds or reorders its weights, the weights as drawn.
    tensors: Vec<Tensor>,
    size: FusionShape,
    inputs_bytes: u64,
    parameters_bytes: u64,
    reference: Reference,
    min_sqnr_db: f64,
}

impl Fusion {
    pub(super) fn prepare(case: &Case, work: &FusionWork) -> Result<Self, Refusal> {
        let place = device::resolve(case.device)?;
        let site = Site { work: *work, dtype: case.dtype, device: case.device, place };
        let inputs = {
            let _drawing = inputs::seeded(case.settings.seed);
            fusion::draw(&site)?
        };
        let reference = reference(&site, &inputs)?;
        let (inputs_bytes, drawn_bytes) = (inputs.example_bytes(), inputs.parameter_bytes());
        let default = fusion::min_sqnr_db(work.pattern, case.dtype);
        let min_sqnr_db = case.settings.tolerance.min_sqnr_db.unwrap_or(default);
        let drawn = inputs.tensors();
        let mut step = fusion::build(&site, inputs)?;
        let tensors = step.reads.take().unwrap_or(drawn);
        let parameters_bytes = step.parameter_bytes.unwrap_or(drawn_bytes);
        Ok(Self {
            step,
            tensors,
            size: work.size,
            inputs_bytes,
            parameters_bytes,
            reference,
            min_sqnr_db,
        })
    }
}

/// Some examples through the operations one by one, in float64.
fn reference(site: &Site, inputs: &Inputs) -> Result<Reference, Refusal> {
    let rows = Tensor::f_from_slice(&rows(site))?;
    let host = Site { device: plan::Device::Cpu, place: tch::Device::Cpu, ..*site };
    let unfused = fusion::build_unfused(&host, cut(site, inputs)?.in_float64(&rows)?)?;
    let output = tch::no_grad(|| unfused.run())?;
    Ok(Reference::new(rows.f_to_device(site.place)?, output))
}

/// Which examples it has. Whatever the variant, the unfused operations compute them.
fn rows(site: &Site) -> Vec<i64> {
    let unfused = site.work.unfused();
    let operations = unfused.operations(site.dtype, site.device).unwrap_or_default();
    let largest = operations.iter().map(|it| it.writes / site.dtype.bytes()).max();
    let (all, flops, elements) = (unfused.parts(), unfused.flops(), largest.unwrap_or(0));
    verify::rows(all, flops / all.max(1), elements / all.max(1))
}

/// The inputs, an example to each place of the first dimension.
fn cut(site: &Site, inputs: &Inputs) -> Result<Inputs, TchError> {
    let examples = inputs.examples.iter().map(|it| examples(site.work.size, it));
    let parameters = inputs.parameters.iter().map(Tensor::shallow_clone).collect();
    Ok(Inputs { examples: examples.collect::<Result<_, _>>()?, parameters })
}

/// Every head of a sequence is one: `[b·heads, 1, s, ·]` of `[b, heads, s, ·]`. A view, except of
/// an output that lies in memory as `[b, s, heads, ·]`, which some kernels on CUDA leave. Rows and
/// images are examples as they are.
fn examples(size: FusionShape, tensor: &Tensor) -> Result<Tensor, TchError> {
    let FusionShape::Attention { .. } = size else { return Ok(tensor.shallow_clone()) };
    let (b, heads, s, last) = tensor.size4()?;
    tensor.f_reshape([b * heads, 1, s, last])
}

impl Eager for Fusion {
    fn tensors(&self) -> Vec<Tensor> {
        self.tensors.iter().map(Tensor::shallow_clone).collect()
    }

    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        self.reference.judge(&examples(self.size, output)?, self.min_sqnr_db)
    }
}

impl Workload for Fusion {
    fn step(&self) -> Result<Tensor, TchError> {
        self.step.run()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.judge(&tch::no_grad(|| self.step())?)
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

    fn kernels(&self) -> Vec<String> {
        self.step.kernels.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.step.notes.clone()
    }
}

#[cfg(test)]
#[path = "attention_memory_tests.rs"]
mod attention_memory_tests;
#[cfg(test)]
#[path = "attention_tests.rs"]
mod attention_tests;
#[cfg(test)]
#[path = "fusion_tests.rs"]
mod tests;
