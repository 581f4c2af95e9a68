//! A user's kernel: the workload of the files under `benches/kernels`.

use std::cell::{Cell, RefCell};

use plan::{Accuracy, Case, JsonFloat, KernelFacts, KernelWork};
use tch::{Kind, Tensor};

use super::{Check, Kernel};
use crate::inputs::Inputs;
use crate::kernel::generated::{Entry, UserKernel};
use crate::kernel::{KernelContext, Step};
use crate::refusal::Refusal;
use crate::verify::{self, Judge, spread};
use crate::{device, inputs};

/// The note in a record on an unverified output.
pub(super) const UNVERIFIED: &str = "no reference: its output is unverified";
/// Runs whose outputs are compared with each other.
const RUNS: usize = 3;

pub(super) struct Runs {
    pub(super) context: KernelContext,
    facts: KernelFacts,
    judge: Judge,
    determinism_std: Cell<Option<f64>>,
    /// Its output, where every run that was checked had the same.
    always: RefCell<Option<Tensor>>,
}

/// The work of a case of a kernel.
pub(in crate::workload) fn work(case: &Case) -> Result<&KernelWork, Refusal> {
    let none = || Refusal::Failed(format!("{} is not a case of a kernel", case.id));
    case.work.kernel().ok_or_else(none)
}

/// A case's kernel with inputs of this seed. It is made of the file's functions, and runs none of the kernel's own.
pub(in crate::workload) fn with_seed(
    entries: &[Entry],
    case: &Case,
    seed: i64,
) -> Result<(KernelContext, UserKernel), Refusal> {
    let work = work(case)?;
    let entry = entries.iter().find(|entry| entry.file == work.file).ok_or_else(|| {
        let what = format!("{} is not among the files of this build; build again", work.file);
        Refusal::Failed(what)
    })?;
    let context = super::context(case, (), device::resolve(case.device)?);
    let context = KernelContext { seed, ..context };
    Ok((context, (entry.kernel)(&work.problem_size, &context)?))
}

pub(in crate::workload) fn prepare(entries: &[Entry], case: &Case) -> Result<Kernel, Refusal> {
    let (context, kernel) = with_seed(entries, case, case.settings.seed)?;
    let work = work(case)?;
    let inputs = kernel.computation.inputs()?;
    // First of all: where the author refuses to run it, nobody waits for the reference.
    let mut step = kernel.computation.build(inputs.share())?;
    step.kernels = vec![work.file.clone()];
    Ok(Kernel::new(&inputs, step, Runs::new(case, work, context, &kernel, &inputs)?))
}

impl Runs {
    /// The reference is computed before anything has run: a kernel may spoil its inputs.
    pub(super) fn new(
        case: &Case,
        work: &KernelWork,
        context: KernelContext,
        kernel: &UserKernel,
        inputs: &Inputs,
    ) -> Result<Self, Refusal> {
        let reference = match verify::is_done() {
            true => None,
            false => kernel.computation.reference(inputs.all_in_float64()?)?,
        };
        let (flops, bytes) = (kernel.cost)();
        let facts = KernelFacts {
            problem_size: kernel.problem_size.clone(),
            flops,
            bytes,
            has_reference: reference.is_some(),
            determinism_std: None,
            runs: RUNS as u64,
        };
        let outputs = reference.as_ref().map_or(0, Tensor::numel);
        let elements = inputs.tensors().iter().map(Tensor::numel).sum();
        let terms = verify::kernel_terms(flops, outputs, elements);
        let judge = Judge::user_kernel(case, work, reference, terms)?;
        Ok(Self {
            context,
            facts,
            judge,
            determinism_std: Cell::default(),
            always: RefCell::default(),
        })
    }

    /// A copy of the output on the host, which the next run cannot change.
    pub(super) fn output(&self, step: &Step) -> Result<Tensor, Refusal> {
        let none = || Refusal::Failed("its output cannot be read".to_owned());
        let output = step.left()?.ok_or_else(none)?;
        let (kind, place) = (output.f_kind()?, output.device());
        let wanted = inputs::kind(self.context.dtype);
        if kind != wanted {
            return Err(Refusal::Failed(format!(
                "its output is {kind:?}, and the case is {wanted:?}: a kernel that lacks a \
                 precision says so with `context.unsupported`"
            )));
        }
        if place != self.context.torch_device {
            return Err(Refusal::Failed(format!(
                "its output is on {place:?}, and the case runs on {:?}: delete `{}` from \
                 `backends`, or refuse it with `context.unsupported`",
                self.context.torch_device, self.context.device
            )));
        }
        // Torch computes nothing in 8 bits; float32 holds them exactly.
        let kept = if kind == Kind::Float8e4m3fn { Kind::Float } else { kind };
        Ok(output.f_to_device(tch::Device::Cpu)?.f_to_dtype(kept, false, true)?)
    }

    fn once(&self, step: &Step) -> Result<Tensor, Refusal> {
        drop(step.run()?);
        self.output(step)
    }
}

impl Check for Runs {
    fn judge(&self, output: &Tensor) -> Result<Accuracy, Refusal> {
        self.judge.accuracy_of(output)
    }

    fn check(&self, step: &Step) -> Result<Accuracy, Refusal> {
        // The output of the very first run tells most: nothing can be left over from before.
        let first = if step.runs.get() > 0 { self.output(step)? } else { self.once(step)? };
        let mut outputs = vec![first];
        while outputs.len() < RUNS {
            outputs.push(self.once(step)?);
        }
        let accuracy = self.judge.accuracy(&outputs)?;
        let spread = spread(&outputs)?;
        self.determinism_std.set(Some(spread));
        self.always.replace(outputs.into_iter().next().filter(|_| spread == 0.0));
        Ok(accuracy)
    }

    fn recheck(&self, step: &Step) -> Result<(), Refusal> {
        self.judge.later(&self.output(step)?, self.always.borrow().as_ref(), step.runs.get())
    }

    fn facts(&self) -> Option<KernelFacts> {
        let determinism_std = self.determinism_std.get().map(JsonFloat);
        Some(KernelFacts { determinism_std, ..self.facts.clone() })
    }

    fn notes(&self) -> Vec<String> {
        let unverified = (!self.facts.has_reference).then(|| UNVERIFIED.to_owned());
        let mut notes: Vec<String> = unverified.into_iter().collect();
        if let Some(spread) = self.determinism_std.get().filter(|it| *it > 0.0) {
            notes.push(format!(
                "its output differs from run to run: over {RUNS} runs an element has a standard \
                 deviation of up to {spread:.3e}"
            ));
        }
        notes
    }
}
