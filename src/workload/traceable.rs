//! Operations of libtorch that can be traced, compiled, and captured in a CUDA graph.

use std::time::Duration;

use plan::{Accuracy, Case, CompileMode};
use tch::Tensor;

use super::{Refusal, Workload};
use crate::compile::{Job, Options};
use crate::{device, threads};

/// A workload of operations of libtorch, which can be traced.
pub(super) trait Eager: Workload {
    /// Every tensor that a step reads, sharing their storage; the input comes first. They become the
    /// inputs of what is compiled, which holds no weight of its own.
    fn tensors(&self) -> Vec<Tensor>;

    /// A step with all tensors that it computes, none of which shares memory with another or with
    /// [`Self::tensors`]: they become the outputs of what is compiled.
    fn outputs(&self) -> Result<Vec<Tensor>, Refusal> {
        Ok(vec![self.step()?])
    }

    /// The outputs of the case, whoever computed them, against the float64 reference.
    fn judge(&self, outputs: &[Tensor]) -> Result<Accuracy, Refusal>;
}

/// The eager case traced: what there is to compile.
pub(super) fn job(case: &Case, mode: CompileMode, eager: &dyn Eager) -> Result<Job, Refusal> {
    let options = Options {
        mode,
        threads: u64::from(threads::count(case.settings.threads)),
        device: case.device,
        place: device::resolve(case.device)?,
        timeout: Duration::from_secs_f64(case.settings.compile_timeout_s),
    };
    let tensors = eager.tensors();
    let inputs: Vec<&Tensor> = tensors.iter().collect();
    // The tracer is to see the threads that the steps will have.
    threads::settle(case.settings.threads);
    tch::no_grad(|| Job::new(&inputs, options, || eager.outputs()))
}
