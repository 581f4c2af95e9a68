//! Functions of every element by itself: `gelu`, x·Φ(x), with erf; `bias_gelu`, the same of x + b, which
//! follows a product; `gelu_tanh`, ½x(1 + tanh(√(2/π)(x + 0.044715x³))), which torch calls GELU's
//! approximation; and `silu`, x·σ(x), also known as Swish.

use plan::{Implementation, OperatorWork};
use tch::{TchError, Tensor};

use super::output::unwritten_like;
use super::{Formula, Operand};
use crate::inputs::Inputs;
use crate::kernel::{Float, KernelContext, Step};
use crate::refusal::Refusal;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pointwise {
    Gelu,
    GeluTanh,
    Silu,
    BiasGelu,
}

/// torch's names of the forms of GELU.
const EXACT: &str = "none";
const TANH: &str = "tanh";

impl Formula for Pointwise {
    fn operands(self) -> &'static [Operand] {
        match self {
            Self::Gelu | Self::GeluTanh | Self::Silu => &[Operand::LikeX],
            Self::BiasGelu => &[Operand::LikeX, Operand::Bias],
        }
    }

    fn compute(self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        match self {
            Self::Gelu => gelu(x),
            Self::BiasGelu => gelu(&x.f_add(&inputs.parameters[0])?),
            Self::GeluTanh => gelu_tanh(x),
            // As the comprehensive operator benchmark writes it.
            Self::Silu => x.f_mul(&x.f_sigmoid()?),
        }
    }

    fn operations(self) -> &'static str {
        match self {
            Self::Gelu => "mul erf add mul mul",
            Self::BiasGelu => "add mul erf add mul mul",
            Self::GeluTanh => "square mul mul add mul tanh add mul mul",
            Self::Silu => "sigmoid mul",
        }
    }

    fn build(
        self,
        context: &KernelContext<OperatorWork>,
        mut inputs: Inputs,
    ) -> Result<Step, Refusal> {
        let (x, bias) = (inputs.examples.remove(0), inputs.parameters.pop());
        let form = if self == Self::GeluTanh { TANH } else { EXACT };
        Ok(match (context.work.implementation, bias) {
            (Implementation::Aten, None) if self == Self::Silu => {
                Step::new(&["aten::silu"], move || x.f_silu())
            }
            (Implementation::Aten, None) => Step::new(&["aten::gelu"], move || x.f_gelu(form)),
            (Implementation::Aten, Some(bias)) => {
                Step::new(&["aten::add", "aten::gelu"], move || x.f_add(&bias)?.f_gelu(form))
            }
            (Implementation::AtenOut, None) if self == Self::Silu => {
                Step::writing_into([unwritten_like(&x)?], &["aten::silu.out"], move |[out]| {
                    x.f_silu_out(out)
                })
            }
            (Implementation::AtenOut, None) => {
                Step::writing_into([unwritten_like(&x)?], &["aten::gelu.out"], move |[out]| {
                    x.f_gelu_out(out, form)
                })
            }
            (Implementation::AtenOut, Some(bias)) => {
                let outputs = [unwritten_like(&x)?, unwritten_like(&x)?];
                let kernels = ["aten::add.out", "aten::gelu.out"];
                Step::writing_into(outputs, &kernels, move |[sum, out]| {
                    x.f_add_out(sum, &bias)?.f_gelu_out(out, form)
                })
            }
            _ => return Err(context.no_such_implementation()),
        })
    }

    fn aten_rounds_between(self) -> bool {
        self == Self::BiasGelu
    }

    fn condition(self, inputs: &Inputs, y: &Tensor) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        match self {
            // ½(1 + erf) and ½(1 + tanh) cancel where x is negative.
            Self::Gelu | Self::GeluTanh => x.f_abs(),
            Self::BiasGelu => x.f_add(&inputs.parameters[0])?.f_abs(),
            // y(1 + |x|(1 − σ)): exp(−x) has the relative error of its argument times x.
            Self::Silu => {
                let slope = x.f_abs()?.f_mul(&x.f_neg()?.f_sigmoid()?)?;
                slope.f_add_scalar(1.0)?.f_mul(&y.f_abs()?)
            }
        }
    }

    fn underflow(self, inputs: &Inputs, y: &Tensor, held: Float) -> Result<Tensor, TchError> {
        match self {
            // An exponential, or its reciprocal, may be flushed.
            Self::Silu => inputs.examples[0].f_abs()?.f_mul_scalar(held.smallest_normal()),
            Self::Gelu | Self::GeluTanh | Self::BiasGelu => y.f_zeros_like(),
        }
    }

    /// GELU's is x itself; ATen's forms hold 2x before they halve it.
    fn largest(self, context: &KernelContext<OperatorWork>, _: Float) -> f64 {
        let largest = Float::for_dtype(context.dtype).largest();
        match (self, context.work.implementation) {
            (
                Self::Gelu | Self::GeluTanh | Self::BiasGelu,
                Implementation::Aten | Implementation::AtenOut | Implementation::AtenComposed,
            ) => largest / 4.0,
            _ => largest,
        }
    }
}

/// ½x(1 + erf(x/√2))
fn gelu(x: &Tensor) -> Result<Tensor, TchError> {
    let mut y = x.f_mul_scalar(std::f64::consts::FRAC_1_SQRT_2)?;
    y = y.f_erf()?;
    y = y.f_add_scalar(1.0)?;
    y = y.f_mul(x)?;
    y.f_mul_scalar(0.5)
}

fn gelu_tanh(x: &Tensor) -> Result<Tensor, TchError> {
    /// √(2/π)
    const SCALE: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    let mut y = x.f_square()?;
    y = y.f_mul(x)?;
    y = y.f_mul_scalar(0.044_715)?;
    y = y.f_add(x)?;
    y = y.f_mul_scalar(SCALE)?;
    y = y.f_tanh()?;
    y = y.f_add_scalar(1.0)?;
    y = y.f_mul(x)?;
    y.f_mul_scalar(0.5)
}
