//! `add_layer_norm`: LayerNorm(x + r), what follows a residual branch.

use plan::Implementation;
use tch::{TchError, Tensor};

use super::layer_norm::{self, CUDNN, EPS};
use super::output::filling_like;
use super::{Compute, Site, normalization, row};
use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cpu::{names, rows as cpu};
use kernels::cuda::normalization::Norm;
use kernels::triton;

pub(super) struct AddLayerNorm;

impl Compute for AddLayerNorm {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let sum = inputs.examples[0].f_add(&inputs.examples[1])?;
        layer_norm::composed(&sum, &inputs.parameters)
    }

    fn composition(&self) -> &'static [&'static str] {
        &[
            "aten::add",
            "aten::mean",
            "aten::sub",
            "aten::square",
            "aten::mean",
            "aten::add",
            "aten::rsqrt",
            "aten::mul",
            "aten::mul",
            "aten::add",
        ]
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x, residual], [weight, bias]) = inputs.into_parts()?;
        let row = row(&x)?;
        Ok(match site.work.implementation {
            Implementation::Aten => Step::new(&["aten::add", "aten::layer_norm"], move || {
                x.f_add(&residual)?.f_layer_norm([row], Some(&weight), Some(&bias), EPS, CUDNN)
            }),
            Implementation::Rust => {
                let names = names(site.work.operator);
                filling_like(x, names, move |x, out| {
                    cpu::add_layer_norm(x, &residual, &weight, &bias, EPS, out)
                })
            }
            Implementation::Cuda => {
                let parameters = vec![weight, bias];
                normalization::cuda(site, Norm::AddLayer, x, Some(residual), parameters)?
            }
            Implementation::Triton => {
                let kernels = triton::norm::AddLayerNorm::new(&weight, &bias)?;
                let names = kernels.kernels();
                filling_like(x, names, move |x, out| kernels.run(x, &residual, out))
            }
            _ => return Err(site.no_such_implementation()),
        })
    }
}
