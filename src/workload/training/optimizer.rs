//! Updates of a model's parameters, and how they are undone.

use tch::{TchError, Tensor};

use crate::native::optimizer::{AdamW, AdamWOptions, Sgd, SgdOptions};
use crate::refusal::Refusal;

/// An optimizer with the parameters as they were before its first update.
pub(super) struct Updates {
    optimizer: Optimizer,
    original: Vec<Tensor>,
}

enum Optimizer {
    Sgd(Sgd),
    AdamW(AdamW),
}

/// A rate so small that the millions of steps of a measurement, which all see the same input and the same gradient,
/// leave parameters within their range. The time of an update does not depend on it.
const LEARNING_RATE: f64 = 1e-6;

impl Updates {
    /// SGD with momentum.
    pub fn sgd(parameters: &[&Tensor]) -> Result<Self, TchError> {
        let options = SgdOptions { lr: LEARNING_RATE, momentum: 0.9, ..Default::default() };
        Self::new(Optimizer::Sgd(Sgd::new(options)), parameters)
    }

    pub fn adamw(parameters: &[&Tensor]) -> Result<Self, TchError> {
        let options = AdamWOptions { lr: LEARNING_RATE, ..Default::default() };
        Self::new(Optimizer::AdamW(AdamW::new(options)), parameters)
    }

    fn new(optimizer: Optimizer, parameters: &[&Tensor]) -> Result<Self, TchError> {
        let original = parameters.iter().map(|it| it.f_zeros_like()?.f_add(it));
        Ok(Self { optimizer, original: original.collect::<Result<_, TchError>>()? })
    }

    /// Updates the parameters.
    pub fn step(&mut self, parameters: &[&Tensor], gradients: &[Tensor]) -> Result<(), Refusal> {
        let gradients: Vec<_> = gradients.iter().collect();
        match &mut self.optimizer {
            Optimizer::Sgd(sgd) => sgd.step(parameters, &gradients)?,
            Optimizer::AdamW(adamw) => adamw.step(parameters, &gradients)?,
        }
        Ok(())
    }

    /// Gives the parameters back the values that they had before all updates.
    pub fn undo(&self, parameters: &[&Tensor]) -> Result<(), TchError> {
        for (parameter, original) in parameters.iter().zip(&self.original) {
            let mut parameter = parameter.shallow_clone();
            parameter.f_copy_(original)?;
        }
        Ok(())
    }

    /// The tensors that it keeps from step to step.
    pub fn state(&self) -> Vec<&Tensor> {
        match &self.optimizer {
            Optimizer::Sgd(sgd) => sgd.state().collect(),
            Optimizer::AdamW(adamw) => adamw.state().collect(),
        }
    }
}
