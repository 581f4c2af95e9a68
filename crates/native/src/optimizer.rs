//! torch's optimizers in their fused form: one operation updates all parameters.
//!
//! libtorch has `_fused_sgd_` and `_fused_adamw_` on the CPU and on CUDA, for float64, float32, bfloat16 and float16.

use tch::{Kind, TchError, Tensor};

use super::border::{In, Status, Tensors, check, pointers};
use super::error::Error;

unsafe extern "C" {
    fn ctn_optimizer_sgd(
        parameters: Tensors,
        gradients: Tensors,
        buffers: Tensors,
        options: *const SgdOptions,
        is_first_step: bool,
    ) -> Status;
    fn ctn_optimizer_adamw(
        parameters: Tensors,
        gradients: Tensors,
        averages: Tensors,
        squares: Tensors,
        steps: Tensors,
        options: *const AdamWOptions,
    ) -> Status;
}

/// Options of [`Sgd`]; the default is `torch.optim.SGD`'s.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SgdOptions {
    /// Learning rate; 1e-3 by default.
    pub lr: f64,
    /// 0 by default.
    pub momentum: f64,
    /// 0 by default.
    pub dampening: f64,
    /// 0 by default.
    pub weight_decay: f64,
    /// Off by default.
    pub nesterov: bool,
}

impl Default for SgdOptions {
    fn default() -> Self {
        Self { lr: 1e-3, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false }
    }
}

/// Stochastic gradient descent.
#[derive(Debug)]
pub struct Sgd {
    options: SgdOptions,
    /// One for each parameter, after the first step; none without momentum.
    buffers: Vec<Tensor>,
}

impl Sgd {
    /// Before its first step.
    pub fn new(options: SgdOptions) -> Self {
        Self { options, buffers: Vec::new() }
    }

    /// Updates the parameters in place; they are the same at every step.
    ///
    /// # Errors
    /// Also when the tensors do not fit each other in number, size, dtype or device.
    pub fn step(&mut self, parameters: &[&Tensor], gradients: &[&Tensor]) -> Result<(), Error> {
        same_count(parameters, gradients)?;
        let is_first_step = self.options.momentum != 0.0 && self.buffers.is_empty();
        if is_first_step {
            self.buffers = made(parameters, |it| it.f_empty_like())?;
        }
        if !self.buffers.is_empty() {
            same_count(parameters, &self.buffers)?;
        }
        let (parameters, gradients) = (listed(parameters), listed(gradients));
        let buffers = pointers(&self.buffers);
        let (parameters, gradients, buffers) =
            ((&parameters).into(), (&gradients).into(), (&buffers).into());
        // SAFETY: tensors and options live during the call.
        check(unsafe {
            ctn_optimizer_sgd(parameters, gradients, buffers, &self.options, is_first_step)
        })
    }

    /// The tensors that it keeps from step to step.
    pub fn state(&self) -> impl Iterator<Item = &Tensor> {
        self.buffers.iter()
    }
}

/// Options of [`AdamW`]; the default is `torch.optim.AdamW`'s.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamWOptions {
    /// Learning rate; 1e-3 by default.
    pub lr: f64,
    /// Decay of the average of gradients; 0.9 by default.
    pub beta1: f64,
    /// Decay of the average of their squares; 0.999 by default.
    pub beta2: f64,
    /// Added to the divisor; 1e-8 by default.
    pub eps: f64,
    /// 0.01 by default.
    pub weight_decay: f64,
}

impl Default for AdamWOptions {
    fn default() -> Self {
        Self { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 1e-2 }
    }
}

/// Adam with decoupled weight decay.
#[derive(Debug)]
pub struct AdamW {
    options: AdamWOptions,
    /// Averages of the gradients, of their squares, and the number of steps as float32: one of each for each parameter,
    /// from the first step on.
    averages: Vec<Tensor>,
    squares: Vec<Tensor>,
    steps: Vec<Tensor>,
}

impl AdamW {
    /// Before its first step.
    pub fn new(options: AdamWOptions) -> Self {
        Self { options, averages: Vec::new(), squares: Vec::new(), steps: Vec::new() }
    }

    /// Updates the parameters in place; they are the same at every step.
    ///
    /// # Errors
    /// Also when the tensors do not fit each other in number, size, dtype or device.
    pub fn step(&mut self, parameters: &[&Tensor], gradients: &[&Tensor]) -> Result<(), Error> {
        same_count(parameters, gradients)?;
        if self.steps.is_empty() {
            self.averages = made(parameters, |it| it.f_zeros_like())?;
            self.squares = made(parameters, |it| it.f_zeros_like())?;
            let count = |it: &Tensor| Tensor::f_zeros([0; 0], (Kind::Float, it.device()));
            self.steps = made(parameters, count)?;
        }
        same_count(parameters, &self.steps)?;
        let (parameters, gradients) = (listed(parameters), listed(gradients));
        let [averages, squares, steps] = [&self.averages, &self.squares, &self.steps].map(pointers);
        let (parameters, gradients) = ((&parameters).into(), (&gradients).into());
        let [averages, squares, steps] = [&averages, &squares, &steps].map(Tensors::from);
        // SAFETY: tensors and options live during the call.
        check(unsafe {
            ctn_optimizer_adamw(parameters, gradients, averages, squares, steps, &self.options)
        })
    }

    /// The tensors that it keeps from step to step.
    pub fn state(&self) -> impl Iterator<Item = &Tensor> {
        self.averages.iter().chain(&self.squares).chain(&self.steps)
    }
}

/// A tensor for each parameter.
fn made(
    parameters: &[&Tensor],
    make: impl Fn(&Tensor) -> Result<Tensor, TchError>,
) -> Result<Vec<Tensor>, Error> {
    parameters.iter().map(|it| make(it).map_err(|error| Error::of_tch(&error))).collect()
}

fn listed(tensors: &[&Tensor]) -> Vec<In> {
    pointers(tensors.iter().copied())
}

/// libtorch checks the lists on CUDA alone.
fn same_count<T>(parameters: &[&Tensor], others: &[T]) -> Result<(), Error> {
    match parameters.len() == others.len() {
        true => Ok(()),
        false => Err(Error::Torch(format!(
            "{} parameters, but {} gradients or states of an optimizer",
            parameters.len(),
            others.len()
        ))),
    }
}

#[cfg(test)]
#[path = "optimizer_tests.rs"]
mod tests;
