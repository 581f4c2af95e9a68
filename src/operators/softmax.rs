//! `softmax`: exp(x − max)/Σ over rows.

use plan::Implementation;
use tch::{Kind, TchError, Tensor};

use super::output::{filling_like, unwritten_like};
use super::{Compute, Site, row};
use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cpu::{names, rows as cpu};
use kernels::cuda;
use kernels::triton;

pub(super) struct Softmax;

impl Compute for Softmax {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        let x = &inputs.examples[0];
        let mut y = x.f_sub(&x.f_amax([-1_i64], true)?)?;
        y = y.f_exp()?;
        let sum = y.f_sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>)?;
        y.f_div(&sum)
    }

    fn composition(&self) -> &'static [&'static str] {
        &["aten::amax", "aten::sub", "aten::exp", "aten::sum", "aten::div"]
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let ([x], []) = inputs.into_parts()?;
        Ok(match site.work.implementation {
            Implementation::Aten => {
                Step::new(&["aten::softmax"], move || x.f_softmax(-1, None::<Kind>))
            }
            Implementation::AtenOut => {
                Step::writing_into([unwritten_like(&x)?], &["aten::_softmax.out"], move |[out]| {
                    x.f_internal_softmax_out(out, -1, false)
                })
            }
            Implementation::Rust => filling_like(x, names(site.work.operator), cpu::softmax),
            Implementation::Cuda => {
                let kernels = cuda::softmax::Softmax::load(x.f_kind()?, site.cuda()?)?;
                let names = kernels.kernels(&x, &unwritten_like(&x)?)?;
                filling_like(x, names, move |x, out| kernels.run(x, out))
            }
            Implementation::Triton => {
                let kernels = triton::softmax::Softmax::new(row(&x)?, x.f_kind()?, x.device())?;
                let names = kernels.kernels();
                filling_like(x, names, move |x, out| kernels.run(x, out))
            }
            _ => return Err(site.no_such_implementation()),
        })
    }
}
