//! An implementation of a kernel, built and ready to run.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tch::{TchError, Tensor};

use crate::inputs;
use crate::refusal::Refusal;

type Run = Box<dyn Fn() -> Result<Tensor, Refusal>>;

/// The tensors that the next run reads.
pub type Examples = Rc<RefCell<Vec<Tensor>>>;

/// The bytes that [`Step::again`] has replaced, and their owner, which keeps the memory while it
/// lives.
pub type Replaced = (u64, Box<dyn Any>);

/// Operations on what it holds, ready to run.
pub struct Step {
    run: Run,
    /// Reads the output of the last run, where a run returns a token in its place.
    read: Option<Run>,
    /// Puts back what a run starts from, where a run changes it.
    pub rewind: Option<Run>,
    /// Builds it once more, elsewhere in memory, where it is not enough to move its tensors.
    pub again: Option<Box<dyn Fn() -> Result<Replaced, Refusal>>>,
    /// The operations that `run` consists of, in order, views left out.
    pub kernels: Vec<String>,
    /// Notes for readers of its figures.
    pub notes: Vec<String>,
    /// Bytes of its inputs, where these are not those of the examples that were drawn.
    pub input_bytes: Option<u64>,
    /// Bytes of the parameters that it holds, where these are not the ones that were drawn.
    pub parameter_bytes: Option<u64>,
    /// The tensors that it reads, where these are not the ones that were drawn: views of them.
    pub reads: Option<Vec<Tensor>>,
    /// Bytes of outputs that are allocated beforehand, with everything else that preparing a user's kernel
    /// has left behind; or why they were not counted.
    pub output_bytes: Result<u64, String>,
    /// The examples that the next run reads, where others can be put in their place.
    pub examples: Option<Examples>,
    /// How often it has run.
    pub runs: Cell<u64>,
}

impl Step {
    /// A step that consists of the operations `kernels`.
    pub fn new<E: Into<Refusal>>(
        kernels: &[impl AsRef<str>],
        run: impl Fn() -> Result<Tensor, E> + 'static,
    ) -> Self {
        let kernels = kernels.iter().map(|kernel| kernel.as_ref().to_owned()).collect();
        Self {
            run: Box::new(move || run().map_err(Into::into)),
            read: None,
            rewind: None,
            again: None,
            kernels,
            notes: Vec::new(),
            input_bytes: None,
            parameter_bytes: None,
            reads: None,
            output_bytes: Ok(0),
            examples: None,
            runs: Cell::new(0),
        }
    }

    /// A step that leaves its output where it is, for `read`, and returns a token.
    pub fn leaving(
        run: impl Fn() -> Result<(), Refusal> + 'static,
        read: impl Fn() -> Result<Tensor, Refusal> + 'static,
    ) -> Result<Self, TchError> {
        // Made beforehand: a step allocates nothing of torch's for it.
        let token = Tensor::f_empty([0], (tch::Kind::Float, tch::Device::Cpu))?;
        let step = Self::new(&[""; 0], move || run().map(|()| token.shallow_clone()));
        Ok(Self { read: Some(Box::new(read)), ..step })
    }

    /// Sets the bytes of parameters that the step holds instead of those drawn: folded, or reordered.
    #[must_use]
    pub fn storing(self, bytes: u64) -> Self {
        Self { parameter_bytes: Some(bytes), ..self }
    }

    /// Adds bytes of parameters that the step holds.
    #[must_use]
    pub fn storing_also(self, bytes: u64) -> Self {
        let before = self.parameter_bytes.unwrap_or_default();
        self.storing(before + bytes)
    }

    /// Counts all bytes that the step holds as inputs.
    #[must_use]
    pub fn of_inputs_alone(self, bytes: u64) -> Self {
        Self { input_bytes: Some(bytes), parameter_bytes: Some(0), ..self }
    }

    /// Sets the views of the drawn tensors that the step reads.
    #[must_use]
    pub fn reading(self, views: Vec<Tensor>) -> Self {
        Self { reads: Some(views), ..self }
    }

    /// Marks a step that changes its inputs; `rewind` restores them before a check.
    #[must_use]
    pub fn starting_from(self, rewind: impl Fn() -> Result<Tensor, TchError> + 'static) -> Self {
        Self { rewind: Some(Box::new(move || Ok(rewind()?))), ..self }
    }

    /// A step that consists of the operations `kernels` and writes into `outputs`, which are
    /// allocated beforehand.
    pub fn writing_into<O: AsRef<[Tensor]> + 'static>(
        outputs: O,
        kernels: &[impl AsRef<str>],
        run: impl Fn(&O) -> Result<Tensor, TchError> + 'static,
    ) -> Self {
        let output_bytes = outputs.as_ref().iter().map(inputs::bytes).sum();
        Self { output_bytes: Ok(output_bytes), ..Self::new(kernels, move || run(&outputs)) }
    }

    /// Adds a note.
    #[must_use]
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// One step. Nothing is allocated but what the operations themselves allocate, and what they
    /// leave is freed where the same lines of Python would free it.
    pub fn run(&self) -> Result<Tensor, Refusal> {
        let output = (self.run)()?;
        self.runs.set(self.runs.get() + 1);
        Ok(output)
    }

    /// The output that the last run has left where it is; none where a run returns it.
    pub fn left(&self) -> Result<Option<Tensor>, Refusal> {
        self.read.as_ref().map(|read| read()).transpose()
    }
}

/// One step after another whose output was filled with NaN before it was freed. Allocators hand out
/// again what was freed last, and a value that is not written must not be the right one because an
/// earlier step wrote it.
pub fn over_nan(run: impl Fn() -> Result<Tensor, Refusal>) -> Result<Tensor, Refusal> {
    let mut stale = run()?;
    drop(stale.f_fill_(f64::NAN)?);
    drop(stale);
    run()
}

/// [`over_nan`] of all outputs; those of integers, which have no NaN, are left.
pub fn all_over_nan(
    run: impl Fn() -> Result<Vec<Tensor>, Refusal>,
) -> Result<Vec<Tensor>, Refusal> {
    let mut stale = run()?;
    for output in stale.iter_mut().filter(|it| it.is_floating_point()) {
        drop(output.f_fill_(f64::NAN)?);
    }
    drop(stale);
    run()
}
