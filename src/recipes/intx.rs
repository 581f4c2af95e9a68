//! `int8_dynamic_activation_intx_weight`: weights of few bits in groups, and activations that are
//! rounded to int8 per token at every call.
//!
//! Source: torchao 0.17, `Int8DynamicActivationIntxWeightConfig` with `PerGroup` and its default
//! packing, `unpacked_to_int8`: one weight to a byte, whatever its bits, and no integer product. The
//! activation is quantized and dequantized, the weight is dequantized, and both are multiplied in
//! the activation's dtype. (Upstream's harness asks for another packing, whose kernels are not
//! libtorch's. It takes float32 alone; this one takes all three dtypes.)
//!
//! The word's last part says whether weights have a zero point. Upstream's harness takes any text
//! there for true, `false` too; here it means what it says.
//!
//! The smallest scale is the epsilon of the dtype: 2⁻⁷ in bfloat16, of weights and activations. The
//! weights of a freshly made layer are at most 1/√k, so bfloat16 layers of a large k have few steps
//! left, however many bits they are given. With one bit and weights that surround zero nearly all
//! of them become zero: the output is no more than silence, 0 dB.

use plan::Dtype;
use tch::{Kind, TchError, Tensor};

use super::affine::{self, Range};
use super::{LayerContext, LinearLayer, Quantized, ZeroPoint, groups, linear};
use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy)]
pub(super) struct Scheme {
    /// 1 to 8.
    pub bits: u8,
    pub group: i64,
    pub asymmetric: bool,
}

impl super::Scheme for Scheme {
    fn check(&self, context: &LayerContext) -> Result<(), String> {
        let (k, group) = (context.linear.k, self.group);
        if group < 2 {
            return Err(format!("group = {group}, but a group has at least 2 weights"));
        }
        groups::check(k, group)
    }

    fn quantize(&self, weight: &Tensor) -> Result<Option<Quantized>, TchError> {
        let Intx { weight, scale, zero_point } = self.quantize_weight(weight)?;
        let zero_point = ZeroPoint::Subtracted(zero_point);
        Ok(Some(Quantized { values: weight, scale, zero_point }))
    }

    fn quantize_activation(&self, x: &Tensor) -> Result<Option<Quantized>, TchError> {
        let (values, scale, zero_point) = quantize_activation(x)?;
        Ok(Some(Quantized {
            values,
            scale: scale.f_unsqueeze(-1)?,
            zero_point: ZeroPoint::Subtracted(zero_point.f_unsqueeze(-1)?),
        }))
    }

    fn eager(&self, weight: Tensor) -> Result<Box<dyn LinearLayer>, Refusal> {
        Ok(Box::new(self.quantize_weight(&weight)?))
    }

    /// Lowest values measured on a CPU over seeds, groups of 32, 64 and 256, with and without zero
    /// points, and shapes from 3×64×8 to 2×16384×64, in dB:
    ///
    /// | bits     |    1 |   2 |    3 |    4 |    5 |    6 |    7 |    8 |
    /// |----------|------|-----|------|------|------|------|------|------|
    /// | float32  | −3.0 | 5.7 | 11.7 | 19.9 | 24.9 | 30.4 | 35.2 | 38.2 |
    /// | float16  | −1.9 | 6.0 | 12.8 | 18.8 | 23.6 | 23.6 | 23.6 | 23.6 |
    /// | bfloat16 | −1.5 | 4.9 |  4.9 |  4.9 |  4.9 |  4.9 |  4.9 |  4.9 |
    /// | k = 1024 | −0.1 | 9.4 | 16.8 | 18.0 | 18.0 | 18.0 | 18.0 | 18.0 |
    ///
    /// The rise is stopped by the rounding of the activation in float32, and elsewhere the smallest
    /// scale, at k = 16384 (the last line is bfloat16 again, at k = 1024). The −3.0 of one bit, an
    /// output of 24 values, is what any output of the right size would give: below the gate. The
    /// values of 8 bits are for 16×1024×1024 and larger only.
    fn min_sqnr_db(&self, dtype: Dtype) -> f64 {
        let of_bits = match self.bits {
            1 => -2.5,
            bits => 6.0 * f64::from(bits) - 9.0,
        };
        of_bits.min(match dtype {
            Dtype::Float64 | Dtype::Float32 => 34.0,
            Dtype::Float16 => 20.0,
            Dtype::BFloat16 | Dtype::Float8E4M3Fn => 3.0,
        })
    }
}

