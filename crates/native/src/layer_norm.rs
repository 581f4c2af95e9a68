//! The backward pass of a layer norm.

use tch::Tensor;

use super::border::{self, In, Out, Status};
use super::error::Error;

unsafe extern "C" {
    fn ctn_layer_norm_backward(grad_output: In, input: In, mean: In, rstd: In, out: Out) -> Status;
}

/// The gradient of the input of a layer norm over its last dimension, without parameters, from what
/// `native_layer_norm` has found beside its output: ATen's `native_layer_norm_backward`, which tch 0.24 does not wrap.
///
/// # Errors
/// Also when the sizes do not fit each other.
pub fn backward(
    grad_output: &Tensor,
    input: &Tensor,
    mean: &Tensor,
    rstd: &Tensor,
) -> Result<Tensor, Error> {
    let [grad_output, input, mean, rstd] = [grad_output, input, mean, rstd].map(Tensor::as_ptr);
    // SAFETY: the tensors live during the call.
    border::tensor(|out| unsafe { ctn_layer_norm_backward(grad_output, input, mean, rstd, out) })
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::autograd::gradients;
    use crate::border::tests::wave;

    #[test]
    fn it_is_autograds() {
        let (x, grad_output) = (wave(&[5, 16], Kind::Double), wave(&[16, 5], Kind::Double).tr());
        let none = None::<&Tensor>;
        let (_, mean, rstd) = x.f_native_layer_norm([16], none, none, 1e-5).expect("computed");
        let found = backward(&grad_output, &x, &mean, &rstd).expect("computed");
        let x = x.set_requires_grad(true);
        let y = tch::with_grad(|| x.layer_norm([16], none, none, 1e-5, false));
        let expected = gradients(&y, &grad_output, &[&x], false).expect("computed");
        assert!(found.equal(&expected[0]));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let x = wave(&[5, 16], Kind::Float);
        assert!(backward(&wave(&[5, 4], Kind::Float), &x, &x, &x).is_err());
    }
}
