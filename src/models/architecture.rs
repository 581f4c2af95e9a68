//! The trait that every model's file implements, a package's too.

use plan::{ModelSizes, Shape};
use tch::{TchError, Tensor};

use super::{MakeTrained, Parameters, TrainedNetwork};
use crate::recipes::LinearLayer;
use crate::refusal::Refusal;

/// A model before it is built: what a `model_type` stands for. It is written once, over whatever makes its
/// linear layers: a recipe for the measurement, float64 for the reference. The [example](super) has one.
///
/// The first dimension of its input and its output is a batch whose elements do not influence each other:
/// a large output is checked in some of them.
pub trait Architecture {
    /// Its linear layers in order, its input and its output at a shape (m, k, n).
    fn sizes(&self, shape: Shape) -> ModelSizes;

    /// Whether it can be built at a shape. The error is the constraint and the value that broke it; the
    /// model is named around it.
    fn check(&self, _shape: Shape) -> Result<(), String> {
        Ok(())
    }

    /// Parameters outside of linear layers that start as ones, such as the weights of norms, by name and
    /// size.
    fn norms(&self, _shape: Shape) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Whether its last operation is that of a linear layer, which then writes into a preallocated
    /// output.
    fn ends_with_linear(&self) -> bool {
        false
    }

    /// The shift, in dB, of a recipe's gate ([`crate::recipes::Scheme::min_sqnr_db`]), which is made for
    /// one linear layer: above 0 if exact parts hide the layers' errors, below 0 if the errors of several
    /// layers add up.
    fn gate_shift_db(&self) -> f64 {
        0.0
    }

    /// [`Self::gate_shift_db`] of the gradients of a training step.
    fn gradient_shift_db(&self) -> f64 {
        0.0
    }

    /// Whether the slope of an activation jumps: where rounding changes a sign there, a gradient is wrong by all that
    /// it is.
    fn gradients_jump(&self) -> bool {
        false
    }

    /// Builds it from its parameters, one layer after the other: a weight that `make` does not keep is
    /// freed before the next one is touched.
    fn build(
        &self,
        parameters: Parameters,
        make: &mut MakeLayer<'_>,
    ) -> Result<Box<dyn Network>, Refusal>;

    /// Builds it in training, with a forward pass that keeps what its backward pass needs. Unsupported, unless the
    /// model has one.
    fn trained(
        &self,
        _parameters: Parameters,
        _make: &mut MakeTrained<'_>,
    ) -> Result<Box<dyn TrainedNetwork>, Refusal> {
        Err(Refusal::Unsupported(
            "this model has no backward pass: implement `Architecture::trained`".to_owned(),
        ))
    }
}

/// Makes the linear layer of the given name from its weight `[n, k]`. The [example](super) calls it.
pub type MakeLayer<'a> = dyn FnMut(&str, Tensor) -> Result<Box<dyn LinearLayer>, Refusal> + 'a;

/// A model that is built, ready to run, as in the [example](super).
pub trait Network {
    /// One forward pass in upstream's order of operations. If there is an `out`, contiguous and of the
    /// size and dtype of the output, the last operation writes into it. Only the output: intermediate
    /// results are allocated as ever.
    fn forward(&self, input: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError>;

    /// Its linear layers, in order.
    fn layers(&self) -> Vec<&dyn LinearLayer>;

    /// Its parameters outside linear layers: the weights of norms, and what it has cached.
    fn norms(&self) -> Vec<&Tensor> {
        Vec::new()
    }
}
