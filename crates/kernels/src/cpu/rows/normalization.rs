//! The normalization of rows: `layer_norm` with and without parameters, of a sum, and `rms_norm`.

use std::ops::{Range, RangeInclusive};

use plan::Operator;
use tch::{TchError, Tensor};

use super::affine::Affine;
use super::exponentials::in_step;
use super::interleaved::{Fetched, Interleaved, Written};
use super::layout::{RowPointers, parameter, same};
use super::moments::{self, Statistics};
use super::pass::{CHAINS, LaneRange, Map, Pair, Source};
use super::row_buffer::{MOST, RowBuffer, fetched, lag};
use super::run;
use crate::cpu::Capability;
use crate::cpu::vector::{Element, Kernel, Together, Vector, with_element};
use crate::operands::Operands;
use crate::overlap::refuse_overlap;

const EPSILON: f64 = Operator::EPSILON;

/// Writes the rows of x, normalized, to `out`: with a mean and the biased variance,
/// (x − mean) / √(variance + ε) · weight + bias, or without a bias, x / √(mean(x²) + ε) · weight.
/// Without parameters, what they would be applied to; with a residual, the same of x + residual, in
/// one pass over memory.
///
/// x, the residual and out `[.., dim]`, weight and bias `[dim]`, all float32, bfloat16 or float16.
/// Rows may lie any one stride apart, their elements follow one another. With x̂ the normalized value,
/// a result is off by at most 4·2⁻²⁴·(1 + |x̂|)·|weight|, and 2⁻²⁴·|bias|, before it is rounded to the
/// dtype: also where the mean is large against the deviation, as nothing is lost when it is
/// subtracted. Without a mean, it is off by at most 4·2⁻²⁴ of itself, and where that is a subnormal
/// number by 2⁻¹⁵⁰·(1 + |weight|). The sum with a residual is one of float32 values, for half dtypes,
/// too: it is rounded to float32 only, by 2⁻²⁴ of itself, which normalization enlarges as it does the
/// sum. A row with a NaN becomes NaN, and one with an infinity, too; without a mean, its infinities
/// become NaN, and the others 0.
pub fn normalize(
    capability: Capability,
    operands: &Operands,
    out: &mut Tensor,
) -> Result<(), TchError> {
    let Operands { x, other: residual, weight, bias } = *operands;
    if let Some(residual) = residual {
        same("residual", residual, x)?;
    }
    let (from, to) = (RowPointers::new("x", x)?, RowPointers::of_output("out", out, x)?);
    refuse_overlap(out, operands.tensors())?;
    let residual = residual.map(|it| RowPointers::new("residual", it)).transpose()?;
    let rows =
        |name, it: Option<&Tensor>| it.map(|it| parameter(name, it, x, from.dim)).transpose();
    let (weight, bias) = (rows("weight", weight)?, rows("bias", bias)?);
    with_element!(x.f_kind()?, T => {
        let source = move |row| from.row::<T>(row).cast_const();
        let first = |it: RowPointers| it.row::<T>(0).cast_const();
        // SAFETY: all rows are as long as those of `to` and of this dtype, which nothing else
        // shares; so are the parameters.
        unsafe {
            match (residual, weight, bias) {
                (None, None, None) => run(capability, &to, |rows| {
                    NormalizeRows::<T, _, 0, true>::new(source, Affine([]), to, rows)
                }),
                (None, Some(weight), None) => run(capability, &to, |rows| {
                    let affine = Affine([first(weight)]);
                    NormalizeRows::<T, _, 1, false>::new(source, affine, to, rows)
                }),
                (None, Some(weight), Some(bias)) => run(capability, &to, |rows| {
                    let affine = Affine([first(weight), first(bias)]);
                    NormalizeRows::<T, _, 2, true>::new(source, affine, to, rows)
                }),
                (Some(residual), Some(weight), Some(bias)) => run(capability, &to, |rows| {
                    let sum = move |row| Pair::<T, true>(source(row), residual.row(row));
                    let affine = Affine([first(weight), first(bias)]);
                    NormalizeRows::<T, _, 2, true>::new(sum, affine, to, rows)
                }),
                _ => Err(TchError::Shape("no normalization has these operands".to_owned())),
            }
        }
    })
}

