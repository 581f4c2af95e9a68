//! `gelu`: x·Φ(x), with erf.

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

/// torch's name of the exact form.
pub(super) const EXACT: &str = "none";

pub(super) struct Gelu;

impl Compute for Gelu {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        composed(&inputs.examples[0])
    }

    fn composition(&self) -> &'static [&'static str] {
        COMPOSITION
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], []) = inputs.into_parts()?;
        Ok(match site.work.implementation {
            Implementation::Aten => Step::new(&["aten::gelu"], move || x.f_gelu(EXACT)),
            Implementation::AtenOut => {
                Step::writing_into([unwritten_like(&x)?], &["aten::gelu.out"], move |[out]| {
                    x.f_gelu_out(out, EXACT)
                })
            }
            Implementation::Rust => filling_like(x, names(site.work.operator), cpu::gelu),
            Implementation::Cuda => pointwise::cuda(site, Operation::Gelu, x, None)?,
            Implementation::Triton => pointwise::triton(Formula::Gelu, x)?,
            _ => return Err(site.no_such_implementation()),
        })
    }
}

/// Operations of [`composed`].
pub(super) const COMPOSITION: &[&str] =
    &["aten::mul", "aten::erf", "aten::add", "aten::mul", "aten::mul"];

/// ½x(1 + erf(x/√2))
pub(super) fn composed(x: &Tensor) -> Result<Tensor, TchError> {
    let mut y = x.f_mul_scalar(std::f64::consts::FRAC_1_SQRT_2)?;
    y = y.f_erf()?;
    y = y.f_add_scalar(1.0)?;
    y = y.f_mul(x)?;
    y.f_mul_scalar(0.5)
}
