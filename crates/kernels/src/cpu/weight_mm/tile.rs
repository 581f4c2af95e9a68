//! The product itself, for any instruction set: some rows of the activation with some of the weight
//! at a time, which are held in registers.

use std::ops::Range;

use super::format::Format;
use super::lanes::{Lanes, QUARTER};
use super::product::{Factors, Product, ROWS};
use crate::cpu::vector::Vector;

/// Rows of the activation that share a decoded quarter of the weight.
const SHARING: usize = 4;
/// Rows of the activation that stay in the cache while the weight passes by.
const RESIDENT: usize = 32;

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

/// Fetches what the groups of the next rows are multiplied by while these are worked on: with small
/// groups, it is a fifth of the weight's bytes.
#[inline(always)]
fn prefetch_factors<L: Lanes>(product: &Product<'_, L::X>, row: usize, count: usize) {
    let groups = product.k / product.group;
    let zero = product.zero.map(|(zero, _)| zero);
    for floats in [Some(product.scale), zero].into_iter().flatten() {
        for line in floats.lines(row * groups, count * groups) {
            // SAFETY: a hint, which faults nowhere.
            unsafe { L::Sum::prefetch(line) };
        }
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

/// The addresses of a tile's operands.
struct Tile<L: Lanes, const M: usize, const N: usize> {
    weight: [*const u8; N],
    x: [*const L::X; M],
    scale: [*const f32; N],
    quarters: usize,
    /// Bytes from a weight to the one that is worked on a tile later.
    ahead: usize,
}

impl<L: Lanes, const M: usize, const N: usize> Tile<L, M, N> {
    /// Groups of `QUARTERS` quarters that lie in a block, `PER_BLOCK` of them, or of several
    /// blocks.
    #[inline(always)]
    unsafe fn grouped<F: Format, const QUARTERS: usize, const PER_BLOCK: usize>(
        &self,
        blocks_per_group: usize,
    ) -> Sums<L, M, N> {
        // SAFETY: the caller's capability and rows.
        unsafe {
            let mut totals = [[L::Sum::splat(0.0); N]; M];
            let blocks = self.quarters / 4;
            for first in (0..blocks).step_by(blocks_per_group) {
                for part in 0..PER_BLOCK {
                    let mut sums = [[L::Sum::splat(0.0); N]; M];
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
                let mut sums = [[L::Sum::splat(0.0); N]; M];
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
        unsafe {
            let mut sums = [[L::Sum::splat(0.0); N]; M];
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
                // SAFETY: a hint, which faults nowhere.
                unsafe { L::Sum::prefetch(self.weight[j].wrapping_add(here + self.ahead)) };
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
        for (x, sums) in self.x.iter().zip(sums) {
            // SAFETY: 32 elements of the row, in the caller's capability.
            sums[j] = unsafe { L::dot(weights, x.add(quarter * QUARTER), sums[j]) };
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
                totals[i][j] = unsafe { sums[i][j].mul_add(L::Sum::splat(scale), totals[i][j]) };
            }
        }
    }
}

/// `M` rows of the activation, from `at` on, with `N` of the weight, from `row` on; returns `M`.
///
/// # Safety
/// The CPU has the capability of `L`; the rows are there; nobody else uses their elements of the
/// output.
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
    let tile = unsafe {
        Tile::<L, M, N> {
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
            1 if grouped => tile.grouped::<F, 1, 4>(1),
            2 if grouped => tile.grouped::<F, 2, 2>(1),
            quarters if grouped => tile.grouped::<F, 4, 1>(quarters / 4),
            _ => tile.ungrouped::<F>(),
        }
    };
    for (i, sums) in sums.into_iter().enumerate() {
        for (j, sum) in sums.into_iter().enumerate() {
            // SAFETY: the caller's capability.
            let mut value = unsafe { sum.sum() };
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