/// Variances, eps included, whose parts float32 holds without overflow and without loss.
const HELD: RangeInclusive<f64> = 1e-30..=1e30;

/// ((v − near) · factor + offset) and what the affine makes of it.
#[derive(Debug, Clone, Copy)]
struct Normalized<V, const N: usize> {
    source: *const f32,
    near: V,
    factor: V,
    offset: V,
    affine: Affine<f32, N>,
}

impl<V: Vector, const N: usize> Normalized<V, N> {
    /// Nothing for statistics that float32 does not hold.
    #[inline(always)]
    unsafe fn new(
        source: *const f32,
        Statistics { mean: (near, rest), variance }: Statistics,
        affine: Affine<f32, N>,
    ) -> Option<Self> {
        if !HELD.contains(&(variance + EPSILON)) {
            return None;
        }
        let factor = 1.0 / ((variance + EPSILON) as f32).sqrt();
        // SAFETY: the caller's promise.
        unsafe {
            let (near, offset) = (V::splat(near), V::splat(-rest as f32 * factor));
            Some(Self { source, near, factor: V::splat(factor), offset, affine })
        }
    }
}

impl<V: Vector, const N: usize> Map<V> for Normalized<V, N> {
    #[inline(always)]
    unsafe fn value_at(self, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let deviation = place.load::<V, f32>(self.source).sub(self.near);
            self.affine.apply(deviation.mul_add(self.factor, self.offset), place)
        }
    }
}

/// Writes a normalized row with float64 until a value is normalized: for squares that float32 does not hold, and
/// for rows with an infinity or a NaN, which come out as NaN.
///
/// # Safety
/// The row's elements can be read of `source` and `affine`, and written to `out`.
#[cold]
#[inline(never)]
unsafe fn normalize_exactly<T: Element, const N: usize, const CENTERED: bool>(
    source: impl Source,
    affine: Affine<T, N>,
    out: *mut T,
    elements: usize,
) {
    let place = |at: usize| LaneRange { at, only: Some(1) };
    // SAFETY: the caller's elements, and portable instructions.
    let value = |at: usize| f64::from(unsafe { source.load::<f32>(place(at)) });
    let Statistics { mean: (_, mean), variance } =
        moments::exact::<CENTERED>((0..elements).map(value));
    let deviation = (variance + EPSILON).sqrt();
    for at in 0..elements {
        let normalized = ((value(at) - mean) / deviation) as f32;
        // SAFETY: as above.
        unsafe { place(at).store(affine.apply(normalized, place(at)), out) };
    }
}

/// Normalizes some of the rows of a tensor, by their mean and variance if they are to be `CENTERED`,
/// else by their mean square.
struct NormalizeRows<T, F, const N: usize, const CENTERED: bool> {
    source: F,
    affine: Affine<T, N>,
    out: RowPointers,
    rows: Range<usize>,
}

