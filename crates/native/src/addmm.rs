//! A matrix product with bias and activation as one operation.

use tch::Tensor;

use super::border::{self, In, Out, Status};
use super::error::Error;

unsafe extern "C" {
    fn ctn_addmm_activation(bias: In, a: In, b: In, use_gelu: bool, out: Out) -> Status;
}

/// The activation after the bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// max(x, 0).
    Relu,
    /// The exact x · Φ(x) on the CPU; its tanh approximation on CUDA.
    Gelu,
}

/// activation(a · b + bias): ATen's `_addmm_activation`, which tch 0.24 calls wrongly (its `use_gelu` becomes the factor
/// of the bias, and the activation is always ReLU). a [m, k], b [k, n], bias expandable to [m, n].
///
/// On CUDA it is an epilogue of cuBLASLt where that takes the operands, and two operations where it does not; on the CPU
/// it is always two, the second in place.
pub fn addmm_activation(
    bias: &Tensor,
    a: &Tensor,
    b: &Tensor,
    activation: Activation,
) -> Result<Tensor, Error> {
    let (bias, a, b) = (bias.as_ptr(), a.as_ptr(), b.as_ptr());
    let use_gelu = activation == Activation::Gelu;
    // SAFETY: the tensors live during the call.
    border::tensor(|out| unsafe { ctn_addmm_activation(bias, a, b, use_gelu, out) })
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::border::tests::wave;

    #[test]
    fn it_is_the_composition_with_its_bias() {
        let kind = Kind::Double;
        let (bias, a, b) = (wave(&[7], kind), wave(&[5, 3], kind), wave(&[3, 7], kind));
        let sum = a.matmul(&b) + &bias;
        for (activation, expected) in
            [(Activation::Relu, sum.relu()), (Activation::Gelu, sum.gelu("none"))]
        {
            let found = addmm_activation(&bias, &a, &b, activation).expect("computed");
            assert!(found.allclose(&expected, 1e-12, 1e-14, false), "{activation:?}");
        }
    }

    /// When it fails, tch is mended, and this binding can go.
    #[test]
    fn tchs_own_binding_is_wrong() {
        let kind = Kind::Double;
        let (bias, a, b) = (wave(&[7], kind), wave(&[5, 3], kind), wave(&[3, 7], kind));
        let product = a.matmul(&b);
        let without = bias.internal_addmm_activation(&a, &b, false);
        assert!(without.allclose(&product.relu(), 1e-12, 1e-14, false), "no bias");
        let with = bias.internal_addmm_activation(&a, &b, true);
        assert!(with.allclose(&(product + &bias).relu(), 1e-12, 1e-14, false), "no gelu");
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let (a, b) = (wave(&[5, 3], Kind::Float), wave(&[4, 7], Kind::Float));
        let error = addmm_activation(&wave(&[7], Kind::Float), &a, &b, Activation::Relu);
        let text = error.expect_err("3 is not 4").to_string();
        assert_eq!(text, "mat1 and mat2 shapes cannot be multiplied (5x3 and 4x7)");
    }
}
