//! A case as Inductor compiles it: the operations of its eager twin, traced, compiled, and run from a
//! package.

use plan::{Accuracy, Agreement, Case, Compilation, CompileMode, ModelFacts, Weights};
use tch::Tensor;

use super::captured::{CaptureMessages, Captured};
use super::traceable::{Eager, job};
use super::{Displaced, Refusal, Workload, ahead};
use crate::compile;
use crate::native::{self, package::Package};
use crate::verify::{self, Distance};
use crate::{device, kernel};

pub(super) struct Compiled {
    eager: Box<dyn Eager>,
    package: Package,
    /// Set when the mode asks for a CUDA graph and the device supports it.
    captured: Option<Captured>,
    compiled: compile::Compiled,
    agreement_db: f64,
}

impl Compiled {
    pub(super) fn prepare(
        case: &Case,
        mode: CompileMode,
        eager: Box<dyn Eager>,
    ) -> Result<Self, Refusal> {
        let compiled = match ahead::result(case) {
            Some(result) => result?,
            None => job(case, mode, &*eager)?.compile()?,
        };
        let place = device::resolve(case.device)?;
        let package = Package::load(&compiled.package, place, eager.tensors()).map_err(remedied)?;
        let captured = match (place, mode.without_cuda_graph()) {
            (tch::Device::Cuda(device), Some(instead)) => {
                let instead = format!("torch_compile_mode: {}", instead.as_str());
                let words = CaptureMessages { step: "its compiled package", instead };
                Some(Captured::new(device, words, || Ok(package.run_all()?))?)
            }
            _ => None,
        };
        let agreement_db = verify::min_agreement_db(case)?;
        Ok(Self { eager, package, captured, compiled, agreement_db })
    }

    /// The outputs against those of the same operations run one by one; of the one that is furthest.
    fn agreement(&self, outputs: &[Tensor]) -> Result<Agreement, Refusal> {
        let eager = tch::no_grad(|| self.eager.outputs())?;
        let mut furthest = None::<Agreement>;
        for (eager, output) in eager.iter().zip(outputs) {
            let agreement = self.agreement_of(eager, output)?;
            if furthest.is_none_or(|it| agreement.sqnr_db.0 < it.sqnr_db.0) {
                furthest = Some(agreement);
            }
        }
        furthest.filter(|_| eager.len() == outputs.len()).ok_or_else(|| {
            let (found, expected) = (outputs.len(), eager.len());
            Refusal::Failed(format!("compiled, it computes {found} tensors, eagerly {expected}"))
        })
    }

    fn agreement_of(&self, eager: &Tensor, output: &Tensor) -> Result<Agreement, Refusal> {
        if eager.size() != output.size() || eager.kind() != output.kind() {
            return Err(Refusal::Failed(format!(
                "compiled, the output is {:?} {:?}, eagerly {:?} {:?}",
                output.kind(),
                output.size(),
                eager.kind(),
                eager.size()
            )));
        }
        let Distance { sqnr_db, max_abs_error, .. } = Distance::between(eager, output)?;
        let min_sqnr_db = self.agreement_db;
        // A ratio that is no number must not pass, hence the question put this way round.
        if sqnr_db >= min_sqnr_db {
            let (sqnr_db, max_abs_error) =
                (plan::JsonFloat(sqnr_db), plan::JsonFloat(max_abs_error));
            return Ok(Agreement { sqnr_db, max_abs_error, min_sqnr_db });
        }
        Err(Refusal::Failed(format!(
            "compiled, the output differs from the eager one: {sqnr_db:.1} dB signal-to-noise ratio \
             is below the gate of {min_sqnr_db:.1} dB (largest difference {max_abs_error:.3e})"
        )))
    }
}

/// A package that lies in the cache may be of another system's libraries, or find no room to be unpacked.
fn remedied(error: native::Error) -> Refusal {
    match Refusal::from(error) {
        Refusal::Failed(text) => Refusal::Failed(format!(
            "{text}; `{}` has it compiled again; TMPDIR names another folder to unpack it in",
            ::libtorch::command::with_arguments("cache clear compiled")
        )),
        other => other,
    }
}

impl Workload for Compiled {
    fn step(&self) -> Result<Tensor, Refusal> {
        match &self.captured {
            Some(captured) => captured.step(),
            None => Ok(self.package.run()?),
        }
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        let outputs = tch::no_grad(|| match &self.captured {
            Some(captured) => captured.over_nan(),
            None => kernel::all_over_nan(|| Ok(self.package.run_all()?)),
        })?;
        let accuracy = self.eager.judge(&outputs)?;
        Ok(Accuracy { eager: Some(self.agreement(&outputs)?), ..accuracy })
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        // The package refers to the tensors themselves, but a graph has recorded their old addresses.
        let displaced = self.eager.rebuild()?;
        if let Some(captured) = &self.captured {
            captured.recapture(|| Ok(self.package.run_all()?))?;
        }
        Ok(displaced)
    }

    fn uncounted(&self) -> Option<String> {
        self.captured.as_ref().map(Captured::uncounted)
    }

    fn weights_bytes(&self) -> u64 {
        self.eager.weights_bytes()
    }

    fn inputs_bytes(&self) -> u64 {
        self.eager.inputs_bytes()
    }

    fn outputs_bytes(&self) -> u64 {
        self.captured.as_ref().map_or(0, Captured::outputs_bytes)
    }

    fn saved_bytes(&self) -> Option<u64> {
        self.eager.saved_bytes()
    }

    fn weights(&self) -> Option<Weights> {
        self.eager.weights()
    }

    fn model(&self) -> Option<ModelFacts> {
        self.eager.model()
    }

    fn kernels(&self) -> Vec<String> {
        self.compiled.kernels.clone()
    }

    fn compilation(&self) -> Option<Compilation> {
        let cuda_graph = self.captured.as_ref().map(Captured::facts);
        Some(Compilation { cuda_graph, ..self.compiled.facts.clone() })
    }

    fn notes(&self) -> Vec<String> {
        self.eager.notes().into_iter().chain(self.compiled.notes.iter().cloned()).collect()
    }
}

#[cfg(test)]
#[path = "compiled_tests.rs"]
mod tests;
