//! Products `x · weightᵀ` with a quantized weight that is dequantized in registers: 4 bits with a
//! scale and a zero point per group, or 8 bits with a scale per row.
//!
//! Only the stored weight has to come from memory, so with one row of the activation the time is
//! that of streaming it, where the instructions keep up. Sums are float32, and scaled once a group
//! or row is summed: an `|x|` near float32's maximum, times an integer weight, can overflow to
//! infinity though the scaled product would be finite.
//!
//! # Layout of 4 bits
//!
//! A row is a series of blocks of 128 weights in 64 bytes, one load of AVX-512. Read as 32 words of
//! 16 bits, word `j` holds the weights `j`, `32 + j`, `64 + j` and `96 + j`, lowest bits first:
//!
//! ```text
//!            word 0           word 1                    word 31
//!        ┌───────────────┬───────────────┬─────────┬────────────────┐
//!  bits  │ 96  64  32  0 │ 97  65  33  1 │    …    │ 127  95  63 31 │
//!        └───────────────┴───────────────┴─────────┴────────────────┘
//! ```
//!
//! Shifted right by 0, 4, 8 or 12 bits, the words are indices of 32 consecutive weights, a
//! *quarter*, into a table of bfloat16 that need not be masked: the table has 32 entries, and the
//! fifth bit, of the next weight, chooses between two equal halves. Read as 16 words of 32 bits and
//! shifted by `4 q` and `4 q + 16`, they are those of even and of odd index, for instructions whose
//! lanes are float32.
//!
//! If 128 does not divide `k`, 32 weights at a time follow in 16 bytes: byte `j` holds the
//! weights `2 j`, in its lower bits, and `2 j + 1`. Nothing is padded: `4 + 2 · 16 / group` bits per
//! weight for 16-bit scales and zero points.
//!
//! # Layout of 8 bits
//!
//! int8 `[n, k]` as it is.

mod activation;
mod floats;
mod format;
mod lanes;
mod layout;
mod paths;
mod product;
mod tile;

use tch::{Device, Kind, TchError, Tensor};

use super::Capability;
use super::memory::{expect, slice, slice_mut};
use crate::overlap::refuse_overlap;
use floats::{expect_floats, floats, output};
use lanes::QUARTER;
use product::Product;

/// A quantized weight `[n, k]` on the CPU.
#[derive(Debug)]
pub struct PackedWeight {
    bits: Bits,
    n: usize,
    k: usize,
    group: usize,
    packed: Tensor,
    scale: Tensor,
    zero: Option<Tensor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bits {
    Four,
    Eight,
}

impl PackedWeight {
    /// Weights `(values − zero) · scale`, of `values [n, k]`, uint8 from 0 to 15, and `scale` and
    /// `zero [n, k / group]` of one dtype: float32, bfloat16 or float16. Groups are 32, 64 or a
    /// multiple of 128.
    ///
    /// # Errors
    /// When a tensor is not that.
    pub fn four_bits(values: &Tensor, scale: Tensor, zero: Tensor) -> Result<Self, TchError> {
        let (n, k) = values.size2()?;
        let (_, groups) = scale.size2()?;
        expect("values", values, Kind::Uint8, &[n, k])?;
        expect_floats("scale", &scale, &[n, groups])?;
        expect("zero", &zero, scale.f_kind()?, &[n, groups])?;
        let group = if groups > 0 { k / groups } else { 0 };
        if group * groups != k || !(matches!(group, 32 | 64) || group % 128 == 0 && group > 0) {
            return Err(TchError::Shape(format!(
                "{groups} groups of {k} weights, which have to be of 32, 64 or a multiple of 128"
            )));
        }
        if values.numel() > 0 && values.f_max()?.f_int64_value(&[])? > 15 {
            return Err(TchError::Shape("values above 15 do not fit in 4 bits".to_owned()));
        }
        let mut packed = Tensor::f_empty([n, k / 2], (Kind::Uint8, Device::Cpu))?;
        layout::pack(slice(&values.f_contiguous()?)?, k as usize, slice_mut(&mut packed)?);
        Ok(Self {
            bits: Bits::Four,
            n: n as usize,
            k: k as usize,
            group: group as usize,
            packed,
            scale: scale.f_contiguous()?,
            zero: Some(zero.f_contiguous()?),
        })
    }

