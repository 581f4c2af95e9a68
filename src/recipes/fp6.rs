//! `fp6`: weights of 6 bits, a sign, 3 bits of exponent and 2 of mantissa, and one scale per output
//! channel; activations untouched.
//!
//! Source: torchao 0.14.1, `FPXWeightOnlyConfig(3, 2)`. Upstream multiplies by a CUDA kernel of its
//! own, `quant_llm_linear`, which libtorch has not. Here the weight is unpacked and dequantized at
//! each call, by a kernel of ours on a CPU and by tensor operations elsewhere, and then multiplied
//! in the activation's dtype.

use plan::Dtype;
use tch::{Device, Kind, TchError, Tensor};

use super::{LayerContext, LinearLayer, Quantized, ZeroPoint, linear};
use crate::refusal::Refusal;
use kernels::cpu;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme;

impl super::Scheme for Scheme {
    /// Upstream leaves weights of other sizes as they are, and its kernel takes no float32.
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        for (dimension, size, multiple) in
            [("k", context.linear.k, 64), ("n", context.linear.n, 256)]
        {
            if size % multiple != 0 {
                return Err(format!(
                    "{dimension} = {size}, but fp6 quantizes only multiples of {multiple}"
                ));
            }
        }
        if context.dtype == Dtype::Float32 {
            return Err(format!(
                "activations of {}, but fp6 takes bfloat16 or float16",
                context.dtype
            ));
        }
        Ok(())
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        let (values, scale) = quantize(weight)?;
        Ok(Some(Quantized { values, scale, zero_point: ZeroPoint::Float6 }))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        let (codes, scale) = quantize(&weight)?;
        Ok(Box::new(Fp6 { packed: pack(&codes)?, scale }))
    }

    /// The lowest value measured on a CPU over seeds and shapes from 1×64×256 to 2×4096×256 is
    /// 25.0 dB.
    fn min_sqnr_db(&self, _dtype: Dtype) -> f64 {
        21.0
    }
}

/// The largest value: 1.75 · 2⁴.
const MAX: f64 = 28.0;
/// float8_e5m2 has the same mantissa and a bias of 15 where this has 3, so its values with small
/// exponents, subnormal ones too, are these times 2⁻¹².
const E5M2: f64 = 4096.0;

/// Codes `[n, k]`, uint8, `00SEEEMM`, and scales `[n, 1]` in the dtype of the weight:
/// `max(amax, 1e-12) / 28`. Rounds to nearest, ties to even; there is neither infinity nor NaN, and
/// what is too large becomes the largest.
fn quantize(weight: &Tensor) -> Result<(Tensor, Tensor), TchError> {
    let wide = weight.f_to_kind(Kind::Float)?;
    let amax = wide.f_abs()?.f_amax([-1], true)?.f_clamp_min(1e-12)?;
    let scale = amax.f_div_scalar(MAX)?.f_to_kind(weight.f_kind()?)?;
    let scaled = wide.f_div(&scale)?.f_clamp(-MAX, MAX)?;
    let float8 = scaled.f_div_scalar(E5M2)?.f_to_kind(Kind::Float8e5m2)?;
    let bits = float8.f_view_dtype(Kind::Uint8)?;
    let sign = bits.f_bitwise_right_shift_tensor_scalar(2)?.f_bitwise_and(0x20)?;
    Ok((bits.f_bitwise_and(0x1f)?.f_bitwise_or_tensor(&sign)?, scale))
}

/// The float32 values of codes `00SEEEMM`, uint8.
pub(super) fn decode(codes: &Tensor) -> Result<Tensor, TchError> {
    let sign = codes.f_bitwise_and(0x20)?.f_bitwise_left_shift_tensor_scalar(2)?;
    let bits = codes.f_bitwise_and(0x1f)?.f_bitwise_or_tensor(&sign)?;
    bits.f_view_dtype(Kind::Float8e5m2)?.f_to_kind(Kind::Float)?.f_mul_scalar(E5M2)
}

