//! Matrices whose neighbours share a scale in blocks: mxfp8, mxfp4 and nvfp4, op by op as torchao 0.17's
//! `to_mx` and `nvfp4_quantize` run them in eager mode.
//!
//! torchao's main branch differs after 0.17 at the edges: there `Rceil` multiplies by a rounded 1 / 448,
//! rounds the exponent by its bits, and takes 2¹²⁷ for a block of zeros; infinities give the scale NaN; and
//! nvfp4 without a scale of the tensor multiplies by the reciprocal of a block's scale.

use plan::BlockFormat;
use tch::{Kind, TchError, Tensor};

use super::e2m1;

/// How the scale of a block of mxfp8 or mxfp4, a power of two, follows from its largest magnitude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// The power of the largest over that of the format's largest: values above it saturate.
    Floor,
    /// The smallest power by which the largest fits.
    Rceil,
}

/// A matrix in a block-scaled format.
#[derive(Debug)]
pub struct Blocks {
    /// mxfp8: float8 e4m3 `[.., k]`. Else two e2m1 to a byte, `[.., k / 2]`, the first in the low bits.
    pub codes: Tensor,
    /// `[.., k / block]`. mxfp8, mxfp4: e8m0 as uint8, 2^(byte − 127), and NaN where 255. nvfp4: float8 e4m3.
    pub scales: Tensor,
    /// nvfp4: float32 without dimensions.
    pub tensor_scale: Option<Tensor>,
    format: BlockFormat,
    /// The dtype of the matrix it came from.
    kind: Kind,
}

/// The largest e4m3, and the exponent of its power of two.
const E4M3: (f64, i64) = (448.0, 8);
/// The largest e2m1, and the exponent of its power of two.
const E2M1: (f64, i64) = (e2m1::MAX, 2);
/// The smallest normal e4m3, the smallest scale of a block of nvfp4.
const SMALLEST: f64 = 0.015625;
/// The exponent bias of e8m0 and of float32.
const BIAS: i64 = 127;
/// The e8m0 that is NaN.
const NAN: i64 = 255;
const MANTISSA_BITS: i64 = 23;

impl Blocks {
    /// Quantizes a matrix `[.., k]` of float32 or bfloat16, `block` dividing k, as inference does: with
    /// [`Scaling::Rceil`], nvfp4 with a scale of the tensor.
    pub fn quantize(format: BlockFormat, matrix: &Tensor) -> Result<Self, TchError> {
        match format {
            BlockFormat::Nvfp4 => Self::nvfp4(matrix, Some(tensor_scale(matrix)?)),
            _ => Self::mx(format, matrix, Scaling::Rceil),
        }
    }

    /// Quantizes to mxfp8 or mxfp4.
    pub fn mx(format: BlockFormat, matrix: &Tensor, scaling: Scaling) -> Result<Self, TchError> {
        let is_e4m3 = format == BlockFormat::Mxfp8;
        let largest = if is_e4m3 { E4M3 } else { E2M1 };
        let blocks = in_blocks(matrix, format)?;
        let amax = blocks.f_abs()?.f_amax([-1], true)?.f_to_kind(Kind::Float)?;
        let wide = blocks.f_to_kind(Kind::Float)?;
        let (scales, scaled) = match scaling {
            Scaling::Rceil => rceil(&wide, &amax, largest)?,
            Scaling::Floor => floor(&wide, &amax, largest)?,
        };
        let scaled = scaled.f_reshape(matrix.size())?;
        let codes = match is_e4m3 {
            true => scaled.f_clamp(-E4M3.0, E4M3.0)?.f_to_kind(Kind::Float8e4m3fn)?,
            false => e2m1::pack(&e2m1::encode(&scaled)?)?,
        };
        let (scales, kind) = (scales.f_squeeze_dim(-1)?, matrix.f_kind()?);
        Ok(Self { codes, scales, tensor_scale: None, format, kind })
    }