impl Scheme {
    /// `weight [n, k]`, in its own dtype.
    fn quantize_weight(&self, weight: &Tensor) -> Result<Intx, TchError> {
        let (n, k) = weight.size2()?;
        let grouped = weight.f_reshape([n, k / self.group, self.group])?;
        let range = range(self.bits, weight.f_kind()?);
        let (scale, zero_point) = if self.asymmetric {
            choose_asymmetric(&grouped, range)?
        } else {
            let (scale, zero_point) = affine::choose_scale(&grouped, range)?;
            (scale, zero_point.f_to_kind(Kind::Int8)?)
        };
        let values = affine::quantize(&grouped, &scale, Some(&zero_point), range)?;
        Ok(Intx { weight: values.f_view([n, k])?, scale, zero_point })
    }
}

/// Signed integers of so many bits; the smallest scale is the epsilon of the dtype.
fn range(bits: u8, kind: Kind) -> Range {
    let half = 1 << (bits - 1);
    let eps = match kind {
        Kind::BFloat16 => 2f64.powi(-7),
        Kind::Half => 2f64.powi(-10),
        _ => f64::from(f32::EPSILON),
    };
    Range { min: -half, max: half - 1, eps }
}

/// Scale and zero point, int8, of the last dimension, zero being among the values:
/// `scale = max((max − min) / (2^bits − 1), eps)`, `zero_point = clamp(lowest − round(min / scale))`.
fn choose_asymmetric(x: &Tensor, range: Range) -> Result<(Tensor, Tensor), TchError> {
    let min = x.f_amin([-1], false)?;
    let max = x.f_amax([-1], false)?;
    let lowest = min.f_min_other(&min.f_zeros_like()?)?;
    let highest = max.f_max_other(&max.f_zeros_like()?)?;
    let width = (range.max - range.min) as f64;
    let scale = highest.f_sub(&lowest)?.f_div_scalar(width)?.f_clamp_min(range.eps)?;
    let zero_point = lowest.f_div(&scale)?.f_round()?.f_rsub_scalar(range.min)?;
    let zero_point = zero_point.f_clamp(range.min, range.max)?;
    Ok((scale, zero_point.f_to_kind(Kind::Int8)?))
}

/// The values, int8, of an activation `[.., k]`, and the scale and zero point of each token, `[..]`.
fn quantize_activation(x: &Tensor) -> Result<(Tensor, Tensor, Tensor), TchError> {
    let range = range(8, x.f_kind()?);
    let (scale, zero_point) = choose_asymmetric(x, range)?;
    let values = affine::quantize(x, &scale, Some(&zero_point), range)?;
    Ok((values, scale, zero_point))
}

/// `(values − zero_point) · scale` in the dtype `kind`, step by step as upstream's
/// `dequantize_affine`; scale and zero point have a last dimension of 1.
fn dequantize(
    values: &Tensor,
    scale: &Tensor,
    zero_point: &Tensor,
    kind: Kind,
) -> Result<Tensor, TchError> {
    let mut dense = values.f_to_kind(kind)?;
    dense = dense.f_sub(&zero_point.f_to_kind(kind)?)?;
    dense = dense.f_mul(scale)?;
    Ok(dense)
}

/// `y = x̂ · Ŵᵀ`, both rounded to what their integers stand for.
#[derive(Debug)]
struct Intx {
    /// `[n, k]`, int8, from −2^(bits − 1) to 2^(bits − 1) − 1.
    weight: Tensor,
    /// `[n, k / group]`, in the dtype of the weight it came from.
    scale: Tensor,
    /// `[n, k / group]`, int8; zero where weights are symmetric, and stored all the same.
    zero_point: Tensor,
}

