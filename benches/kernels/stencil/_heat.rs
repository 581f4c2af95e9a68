//! The step and its costs, which all implementations share.

#[path = "../_grid.rs"]
mod grid;

use criterion_torch::kernel::prelude::*;
pub use grid::{Grid, interior};

/// Δt / h², below the limit of stability, 1/4 in two dimensions and 1/6 in three. A power of two, so
/// that it is the same number in every precision.
pub const ALPHA: f64 = 0.125;

/// `next = u + α·(sum of neighbours − 2·D·u)` in the interior of the row that begins at `start`, with
/// neighbours so far away in D − 1 dimensions, and beside it in the last.
pub fn step_row<T: Element, const OTHERS: usize>(
    next: &mut [T],
    u: &[T],
    start: usize,
    strides: [usize; OTHERS],
) {
    let inner = start + 1..start + next.len() - 1;
    // Slices of one length: the loop over them needs no check of bounds, and becomes vector code.
    let shifted = |from: usize| &u[from..][..inner.len()];
    let around = strides.map(|by| (shifted(inner.start - by), shifted(inner.start + by)));
    let (left, here, right) = (shifted(start), shifted(start + 1), shifted(start + 2));
    let side = T::Wide::from_f64(ALPHA);
    let center = T::Wide::from_f64(1.0 - 2.0 * (OTHERS + 1) as f64 * ALPHA);
    for (i, out) in next[1..=inner.len()].iter_mut().enumerate() {
        let mut sum = left[i].wide() + right[i].wide();
        for (before, behind) in &around {
            sum += before[i].wide() + behind[i].wide();
        }
        *out = T::narrow(center * here[i].wide() + side * sum);
    }
}

/// The step by way of whole tensors: each neighbour is the grid, rolled by a place.
pub fn reference(u: &Tensor, grid: &Grid) -> Result<Tensor, Refusal> {
    let mut change = u.f_zeros_like()?;
    for dim in 0..grid.size().len() as i64 {
        for by in [1, -1] {
            change = change.f_add(&u.f_roll([by], [dim])?)?.f_sub(u)?;
        }
    }
    // Values that were rolled in from the other side lie on the boundary, which keeps its own.
    let mask = u.f_zeros_like()?;
    drop(grid.interior_of(&mask)?.f_fill_(ALPHA)?);
    Ok(u.f_add(&change.f_mul(&mask)?)?)
}

/// Each interior point takes 2·D − 1 sums of neighbours, two products and their sum.
pub fn flops(size: &[usize]) -> u64 {
    interior(size) * (2 * size.len() as u64 + 2)
}

/// Every point read once, every interior point written once.
pub fn bytes(size: &[usize], dtype: Dtype) -> u64 {
    let points: u64 = size.iter().map(|&it| it as u64).product();
    (points + interior(size)) * dtype.bytes()
}