    /// Quantizes to nvfp4; `scale` is the tensor's ([`tensor_scale`]).
    pub fn nvfp4(matrix: &Tensor, scale: Option<Tensor>) -> Result<Self, TchError> {
        let format = BlockFormat::Nvfp4;
        let wide = in_blocks(&matrix.f_to_kind(Kind::Float)?, format)?;
        let wanted = wide.f_abs()?.f_amax([-1], false)?.f_div_scalar(e2m1::MAX)?;
        let rounded =
            |wanted: &Tensor| wanted.f_clamp(SMALLEST, E4M3.0)?.f_to_kind(Kind::Float8e4m3fn);
        let (scales, scaled) = match &scale {
            None => {
                let scales = rounded(&wanted)?;
                let scaled = wide.f_div(&scales.f_to_kind(Kind::Float)?.f_unsqueeze(-1)?)?;
                (scales, scaled)
            }
            Some(scale) => {
                let scales = rounded(&wanted.f_div(scale)?)?;
                let factor = scale.f_reciprocal()?.f_div(&scales.f_to_kind(Kind::Float)?)?;
                (scales, wide.f_mul(&factor.f_unsqueeze(-1)?)?)
            }
        };
        let scaled = scaled.f_clamp(-e2m1::MAX, e2m1::MAX)?.f_reshape(matrix.size())?;
        let codes = e2m1::pack(&e2m1::encode(&scaled)?)?;
        Ok(Self { codes, scales, tensor_scale: scale, format, kind: matrix.f_kind()? })
    }

    /// The matrix `[.., k]` that the codes stand for, in the dtype `kind`.
    pub fn dequantize(&self, kind: Kind) -> Result<Tensor, TchError> {
        match self.format {
            BlockFormat::Nvfp4 => {
                let scales = self.scales.f_to_kind(self.kind)?;
                let scales = match &self.tensor_scale {
                    // Rounded to the dtype of the matrix: a tensor without dimensions does not widen it.
                    Some(scale) => scale.f_mul(&scales)?,
                    None => scales,
                };
                self.scaled(Kind::Float, &scales.f_to_kind(Kind::Float)?)?.f_to_kind(kind)
            }
            _ => self.scaled(kind, &self.block_scales()?.f_to_kind(kind)?),
        }
    }

    /// The values times the scales of their blocks and not the tensor's, in the dtype `kind`.
    pub(super) fn without_tensor_scale(&self, kind: Kind) -> Result<Tensor, TchError> {
        self.scaled(kind, &self.block_scales()?.f_to_kind(kind)?)
    }

    /// The scales of the blocks, float32.
    pub(super) fn block_scales(&self) -> Result<Tensor, TchError> {
        match self.format {
            BlockFormat::Nvfp4 => self.scales.f_to_kind(Kind::Float),
            _ => e8m0(&self.scales),
        }
    }

    fn scaled(&self, kind: Kind, scales: &Tensor) -> Result<Tensor, TchError> {
        let values = match self.format {
            BlockFormat::Mxfp8 => self.codes.f_to_kind(kind)?,
            _ => e2m1::decode(&self.codes, kind)?,
        };
        let scaled = in_blocks(&values, self.format)?.f_mul(&scales.f_unsqueeze(-1)?)?;
        scaled.f_reshape(values.size())
    }

    /// The bytes of the scales of a matrix `[rows, k]` as CUDA's products read them (torchao's `to_blocked`):
    /// in tiles of 128 rows by 4 blocks, the rows that are 32 apart beside each other; zero where a tile
    /// is not full.
    pub fn swizzled_scales(&self) -> Result<Tensor, TchError> {
        let bytes = self.scales.f_view_dtype(Kind::Uint8)?;
        let (rows, columns) = bytes.size2()?;
        let (down, across) = ((rows + 127) / 128, (columns + 3) / 4);
        let padding = [0, 4 * across - columns, 0, 128 * down - rows];
        let tiles = bytes.f_constant_pad_nd(padding)?.f_view([down, 4, 32, across, 4])?;
        tiles.f_permute([0, 3, 2, 1, 4])?.f_reshape([-1])
    }

    /// The factor of a product of both operands' values: their tensors' scales.
    pub(super) fn scale_of_product(&self, other: &Self) -> Result<Option<Tensor>, TchError> {
        match (&self.tensor_scale, &other.tensor_scale) {
            (Some(left), Some(right)) => left.f_mul(right).map(Some),
            _ => Ok(None),
        }
    }

