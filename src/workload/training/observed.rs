//! The operands of a model's linear layers in a step, for the parts that run these layers alone.

use std::cell::RefCell;
use std::rc::Rc;

use tch::{TchError, Tensor};

use crate::models::TrainedLayer;
use crate::recipes::{Casts, Gradients, Operand, TrainedLinear};
use crate::refusal::Refusal;

/// A linear layer that remembers what its last backward pass took.
pub(super) struct Observed {
    linear: TrainedLinear,
    /// Input and the output's gradient.
    seen: RefCell<Option<(Tensor, Tensor)>>,
}

impl Observed {
    pub fn new(linear: TrainedLinear) -> Rc<Self> {
        Rc::new(Self { linear, seen: RefCell::new(None) })
    }

    /// The casts of the step that it has seen.
    pub fn casts(&self) -> Result<Casts, Refusal> {
        let seen = self.seen.borrow();
        let (x, grad_output) = seen.as_ref().ok_or_else(|| {
            Refusal::Failed("the model's backward pass calls not each of its layers".to_owned())
        })?;
        Ok(self.linear.casts(x, grad_output)?)
    }

    /// The tensors that [`Self::casts`] reads beside the weight.
    pub fn operands(&self) -> Vec<Tensor> {
        let seen = self.seen.borrow();
        let both = seen.iter().flat_map(|(x, grad_output)| [x, grad_output]);
        both.map(Tensor::shallow_clone).collect()
    }
}

impl TrainedLayer for Rc<Observed> {
    fn backward(&self, x: &Tensor, grad_output: &Tensor) -> Result<Gradients, TchError> {
        *self.seen.borrow_mut() = Some((x.shallow_clone(), grad_output.shallow_clone()));
        self.linear.backward(x, grad_output)
    }

    fn linear(&self) -> &TrainedLinear {
        &self.linear
    }
}

/// The tensors of the operands that a recipe has cast.
pub(super) fn cast(casts: &Casts) -> Vec<Tensor> {
    let is_cast = |it: &&Operand| !matches!(it, Operand::Uncast(_));
    operands(casts).filter(is_cast).flat_map(Operand::tensors).map(Tensor::shallow_clone).collect()
}

/// The tensors of all operands of the products.
pub(super) fn all(casts: &Casts) -> Vec<Tensor> {
    operands(casts).flat_map(Operand::tensors).map(Tensor::shallow_clone).collect()
}

fn operands(casts: &Casts) -> impl Iterator<Item = &Operand> {
    [&casts.output, &casts.grad_input, &casts.grad_weight].into_iter().flatten()
}
