//! The normalization of rows, which layer_norm, add_layer_norm and rms_norm share.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

use super::affine::Affine;
use super::beside::{Beside, Fetched, Written};
use super::exponentials::in_step;
use super::held::{Held, MOST, fetched, lag};
use super::layout::Rows;
use super::moments::{Moments, Statistics};
use super::pass::{CHAINS, Map, Place, Source};
use crate::cpu::vector::{Element, Kernel, Together, Vector};

/// Variances, eps included, whose parts float32 holds without overflow and without loss.
const HELD: RangeInclusive<f64> = 1e-30..=1e30;

/// ((v − near) · factor + offset) and what the affine makes of it.
#[derive(Debug, Clone, Copy)]
struct Normalized<V, S, A> {
    source: S,
    near: V,
    factor: V,
    offset: V,
    affine: A,
}

impl<V: Vector, A: Affine> Normalized<V, *const f32, A> {
    /// Nothing for statistics that float32 does not hold.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn new(
        source: *const f32,
        Statistics { mean: (near, rest), variance }: Statistics,
        eps: f64,
        affine: A,
    ) -> Option<Self> {
        if !HELD.contains(&(variance + eps)) {
            return None;
        }
        let factor = 1.0 / ((variance + eps) as f32).sqrt();
        // SAFETY: the caller's promise.
        unsafe {
            let (near, offset) = (V::splat(near), V::splat(-rest as f32 * factor));
            Some(Self { source, near, factor: V::splat(factor), offset, affine })
        }
    }
}

impl<V: Vector, S: Source, A: Affine> Map<V> for Normalized<V, S, A> {
    #[inline(always)]
    unsafe fn at(self, place: Place) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let deviation = self.source.load::<V>(place).sub(self.near);
            self.affine.apply(deviation.mul_add(self.factor, self.offset), place)
        }
    }
}

/// Writes a normalized row with float64 until a value is normalized: for squares that float32 does not hold, and
/// for rows with an infinity or a NaN, which come out as NaN.
///
/// # Safety
/// So many elements can be read of `source` and `affine`, and written to `out`.
#[cold]
#[inline(never)]
unsafe fn normalize_exactly<M: Moments, T: Element>(
    source: impl Source,
    affine: impl Affine,
    eps: f64,
    out: *mut T,
    elements: usize,
) {
    let place = |at: usize| Place { at, only: Some(1) };
    // SAFETY: the caller's elements, and portable instructions.
    let value = |at: usize| f64::from(unsafe { source.load::<[f32; 4]>(place(at)) }[0]);
    let Statistics { mean: (_, mean), variance } = M::exact((0..elements).map(value));
    let deviation = (variance + eps).sqrt();
    for at in 0..elements {
        let normalized = [((value(at) - mean) / deviation) as f32; 4];
        // SAFETY: as above.
        unsafe { place(at).store(affine.apply(normalized, place(at)), out) };
    }
}

/// Normalizes some of the rows of a tensor.
pub struct NormalizeRows<M, T, F, A> {
    source: F,
    affine: A,
    eps: f64,
    out: Rows,
    rows: Range<usize>,
    kind: PhantomData<(M, T)>,
}

impl<M, T, F, A> NormalizeRows<M, T, F, A> {
    /// Of what `source` gives for a row's number, into the row of that number of `out`, of elements
    /// `T`.
    pub fn new(source: F, affine: A, eps: f64, out: Rows, rows: Range<usize>) -> Self {
        Self { source, affine, eps, out, rows, kind: PhantomData }
    }
}

impl<M: Moments, T: Element, S: Source, F: Fn(usize) -> S, A: Affine> NormalizeRows<M, T, F, A> {
    /// Reads a row, `room` for its values where they are not float32 already, does `beside`, and
    /// returns the values and what normalizes them, if float32 can.
    ///
    /// # Safety
    /// The CPU has the instructions; the row can be read, and `room` written.
    #[inline(always)]
    unsafe fn read<V: Vector, const C: usize>(
        &self,
        row: usize,
        near: f32,
        room: *mut f32,
        beside: impl Beside<V>,
    ) -> (*const f32, Statistics) {
        let (source, dim) = ((self.source)(row), self.out.dim);
        // SAFETY: the caller's promise.
        unsafe {
            let (values, sums) = match source.float32() {
                Some(values) => (values, M::sums::<V, C>(source, beside, (), near, dim)),
                None => (room.cast_const(), M::sums::<V, C>(source, beside, room, near, dim)),
            };
            (values, M::of::<V, C>(values, near, sums, dim))
        }
    }
}

impl<M, T, S, F, A> Kernel for NormalizeRows<M, T, F, A>
where
    M: Moments,
    T: Element,
    S: Source,
    F: Fn(usize) -> S,
    A: Affine,
{
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        // Of float32 a register is read and written by itself.
        let in_step = T::PRECISION < f32::MANTISSA_DIGITS && in_step::<V>(self.out.dim);
        // SAFETY: the caller's promise.
        unsafe {
            match in_step {
                true => self.all::<Together<V, CHAINS>, 1>(),
                false => self.all::<V, CHAINS>(),
            }
        }
    }
}

impl<M, T, S, F, A> NormalizeRows<M, T, F, A>
where
    M: Moments,
    T: Element,
    S: Source,
    F: Fn(usize) -> S,
    A: Affine,
{
    /// All rows, in `C` chains: beside the reading of one, an earlier one is written.
    ///
    /// # Safety
    /// That of [`Kernel::run`].
    #[inline(always)]
    unsafe fn all<V: Vector, const C: usize>(self) {
        let (dim, lag) = (self.out.dim, lag(self.out.dim));
        let Range { start, end } = self.rows.clone();
        if start == end {
            return;
        }
        // No room for what is float32 already.
        let rows = |float32: Option<_>, rows| if float32.is_some() { 0 } else { rows };
        let parameters = rows(self.out.row::<T>(start).cast_const().float32(), 2);
        let mut parameters = Held::new::<V>(parameters, dim);
        let mut held = Held::new::<V>(rows((self.source)(start).float32(), lag + 1), dim);
        // SAFETY: the caller's promise.
        let affine = unsafe { self.affine.hold::<V>(&mut parameters) };
        // SAFETY: the caller's promise.
        let mut next = unsafe { M::near::<V, C>((self.source)(start), dim) };
        let (mut known, mut slot) = ([None; MOST + 1], 0);
        for row in start..end + lag {
            let from = next;
            if row + 1 < end {
                // SAFETY: the caller's promise.
                next = unsafe { M::near::<V, C>((self.source)(row + 1), dim) };
            }
            let oldest = if slot == lag { 0 } else { slot + 1 };
            let out = self.out.row::<T>(row.saturating_sub(lag));
            let done: Option<(*const f32, Statistics)> = known[oldest].take();
            // SAFETY: the caller's promise.
            unsafe {
                let mut written = None;
                if let Some((values, statistics)) = done {
                    match Normalized::<V, _, _>::new(values, statistics, self.eps, affine) {
                        Some(map) => written = Some(Written { map, out }),
                        None => {
                            // Not of what is held, which is in the order of a vector.
                            let source = (self.source)(row - lag);
                            normalize_exactly::<M, T>(source, self.affine, self.eps, out, dim);
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
