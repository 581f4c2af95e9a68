//! A variant of a pattern or an implementation of an operator, ready to run.

use tch::{TchError, Tensor};

use crate::inputs;

type Run = Box<dyn Fn() -> Result<Tensor, TchError>>;

/// Operations on tensors that it holds, ready to run.
pub struct Step {
    run: Run,
    /// The operations that `run` consists of, in order, views left out.
    pub kernels: Vec<String>,
    /// Notes for readers of its figures.
    pub notes: Vec<String>,
    /// Bytes of the parameters that it holds, where these are not the ones that were drawn.
    pub parameter_bytes: Option<u64>,
    /// The tensors that it reads, where these are views of the ones that were drawn.
    pub reads: Option<Vec<Tensor>>,
    /// Bytes of outputs that are allocated beforehand.
    pub output_bytes: u64,
}

impl Step {
    /// A step that consists of the operations `kernels`.
    pub fn new(
        kernels: &[impl AsRef<str>],
        run: impl Fn() -> Result<Tensor, TchError> + 'static,
    ) -> Self {
        let kernels = kernels.iter().map(|kernel| kernel.as_ref().to_owned()).collect();
        Self {
            run: Box::new(run),
            kernels,
            notes: Vec::new(),
            parameter_bytes: None,
            reads: None,
            output_bytes: 0,
        }
    }

    /// The same, holding so many bytes of other parameters than those drawn: folded, or reordered.
    #[must_use]
    pub fn storing(self, bytes: u64) -> Self {
        Self { parameter_bytes: Some(bytes), ..self }
    }

    /// The same, holding so many bytes more.
    #[must_use]
    pub fn storing_also(self, bytes: u64) -> Self {
        let before = self.parameter_bytes.unwrap_or_default();
        self.storing(before + bytes)
    }

    /// The same, reading these views of what was drawn.
    #[must_use]
    pub fn reading(self, views: Vec<Tensor>) -> Self {
        Self { reads: Some(views), ..self }
    }

    /// A step that consists of the operations `kernels` and writes into `outputs`, which are
    /// allocated beforehand.
    pub fn writing_into<O: AsRef<[Tensor]> + 'static>(
        outputs: O,
        kernels: &[impl AsRef<str>],
        run: impl Fn(&O) -> Result<Tensor, TchError> + 'static,
    ) -> Self {
        let output_bytes = outputs.as_ref().iter().map(inputs::bytes).sum();
        Self { output_bytes, ..Self::new(kernels, move || run(&outputs)) }
    }

    /// The same with a note.
    #[must_use]
    pub fn noting(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// One step. Nothing is allocated but what the operations themselves allocate, and what they
    /// leave is freed where the same lines of Python would free it.
    ///
    /// # Errors
    /// Those of the operations.
    pub fn run(&self) -> Result<Tensor, TchError> {
        (self.run)()
    }

    /// As [`over_nan`].
    ///
    /// # Errors
    /// As [`Self::run`]; an output of whole numbers, which have no NaN.
    pub fn run_over_nan(&self) -> Result<Tensor, TchError> {
        over_nan(|| self.run())
    }
}

/// One step after another whose output was filled with NaN before it was freed. Allocators hand out
/// again what was freed last, and a value that is not written must not be the right one because an
/// earlier step wrote it.
///
/// # Errors
/// Those of `run`; an output of whole numbers, which have no NaN.
pub fn over_nan(run: impl Fn() -> Result<Tensor, TchError>) -> Result<Tensor, TchError> {
    let mut stale = run()?;
    drop(stale.f_fill_(f64::NAN)?);
    drop(stale);
    run()
}
