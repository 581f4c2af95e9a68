//! `bias_gelu`: GELU(x + b), with erf: what follows a product.

use plan::Implementation;
use tch::{TchError, Tensor};

use super::gelu::{self, EXACT};
use super::output::{filling_like, unwritten_like};
use super::{Compute, Site, pointwise};
use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cpu::{names, pointwise as cpu};
use kernels::cuda::pointwise::Operation;
use kernels::triton;

pub(super) struct BiasGelu;

impl Compute for BiasGelu {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        gelu::composed(&inputs.examples[0].f_add(&inputs.parameters[0])?)
    }

    fn composition(&self) -> &'static [&'static str] {
        &["aten::add", "aten::mul", "aten::erf", "aten::add", "aten::mul", "aten::mul"]
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], [bias]) = inputs.into_parts()?;
        Ok(match site.work.implementation {
            Implementation::Aten => {
                Step::new(&["aten::add", "aten::gelu"], move || x.f_add(&bias)?.f_gelu(EXACT))
            }
            Implementation::AtenOut => {
                let outputs = [unwritten_like(&x)?, unwritten_like(&x)?];
                let kernels = ["aten::add.out", "aten::gelu.out"];
                Step::writing_into(outputs, &kernels, move |[sum, out]| {
                    x.f_add_out(sum, &bias)?.f_gelu_out(out, EXACT)
                })
            }
            Implementation::Rust => {
                let names = names(site.work.operator);
                filling_like(x, names, move |x, out| cpu::bias_gelu(x, &bias, out))
            }
            Implementation::Cuda => pointwise::cuda(site, Operation::BiasGelu, x, Some(bias))?,
            Implementation::Triton => {
                let kernels = triton::activation::BiasGelu::new(&bias)?;
                let names = kernels.kernels();
                filling_like(x, names, move |x, out| kernels.run(x, out))
            }
            _ => return Err(site.no_such_implementation()),
        })
    }
}
