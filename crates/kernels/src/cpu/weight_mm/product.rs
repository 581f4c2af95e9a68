//! The product itself, for any instruction set.
//!
//! ```text
//! y[m, n] = Σg scale[n, g] · ( Σk∈g (q[n, k] − 8) · x[m, k]  +  (8 − zero[n, g]) · Σk∈g x[m, k] )
//! ```
//!
//! The inner products come from the integers as they are, exact in float32, and the sums of the
//! activation's groups are common to all rows of the weight. The zero points of symmetric weights
//! are near 8; taking that off first keeps both terms as small as the result.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "one promise of the caller's covers every call"
)]

use std::ops::Range;

use super::floats::{Floats, Output};
use super::format::Format;
use super::lanes::Lanes;
use super::tile::tile;

/// Rows of the weight that are worked on at once: streams that hide the memory's latency, and more
/// uses of each load of the activation.
pub const ROWS: usize = 4;
/// Rows of the activation that share a decoded quarter of the weight.
const SHARING: usize = 4;
/// Rows of the activation that stay in the cache while the weight passes by.
const RESIDENT: usize = 32;

/// A product `x [m, k] · weightᵀ [k, n]`.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a, X> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// A multiple of [`QUARTER`](super::lanes::QUARTER) that divides `k`; `k` itself where a row has one scale.
    pub group: usize,
    /// `[n, k]` as its [`Format`] has it.
    pub weight: &'a [u8],
    /// `[n, k / group]`.
    pub scale: Floats<'a>,
    /// `[n, k / group]` and the sums of the activation's groups, `[m, k / group]`; none where the
    /// weight has no zero points.
    pub zero: Option<(Floats<'a>, &'a [f32])>,
    /// `[m, k]`, in the order of [`Lanes::SPLITS_PAIRS`] for 4-bit weights.
    pub x: &'a [X],
    /// `[m, n]`.
    pub output: Output,
}

impl<'a> Product<'a, ()> {
    /// The same with an activation.
    pub fn with<X>(&self, x: &'a [X]) -> Product<'a, X> {
        let Self { m, n, k, group, weight, scale, zero, output, .. } = *self;
        Product { m, n, k, group, weight, scale, zero, x, output }
    }
}

/// The columns of the output that belong to `rows` of the weight.
///
/// # Safety
/// The CPU has the capability of `L`, the sizes are as [`Product`] says, and nobody else uses those
/// columns.
#[inline(always)]
pub unsafe fn columns<L: Lanes, F: Format>(product: &Product<'_, L::X>, rows: Range<usize>) {
    let mut factors = Factors::new(product.k / product.group);
    for first in (0..product.m).step_by(RESIDENT) {
        let resident = first..(first + RESIDENT).min(product.m);
        let mut row = rows.start;
        while row < rows.end {
            let count = if rows.end - row < ROWS { 1 } else { ROWS };
            factors.read(product, row, count);
            prefetch_factors::<L>(product, row + count, count);
            // SAFETY: the caller's promise, for rows inside its range.
            unsafe {
                match count {
                    ROWS => tiles::<L, F, ROWS>(product, &factors, resident.clone(), row),
                    _ => tiles::<L, F, 1>(product, &factors, resident.clone(), row),
                }
            }
            row += count;
        }
    }
}

/// Fetches what the groups of the next rows are multiplied by while these are worked on: of small
/// groups it is a fifth of the weight's bytes.
#[inline(always)]
fn prefetch_factors<L: Lanes>(product: &Product<'_, L::X>, row: usize, count: usize) {
    let groups = product.k / product.group;
    let zero = product.zero.map(|(zero, _)| zero);
    for floats in [Some(product.scale), zero].into_iter().flatten() {
        floats.lines(row * groups, count * groups).for_each(L::prefetch);
    }
}

/// What the groups of some rows are multiplied by.
pub struct Factors {
    pub groups: usize,
    /// `[ROWS, groups]`.
    scale: Vec<f32>,
    /// `(8 − zero) · scale`, `[ROWS, groups]`.
    offset: Vec<f32>,
}

impl Factors {
    fn new(groups: usize) -> Self {
        Self { groups, scale: vec![0.0; ROWS * groups], offset: vec![0.0; ROWS * groups] }
    }

    #[inline(always)]
    fn read<X>(&mut self, product: &Product<'_, X>, row: usize, count: usize) {
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

/// Some rows of the activation with `N` of the weight.
#[inline(always)]
unsafe fn tiles<L: Lanes, F: Format, const N: usize>(
    product: &Product<'_, L::X>,
    factors: &Factors,
    resident: Range<usize>,
    row: usize,
) {
    let mut at = resident.start;
    while at < resident.end {
        // SAFETY: the caller's promise.
        at += unsafe {
            match resident.end - at {
                SHARING.. => tile::<L, F, SHARING, N>(product, factors, at, row),
                2.. => tile::<L, F, 2, N>(product, factors, at, row),
                _ => tile::<L, F, 1, N>(product, factors, at, row),
            }
        };
    }
}
