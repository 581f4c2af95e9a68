//! int8dq with 2:4 sparse weights.
//!
//! The weight is quantized once it is pruned; zero stays zero. On a CPU it is expanded at each call
//! and multiplied as in the dense recipe. On CUDA, as in torchao 0.14.1's `SemiSparseLayout`, the
//! product by cuSPARSELt includes the weight's scales, and is rounded to bfloat16.

use std::cell::Cell;

use plan::{Device, Int8Numerics};
use tch::{Kind, TchError, Tensor};

use super::int8dq_prefill_wo_decode::is_decode;
use super::semi_sparse::{self, Compressed, Cslt};
use super::{LinearLayer, Quantized, Site, int8, int8dq, output_size};
use crate::refusal::Refusal;
use kernels::cpu::expand_2_4_and;

/// Whether the site's weight can be stored and multiplied like this.
pub(super) fn check(site: &Site, numerics: Int8Numerics) -> Result<(), String> {
    int8dq::check_width(numerics, site.linear)?;
    semi_sparse::check(site, 32)?;
    match site.device {
        Device::Cuda if numerics == Int8Numerics::V1 => Ok(()),
        Device::Cuda => Err(format!(
            "numerics {numerics:?} on cuda, but torchao has 2:4 sparse int8 weights in version 1 alone"
        )),
        Device::Cpu | Device::Xpu | Device::Mps => int8dq::check_product(site.device, site.linear),
    }
}

/// The layer of a pruned weight; `decode` as in `int8dq_prefill_wo_decode`, on a CPU only.
pub(super) fn layer(
    weight: &Tensor,
    numerics: Int8Numerics,
    decode: bool,
) -> Result<Box<dyn LinearLayer>, Refusal> {
    let weight = int8dq::quantize_weight(weight, numerics)?;
    int8::refuse_overflowing_reciprocals(&weight.scale)?;
    if weight.values.device().is_cuda() {
        return Ok(Box::new(OnCuda { weight: Cslt::new(&weight.values)?, scale: weight.scale }));
    }
    let compressed = Compressed::new(&weight.values)?;
    let Quantized { scale, zero_point, .. } = weight;
    let zero_point = zero_point.tensor().map(Tensor::shallow_clone);
    let decoded = Cell::new(None);
    Ok(Box::new(Expanded { weight: compressed, scale, zero_point, numerics, decode, decoded }))
}

/// The dense recipe on a weight that is expanded at each call.
#[derive(Debug)]
struct Expanded {
    weight: Compressed,
    /// `[n, 1]`.
    scale: Tensor,
    /// `[n, 1]`, all zero, where the numerics have them stored.
    zero_point: Option<Tensor>,
    numerics: Int8Numerics,
    /// Whether a single token is multiplied unquantized.
    decode: bool,
    /// Whether the last call was such a one; none before the first.
    decoded: Cell<Option<bool>>,
}

impl Expanded {
    /// Notes which path this call takes.
    fn decodes(&self, x: &Tensor) -> bool {
        let decode = self.decode && is_decode(x);
        self.decoded.set(Some(decode));
        decode
    }

    /// `q · scale` in the dtype of the weight it came from.
    fn dequantized(&self) -> Result<Tensor, TchError> {
        let mut dense = self.weight.expand()?;
        dense = dense.f_to_kind(self.scale.f_kind()?)?;
        dense.f_mul(&self.scale)
    }
}

impl LinearLayer for Expanded {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        if self.decodes(x) {
            return x.f_linear(&self.dequantized()?, None::<&Tensor>);
        }
        int8dq::product(x, &self.weight.expand()?, &self.scale, self.numerics)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        if self.decodes(x) {
            return x.f_linear_out(out, &self.dequantized()?, None::<&Tensor>).map(drop);
        }
        int8dq::product_out(x, &self.weight.expand()?, &self.scale, self.numerics, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let mut tensors = self.weight.tensors().to_vec();
        tensors.push(&self.scale);
        tensors.extend(&self.zero_point);
        tensors
    }

    /// With a path for single tokens, those of the last call; none before the first.
    fn kernels(&self) -> &'static [&'static str] {
        match (self.decoded.get(), self.numerics) {
            (None, _) if self.decode => &[],
            (Some(true), _) => expand_2_4_and!["aten::_to_copy", "aten::mul", "aten::mm"],
            (_, Int8Numerics::V2) => expand_2_4_and!["aten::_int_mm", "aten::sum"],
            _ => expand_2_4_and!["aten::_int_mm"],
        }
    }

    fn density(&self) -> Option<f64> {
        Some(semi_sparse::DENSITY)
    }
}

/// `y = bf16(q_x · qᵀ · scale) · s_x`.
#[derive(Debug)]
struct OnCuda {
    weight: Cslt,
    /// `[n, 1]`.
    scale: Tensor,
}

impl LinearLayer for OnCuda {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let (n, k) = (self.scale.size2()?.0, x.size().last().copied().unwrap_or_default());
        let activation = int8::activation(x, Int8Numerics::V1)?;
        let rows = activation.values.f_reshape([-1, k])?;
        let alpha = self.scale.f_reshape([-1])?.f_to_kind(Kind::Float)?;
        let mut y = self.weight.product(&rows, 16, Some(&alpha))?;
        y = y.f_mul(&activation.scale.f_reshape([-1, 1])?)?;
        y.f_reshape(output_size(x, n))?.f_to_kind(x.f_kind()?)?.f_contiguous()
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let [weight] = self.weight.tensors();
        vec![weight, &self.scale]
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["aten::_cslt_sparse_mm"]
    }

    fn density(&self) -> Option<f64> {
        Some(semi_sparse::DENSITY)
    }
}
