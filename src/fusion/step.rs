//! A variant, ready to run.

use tch::{TchError, Tensor};

type Run = Box<dyn Fn() -> Result<Tensor, TchError>>;

/// A variant, ready to run.
pub struct Step {
    run: Run,
    /// The operations that `run` consists of, in order, views left out.
    pub kernels: Vec<String>,
    /// What a reader of its figures should know.
    pub notes: Vec<String>,
}

impl Step {
    /// A step that consists of the operations `kernels`.
    pub fn new(kernels: &[&str], run: impl Fn() -> Result<Tensor, TchError> + 'static) -> Self {
        let kernels = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
        Self { run: Box::new(run), kernels, notes: Vec::new() }
    }

    /// One step. Nothing is allocated but what the operations themselves allocate, and what they
    /// leave is freed where the same lines of Python would free it.
    ///
    /// # Errors
    /// Those of the operations.
    pub fn run(&self) -> Result<Tensor, TchError> {
        (self.run)()
    }
}