    /// Weights `values · scale`, of `values [n, k]`, int8, of which 32 divides `k`, and
    /// `scale [n, 1]`, float32, bfloat16 or float16.
    ///
    /// # Errors
    /// When a tensor is not that.
    pub fn eight_bits(values: &Tensor, scale: Tensor) -> Result<Self, TchError> {
        let (n, k) = values.size2()?;
        expect("values", values, Kind::Int8, &[n, k])?;
        expect_floats("scale", &scale, &[n, 1])?;
        if k == 0 || k % QUARTER as i64 != 0 {
            return Err(TchError::Shape(format!(
                "k = {k}, which has to be a multiple of {QUARTER}"
            )));
        }
        Ok(Self {
            bits: Bits::Eight,
            n: n as usize,
            k: k as usize,
            group: k as usize,
            packed: values.f_contiguous()?,
            scale: scale.f_contiguous()?,
            zero: None,
        })
    }

    /// The stored tensors.
    pub fn tensors(&self) -> Vec<&Tensor> {
        [&self.packed, &self.scale].into_iter().chain(&self.zero).collect()
    }

    /// Rows of the weight: columns of a product.
    pub fn n(&self) -> i64 {
        self.n as i64
    }

    /// Columns of the weight: what is summed over.
    pub fn k(&self) -> i64 {
        self.k as i64
    }

    /// Writes `x [m, k] · weightᵀ` into `out [m, n]`, contiguous and of the dtype of `x`: float32,
    /// bfloat16 or float16. Sums are float32 and rounded once. On torch's number of intra-op
    /// threads, which does not change a bit.
    ///
    /// # Errors
    /// When `x` or `out` is not that, or `out` shares memory with `x` or the weight.
    pub fn mm_out(&self, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
        self.mm_out_with(Capability::best(), x, out)
    }

    /// [`mm_out`](Self::mm_out) with the instructions of a capability.
    ///
    /// # Errors
    /// Also when this CPU does not have them.
    pub fn mm_out_with(
        &self,
        capability: Capability,
        x: &Tensor,
        out: &mut Tensor,
    ) -> Result<(), TchError> {
        capability.demand()?;
        let (m, x) = self.operands(x, out)?;
        let groups = self.k / self.group;
        let sums = match &self.zero {
            Some(_) => Some(activation::sums(floats(&x)?, m, groups, self.group)?),
            None => None,
        };
        let zero = match (&self.zero, &sums) {
            (Some(zero), Some(sums)) => Some((floats(zero)?, slice(sums)?)),
            _ => None,
        };
        let product = Product {
            m,
            n: self.n,
            k: self.k,
            group: self.group,
            weight: slice(&self.packed)?,
            scale: floats(&self.scale)?,
            zero,
            x: &[],
            output: output(out)?,
        };
        // SAFETY: available, checked above like the sizes; `out` is borrowed and shares no memory.
        unsafe { paths::run(self.bits, capability, &product, &x) }
    }

    /// The rows of `x`, and it in one piece, where `x` and `out` are as
    /// [`mm_out`](Self::mm_out) demands.
    fn operands(&self, x: &Tensor, out: &Tensor) -> Result<(usize, Tensor), TchError> {
        let (kind, m) = (x.f_kind()?, x.size2()?.0);
        expect("x", x, kind, &[m, self.k()])?;
        expect("out", out, kind, &[m, self.n()])?;
        if !out.is_contiguous() {
            return Err(TchError::Shape("out has to be contiguous".to_owned()));
        }
        let x = x.f_contiguous()?;
        refuse_overlap(out, [&x].into_iter().chain(self.tensors()))?;
        Ok((m as usize, x))
    }

    /// The name of what [`mm_out`](Self::mm_out) runs for an activation of that dtype.
    pub fn kernels(&self, kind: Kind) -> &'static [&'static str] {
        paths::names(self.bits, paths::used(self.bits, kind, Capability::best()))
    }
}

#[cfg(test)]
mod tests;