impl Intx {
    /// `Ŵ [n, k]` in the dtype `kind`.
    fn dequantized(&self, kind: Kind) -> Result<Tensor, TchError> {
        let (n, k) = self.weight.size2()?;
        let (_, groups) = self.scale.size2()?;
        let grouped = self.weight.f_view([n, groups, k / groups])?;
        let (scale, zero_point) = (self.scale.f_unsqueeze(-1)?, self.zero_point.f_unsqueeze(-1)?);
        dequantize(&grouped, &scale, &zero_point, kind)?.f_view([n, k])
    }
}

impl LinearLayer for Intx {
    fn forward(&self, x: &Tensor, out: Option<&Tensor>) -> Result<Tensor, TchError> {
        let kind = x.f_kind()?;
        let rounded = {
            let (values, scale, zero_point) = quantize_activation(x)?;
            dequantize(&values, &scale.f_unsqueeze(-1)?, &zero_point.f_unsqueeze(-1)?, kind)?
        };
        linear(&rounded, &self.dequantized(kind)?, out)
    }

    fn tensors(&self) -> Vec<&Tensor> {
        vec![&self.weight, &self.scale, &self.zero_point]
    }

    fn kernels(&self) -> Vec<&'static str> {
        vec!["aten::_to_copy", "aten::sub", "aten::mul", "aten::mm"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    fn wave(rows: i64, columns: i64, kind: Kind) -> Tensor {
        let ramp = Tensor::arange(rows * columns, (Kind::Double, Device::Cpu));
        (ramp * 0.7311).sin().reshape([rows, columns]).to_kind(kind)
    }

    /// Largest |w − ŵ| in steps of its group's scale.
    fn worst_steps(bits: u8, asymmetric: bool, weight: &Tensor) -> f64 {
        let (n, k) = weight.size2().unwrap();
        let scheme = Scheme { bits, group: 16, asymmetric };
        let found = scheme.quantize_weight(weight).unwrap();
        let half = 1 << (bits - 1);
        let ends = (found.weight.min().int64_value(&[]), found.weight.max().int64_value(&[]));
        assert!(ends.0 >= -half && ends.1 < half, "{bits} bits: {ends:?}");
        let grouped = |tensor: &Tensor| tensor.reshape([n, k / 16, 16]);
        let (scale, zero) = (found.scale.unsqueeze(-1), found.zero_point.unsqueeze(-1));
        let dense = dequantize(&grouped(&found.weight), &scale, &zero, weight.kind()).unwrap();
        ((dense - grouped(weight)) / scale).abs().max().double_value(&[])
    }

    #[test]
    fn a_round_trip_errs_by_half_a_step_and_at_the_upper_end_by_one() {
        let weight = wave(8, 64, Kind::Float);
        for bits in 1..=8 {
            for weight in [&weight, &(&weight - 0.9), &(&weight + 0.9)] {
                // A zero point is rounded, and the range ends half a step early or late with it.
                let asymmetric = worst_steps(bits, true, weight);
                assert!(asymmetric <= 1.0001, "{bits} bits: {asymmetric}");
                // amax is mapped to 2^(bits − 1) − ½, which rounds up to what is not there.
                let symmetric = worst_steps(bits, false, weight);
                assert!(symmetric <= 0.5001, "{bits} bits: {symmetric}");
            }
        }
    }

    #[test]
    fn one_sided_weights_gain_a_bit_from_a_zero_point() {
        let weight = wave(8, 64, Kind::Float) * 0.5 + 0.5;
        let scale = |asymmetric| {
            let scheme = Scheme { bits: 4, group: 16, asymmetric };
            scheme.quantize_weight(&weight).unwrap().scale
        };
        let ratio = scale(false) / scale(true);
        assert!((ratio - 2.0).abs().max().double_value(&[]) < 1e-5);
    }

    #[test]
    fn groups_and_tokens_of_zeros_or_constants_are_exact() {
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            for value in [0.0, 0.75, -0.25] {
                let x = Tensor::full([2, 3, 32], value, (kind, Device::Cpu));
                let (values, scale, zero) = quantize_activation(&x).unwrap();
                let (scale, zero) = (scale.unsqueeze(-1), zero.unsqueeze(-1));
                let found = dequantize(&values, &scale, &zero, kind).unwrap();
                let error = (found - &x).abs().max().double_value(&[]);
                assert!(error <= 4e-3 * f64::abs(value), "{kind:?} {value}: {error}");
            }
        }
    }

