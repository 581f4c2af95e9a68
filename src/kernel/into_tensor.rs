//! What a `run_benchmark` may return.

use tch::Tensor;

use super::Element;
use crate::refusal::Refusal;

/// An output: a tensor, the elements of one, or a number.
pub trait IntoTensor {
    /// As a tensor of its own dtype.
    fn into_tensor(self) -> Result<Tensor, Refusal>;
}

impl IntoTensor for Tensor {
    fn into_tensor(self) -> Result<Tensor, Refusal> {
        Ok(self)
    }
}

impl<T: Element> IntoTensor for Vec<T> {
    fn into_tensor(self) -> Result<Tensor, Refusal> {
        super::tensor(&self, &[self.len()])
    }
}

impl<T: Element> IntoTensor for T {
    fn into_tensor(self) -> Result<Tensor, Refusal> {
        super::tensor(&[self], &[1])
    }
}
