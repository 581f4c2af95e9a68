//! `gelu_tanh`: ½x(1 + tanh(√(2/π)(x + 0.044715x³))), which torch calls GELU's approximation.

use plan::Implementation;
use tch::{TchError, Tensor};

use super::output::{filling_like, unwritten_like};
use super::{Compute, Site, pointwise};
use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cpu::{names, pointwise as cpu};
use kernels::cuda::pointwise::Operation;
use kernels::triton::activation::Formula;

/// torch's name of this form.
const TANH: &str = "tanh";

pub(super) struct GeluTanh;

impl Compute for GeluTanh {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        /// √(2/π)
        const SCALE: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
        let x = &inputs.examples[0];
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

    fn composition(&self) -> &'static [&'static str] {
        &[
            "aten::square",
            "aten::mul",
            "aten::mul",
            "aten::add",
            "aten::mul",
            "aten::tanh",
            "aten::add",
            "aten::mul",
            "aten::mul",
        ]
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], []) = inputs.into_parts()?;
        Ok(match site.work.implementation {
            Implementation::Aten => Step::new(&["aten::gelu"], move || x.f_gelu(TANH)),
            Implementation::AtenOut => {
                Step::writing_into([unwritten_like(&x)?], &["aten::gelu.out"], move |[out]| {
                    x.f_gelu_out(out, TANH)
                })
            }
            Implementation::Rust => filling_like(x, names(site.work.operator), cpu::gelu_tanh),
            Implementation::Cuda => pointwise::cuda(site, Operation::GeluTanh, x, None)?,
            Implementation::Triton => pointwise::triton(Formula::GeluTanh, x)?,
            _ => return Err(site.no_such_implementation()),
        })
    }
}
