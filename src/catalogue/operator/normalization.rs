//! Functions that normalize rows: `layer_norm`, (x − mean)/√(variance + ε)·w + b, and
//! `layer_norm_no_affine`, without w and b; `add_layer_norm`, LayerNorm(x + r), what follows a residual
//! branch; and `rms_norm`, x/√(mean(x²) + ε)·w.

use plan::{Implementation, Operator, OperatorWork};
use tch::{Kind, TchError, Tensor};

use super::{Formula, Operand, row};
use crate::inputs::Inputs;
use crate::kernel::{Float, KernelContext, Step};
use crate::refusal::Refusal;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Normalization {
    Layer,
    LayerNoAffine,
    AddLayer,
    Rms,
}

/// ε, as ATen takes it.
const EPS: f64 = Operator::EPSILON;

/// Whether ATen may use cuDNN, which it has no LayerNorm of: torch's default.
const CUDNN: bool = true;

impl Formula for Normalization {
    fn operands(self) -> &'static [Operand] {
        use Operand::{Bias, LikeX, Weight};
        match self {
            Self::Layer => &[LikeX, Weight, Bias],
            Self::LayerNoAffine => &[LikeX],
            Self::AddLayer => &[LikeX, LikeX, Weight, Bias],
            Self::Rms => &[LikeX, Weight],
        }
    }

    fn compute(self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let (x, parameters) = (&inputs.examples[0], &inputs.parameters);
        match self {
            Self::Layer | Self::LayerNoAffine => layer_norm(x, parameters),
            Self::AddLayer => layer_norm(&x.f_add(&inputs.examples[1])?, parameters),
            Self::Rms => {
                let mean_square = mean(&x.f_square()?)?;
                let y = x.f_mul(&mean_square.f_add_scalar(EPS)?.f_rsqrt()?)?;
                y.f_mul(&parameters[0])
            }
        }
    }

    fn operations(self) -> &'static str {
        match self {
            Self::Layer => "mean sub square mean add rsqrt mul mul add",
            Self::LayerNoAffine => "mean sub square mean add rsqrt mul",
            Self::AddLayer => "add mean sub square mean add rsqrt mul mul add",
            Self::Rms => "square mean add rsqrt mul mul",
        }
    }

    fn build(self, context: &KernelContext<OperatorWork>, inputs: Inputs) -> Result<Step, Refusal> {
        let Inputs { mut examples, parameters } = inputs;
        let x = examples.remove(0);
        let (residual, row) = (examples.pop(), row(&x)?);
        Ok(match (context.work.implementation, residual) {
            (Implementation::Aten, _) if self == Self::Rms => {
                Step::new(&["aten::rms_norm"], move || x.f_rms_norm([row], parameters.first(), EPS))
            }
            (Implementation::Aten, None) => Step::new(&["aten::layer_norm"], move || {
                x.f_layer_norm([row], parameters.first(), parameters.get(1), EPS, CUDNN)
            }),
            (Implementation::Aten, Some(residual)) => {
                Step::new(&["aten::add", "aten::layer_norm"], move || {
                    let (weight, bias) = (parameters.first(), parameters.get(1));
                    x.f_add(&residual)?.f_layer_norm([row], weight, bias, EPS, CUDNN)
                })
            }
            _ => return Err(context.no_such_implementation()),
        })
    }

    fn aten_rounds_between(self) -> bool {
        matches!(self, Self::AddLayer | Self::Rms)
    }

    fn condition(self, inputs: &Inputs, y: &Tensor) -> Result<Tensor, TchError> {
        if self == Self::Rms {
            // Nothing cancels.
            return y.f_abs();
        }
        // |w|·max|x|/σ + |b|: the mean's error is that of the largest.
        let x = self.normalized(inputs)?;
        let largest = x.f_abs()?.f_amax([-1_i64], true)?;
        let largest = scale(&x, &inputs.parameters)?.f_mul(&largest)?;
        match inputs.parameters.get(1) {
            Some(bias) => largest.f_add(&bias.f_abs()?),
            None => Ok(largest),
        }
    }

    fn underflow(self, inputs: &Inputs, y: &Tensor, held: Float) -> Result<Tensor, TchError> {
        if self == Self::Rms {
            return y.f_zeros_like();
        }
        // The mean and the difference from it are each rounded to a multiple of the smallest number.
        let scale = scale(&self.normalized(inputs)?, &inputs.parameters)?;
        scale.f_mul_scalar(2.0 * held.smallest())
    }

    /// The largest value before a difference, its square or their sum overflows.
    fn largest(self, context: &KernelContext<OperatorWork>, held: Float) -> f64 {
        let largest = Float::for_dtype(context.dtype).largest();
        super::root_of(held.largest(), context.work.size.tensor_dimension).min(largest / 4.0)
    }
}

impl Normalization {
    fn normalized(self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        if self == Self::AddLayer { x.f_add(&inputs.examples[1]) } else { Ok(x.shallow_clone()) }
    }
}

/// The formula; without parameters, without the last two operations.
fn layer_norm(x: &Tensor, parameters: &[Tensor]) -> Result<Tensor, TchError> {
    let centred = x.f_sub(&mean(x)?)?;
    let variance = mean(&centred.f_square()?)?;
    let mut y = centred.f_mul(&variance.f_add_scalar(EPS)?.f_rsqrt()?)?;
    if let [weight, bias] = parameters {
        y = y.f_mul(weight)?;
        y = y.f_add(bias)?;
    }
    Ok(y)
}

fn mean(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_mean_dim([-1_i64].as_slice(), true, None::<Kind>)
}

/// The factor of LayerNorm: |w|/√(variance + ε), like x.
fn scale(x: &Tensor, parameters: &[Tensor]) -> Result<Tensor, TchError> {
    let variance = mean(&x.f_sub(&mean(x)?)?.f_square()?)?;
    let scale = variance.f_add_scalar(EPS)?.f_rsqrt()?.f_expand_as(x)?;
    match parameters.first() {
        Some(weight) => scale.f_mul(&weight.f_abs()?),
        None => Ok(scale),
    }
}
