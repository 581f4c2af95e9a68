//! `gemlitewo` on CUDA: the layer around `kernels::cuda::gemlite`.

use std::cell::Cell;

use tch::{TchError, Tensor};

use super::{LinearLayer, Quantized, ZeroPoint, filled};
use crate::refusal::Refusal;
use kernels::cuda::gemlite::Gemlite;

/// The layer of a quantized weight `[n, k]` on a CUDA device: 4 bits as uint8 with subtracted zero
/// points, or 8 bits as int8 with one scale per row. The dtype of the scales is that of `x`.
///
/// # Errors
/// Skipped where NVRTC or the driver is missing; unsupported, with the constraint and the value that
/// broke it.
pub(super) fn layer(quantized: Quantized) -> Result<Box<dyn LinearLayer>, Refusal> {
    let zero = match &quantized.zero_point {
        ZeroPoint::None => None,
        ZeroPoint::Subtracted(zero) => Some(zero),
        ZeroPoint::Added { .. } | ZeroPoint::Float6 => {
            let text = "zero points that are not subtracted, which the kernel does with them";
            return Err(Refusal::Unsupported(text.to_owned()));
        }
    };
    let weight = Gemlite::new(&quantized.values, &quantized.scale, zero)?;
    Ok(Box::new(Layer { weight, rows: Cell::new(None) }))
}

struct Layer {
    weight: Gemlite,
    /// Rows of the last call, which decide what runs; none before the first.
    rows: Cell<Option<i64>>,
}

impl LinearLayer for Layer {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let k = x.size().last().copied().unwrap_or_default();
        let rows = x.f_reshape([-1, k])?.f_contiguous()?;
        self.rows.set(Some(rows.size2()?.0));
        filled(x, self.weight.n(), out, |out| self.weight.multiply(&rows, out))
    }

    fn tensors(&self) -> Vec<&Tensor> {
        self.weight.tensors()
    }

    /// The kernels of the last call; none before the first.
    fn kernels(&self) -> Vec<&'static str> {
        self.rows.get().map_or_else(Vec::new, |rows| self.weight.kernels(rows).to_vec())
    }

    fn note(&self) -> Option<String> {
        self.weight.note()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::{Device, Kind};

    #[test]
    fn zero_points_of_another_kind_are_refused() {
        let one = || Tensor::ones([4, 2], (Kind::BFloat16, Device::Cpu));
        let values = Tensor::ones([4, 64], (Kind::Uint8, Device::Cpu));
        let zero_point = ZeroPoint::Added { zero_point: one(), middle: 8 };
        let refusal = layer(Quantized { values, scale: one(), zero_point }).err();
        let text = "zero points that are not subtracted, which the kernel does with them";
        assert_eq!(refusal, Some(Refusal::Unsupported(text.to_owned())));
    }

    /// On a GPU, where there is one.
    #[test]
    fn the_layer_multiplies_on_the_device() {
        if !tch::Cuda::is_available() {
            crate::skip::hardware("no CUDA device");
            return;
        }
        let device = Device::Cuda(0);
        let float = |size: [i64; 2]| {
            Tensor::linspace(0.5, 1.5, size[0] * size[1], (Kind::Float, device))
                .reshape(size)
                .to_kind(Kind::BFloat16)
        };
        let values = Tensor::arange(96 * 64, (Kind::Int64, device)).remainder(16);
        let values = values.to_kind(Kind::Uint8).reshape([96, 64]);
        let zero_point = ZeroPoint::Subtracted(float([96, 2]) * 7.0);
        let quantized = Quantized { values, scale: float([96, 2]), zero_point };
        let weight = quantized.dequantize().unwrap();
        let layer = match layer(quantized) {
            Ok(layer) => layer,
            Err(Refusal::Skipped(reason)) => return crate::skip::tool(reason),
            Err(other) => panic!("{other}"),
        };
        assert!(layer.kernels().is_empty());
        let [gemv, gemm, triton] =
            ["gemv", "gemm", "gemm_triton"].map(|it| format!("criterion_torch::gemlite_{it}"));
        for (rows, kernel, triton) in [(1, &gemv, &gemv), (20, &gemm, &triton)] {
            let x = float([2 * rows, 64]).reshape([2, rows, 64]);
            let y = layer.forward(&x, None).unwrap();
            let exact = x.to_kind(Kind::Float).matmul(&weight.tr());
            assert!(y.to_kind(Kind::Float).allclose(&exact, 1e-2, 1e-2, false), "{rows} rows");
            let out = y.full_like(f64::NAN);
            drop(layer.forward(&x, Some(&out)).unwrap());
            assert!(out.equal(&y), "{rows} rows");
            let expected = match layer.note() {
                Some(_) => kernel,
                None => triton,
            };
            assert_eq!(layer.kernels(), [expected]);
        }
    }
}
