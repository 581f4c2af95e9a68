//! `silu`: x·σ(x), also known as Swish.

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

pub(super) struct Silu;

impl Compute for Silu {
    /// As the comprehensive operator benchmark writes it.
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        x.f_mul(&x.f_sigmoid()?)
    }

    fn composition(&self) -> &'static [&'static str] {
        &["aten::sigmoid", "aten::mul"]
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], []) = inputs.into_parts()?;
        Ok(match site.work.implementation {
            Implementation::Aten => Step::new(&["aten::silu"], move || x.f_silu()),
            Implementation::AtenOut => {
                Step::writing_into([unwritten_like(&x)?], &["aten::silu.out"], move |[out]| {
                    x.f_silu_out(out)
                })
            }
            Implementation::Rust => filling_like(x, names(site.work.operator), cpu::silu),
            Implementation::Cuda => pointwise::cuda(site, Operation::Silu, x, None)?,
            Implementation::Triton => pointwise::triton(Formula::Silu, x)?,
            _ => return Err(site.no_such_implementation()),
        })
    }
}
