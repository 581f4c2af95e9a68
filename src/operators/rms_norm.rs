//! `rms_norm`: x/√(mean(x²) + ε)·w over rows.

use plan::Implementation;
use tch::{TchError, Tensor};

use super::layer_norm::{EPS, mean};
use super::output::filling_like;
use super::{Compute, Site, normalization, row};
use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cpu::{names, rows as cpu};
use kernels::cuda::normalization::Norm;
use kernels::triton;

pub(super) struct RmsNorm;

impl Compute for RmsNorm {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let (x, weight) = (&inputs.examples[0], &inputs.parameters[0]);
        let mean_square = mean(&x.f_square()?)?;
        let y = x.f_mul(&mean_square.f_add_scalar(EPS)?.f_rsqrt()?)?;
        y.f_mul(weight)
    }

    fn composition(&self) -> &'static [&'static str] {
        &["aten::square", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul"]
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], [weight]) = inputs.into_parts()?;
        let row = row(&x)?;
        Ok(match site.work.implementation {
            Implementation::Aten => {
                Step::new(&["aten::rms_norm"], move || x.f_rms_norm([row], Some(&weight), EPS))
            }
            Implementation::Rust => {
                let names = names(site.work.operator);
                filling_like(x, names, move |x, out| cpu::rms_norm(x, &weight, EPS, out))
            }
            Implementation::Cuda => normalization::cuda(site, Norm::Rms, x, None, vec![weight])?,
            Implementation::Triton => {
                let kernels = triton::norm::RmsNorm::new(&weight)?;
                let names = kernels.kernels();
                filling_like(x, names, move |x, out| kernels.run(x, out))
            }
            _ => return Err(site.no_such_implementation()),
        })
    }
}
