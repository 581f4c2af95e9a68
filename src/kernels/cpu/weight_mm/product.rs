//! The product itself, for any instruction set.
//!
//! ```text
//! y[m, n] = Σg scale[n, g] · ( Σk∈g (q[n, k] − 8) · x[m, k]  +  (8 − zero[n, g]) · Σk∈g x[m, k] )
//! ```
//!
//! The inner products come from the integers as they are, exact in float32, and the sums of the
//! activation's groups are common to all rows of the weight. The zero points of symmetric weights
//! are near 8; taking that off first keeps both terms as small as the result.

use std::ops::Range;

use super::floats::{Floats, Output};
use super::lanes::{Lanes, QUARTER};

/// Weights in a block of 4-bit numbers, four quarters.
pub const BLOCK: usize = 4 * QUARTER;
/// Rows of the weight that are worked on at once: streams that hide the memory's latency, and more
/// uses of each load of the activation.
pub const ROWS: usize = 4;
/// Rows of the activation that share a decoded quarter of the weight.
const SHARING: usize = 4;
/// Rows of the activation that stay in the cache while the weight passes by.
const RESIDENT: usize = 32;

/// How the weight is stored.
pub trait Format {
    /// Bytes of a quarter.
    const BYTES: usize;
    /// Whether the weight has groups at all; a scale per row otherwise.
    const GROUPED: bool;

    /// A quarter (0 to 3) of a block.
    ///
    /// # Safety
    /// That of [`Lanes::u4`] and [`Lanes::i8`]; `block` is a whole one.
    unsafe fn quarter<L: Lanes>(block: *const u8, quarter: usize) -> L::Quarter;

    /// A quarter that follows the last whole block.
    ///
    /// # Safety
    /// That of [`Lanes::u4`] and [`Lanes::i8`]; [`Self::BYTES`] can be read at `quarter`.
    unsafe fn tail<L: Lanes>(quarter: *const u8) -> L::Quarter;
}

/// 4 bits, as the [layout](super) has them.
#[derive(Debug, Clone, Copy)]
pub struct U4;

impl Format for U4 {
    const BYTES: usize = QUARTER / 2;
    const GROUPED: bool = true;

    #[inline(always)]
    unsafe fn quarter<L: Lanes>(block: *const u8, quarter: usize) -> L::Quarter {
        // SAFETY: the caller's promise.
        unsafe { L::u4(block, quarter) }
    }

    #[inline(always)]
    unsafe fn tail<L: Lanes>(quarter: *const u8) -> L::Quarter {
        // SAFETY: the caller's 16 bytes.
        let bytes = unsafe { &*quarter.cast::<[u8; QUARTER / 2]>() };
        let mut values = [0; QUARTER];
        for (lane, byte) in bytes.iter().enumerate() {
            let (even, odd) = ((byte & 15) as i8 - 8, (byte >> 4) as i8 - 8);
            if L::SPLITS_PAIRS {
                (values[lane], values[lane + QUARTER / 2]) = (even, odd);
            } else {
                (values[2 * lane], values[2 * lane + 1]) = (even, odd);
            }
        }
        // SAFETY: 32 bytes of this frame.
        unsafe { L::i8(values.as_ptr()) }
    }
}

/// 8 bits with a sign, in order; one scale per row.
#[derive(Debug, Clone, Copy)]
pub struct I8;

impl Format for I8 {
    const BYTES: usize = QUARTER;
    const GROUPED: bool = false;

    #[inline(always)]
    unsafe fn quarter<L: Lanes>(block: *const u8, quarter: usize) -> L::Quarter {
        // SAFETY: 32 bytes of the block begin there.
        unsafe { L::i8(block.add(quarter * Self::BYTES).cast()) }
    }

    #[inline(always)]
    unsafe fn tail<L: Lanes>(quarter: *const u8) -> L::Quarter {
        // SAFETY: the caller's 32 bytes.
        unsafe { L::i8(quarter.cast()) }
    }
}

/// A product `x [m, k] · weightᵀ [k, n]`.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a, X> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// A multiple of [`QUARTER`] that divides `k`; `k` itself where a row has one scale.
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

/// What the groups of some rows are multiplied by.
struct Factors {
    groups: usize,
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

    fn scale(&self, row: usize) -> &[f32] {
        &self.scale[row * self.groups..][..self.groups]
    }

