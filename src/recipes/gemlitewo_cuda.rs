//! `gemlitewo` on CUDA: the layer around `kernels::cuda::gemlite`.

use tch::{TchError, Tensor};

use super::{LinearLayer, Quantized, ZeroPoint, as_rows, output_size};
use crate::kernels::cuda::gemlite::{Gemlite, Packed};
use crate::refusal::Refusal;

/// The layer of a quantized weight `[n, k]` on a CUDA device: 4 bits as uint8 with subtracted zero
/// points, or 8 bits as int8 with one scale per row. The dtype of the scales is that of `x`.
///
/// # Errors
/// Skipped where NVRTC or the driver is missing; unsupported, with the constraint and the value that
/// broke it.
pub(super) fn layer(quantized: &Quantized) -> Result<Box<dyn LinearLayer>, Refusal> {
    let zero = match &quantized.zero_point {
        ZeroPoint::None => None,
        ZeroPoint::Subtracted(zero) => Some(zero),
        other @ (ZeroPoint::Added { .. } | ZeroPoint::Float6) => {
            let text = format!("{other:?}, but the kernel subtracts integer zero points");
            return Err(Refusal::Unsupported(text));
        }
    };
    let weight = Packed::new(&quantized.values, &quantized.scale, zero)?;
    let kernel = Gemlite::load(&weight)?;
    Ok(Box::new(Layer { weight, kernel }))
}

struct Layer {
    weight: Packed,
    kernel: Gemlite,
}

impl LinearLayer for Layer {
    fn forward(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let size = output_size(x, self.weight.n());
        let mut out = Tensor::f_empty(size, (x.f_kind()?, x.device()))?;
        self.forward_out(x, &mut out)?;
        Ok(out)
    }

    fn forward_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        let k = x.size().last().copied().unwrap_or_default();
        let rows = x.f_reshape([-1, k])?.f_contiguous()?;
        self.kernel.multiply(&rows, &self.weight, &as_rows(out, self.weight.n())?)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        let Packed { values, scale, zero, .. } = &self.weight;
        [Some(values), Some(scale), zero.as_ref()].into_iter().flatten().collect()
    }

    fn kernels(&self) -> &'static [&'static str] {
        &["criterion_torch::gemlite_gemv", "criterion_torch::gemlite_gemm"]
    }
}
