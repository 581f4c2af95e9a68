//! A kernel of the author's own: the workload of the files under `benches/kernels`.

mod conditions;
mod facts;
mod judge;

use std::cell::{Cell, RefCell};

use plan::{Accuracy, Case, KernelFacts, KernelWork, Stat};
use tch::{Kind, TchError, Tensor};

pub(super) use conditions::check;
use judge::Judge;

use super::{Displaced, Refusal, Workload};
use crate::kernel::Site;
use crate::kernel::generated::{Build, Built, Entry, Fields};
use crate::{device, inputs, threads};

/// What a record says of an output that nothing is known about.
const UNVERIFIED: &str = "no reference: its output is unverified";
/// What to do where a baseline's cannot be had.
const OWN: &str = "give it a `reference` of its own";
/// Runs whose outputs are compared with each other.
const RUNS: usize = 3;

pub(super) struct Kernel {
    built: RefCell<Box<dyn Built>>,
    build: Build,
    problem_size: Fields,
    /// What a step returns a handle of, made beforehand: the output stays with the kernel.
    token: Tensor,
    /// How often it has run.
    runs: Cell<u64>,
    site: Site,
    file: String,
    judge: Judge,
    /// Whose reference it is, or why there is none, where a reader should know.
    reference_note: Option<String>,
    determinism_std: Cell<Option<f64>>,
    /// Its output, where every run that was checked had the same.
    always: RefCell<Option<Tensor>>,
}

impl Kernel {
    pub(super) fn prepare(entries: &[Entry], case: &Case) -> Result<Self, Refusal> {
        let work = work(case)?;
        let entry = find(entries, &work.file)?;
        let site = site(case)?;
        let built = (entry.build)(&work.problem_size, &site)?;
        // Before anything has run: a kernel may spoil what its reference is computed from.
        let own = built.reference()?;
        let (reference, reference_note) = match own {
            None if entry.baseline != entry.file => {
                reference_of(find(entries, entry.baseline)?, work, &site)?
            }
            None => (None, Some(UNVERIFIED.to_owned())),
            own => (own, None),
        };
        Ok(Self {
            built: RefCell::new(built),
            build: entry.build,
            problem_size: work.problem_size.clone(),
            token: Tensor::f_empty([0], (Kind::Float, tch::Device::Cpu))?,
            runs: Cell::new(0),
            site,
            file: work.file.clone(),
            judge: Judge::new(case, work, reference)?,
            reference_note,
            determinism_std: Cell::new(None),
            always: RefCell::new(None),
        })
    }

    fn once(&self) -> Result<Tensor, Refusal> {
        drop(self.run()?);
        self.output()
    }

    /// A copy of the output on the host, which the next run cannot change.
    fn output(&self) -> Result<Tensor, Refusal> {
        let output = self.built.borrow().output()?;
        let (kind, place) = (output.f_kind()?, output.device());
        let wanted = inputs::kind(self.site.dtype);
        if kind != wanted {
            return Err(Refusal::Failed(format!(
                "its output is {kind:?}, and the case is {wanted:?}: a kernel that has not every \
                 precision says so with `site.unsupported`"
            )));
        }
        if place != self.site.place {
            return Err(Refusal::Failed(format!(
                "its output is on {place:?}, and the case runs on {:?}: delete `{}` from \
                 `backends`, or refuse it with `site.unsupported`",
                self.site.place, self.site.device
            )));
        }
        // Of 8 bits torch computes nothing; float32 holds them exactly.
        let kept = if kind == Kind::Float8e4m3fn { Kind::Float } else { kind };
        Ok(output.f_to_device(tch::Device::Cpu)?.f_to_dtype(kept, false, true)?)
    }
}

fn work(case: &Case) -> Result<&KernelWork, Refusal> {
    let none = || Refusal::Failed(format!("{} is no case of a kernel", case.id));
    case.work.kernel().ok_or_else(none)
}

fn find<'a>(entries: &'a [Entry], file: &str) -> Result<&'a Entry, Refusal> {
    entries.iter().find(|entry| entry.file == file).ok_or_else(|| {
        Refusal::Failed(format!("{file} is none of the files of this build; build it again"))
    })
}

fn site(case: &Case) -> Result<Site, Refusal> {
    let place = device::resolve(case.device)?;
    let threads = threads::count(case.settings.threads) as usize;
    Ok(Site { dtype: case.dtype, device: case.device, place, threads, seed: case.settings.seed })
}

/// That of the group's baseline, prepared as its sibling is, and what to say about it.
fn reference_of(
    baseline: &Entry,
    work: &KernelWork,
    site: &Site,
) -> Result<(Option<Tensor>, Option<String>), Refusal> {
    let file = baseline.file;
    let (reference, note) = match (baseline.build)(&work.problem_size, site)
        .and_then(|it| it.reference())
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

impl Workload for Kernel {
    fn step(&self) -> Result<Tensor, TchError> {
        self.run().map_err(|refusal| TchError::Torch(refusal.to_string()))
    }

    fn run(&self) -> Result<Tensor, Refusal> {
        self.built.borrow_mut().run()?;
        self.runs.set(self.runs.get() + 1);
        Ok(self.token.shallow_clone())
    }

    fn check(&self) -> Result<Accuracy, Refusal> {
        tch::no_grad(|| {
            // What the very first run has left tells most: nothing can be left over from before.
            let first = if self.runs.get() > 0 { self.output()? } else { self.once()? };
            let mut outputs = vec![first];
            while outputs.len() < RUNS {
                outputs.push(self.once()?);
            }
            let accuracy = self.judge.accuracy(&outputs)?;
            let spread = judge::spread(&outputs)?;
            self.determinism_std.set(Some(spread));
            self.always.replace(outputs.into_iter().next().filter(|_| spread == 0.0));
            Ok(accuracy)
        })
    }

    fn recheck(&self) -> Result<(), Refusal> {
        tch::no_grad(|| {
            self.judge.later(&self.output()?, self.always.borrow().as_ref(), self.runs.get())
        })
    }

    fn rebuild(&self) -> Result<Option<Displaced>, Refusal> {
        let built = (self.build)(&self.problem_size, &self.site)?;
        let old = self.built.replace(built);
        // Memory of unknown size is not kept.
        Ok(Some(match old.held_bytes() {
            Ok(bytes) => Displaced { bytes, _memory: Box::new(old) },
            Err(_) => Displaced { bytes: 0, _memory: Box::new(()) },
        }))
    }

    fn weights_bytes(&self) -> u64 {
        0
    }

    /// All that preparing has left behind.
    fn inputs_bytes(&self) -> u64 {
        self.built.borrow().held_bytes().unwrap_or(0)
    }

    fn uncounted(&self) -> Option<String> {
        self.built.borrow().held_bytes().err()
    }

    fn kernels(&self) -> Vec<String> {
        vec![self.file.clone()]
    }

    fn kernel(&self) -> Option<KernelFacts> {
        let built = self.built.borrow();
        Some(KernelFacts {
            problem_size: built.problem_size().clone(),
            flops: built.flops(),
            bytes: built.bytes(),
            has_reference: self.judge.has_reference(),
            determinism_std: self.determinism_std.get().map(Stat),
            runs: RUNS as u64,
        })
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

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
