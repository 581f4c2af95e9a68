//! `layer_norm` and `layer_norm_no_affine`: (x − mean)/√(variance + ε)·w + b over rows, and without w
//! and b.

use plan::{Implementation, Operator};
use tch::{Kind, TchError, Tensor};

use super::output::filling_like;
use super::{Compute, Site, normalization, row};
use crate::inputs::Inputs;
use crate::refusal::Refusal;
use crate::step::Step;
use kernels::cpu::{names, rows as cpu};
use kernels::cuda::normalization::Norm;
use kernels::triton;

/// ε, as ATen takes it.
pub(super) const EPS: f64 = Operator::EPSILON;

/// Whether ATen may use cuDNN, which it has no LayerNorm of: torch's default.
pub(super) const CUDNN: bool = true;

pub(super) struct LayerNorm {
    /// Whether there are w and b.
    pub(super) affine: bool,
}

impl Compute for LayerNorm {
    fn composed(&self, inputs: &Inputs) -> Result<Tensor, TchError> {
        composed(&inputs.examples[0], &inputs.parameters)
    }

    fn composition(&self) -> &'static [&'static str] {
        if self.affine { COMPOSITION } else { &COMPOSITION[..COMPOSITION.len() - 2] }
    }

    fn build(&self, site: &Site, inputs: Inputs) -> Result<Step, Refusal> {
        let Inputs { mut examples, parameters } = inputs;
        let x = examples.remove(0);
        let row = row(&x)?;
        Ok(match site.work.implementation {
            Implementation::Aten => Step::new(&["aten::layer_norm"], move || {
                x.f_layer_norm([row], parameters.first(), parameters.get(1), EPS, CUDNN)
            }),
            Implementation::Rust => filling_like(x, names(site.work.operator), move |x, out| {
                let affine = parameters.first().zip(parameters.get(1));
                cpu::layer_norm(x, affine, EPS, out)
            }),
            Implementation::Cuda => {
                let norm = if self.affine { Norm::Layer } else { Norm::LayerNoAffine };
                normalization::cuda(site, norm, x, None, parameters)?
            }
            Implementation::Triton => {
                let kernels = match parameters.as_slice() {
                    [weight, bias] => triton::norm::LayerNorm::new(weight, bias)?,
                    _ => triton::norm::LayerNorm::without_affine(row, x.f_kind()?, x.device())?,
                };
                let names = kernels.kernels();
                filling_like(x, names, move |x, out| kernels.run(x, out))
            }
            _ => return Err(site.no_such_implementation()),
        })
    }
}

/// Operations of [`composed`].
pub(super) const COMPOSITION: &[&str] = &[
    "aten::mean",
    "aten::sub",
    "aten::square",
    "aten::mean",
    "aten::add",
    "aten::rsqrt",
    "aten::mul",
    "aten::mul",
    "aten::add",
];

/// The formula; without parameters, without the last two operations.
pub(super) fn composed(x: &Tensor, parameters: &[Tensor]) -> Result<Tensor, TchError> {
    let centred = x.f_sub(&mean(x)?)?;
    let variance = mean(&centred.f_square()?)?;
    let mut y = centred.f_mul(&variance.f_add_scalar(EPS)?.f_rsqrt()?)?;
    if let [weight, bias] = parameters {
        y = y.f_mul(weight)?;
        y = y.f_add(bias)?;
    }
    Ok(y)
}

/// Of each row.
pub(super) fn mean(x: &Tensor) -> Result<Tensor, TchError> {
    x.f_mean_dim([-1_i64].as_slice(), true, None::<Kind>)
}
