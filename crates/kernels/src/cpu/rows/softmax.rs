//! Softmax over the last dimension.

use std::marker::PhantomData;
use std::ops::Range;

use tch::{TchError, Tensor};

use super::exponentials::{Exponentials, Maximum, greatest, in_step};
use super::interleaved::{Fetched, Interleaved, Written};
use super::layout::RowPointers;
use super::pass::{CHAINS, LaneRange, Map, sums};
use super::row_buffer::{MOST, RowBuffer, fetched, lag};
use super::run;
use crate::cpu::Capability;
use crate::cpu::vector::{Element, Kernel, Together, Vector, with_element};
use crate::overlap::refuse_overlap;

/// Writes e^(x − max) / Σ e^(x − max) of each row to `out`.
///
/// x and out `[.., dim]`, float32, bfloat16 or float16. Rows may lie any one stride apart, their
/// elements follow one another. For float32 a result is off by at most (12 + |x − max|)·2⁻²⁴ of
/// itself, and then rounded where it is subnormal; for half dtypes by 2⁻¹² of itself before it is
/// rounded to the dtype. A row with a NaN or an infinity, or of negative infinities alone, becomes
/// NaN; beside others, a negative infinity becomes 0.
pub fn softmax(capability: Capability, x: &Tensor, out: &mut Tensor) -> Result<(), TchError> {
    let (from, to) = (RowPointers::new("x", x)?, RowPointers::of_output("out", out, x)?);
    refuse_overlap(out, [x])?;
    with_element!(x.f_kind()?, T => {
        // SAFETY: all rows are as long as those of `to` and of this dtype, which nothing else
        // shares.
        unsafe { run(capability, &to, |rows| Softmax::<T> { from, to, rows, kind: PhantomData }) }
    })
}

/// Some of the rows.
struct Softmax<T> {
    from: RowPointers,
    to: RowPointers,
    rows: Range<usize>,
    kind: PhantomData<T>,
}

impl<T: Element> Kernel for Softmax<T> {
    type Output = ();
    const ROUNDS_TO_BF16: bool = T::IS_BF16;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // SAFETY: the caller's promise.
        unsafe {
            match in_step::<V>(self.from.dim) {
                true => self.all::<Together<V>, 1>(),
                false => self.all::<V, CHAINS>(),
            }
        }
    }
}

impl<T: Element> Softmax<T> {
    /// All rows, in `C` chains: beside the exponentials of one, those of an earlier one are divided
    /// by their sum, and the greatest value of a later one is found.
    ///
    /// # Safety
    /// The contract of [`Kernel::run`].
    #[inline(always)]
    unsafe fn all<V: Vector, const C: usize>(self) {
        let (dim, lag) = (self.from.dim, lag(self.from.dim));
        // Not in `out`, whose dtype may not hold the exponentials.
        let mut held = RowBuffer::new::<V>(lag + 1, dim);
        let Range { start, end } = self.rows;
        if start == end {
            return;
        }
        let from = |row: usize| self.from.row::<T>(row.min(end - 1)).cast_const();
        // The greatest values of this row and the next.
        // SAFETY: the caller's promise.
        let mut greatest =
            unsafe { [greatest::<V>(from(start), dim), greatest::<V>(from(start + 1), dim)] };
        let (mut known, mut slot) = ([None; MOST + 1], 0);
        for row in start..end + lag {
            let oldest = if slot == lag { 0 } else { slot + 1 };
            let out = self.to.row::<T>(row.saturating_sub(lag));
            // SAFETY: the caller's promise.
            unsafe {
                let mut written = None;
                if let Some((values, factor)) = known[oldest].take() {
                    let scaled = Scaled { values, factor: V::splat(factor) };
                    written = Some(Written { map: scaled, out });
                }
                if row < end {
                    let (later, room) = (Maximum::<V, _>::new(from(row + 2)), held.row(slot));
                    let interleaved = (&later, Fetched(from(row + 2 + fetched::<*const T>(dim))));
                    let [greatest_here, greatest_next] = greatest;
                    let sum = match &written {
                        Some(written) => {
                            let interleaved = (interleaved, *written);
                            sum::<V, T, C>(from(row), greatest_here, interleaved, room, dim)
                        }
                        None => sum::<V, T, C>(from(row), greatest_here, interleaved, room, dim),
                    };
                    known[slot] = Some((room.cast_const(), (1.0 / sum) as f32));
                    greatest = [greatest_next, later.found()];
                } else if let Some(written) = written {
                    written.all::<V>(dim);
                }
            }
            slot = oldest;
        }
    }
}

/// The sum of a row's exponentials, which go to `room`.
///
/// # Safety
/// The row's elements can be read, and whole vectors written.
#[inline(always)]
unsafe fn sum<V: Vector, T: Element, const C: usize>(
    from: *const T,
    greatest: f32,
    interleaved: impl Interleaved<V>,
    room: *mut f32,
    elements: usize,
) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        let terms = Exponentials::<V, _, _, _, T>::new(from, greatest, interleaved, room);
        let [sum] = sums::<V, 1, C, _>(terms, elements);
        sum
    }
}

/// Values multiplied by a factor.
#[derive(Debug, Clone, Copy)]
struct Scaled<V> {
    values: *const f32,
    factor: V,
}

impl<V: Vector> Map<V> for Scaled<V> {
    #[inline(always)]
    unsafe fn value_at(self, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe { place.load::<V, f32>(self.values).mul(self.factor) }
    }
}
