//! A product with what it works on, and the factors of groups.
//!
//! ```text
//! y[m, n] = Σg scale[n, g] · ( Σk∈g (q[n, k] − 8) · x[m, k]  +  (8 − zero[n, g]) · Σk∈g x[m, k] )
//! ```
//!
//! The inner products come from the integers as they are, exact in float32, and the sums of the
//! activation's groups are common to all rows of the weight. The zero points of symmetric weights
//! are near 8; taking that off first keeps both terms as small as the result.

use super::floats::{Floats, Output};

/// Rows of the weight that are worked on at once: streams that hide the memory's latency, and more
/// uses of each load of the activation.
pub const ROWS: usize = 4;

/// A product `x [m, k] · weightᵀ [k, n]`.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a, X> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// A multiple of [`QUARTER`](super::lanes::QUARTER) that divides `k`; `k` itself where a row has one scale.
    pub group: usize,
    /// `[n, k]` as its [`Format`](super::format::Format) has it.
    pub weight: &'a [u8],
    /// `[n, k / group]`.
    pub scale: Floats<'a>,
    /// `[n, k / group]` and the sums of the activation's groups, `[m, k / group]`; none where the
    /// weight has no zero points.
    pub zero: Option<(Floats<'a>, &'a [f32])>,
    /// `[m, k]`, in the order of [`Lanes::SPLITS_PAIRS`](super::lanes::Lanes::SPLITS_PAIRS) for 4-bit weights.
    pub x: &'a [X],
    /// `[m, n]`.
    pub output: Output,
}

impl<'a> Product<'a, ()> {
    /// This product with an activation.
    pub fn with_activation<X>(&self, x: &'a [X]) -> Product<'a, X> {
        let Self { m, n, k, group, weight, scale, zero, output, .. } = *self;
        Product { m, n, k, group, weight, scale, zero, x, output }
    }
}

/// The factors of the groups of some rows.
pub struct Factors {
    pub groups: usize,
    /// `[ROWS, groups]`.
    scale: Vec<f32>,
    /// `(8 − zero) · scale`, `[ROWS, groups]`.
    offset: Vec<f32>,
}

impl Factors {
    pub fn new(groups: usize) -> Self {
        Self { groups, scale: vec![0.0; ROWS * groups], offset: vec![0.0; ROWS * groups] }
    }

    #[inline(always)]
    pub fn read<X>(&mut self, product: &Product<'_, X>, row: usize, count: usize) {
        let (at, length) = (row * self.groups, count * self.groups);
        let scale = &mut self.scale[..length];
        product.scale.read(at, scale);
        if let Some((zero, _)) = product.zero {
            let offset = &mut self.offset[..length];
            zero.read(at, offset);
            for (offset, scale) in offset.iter_mut().zip(scale) {
                *offset = (8.0 - *offset) * *scale;
            }
        }
    }

    /// The scales of one of the rows.
    pub fn scale(&self, row: usize) -> &[f32] {
        &self.scale[row * self.groups..][..self.groups]
    }

    /// `Σg offset[row, g] · sums[g]`.
    #[inline(always)]
    pub fn shift(&self, row: usize, sums: &[f32]) -> f32 {
        const LANES: usize = 16;
        let offset = &self.offset[row * self.groups..][..self.groups];
        let (offsets, offset) = offset.as_chunks::<LANES>();
        let (chunks, sums) = sums.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (offsets, sums) in offsets.iter().zip(chunks) {
            for lane in 0..LANES {
                lanes[lane] += offsets[lane] * sums[lane];
            }
        }
        let rest: f32 = offset.iter().zip(sums).map(|(offset, sum)| offset * sum).sum();
        lanes.iter().sum::<f32>() + rest
    }
}
