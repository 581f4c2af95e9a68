//! A user's kernel: the workload of the files under `benches/kernels`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use plan::{Accuracy, Case, JsonFloat, KernelFacts, KernelWork};
use tch::{Kind, Tensor};

use super::{Check, Kernel};
use crate::kernel::generated::{Built, Entry};
use crate::kernel::{KernelContext, Step};
use crate::refusal::Refusal;
use crate::verify::{self, Judge, spread};
use crate::{device, inputs};

/// The note in a record on an unverified output.
pub(super) const UNVERIFIED: &str = "no reference: its output is unverified";
/// The remedy if the baseline's reference is not available.
pub(super) const OWN: &str = "give it a `reference` of its own";
/// Runs whose outputs are compared with each other.
const RUNS: usize = 3;

pub(super) struct Runs {
    pub(super) context: KernelContext,
    count: Rc<Cell<u64>>,
    facts: KernelFacts,
    judge: Judge,
    /// Whose reference it is, or why there is none, where a reader should know.
    reference_note: Option<String>,
    determinism_std: Cell<Option<f64>>,
    /// Its output, where every run that was checked had the same.
    always: RefCell<Option<Tensor>>,
}

pub(in crate::workload) fn prepare(entries: &[Entry], case: &Case) -> Result<Kernel, Refusal> {
    let (step, inputs_bytes, runs) = prepared(entries, case)?;
    let check = Box::new(runs);
    Ok(Kernel { step, tensors: vec![], inputs_bytes, parameters_bytes: 0, check })
}

/// The step, the bytes that preparing has left behind, and the runs that are to be checked.
pub(super) fn prepared(
    entries: &[Entry],
    case: &Case,
) -> Result<(Step, Result<u64, String>, Runs), Refusal> {
    let none = || Refusal::Failed(format!("{} is not a case of a kernel", case.id));
    let work = case.work.kernel().ok_or_else(none)?;
    let entry = find(entries, &work.file)?;
    let context = super::context(case, (), device::resolve(case.device)?);
    let built = (entry.build)(&work.problem_size, &context)?;
    // Before anything has run: a kernel may spoil what its reference is computed from.
    let own = if verify::is_done() { None } else { (built.reference)()? };
    let (reference, reference_note) = match own {
        None if verify::is_done() => (None, None),
        None if entry.baseline != entry.file => {
            reference_of(find(entries, entry.baseline)?, work, &context)?
        }
        None => (None, Some(UNVERIFIED.to_owned())),
        own => (own, None),
    };
    let Built { mut step, flops, bytes, held_bytes, problem_size, runs, .. } = built;
    step.kernels = vec![work.file.clone()];
    let facts = KernelFacts {
        problem_size,
        flops,
        bytes,
        has_reference: reference.is_some(),
        determinism_std: None,
        runs: RUNS as u64,
    };
    let runs = Runs {
        context,
        count: runs,
        facts,
        judge: Judge::user_kernel(case, work, reference)?,
        reference_note,
        determinism_std: Cell::new(None),
        always: RefCell::new(None),
    };
    Ok((step, held_bytes, runs))
}

fn find<'a>(entries: &'a [Entry], file: &str) -> Result<&'a Entry, Refusal> {
    entries.iter().find(|entry| entry.file == file).ok_or_else(|| {
        Refusal::Failed(format!("{file} is not among the files of this build; build again"))
    })
}

/// The reference of the group's baseline, prepared as its sibling is, with the note about it.
fn reference_of(
    baseline: &Entry,
    work: &KernelWork,
    context: &KernelContext,
) -> Result<(Option<Tensor>, Option<String>), Refusal> {
    let file = baseline.file;
    let (reference, note) = match (baseline.build)(&work.problem_size, context)
        .and_then(|it| (it.reference)())
    {
        Ok(Some(reference)) => (Some(reference), format!("its reference is that of {file}")),
        Ok(None) => (None, UNVERIFIED.to_owned()),
        // A sibling may have precisions that the baseline has not.
        Err(Refusal::Unsupported(why)) => (None, format!("{UNVERIFIED} ({file}: {why}); {OWN}")),
        Err(refusal) => {
            let what = format!("the reference, which is that of {file}: {refusal}; {OWN}");
            return Err(Refusal::Failed(what));
        }
    };
    Ok((reference, Some(note)))
}

impl Runs {
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
        let first = if self.count.get() > 0 { self.output(step)? } else { self.once(step)? };
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
        self.judge.later(&self.output(step)?, self.always.borrow().as_ref(), self.count.get())
    }

    fn facts(&self) -> Option<KernelFacts> {
        let determinism_std = self.determinism_std.get().map(JsonFloat);
        Some(KernelFacts { determinism_std, ..self.facts.clone() })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.reference_note.iter().cloned().collect();
        if let Some(spread) = self.determinism_std.get().filter(|it| *it > 0.0) {
            notes.push(format!(
                "its output differs from run to run: over {RUNS} runs an element has a standard \
                 deviation of up to {spread:.3e}"
            ));
        }
        notes
    }
}
