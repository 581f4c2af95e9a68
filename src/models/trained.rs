//! A model in training: its forward pass with what the backward pass needs, and the backward pass, both written out
//! over ATen operations.

use tch::{TchError, Tensor};

use super::Parameters;
use crate::recipes::{Gradients, TrainedLinear};
use crate::refusal::Refusal;

/// A linear layer in training, as a [`TrainedNetwork`] calls it. The [example](super) has one.
pub trait TrainedLayer {
    /// `x [.., k]` → `[.., n]`.
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        self.linear().forward(x)
    }

    /// The gradients at the input `x` that [`Self::forward`] took.
    fn backward(&self, x: &Tensor, grad_output: &Tensor) -> Result<Gradients, TchError> {
        self.linear().backward(x, grad_output)
    }

    /// The layer of the recipe.
    fn linear(&self) -> &TrainedLinear;
}

impl TrainedLayer for TrainedLinear {
    fn linear(&self) -> &TrainedLinear {
        self
    }
}

/// Makes the linear layer of the given name from its weight `[n, k]`. The [example](super) calls it.
pub type MakeTrained<'a> = dyn FnMut(&str, Tensor) -> Result<Box<dyn TrainedLayer>, Refusal> + 'a;

/// A model that is built, ready to be trained, as in the [example](super).
///
/// The operations of the forward pass are those that torch's autograd can differentiate, and the backward pass
/// calls what autograd would call, in its order: both give the same bits.
pub trait TrainedNetwork {
    /// One forward pass.
    fn forward(&self, input: &Tensor) -> Result<Passed, TchError>;

    /// The gradients at the `input` that [`Self::forward`] took, from the tensors that it `saved`.
    fn backward(
        &self,
        input: &Tensor,
        saved: &[Tensor],
        grad_output: &Tensor,
    ) -> Result<ModelGradients, TchError>;

    /// Its linear layers, in order.
    fn layers(&self) -> Vec<&dyn TrainedLayer>;

    /// Its parameters outside of linear layers: the weights of norms.
    fn norms(&self) -> Vec<&Tensor> {
        Vec::new()
    }
}

/// The result of a forward pass, as in the [example](super).
#[derive(Debug)]
pub struct Passed {
    /// The output.
    pub output: Tensor,
    /// The tensors that the backward pass reads, besides the input and the parameters.
    pub saved: Vec<Tensor>,
}

/// The result of a backward pass, as in the [example](super).
#[derive(Debug)]
pub struct ModelGradients {
    /// The gradient of the input.
    pub input: Tensor,
    /// Gradients of the linear layers' weights in order, then of the norms' weights.
    pub parameters: Vec<Tensor>,
}

/// Checks the number of tensors.
pub(super) fn exactly<const COUNT: usize>(
    tensors: &[Tensor],
) -> Result<&[Tensor; COUNT], TchError> {
    tensors.try_into().map_err(|_| {
        TchError::Shape(format!("{} tensors, where there have to be {COUNT}", tensors.len()))
    })
}

/// Builds a model in training from its parameters ([`super::Architecture::trained`]).
#[doc(hidden)]
pub fn train(
    model: plan::ModelKind,
    parameters: Parameters,
    make: &mut MakeTrained<'_>,
) -> Result<Box<dyn TrainedNetwork>, Refusal> {
    super::architecture(model)?.trained(parameters, make)
}

#[cfg(test)]
#[path = "trained_tests.rs"]
mod tests;
