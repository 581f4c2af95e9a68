//! The mean of squared differences.

use std::ops::Range;

use tch::{TchError, Tensor};

use super::layout::{RowPointers, same};
use super::pass::{CHAINS, LaneRange, Pair, Source, Squares, sums};
use super::{GRAIN, total, write_scalar};
use crate::cpu::Capability;
use crate::cpu::vector::{Kernel, Vector, with_element};

/// Writes the mean of (x − target)² to `out`.
///
/// x and target `[.., dim]`, out without dimensions, all float32, bfloat16 or float16. Rows may lie
/// any one stride apart, their elements follow one another. The result is off by at most 72·2⁻²⁴ of
/// itself before it is rounded to the dtype, and the same on any number of threads. The mean of no
/// elements is NaN.
pub fn mse_loss(
    capability: Capability,
    x: &Tensor,
    target: &Tensor,
    out: &mut Tensor,
) -> Result<(), TchError> {
    same("target", target, x)?;
    let (mut rows, mut targets) = (RowPointers::new("x", x)?, RowPointers::new("target", target)?);
    if rows.are_contiguous() && targets.are_contiguous() {
        (rows, targets) = (rows.as_one(), targets.as_one());
    }
    let sum = with_element!(x.f_kind()?, T => {
        // Blocks of whole rows, or of a part of the only one.
        let per_block = if rows.count == 1 { GRAIN } else { (GRAIN / rows.dim.max(1)).max(1) };
        let items = if rows.count == 1 { rows.dim } else { rows.count };
        // SAFETY: all rows are as long as those of `rows` and of this dtype.
        unsafe { total(capability, items.div_ceil(per_block), |block| {
            let block = block * per_block..items.min((block + 1) * per_block);
            let (of, columns) =
                if rows.count == 1 { (0..1, block) } else { (block, 0..rows.dim) };
            Block {
                rows: of,
                elements: columns.len(),
                source: move |row| {
                    let at = |rows: &RowPointers| rows.row::<T>(row).wrapping_add(columns.start);
                    Pair::<T, false>(at(&rows), at(&targets))
                },
            }
        }) }
    })?;
    write_scalar(sum / rows.elements() as f64, x.f_kind()?, out)
}

/// Some elements of some rows.
struct Block<F> {
    rows: Range<usize>,
    elements: usize,
    source: F,
}

impl<S: Source, F: Fn(usize) -> S> Kernel for Block<F> {
    type Output = f64;
    const ROUNDS_TO_BF16: bool = false;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> f64 {
        let mut total = 0.0;
        for row in self.rows {
            let source = (self.source)(row);
            // SAFETY: the caller's promise.
            let [mut squares] = unsafe { sums::<V, 1, CHAINS, _>(Squares(source), self.elements) };
            if !squares.is_finite() {
                // SAFETY: the caller's promise.
                squares = unsafe { squares_exactly(source, self.elements) };
            }
            total += squares;
        }
        total
    }
}

/// Σ v² in float64, for squares that float32 does not hold.
///
/// # Safety
/// The row's elements can be read.
#[cold]
#[inline(never)]
unsafe fn squares_exactly(source: impl Source, elements: usize) -> f64 {
    let square = |at| {
        // SAFETY: the caller's elements, and portable instructions.
        let value: f32 = unsafe { source.load(LaneRange { at, only: Some(1) }) };
        f64::from(value).powi(2)
    };
    (0..elements).map(square).sum()
}
