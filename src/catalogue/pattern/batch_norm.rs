//! Batch normalization with fixed statistics, and the same as part of a convolution.

use plan::FusionWork;
use tch::{Kind, TchError, Tensor};

use crate::inputs;
use crate::kernel::KernelContext;
use crate::refusal::Refusal;

/// ε of `torch.nn.BatchNorm2d`.
const EPSILON: f64 = 1e-5;

/// (y − mean) / √(variance + ε) · weight + bias, a value of each for a channel.
///
/// All are of the dtype of the images, as `module.to(dtype)` leaves them. libtorch would also take
/// them in float32 beside images in half precision, as automatic mixed precision has it: another
/// amount of memory, which is not what is measured here.
pub(super) struct BatchNorm {
    pub(super) weight: Tensor,
    pub(super) bias: Tensor,
    pub(super) mean: Tensor,
    pub(super) variance: Tensor,
}

impl BatchNorm {
    /// Statistics that a wrong fold does not survive: none of the four does nothing.
    pub(super) fn draw(
        context: &KernelContext<FusionWork>,
        channels: u64,
    ) -> Result<Self, Refusal> {
        // The half of a number is exact in every dtype.
        let halved = |tensor: Tensor| tensor.f_mul_scalar(0.5);
        Ok(Self {
            weight: context.uniform(&[channels], (0.5, 1.5))?,
            bias: halved(context.normal(&[channels])?)?,
            mean: halved(context.normal(&[channels])?)?,
            variance: context.uniform(&[channels], (0.5, 2.0))?,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        let Self { weight, bias, mean, variance } = self;
        [weight, bias, mean, variance].into_iter().map(inputs::bytes).sum()
    }

    /// Normalizes `y [b, channels, s, s]`.
    pub(super) fn apply(&self, y: &Tensor) -> Result<Tensor, TchError> {
        let Self { weight, bias, mean, variance } = self;
        let (training, momentum, cudnn_enabled) = (false, 0.0, true);
        let (weight, bias, mean, variance) = (Some(weight), Some(bias), Some(mean), Some(variance));
        y.f_batch_norm(weight, bias, mean, variance, training, momentum, EPSILON, cudnn_enabled)
    }

    /// Filters and bias of the convolution that equals one with these filters and no bias, followed
    /// by the normalization: w · weight / √(variance + ε) and bias − mean · weight / √(variance + ε).
    ///
    /// Computed in float64, then rounded to the dtype of the filters, whose layout is kept.
    pub(super) fn fold(&self, filters: &Tensor) -> Result<(Tensor, Tensor), TchError> {
        let double = |tensor: &Tensor| tensor.f_to_kind(Kind::Double);
        let deviation = double(&self.variance)?.f_add_scalar(EPSILON)?.f_sqrt()?;
        let scale = double(&self.weight)?.f_div(&deviation)?;
        let scaled = double(filters)?.f_mul(&scale.f_reshape([-1, 1, 1, 1])?)?;
        let bias = double(&self.bias)?.f_sub(&double(&self.mean)?.f_mul(&scale)?)?;
        let kind = filters.kind();
        Ok((scaled.f_to_kind(kind)?, bias.f_to_kind(kind)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(values: &[f64]) -> Tensor {
        Tensor::from_slice(values)
    }

    /// Two channels; ε is part of the variances, so that the roots are 2 and ½.
    fn norm() -> BatchNorm {
        BatchNorm {
            weight: vector(&[3.0, -1.0]),
            bias: vector(&[0.25, 10.0]),
            mean: vector(&[4.0, -2.0]),
            variance: vector(&[4.0 - EPSILON, 0.25 - EPSILON]),
        }
    }

    #[test]
    fn a_worked_example() {
        let filters = vector(&[2.0, 6.0, 1.0, 5.0]).reshape([2, 2, 1, 1]);
        let (folded, bias) = norm().fold(&filters).unwrap();
        // Scales 3/2 and −1/½ = −2; biases ¼ − 4·1.5 and 10 + 2·(−2).
        let near = |found: &Tensor, expected: &[f64]| {
            let expected = vector(expected).reshape(found.size());
            assert!(found.allclose(&expected, 1e-14, 0.0, false), "{found}");
        };
        near(&folded, &[3.0, 9.0, -2.0, -10.0]);
        near(&bias, &[-5.75, 6.0]);
        // A pixel (1, 0.5) by hand: 2 + 3 = 5, (5 − 4)/2·3 + ¼; and 3.5, (3.5 + 2)/½·(−1) + 10.
        let pixel = vector(&[1.0, 0.5]).reshape([1, 2, 1, 1]);
        let plain = pixel.conv2d(&filters, None::<Tensor>, [1, 1], [0, 0], [1, 1], 1);
        near(&norm().apply(&plain).unwrap(), &[1.75, -1.0]);
        near(&pixel.conv2d(&folded, Some(&bias), [1, 1], [0, 0], [1, 1], 1), &[1.75, -1.0]);
    }

    #[test]
    fn what_is_folded_is_rounded_once() {
        let norm = norm();
        let third = vector(&[1.0 / 3.0; 18]).reshape([2, 1, 3, 3]).to_kind(Kind::BFloat16);
        let (folded, bias) = norm.fold(&third).unwrap();
        assert_eq!((folded.kind(), bias.kind()), (Kind::BFloat16, Kind::BFloat16));
        let exact = third.to_kind(Kind::Double).get(0) * 1.5;
        assert_eq!(folded.get(0), exact.to_kind(Kind::BFloat16));
    }
}