/// Codes `[n, k]` in `[n, 3k / 4]` bytes, four in three, the first in the highest bits.
fn pack(codes: &Tensor) -> Result<Tensor, TchError> {
    let (n, k) = codes.size2()?;
    let [a, b, c, d] = columns(&codes.f_view([n, k / 4, 4])?)?;
    let left = |code: &Tensor, bits: i64| code.f_bitwise_left_shift_tensor_scalar(bits);
    let right = |code: &Tensor, bits: i64| code.f_bitwise_right_shift_tensor_scalar(bits);
    let bytes = [
        left(&a, 2)?.f_bitwise_or_tensor(&right(&b, 4)?)?,
        left(&b, 4)?.f_bitwise_or_tensor(&right(&c, 2)?)?,
        left(&c, 6)?.f_bitwise_or_tensor(&d)?,
    ];
    Tensor::f_stack(&bytes, -1)?.f_view([n, k / 4 * 3])
}

fn unpack(packed: &Tensor) -> Result<Tensor, TchError> {
    let (n, bytes) = packed.size2()?;
    let [a, b, c] = columns(&packed.f_view([n, bytes / 3, 3])?)?;
    let left = |byte: &Tensor, bits: i64| byte.f_bitwise_left_shift_tensor_scalar(bits);
    let right = |byte: &Tensor, bits: i64| byte.f_bitwise_right_shift_tensor_scalar(bits);
    let codes = [
        right(&a, 2)?,
        left(&a, 4)?.f_bitwise_or_tensor(&right(&b, 4)?)?,
        left(&b, 2)?.f_bitwise_or_tensor(&right(&c, 6)?)?,
        c,
    ];
    Tensor::f_stack(&codes, -1)?.f_bitwise_and(0x3f)?.f_view([n, bytes / 3 * 4])
}

/// The slices of the last dimension.
fn columns<const N: usize>(tensor: &Tensor) -> Result<[Tensor; N], TchError> {
    let slices = tensor.f_unbind(-1)?;
    slices.try_into().map_err(|_| TchError::Shape(format!("{:?}", tensor.size())))
}

/// `y = x · (decode(codes) · scale)ᵀ`, the dequantized weight rounded to the dtype of `x`.
#[derive(Debug)]
struct Fp6 {
    /// `[n, 3k / 4]`, uint8.
    packed: Tensor,
    /// `[n, 1]`, in the dtype of the weight it came from.
    scale: Tensor,
}

impl Fp6 {
    /// The dense weight `[n, k]`.
    fn dequantize(&self, kind: Kind) -> Result<Tensor, TchError> {
        let device = self.packed.device();
        let scale = self.scale.f_to_kind(Kind::Float)?;
        if device == Device::Cpu {
            // Each row's 64 possible weights, from which the kernel picks.
            let codes = Tensor::f_arange(64, (Kind::Uint8, device))?;
            let tables = decode(&codes)?.f_mul(&scale)?.f_to_kind(kind)?;
            cpu::fp6_unpack(&self.packed, &tables)
        } else {
            let mut dense = decode(&unpack(&self.packed)?)?;
            dense = dense.f_mul(&scale)?;
            dense.f_to_kind(kind)
        }
    }
}