    /// `Σg offset[row, g] · sums[g]`.
    #[inline(always)]
    fn shift(&self, row: usize, sums: &[f32]) -> f32 {
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

type Sums<L, const M: usize, const N: usize> = [[<L as Lanes>::Sum; N]; M];

/// Where the operands of a tile begin.
struct Operands<L: Lanes, const M: usize, const N: usize> {
    weight: [*const u8; N],
    x: [*const L::X; M],
    scale: [*const f32; N],
    quarters: usize,
    /// Bytes from a weight to the one that is worked on a tile later.
    ahead: usize,
}

impl<L: Lanes, const M: usize, const N: usize> Operands<L, M, N> {
    /// Groups of `QUARTERS` quarters that lie in a block, `PER_BLOCK` of them, or of several
    /// blocks.
    #[inline(always)]
    unsafe fn grouped<F: Format, const QUARTERS: usize, const PER_BLOCK: usize>(
        &self,
        blocks_per_group: usize,
    ) -> Sums<L, M, N> {
        // SAFETY: the caller's capability and rows.
        #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one condition holds for all")]
        unsafe {
            let mut totals = [[L::zero(); N]; M];
            let blocks = self.quarters / 4;
            for first in (0..blocks).step_by(blocks_per_group) {
                for part in 0..PER_BLOCK {
                    let mut sums = [[L::zero(); N]; M];
                    for block in first..first + blocks_per_group {
                        for quarter in part * QUARTERS..(part + 1) * QUARTERS {
                            self.add::<F>(block, quarter, &mut sums);
                        }
                    }
                    let group = first / blocks_per_group * PER_BLOCK + part;
                    self.scale(group, &sums, &mut totals);
                }
            }
            for first in (4 * blocks..self.quarters).step_by(QUARTERS) {
                let mut sums = [[L::zero(); N]; M];
                for quarter in first..first + QUARTERS {
                    self.add_tail::<F>(quarter, &mut sums);
                }
                self.scale(first / QUARTERS, &sums, &mut totals);
            }
            totals
        }
    }

    /// Rows with one scale, which is left to the caller.
    #[inline(always)]
    unsafe fn ungrouped<F: Format>(&self) -> Sums<L, M, N> {
        // SAFETY: the caller's capability and rows.
        #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one condition holds for all")]
        unsafe {
            let mut sums = [[L::zero(); N]; M];
            let blocks = self.quarters / 4;
            for block in 0..blocks {
                for quarter in 0..4 {
                    self.add::<F>(block, quarter, &mut sums);
                }
            }
            for quarter in 4 * blocks..self.quarters {
                self.add_tail::<F>(quarter, &mut sums);
            }
            sums
        }
    }

    #[inline(always)]
    unsafe fn add<F: Format>(&self, block: usize, quarter: usize, sums: &mut Sums<L, M, N>) {
        const LINE: usize = 64;
        for j in 0..N {
            if M == 1 && (quarter * F::BYTES).is_multiple_of(LINE) {
                let here = (4 * block + quarter) * F::BYTES;
                L::prefetch(self.weight[j].wrapping_add(here + self.ahead));
            }
            // SAFETY: a whole block of the row, in the caller's capability.
            let weights =
                unsafe { F::quarter::<L>(self.weight[j].add(block * 4 * F::BYTES), quarter) };
            // SAFETY: the same.
            unsafe { self.dot(weights, 4 * block + quarter, j, sums) };
        }
    }

    #[inline(always)]
    unsafe fn add_tail<F: Format>(&self, quarter: usize, sums: &mut Sums<L, M, N>) {
        for j in 0..N {
            // SAFETY: a quarter of the row, in the caller's capability.
            let weights = unsafe { F::tail::<L>(self.weight[j].add(quarter * F::BYTES)) };
            // SAFETY: the same.
            unsafe { self.dot(weights, quarter, j, sums) };
        }
    }

    #[inline(always)]
    unsafe fn dot(&self, weights: L::Quarter, quarter: usize, j: usize, sums: &mut Sums<L, M, N>) {
        for i in 0..M {
            // SAFETY: 32 elements of the row, in the caller's capability.
            sums[i][j] = unsafe { L::dot(weights, self.x[i].add(quarter * QUARTER), sums[i][j]) };
        }
    }

    /// Adds the sums of a group to the totals.
    #[inline(always)]
    unsafe fn scale(&self, group: usize, sums: &Sums<L, M, N>, totals: &mut Sums<L, M, N>) {
        for j in 0..N {
            // SAFETY: a group of the row.
            let scale = unsafe { *self.scale[j].add(group) };
            for i in 0..M {
                // SAFETY: the caller's capability.
                totals[i][j] = unsafe { L::add_scaled(sums[i][j], scale, totals[i][j]) };
            }
        }
    }
}

/// `M` rows of the activation, from `at` on, with `N` of the weight, from `row` on; returns `M`.
#[inline(always)]
unsafe fn tile<L: Lanes, F: Format, const M: usize, const N: usize>(
    product: &Product<'_, L::X>,
    factors: &Factors,
    at: usize,
    row: usize,
) -> usize {
    let Product { n, k, group, .. } = *product;
    let bytes = k / QUARTER * F::BYTES;
    // SAFETY: rows of the tensors, which the caller promises to be there.
    let operands = unsafe {
        Operands::<L, M, N> {
            weight: std::array::from_fn(|j| product.weight.as_ptr().add((row + j) * bytes)),
            x: std::array::from_fn(|i| product.x.as_ptr().add((at + i) * k)),
            scale: std::array::from_fn(|j| factors.scale(j).as_ptr()),
            quarters: k / QUARTER,
            ahead: N * bytes,
        }
    };
    let grouped = F::GROUPED && group < k;
    // SAFETY: the operands are whole rows.
    let sums = unsafe {
        match group / QUARTER {
            1 if grouped => operands.grouped::<F, 1, 4>(1),
            2 if grouped => operands.grouped::<F, 2, 2>(1),
            quarters if grouped => operands.grouped::<F, 4, 1>(quarters / 4),
            _ => operands.ungrouped::<F>(),
        }
    };
    for (i, sums) in sums.into_iter().enumerate() {
        for (j, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's capability.
            let mut value = unsafe { L::total(sum) };
            if !grouped {
                value *= factors.scale(j)[0];
            }
            if let Some((_, sums)) = product.zero {
                value += factors.shift(j, &sums[(at + i) * factors.groups..][..factors.groups]);
            }
            // SAFETY: an element of the caller's columns.
            unsafe { product.output.write((at + i) * n + row + j, value) };
        }
    }
    M
}