    #[test]
    fn the_smallest_scale_is_the_epsilon_of_the_dtype() {
        for (kind, eps) in [
            (Kind::Float, 2f64.powi(-23)),
            (Kind::BFloat16, 2f64.powi(-7)),
            (Kind::Half, 2f64.powi(-10)),
        ] {
            for asymmetric in [false, true] {
                let scheme = Scheme { bits: 4, group: 32, asymmetric };
                let tiny = Tensor::full([1, 32], 1e-9, (Kind::Float, Device::Cpu)).to_kind(kind);
                let found = scheme.quantize_weight(&tiny).unwrap();
                assert_eq!(found.scale.double_value(&[0, 0]), eps, "{kind:?}");
                assert_eq!(
                    found.weight.count_nonzero(None).int64_value(&[]),
                    if asymmetric { 32 } else { 0 }
                );
            }
        }
    }

    #[test]
    fn extremes_of_a_group_land_where_the_formula_puts_them() {
        // 4 bits: (name, weights, symmetric values, asymmetric values less their zero point).
        for (name, row, symmetric, asymmetric) in [
            ("zero", [0.0; 4], [0; 4], [0; 4]),
            // amax / 7.5 is the scale, and 7.5 rounds up to 8, which is clamped.
            ("constant", [0.75; 4], [7; 4], [15; 4]),
            ("negative constant", [-0.75; 4], [-8; 4], [-15; 4]),
            ("outlier", [1e4, 1.0, -1.0, 39.0], [7, 0, 0, 0], [15, 0, 0, 0]),
            ("subnormal", [1e-39, -1e-39, 0.0, 1e-39], [0; 4], [0; 4]),
        ] {
            for (with_zero_point, expected) in [(false, symmetric), (true, asymmetric)] {
                let scheme = Scheme { bits: 4, group: 4, asymmetric: with_zero_point };
                let weight = Tensor::from_slice(&row).to_kind(Kind::Float).unsqueeze(0);
                let found = scheme.quantize_weight(&weight).unwrap();
                let values = found.weight.to_kind(Kind::Int64) - &found.zero_point;
                let values = Vec::<i64>::try_from(values.reshape([-1])).unwrap();
                assert_eq!(values, expected, "{name}, asymmetric: {with_zero_point}");
            }
        }
    }

    #[test]
    fn an_outlier_touches_its_own_group_alone() {
        for asymmetric in [false, true] {
            let scheme = Scheme { bits: 4, group: 16, asymmetric };
            let weight = wave(2, 64, Kind::Float);
            let plain = scheme.quantize_weight(&weight).unwrap();
            drop(weight.get(1).get(20).fill_(1e4));
            let found = scheme.quantize_weight(&weight).unwrap();
            let changed = |a: &Tensor, b: &Tensor| {
                let changed = a.not_equal_tensor(b).nonzero();
                Vec::<i64>::try_from(changed.reshape([-1])).unwrap()
            };
            assert_eq!(changed(&plain.scale, &found.scale), [1, 1]);
            let groups = |layer: &Intx| layer.weight.reshape([2, 4, 16]);
            for (row, group) in (0..2).flat_map(|row| (0..4).map(move |group| (row, group))) {
                let of = |layer: &Intx| groups(layer).get(row).get(group);
                assert_eq!(of(&plain).equal(&of(&found)), (row, group) != (1, 1));
            }
        }
    }

    #[test]
    fn leading_dimensions_are_kept() {
        let scheme = Scheme { bits: 4, group: 32, asymmetric: true };
        for kind in [Kind::Float, Kind::BFloat16, Kind::Half] {
            let layer = super::super::Scheme::eager(&scheme, wave(5, 64, kind)).unwrap();
            let flat = layer.forward(&wave(6, 64, kind), None).unwrap();
            let deep = layer.forward(&wave(6, 64, kind).reshape([2, 3, 64]), None).unwrap();
            assert_eq!((deep.size(), deep.kind()), (vec![2, 3, 5], kind));
            assert!(deep.reshape([6, 5]).allclose(&flat, 1e-2, 1e-2, false));
        }
    }
}
