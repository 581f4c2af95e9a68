//! Kernels, those that ship with the library and those of users: the workload of everything but
//! models.

mod conditions;
mod facts;
mod passed;
mod sampled;
mod stream;
mod trials;
mod user_kernel;

pub(super) use conditions::check;
pub(super) use passed::prepare as of_traffic;
use plan::{Accuracy, Case, KernelFacts};
pub(super) use sampled::prepare;
pub(super) use stream::prepare as of_stream;
use tch::Tensor;
pub(super) use user_kernel::{prepare as user_kernel, with_seed, work};

use super::traceable::Eager;
use super::{Displaced, Refusal, Workload, moved};
use crate::inputs::Inputs;
use crate::kernel::{Computation, KernelContext, Shipped, Step};
use crate::{device, threads};

pub(super) struct Kernel {
    step: Step,
    /// The tensors that the step reads; if it folds or reorders its weights, the weights as drawn.
    tensors: Vec<Tensor>,
    inputs_bytes: u64,
    parameters_bytes: u64,
    check: Box<dyn Check>,
}

/// The check of a kernel's output.
trait Check {
    /// An output of the case, whoever computed it.
    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal>;

    fn check(&self, step: &Step) -> Result<Accuracy, Refusal>;

    /// Looks at the output once more, after everything that was timed.
    fn recheck(&self, step: &Step) -> Result<(), Refusal> {
        let _ = step;
        Ok(())
    }

    fn facts(&self) -> Option<KernelFacts> {
        None
    }

    fn notes(&self) -> Vec<String> {
        vec![]
    }
}

/// The circumstances of a case at a place.
pub(super) fn context<W>(case: &Case, work: W, place: tch::Device) -> KernelContext<W> {
    let threads = threads::count(case.settings.threads) as usize;
    let (dtype, device, seed) = (case.dtype, case.device, case.settings.seed);
    KernelContext { work, dtype, device, torch_device: place, threads, seed }
}

/// The context of a case of a kernel that ships with the library, where it can run: nothing is drawn where a tool
/// is missing.
fn tooled_context<W: Shipped>(case: &Case, work: W) -> Result<KernelContext<W>, Refusal> {
    let context = context(case, work, device::resolve(case.device)?);
    W::tools(&context)?;
    Ok(context)
}

impl Kernel {
    /// Draws the inputs of a case, makes the check of its output, and builds its step.
    fn prepare<C: Check + 'static>(
        computation: &dyn Computation,
        check: impl FnOnce(&Inputs) -> Result<C, Refusal>,
    ) -> Result<Self, Refusal> {
        let inputs = computation.inputs()?;
        let check = tch::no_grad(|| check(&inputs))?;
        let step = computation.build(inputs.share())?;
        Ok(Self::new(&inputs, step, check))
    }

    fn new(drawn: &Inputs, mut step: Step, check: impl Check + 'static) -> Self {
        Self {
            tensors: step.reads.take().unwrap_or_else(|| drawn.tensors()),
            inputs_bytes: step.input_bytes.unwrap_or_else(|| drawn.example_bytes()),
            parameters_bytes: step.parameter_bytes.unwrap_or_else(|| drawn.parameter_bytes()),
            step,
            check: Box::new(check),
        }
    }
}

impl Eager for Kernel {
    fn tensors(&self) -> Vec<Tensor> {
        self.tensors.iter().map(Tensor::shallow_clone).collect()
    }

    fn judge(&self, outputs: &[Tensor]) -> Result<Accuracy, Refusal> {
        match outputs {
            [output] => self.check.judge(output),
            _ => Err(Refusal::Failed(format!("{} outputs, not one", outputs.len()))),
        }
    }
}

impl Workload for Kernel {
    fn step(&self) -> Result<Tensor, Refusal> {
        self.step.run()
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        tch::no_grad(|| self.check.check(&self.step))
    }

    fn recheck(&self) -> Result<(), Refusal> {
        tch::no_grad(|| self.check.recheck(&self.step))
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        let moved = moved(&self.tensors)?;
        let Some(again) = &self.step.again else { return Ok(moved) };
        let (bytes, memory) = again()?;
        let bytes = bytes + moved.as_ref().map_or(0, |it| it.bytes);
        Ok(Some(Displaced { bytes, _memory: Box::new((memory, moved)) }))
    }

    fn uncounted(&self) -> Option<String> {
        self.step.output_bytes.as_ref().err().cloned()
    }

    fn weights_bytes(&self) -> u64 {
        self.parameters_bytes
    }

    fn inputs_bytes(&self) -> u64 {
        self.inputs_bytes
    }

    fn outputs_bytes(&self) -> u64 {
        *self.step.output_bytes.as_ref().unwrap_or(&0)
    }

    fn kernels(&self) -> Vec<String> {
        self.step.kernels.clone()
    }

    fn kernel(&self) -> Option<KernelFacts> {
        self.check.facts()
    }

    fn notes(&self) -> Vec<String> {
        [self.step.notes.clone(), self.check.notes()].concat()
    }
}

#[cfg(test)]
mod attention_memory_tests;
#[cfg(test)]
mod attention_tests;
#[cfg(test)]
mod operator_memory_tests;
#[cfg(test)]
mod operator_own_tests;
#[cfg(test)]
mod operator_tests;
#[cfg(test)]
mod pattern_tests;
#[cfg(test)]
mod probe_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod user_kernel_tests;