    /// The format.
    pub fn format(&self) -> BlockFormat {
        self.format
    }

    /// The tensors that are stored.
    pub(super) fn tensors(&self) -> Vec<&Tensor> {
        [&self.codes, &self.scales].into_iter().chain(&self.tensor_scale).collect()
    }
}

/// The scale of a tensor in nvfp4, by which the scales of its blocks use all of e4m3's range: float32,
/// without dimensions.
pub fn tensor_scale(matrix: &Tensor) -> Result<Tensor, TchError> {
    let amax = matrix.f_abs()?.f_max()?.f_to_kind(Kind::Float)?;
    amax.f_div_scalar(E4M3.0 * e2m1::MAX)
}

/// `[.., k]` as `[.., k / block, block]`.
fn in_blocks(matrix: &Tensor, format: BlockFormat) -> Result<Tensor, TchError> {
    let (mut size, block) = (matrix.size(), i64::from(format.block()));
    let k = size.pop().unwrap_or_default();
    if k == 0 || k % block != 0 {
        let text = format!("{format}: k = {k}, but a block, {block}, must divide it");
        return Err(TchError::Shape(text));
    }
    size.extend([k / block, block]);
    matrix.f_reshape(size)
}

/// e8m0 scales and the values times their reciprocals, saturated. The scale of a block with NaN is NaN; a
/// block of zeros has 2⁻¹²⁷, and is not multiplied.
fn rceil(wide: &Tensor, amax: &Tensor, largest: (f64, i64)) -> Result<(Tensor, Tensor), TchError> {
    let (bias, (largest, _)) = (BIAS as f64, largest);
    let wanted = amax.f_div_scalar(largest)?;
    let exponent = wanted.f_log2()?.f_ceil()?.f_clamp(-bias, bias)?.f_add_scalar(bias)?;
    let scales = exponent.f_to_kind(Kind::Uint8)?.f_masked_fill(&wanted.f_isnan()?, NAN)?;
    let reciprocal = scales.f_to_kind(Kind::Float)?.f_neg()?.f_add_scalar(bias)?.f_exp2()?;
    let factor = reciprocal.f_masked_fill(&scales.f_eq(0)?, 1.0)?;
    Ok((scales, wide.f_mul(&factor)?.f_clamp(-largest, largest)?))
}

/// e8m0 scales and the values over them, of which some may exceed the largest. The scale of a block with NaN
/// is NaN; a block of zeros has 2⁻¹²⁷, and is divided by 2⁻¹²⁶.
fn floor(wide: &Tensor, amax: &Tensor, largest: (f64, i64)) -> Result<(Tensor, Tensor), TchError> {
    let bits = amax.f_view_dtype(Kind::Int)?;
    let biased = bits.f_bitwise_right_shift_tensor_scalar(MANTISSA_BITS)?.f_bitwise_and(0xff)?;
    let exponent = biased.f_sub_scalar(largest.1)?.f_clamp(0, NAN)?;
    let scales = exponent.f_to_kind(Kind::Uint8)?.f_masked_fill(&amax.f_isnan()?, NAN)?;
    let bits = scales.f_to_kind(Kind::Int)?.f_bitwise_left_shift_tensor_scalar(MANTISSA_BITS)?;
    let divisor = bits.f_view_dtype(Kind::Float)?.f_clamp_min(f64::from(f32::MIN_POSITIVE))?;
    Ok((scales, wide.f_div(&divisor)?))
}

/// The float32 values of e8m0 bytes.
fn e8m0(bytes: &Tensor) -> Result<Tensor, TchError> {
    // 2⁻¹²⁷ is subnormal in float32: its bits are not those of an exponent.
    let bits = bytes.f_to_kind(Kind::Int)?.f_bitwise_left_shift_tensor_scalar(MANTISSA_BITS)?;
    let bits = bits.f_masked_fill(&bytes.f_eq(0)?, 1 << (MANTISSA_BITS - 1))?;
    bits.f_view_dtype(Kind::Float)?.f_masked_fill(&bytes.f_eq(NAN)?, f64::NAN)
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
