//! A pattern, fused or not: the workload of fusion.

use plan::{Accuracy, Case, FusionWork};
use tch::{TchError, Tensor};

use super::{Refusal, Workload};
use crate::fusion::{self, Inputs, Site, Step};
use crate::verify::{self, Reference};
use crate::{device, inputs};

pub(super) struct Fusion {
    step: Step,
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
        let step = fusion::build(&site, inputs)?;
        let parameters_bytes = step.parameter_bytes.unwrap_or(drawn_bytes);
        Ok(Self { step, inputs_bytes, parameters_bytes, reference, min_sqnr_db })
    }
}

/// Some examples through the operations one by one, in float64.
fn reference(site: &Site, inputs: &Inputs) -> Result<Reference, Refusal> {
    let all = inputs.examples.first().map_or(0, |tensor| tensor.size()[0].cast_unsigned());
    let operations = site.work.operations(site.dtype, site.device).unwrap_or_default();
    let largest = operations.iter().map(|it| it.writes / site.dtype.bytes()).max();
    let (flops, elements) = (site.work.flops(), largest.unwrap_or(0));
    let rows = verify::rows(all, flops / all.max(1), elements / all.max(1));
    let rows = Tensor::f_from_slice(&rows)?;
    let host = Site { device: plan::Device::Cpu, place: tch::Device::Cpu, ..*site };
    let unfused = fusion::build_unfused(&host, inputs.in_float64(&rows)?)?;
    let output = tch::no_grad(|| unfused.run())?;
    Ok(Reference::new(rows.f_to_device(site.place)?, output))
}

impl Workload for Fusion {
    fn step(&self) -> Result<Tensor, TchError> {
        self.step.run()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        self.reference.judge(&tch::no_grad(|| self.step())?, self.min_sqnr_db)
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
#[path = "attention_tests.rs"]
mod attention_tests;
#[cfg(test)]
#[path = "fusion_tests.rs"]
mod tests;