impl LinearLayer for Fp6 {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        linear(x, &self.dequantize(x.f_kind()?)?, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.packed, &self.scale]
    }

    fn kernels(&self) -> Vec<&'static str> {
        if self.packed.device() == Device::Cpu {
            vec!["criterion_torch::fp6_unpack", "aten::mm"]
        } else {
            vec!["aten::stack", "aten::_to_copy", "aten::mul", "aten::mm"]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(n: i64, k: i64) -> Tensor {
        let ramp = Tensor::arange(n * k, (Kind::Int64, Device::Cpu));
        (ramp * 37 + 11).remainder(64).to_kind(Kind::Uint8).reshape([n, k])
    }

    #[test]
    fn packing_loses_nothing() {
        for (n, k) in [(1, 4), (3, 64), (64, 192)] {
            let codes = codes(n, k);
            let packed = pack(&codes).unwrap();
            assert_eq!(packed.size(), [n, k * 3 / 4]);
            assert!(unpack(&packed).unwrap().equal(&codes), "{n}×{k}");
        }
    }

    #[test]
    fn the_kernel_gives_what_tensor_operations_give() {
        for kind in [Kind::BFloat16, Kind::Half] {
            let codes = codes(5, 192);
            let scale =
                (Tensor::arange(5, (Kind::Float, Device::Cpu)) * 0.037 + 0.011).to_kind(kind);
            let layer = Fp6 { packed: pack(&codes).unwrap(), scale: scale.unsqueeze(-1) };
            let values = decode(&unpack(&layer.packed).unwrap()).unwrap();
            let expected = (values * layer.scale.to_kind(Kind::Float)).to_kind(kind);
            let found = layer.dequantize(kind).unwrap();
            assert_eq!(found.kind(), kind);
            assert!(found.equal(&expected), "{kind:?}");
        }
    }

    #[test]
    fn every_value_and_every_tie_rounds_as_ieee_says() {
        let all = decode(&Tensor::arange(32, (Kind::Uint8, Device::Cpu))).unwrap();
        let magnitudes = Vec::<f32>::try_from(&all).unwrap();
        assert_eq!((magnitudes[0], magnitudes[1], magnitudes[31]), (0.0, 0.0625, 28.0));
        assert!(magnitudes.is_sorted_by(|a, b| a < b));
        // Rows whose largest is 28 have the scale 1.
        let encode = |values: &[f32]| {
            let row = Tensor::from_slice(&[values, &[28.0]].concat()).unsqueeze(0);
            let (codes, scale) = quantize(&row).unwrap();
            assert_eq!(scale.double_value(&[0, 0]), 1.0);
            Vec::<u8>::try_from(codes.reshape([-1])).unwrap()
        };
        for code in 0..31_u8 {
            let (low, high) = (magnitudes[usize::from(code)], magnitudes[usize::from(code) + 1]);
            let even = code + code % 2;
            let middle = (low + high) / 2.0;
            let found = encode(&[low, -low, middle, -middle, middle.next_up(), middle.next_down()]);
            let expected = [code, code | 32, even, even | 32, code + 1, code, 31];
            assert_eq!(found, expected, "{low}");
        }
    }

    #[test]
    fn a_row_of_zeros_is_zero_in_float16_too() {
        // There the scale, 1e-12 / 28, is 0.
        for kind in [Kind::Half, Kind::BFloat16] {
            let weight = Tensor::zeros([2, 64], (kind, Device::Cpu));
            let layer = super::super::Scheme::eager(&Scheme, weight).unwrap();
            let y = layer.forward(&Tensor::ones([3, 64], (kind, Device::Cpu)), None).unwrap();
            assert_eq!(y.abs().max().double_value(&[]), 0.0, "{kind:?}");
        }
    }

    #[test]
    fn an_outlier_silences_its_row_and_no_other() {
        // The scale of the first row is 1e4 / 28 = 357: of what is below a 32nd of it, half of the
        // smallest step, nothing is left; 39 is 0.109, nearer to 2/16 than to 1/16.
        let rows = [[1e4, 1.0, -11.0, 39.0], [1.75, 1.0, -0.5, 0.125]];
        let weight = Tensor::from_slice2(&rows).to_kind(Kind::Float);
        let (codes, scale) = quantize(&weight).unwrap();
        let values = Vec::<f64>::try_from(decode(&codes).unwrap().reshape([-1])).unwrap();
        assert_eq!(values, [28.0, 0.0, 0.0, 0.125, 28.0, 16.0, -8.0, 2.0]);
        assert_eq!(scale.double_value(&[1, 0]), 0.0625);
    }

    #[test]
    fn subnormal_weights_are_zero() {
        // 1e-39 / (1e-12 / 28) is far below the smallest step.
        for kind in [Kind::Float, Kind::BFloat16] {
            let weight = Tensor::from_slice(&[1e-39_f32, -1e-39, 0.0, 5e-39]);
            let (codes, scale) = quantize(&weight.unsqueeze(0).to_kind(kind)).unwrap();
            let values = decode(&codes).unwrap();
            assert_eq!(values.count_nonzero(None).int64_value(&[]), 0, "{kind:?}");
            let smallest = 1e-12 / MAX;
            let off = (scale.double_value(&[0, 0]) / smallest - 1.0).abs();
            assert!(off <= 2f64.powi(-8), "{kind:?}: {off}");
        }
    }

    #[test]
    fn six_bits_are_six_bits() {
        let weight = Tensor::ones([256, 128], (Kind::BFloat16, Device::Cpu));
        let layer = super::super::Scheme::eager(&Scheme, weight).unwrap();
        let bytes = |tensor: &&Tensor| tensor.numel() * tensor.kind().elt_size_in_bytes();
        let stored: usize = layer.tensors().iter().map(bytes).sum();
        assert_eq!(stored, 256 * 128 * 6 / 8 + 256 * 2);
    }
}
