//! An eager case in a CUDA graph: its step is captured once, and every step replays it.

use plan::{Accuracy, Case, ModelFacts, ModelWork, Weights};
use tch::{Device, Tensor};

use super::captured::{CaptureMessages, Captured};
use super::traceable::Eager;
use super::{Displaced, Refusal, Workload};
use crate::device;

pub(super) struct Graphed {
    eager: Box<dyn Eager>,
    captured: Captured,
}

impl Graphed {
    /// Captures the step of `eager`, the same case without a graph.
    pub(super) fn prepare(
        case: &Case,
        work: &ModelWork,
        eager: Box<dyn Eager>,
    ) -> Result<Self, Refusal> {
        let Device::Cuda(device) = device::resolve(case.device)? else {
            return Err(refused(case, work));
        };
        let instead = plan::Variant { graph: false, ..work.variant }.to_string();
        let words = CaptureMessages { step: "its step", instead };
        let captured = Captured::new(device, words, || eager.outputs())?;
        Ok(Self { eager, captured })
    }
}

/// Whether the case can have a graph.
///
/// # Errors
/// Unsupported, with what its device or its variant lacks.
pub(super) fn check(case: &Case, work: &ModelWork) -> Result<(), Refusal> {
    let variant = work.variant;
    if case.device != plan::Device::Cuda {
        return Err(refused(case, work));
    }
    if variant.preallocated || variant.compile.is_some() {
        return Err(Refusal::Unsupported(format!(
            "`{variant}`: only the eager step with an output of its own is captured; `torch_compile_mode: \
             reduce-overhead` is a compiled step in a graph"
        )));
    }
    Ok(())
}

fn refused(case: &Case, work: &ModelWork) -> Refusal {
    Refusal::Unsupported(format!(
        "`{}`: there are CUDA graphs on `device: cuda` alone, not on {}; write `cuda_graph: false` for this \
         model",
        work.variant, case.device
    ))
}

impl Workload for Graphed {
    fn step(&self) -> Result<Tensor, Refusal> {
        self.captured.step()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        let outputs = tch::no_grad(|| self.captured.over_nan())?;
        self.eager.judge(&outputs)
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        // The graph has recorded the old addresses.
        let displaced = self.eager.rebuild()?;
        self.captured.recapture(|| self.eager.outputs())?;
        Ok(displaced)
    }

    fn uncounted(&self) -> Option<String> {
        Some(self.captured.uncounted())
    }

    fn weights_bytes(&self) -> u64 {
        self.eager.weights_bytes()
    }

    fn inputs_bytes(&self) -> u64 {
        self.eager.inputs_bytes()
    }

    fn outputs_bytes(&self) -> u64 {
        self.captured.outputs_bytes()
    }

    fn weights(&self) -> Option<Weights> {
        self.eager.weights()
    }

    fn model(&self) -> Option<ModelFacts> {
        self.eager.model()
    }

    fn kernels(&self) -> Vec<String> {
        self.eager.kernels()
    }

    fn notes(&self) -> Vec<String> {
        self.eager.notes()
    }
}

#[cfg(test)]
mod tests {
    use plan::{Dtype, Mode, ModelKind, Recipe, Shape};

    use super::*;
    use crate::workload::testing::{case, computes_the_same_elsewhere, work_mut};
    use crate::workload::{preflight, prepare};

    fn captured(recipe: Recipe) -> Case {
        // More than 16 rows, for integer products.
        let mut case = case(ModelKind::Linear, recipe, Dtype::BFloat16, Shape::new(32, 256, 256));
        case.device = plan::Device::Cuda;
        work_mut(&mut case).variant.graph = true;
        case
    }

    #[test]
    fn a_graph_has_the_bits_of_its_eager_twin_or_says_why_it_is_not_captured() {
        if !matches!(device::resolve(plan::Device::Cuda), Ok(Device::Cuda(_))) {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let step = |workload: &dyn Workload| tch::no_grad(|| workload.step()).unwrap().copy();
        for recipe in Recipe::examples().filter(|recipe| recipe.takes(Mode::Inference)) {
            let mut case = captured(recipe);
            if preflight(&case).is_err() {
                continue;
            }
            let graph = match prepare(&case) {
                Ok(graph) => graph,
                Err(refusal) => {
                    let words = format!("`{recipe}` is the same without a graph");
                    assert!(recipe != Recipe::Baseline, "{refusal}");
                    assert!(refusal.to_string().ends_with(&words), "{recipe}: {refusal}");
                    continue;
                }
            };
            graph.check().unwrap_or_else(|refusal| panic!("{recipe}: {refusal}"));
            assert!(graph.uncounted().is_some() && graph.outputs_bytes() == 2 * 32 * 256);
            computes_the_same_elsewhere(&recipe.to_string(), &*graph);

            work_mut(&mut case).variant.graph = false;
            let eager = prepare(&case).unwrap();
            assert!(step(&*graph).equal(&step(&*eager)), "{recipe}");
        }
    }

    #[test]
    fn without_a_device_it_is_skipped_as_its_eager_twin_is() {
        if tch::Cuda::is_available() {
            return;
        }
        let refusal = preflight(&captured(Recipe::Baseline));
        assert!(matches!(refusal, Err(Refusal::Skipped(_))), "{refusal:?}");
    }
}