impl<T, S, F, const N: usize, const CENTERED: bool> NormalizeRows<T, F, N, CENTERED>
where
    T: Element,
    S: Source,
    F: Fn(usize) -> S,
{
    /// Normalizes what `source` gives for a row's number into the row of that number of `out`, of
    /// elements `T`.
    fn new(source: F, affine: Affine<T, N>, out: RowPointers, rows: Range<usize>) -> Self {
        Self { source, affine, out, rows }
    }

    /// Reads a row, `room` for its values where they are not float32 already, does `interleaved`, and
    /// returns the values and what normalizes them, if float32 can.
    ///
    /// # Safety
    /// The row can be read, and `room` written.
    #[inline(always)]
    unsafe fn read<V: Vector, const C: usize>(
        &self,
        row: usize,
        near: f32,
        room: *mut f32,
        interleaved: impl Interleaved<V>,
    ) -> (*const f32, Statistics) {
        let (source, dim) = ((self.source)(row), self.out.dim);
        // SAFETY: the caller's promise.
        unsafe {
            let (values, sums) = match source.float32() {
                Some(values) => {
                    (values, moments::sums::<V, C, CENTERED>(source, interleaved, (), near, dim))
                }
                None => (
                    room.cast_const(),
                    moments::sums::<V, C, CENTERED>(source, interleaved, room, near, dim),
                ),
            };
            (values, moments::from_sums::<V, C, CENTERED>(values, near, sums, dim))
        }
    }

    /// All rows, in `C` chains: beside the reading of one, an earlier one is written.
    ///
    /// # Safety
    /// The contract of [`Kernel::run`].
    #[inline(always)]
    unsafe fn all<V: Vector, const C: usize>(self) {
        let (dim, lag) = (self.out.dim, lag(self.out.dim));
        let Range { start, end } = self.rows.clone();
        if start == end {
            return;
        }
        // No room for what is float32 already.
        let rows = |float32: Option<_>, rows| if float32.is_some() { 0 } else { rows };
        let parameters = rows(self.out.row::<T>(start).cast_const().float32(), N);
        let mut parameters = RowBuffer::new::<V>(parameters, dim);
        let mut held = RowBuffer::new::<V>(rows((self.source)(start).float32(), lag + 1), dim);
        // SAFETY: the caller's promise.
        let affine = unsafe { self.affine.hold::<V>(&mut parameters) };
        // SAFETY: the caller's promise.
        let mut next = unsafe { moments::near_mean::<V, C, CENTERED>((self.source)(start), dim) };
        let (mut known, mut slot) = ([None; MOST + 1], 0);
        for row in start..end + lag {
            let from = next;
            if row + 1 < end {
                // SAFETY: the caller's promise.
                next = unsafe { moments::near_mean::<V, C, CENTERED>((self.source)(row + 1), dim) };
            }
            let oldest = if slot == lag { 0 } else { slot + 1 };
            let out = self.out.row::<T>(row.saturating_sub(lag));
            let done: Option<(*const f32, Statistics)> = known[oldest].take();
            // SAFETY: the caller's promise.
            unsafe {
                let mut written = None;
                if let Some((values, statistics)) = done {
                    match Normalized::<V, N>::new(values, statistics, affine) {
                        Some(map) => written = Some(Written { map, out }),
                        None => {
                            // Not of what is held, which is in the order of a vector.
                            let source = (self.source)(row - lag);
                            normalize_exactly::<T, N, CENTERED>(source, self.affine, out, dim);
                        }
                    }
                }
                if row < end {
                    let ahead = Fetched((self.source)(row + fetched::<S>(dim)));
                    let room = held.row(slot);
                    known[slot] = Some(match &written {
                        Some(written) => self.read::<V, C>(row, from, room, (*written, ahead)),
                        None => self.read::<V, C>(row, from, room, ahead),
                    });
                } else if let Some(written) = written {
                    written.all::<V>(dim);
                }
            }
            slot = oldest;
        }
    }
}

impl<T, S, F, const N: usize, const CENTERED: bool> Kernel for NormalizeRows<T, F, N, CENTERED>
where
    T: Element,
    S: Source,
    F: Fn(usize) -> S,
{
    type Output = ();
    const ROUNDS_TO_BF16: bool = T::IS_BF16;

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // A register of float32 is read and written by itself.
        let in_step = T::PRECISION < f32::MANTISSA_DIGITS && in_step::<V>(self.out.dim);
        // SAFETY: the caller's promise.
        unsafe {
            match in_step {
                true => self.all::<Together<V>, 1>(),
                false => self.all::<V, CHAINS>(),
            }
        }
    }
}
