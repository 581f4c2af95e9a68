//! The normalization of one row, which layer_norm, add_layer_norm and rms_norm share.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use std::marker::PhantomData;
use std::ops::{Range, RangeInclusive};

use super::layout::Rows;
use super::pass::{Fold, Map, Place, Source, Squares, map, sums};
use crate::kernels::cpu::vector::{Element, Kernel, Vector};

/// Variances, eps included, whose parts float32 holds without overflow and without loss.
const HELD: RangeInclusive<f64> = 1e-30..=1e30;

/// What is done with a normalized value.
pub trait Affine: Copy + Send + Sync {
    /// The results at a place.
    ///
    /// # Safety
    /// The CPU has the instructions; the parameters at the place can be read.
    unsafe fn apply<V: Vector>(self, normalized: V, place: Place) -> V;
}

/// Nothing.
impl Affine for () {
    #[inline(always)]
    unsafe fn apply<V: Vector>(self, normalized: V, _: Place) -> V {
        normalized
    }
}

/// It is multiplied by a weight.
#[derive(Debug, Clone, Copy)]
pub struct Weight<T>(pub *const T);

/// It is multiplied by a weight, and a bias is added.
#[derive(Debug, Clone, Copy)]
pub struct WeightAndBias<T>(pub *const T, pub *const T);

// SAFETY: only read, by `apply`, whose callers promise that they can be.
unsafe impl<T> Send for Weight<T> {}
// SAFETY: the same.
unsafe impl<T> Sync for Weight<T> {}
// SAFETY: the same.
unsafe impl<T> Send for WeightAndBias<T> {}
// SAFETY: the same.
unsafe impl<T> Sync for WeightAndBias<T> {}

impl<T: Element> Affine for Weight<T> {
    #[inline(always)]
    unsafe fn apply<V: Vector>(self, normalized: V, place: Place) -> V {
        // SAFETY: the caller's promise.
        unsafe { normalized.mul(place.load(self.0)) }
    }
}

impl<T: Element> Affine for WeightAndBias<T> {
    #[inline(always)]
    unsafe fn apply<V: Vector>(self, normalized: V, place: Place) -> V {
        // SAFETY: the caller's promise.
        unsafe { normalized.mul_add(place.load(self.0), place.load(self.1)) }
    }
}

/// How a row is normalized: by its mean and variance, or by its mean square alone.
pub trait Moments: Copy + Send + Sync {
    /// In float32, with sums in float64.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be read.
    unsafe fn of<V: Vector>(source: impl Source, elements: usize) -> Statistics;

    /// All in float64.
    fn exact(values: impl Iterator<Item = f64> + Clone) -> Statistics;
}

/// What a row is normalized by.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    /// What is subtracted, in two parts, the first one a float32 near it: subtracted one after the
    /// other they lose nothing, however far from zero the row lies.
    mean: (f32, f64),
    /// What is left of the squares, on the average.
    variance: f64,
}

/// Mean and biased variance.
#[derive(Debug, Clone, Copy)]
pub struct Centered;

/// Mean square.
#[derive(Debug, Clone, Copy)]
pub struct Uncentered;

impl Moments for Centered {
    #[inline(always)]
    unsafe fn of<V: Vector>(source: impl Source, elements: usize) -> Statistics {
        let share = 1.0 / elements as f64;
        // SAFETY: the caller's promise.
        let [sum] = unsafe { sums::<V, 1, _>(Total(source), elements) };
        let near = (sum * share) as f32;
        // SAFETY: the caller has the instructions.
        let from = unsafe { V::splat(near) };
        // SAFETY: the caller's promise.
        let [rest, squares] = unsafe { sums::<V, 2, _>(Deviations { source, from }, elements) };
        let rest = rest * share;
        // Unlike `max`, it keeps a NaN.
        let variance = (squares * share - rest * rest).clamp(0.0, f64::INFINITY);
        Statistics { mean: (near, rest), variance }
    }

    fn exact(values: impl Iterator<Item = f64> + Clone) -> Statistics {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Statistics { mean: (0.0, mean), variance }
    }
}

impl Moments for Uncentered {
    #[inline(always)]
    unsafe fn of<V: Vector>(source: impl Source, elements: usize) -> Statistics {
        // SAFETY: the caller's promise.
        let [squares] = unsafe { sums::<V, 1, _>(Squares(source), elements) };
        Statistics { mean: (0.0, 0.0), variance: squares / elements as f64 }
    }

    fn exact(values: impl Iterator<Item = f64> + Clone) -> Statistics {
        let count = values.clone().count() as f64;
        let variance = values.map(|value| value * value).sum::<f64>() / count;
        Statistics { mean: (0.0, 0.0), variance }
    }
}

/// Σ v of a row.
#[derive(Debug, Clone, Copy)]
struct Total<S>(S);

impl<V: Vector, S: Source> Fold<V, 1> for Total<S> {
    #[inline(always)]
    unsafe fn add(self, [sum]: [V; 1], place: Place) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe { [sum.add(self.0.load(place))] }
    }
}

/// Σ (v − from) and Σ (v − from)² of a row.
#[derive(Debug, Clone, Copy)]
struct Deviations<V, S> {
    source: S,
    from: V,
}

impl<V: Vector, S: Source> Fold<V, 2> for Deviations<V, S> {
    #[inline(always)]
    unsafe fn add(self, [sum, squares]: [V; 2], place: Place) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let deviation = self.source.load::<V>(place).sub(self.from);
            [sum.add(deviation), deviation.mul_add(deviation, squares)]
        }
    }
}

/// ((v − near) · factor + offset) and what the affine makes of it.
#[derive(Debug, Clone, Copy)]
struct Normalized<V, S, A> {
    source: S,
    near: V,
    factor: V,
    offset: V,
    affine: A,
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

/// Writes the normalized row.
///
/// # Safety
/// The CPU has the instructions; so many elements can be read of `source` and `affine`, and written
/// to `out`.
#[inline(always)]
pub unsafe fn normalize<V: Vector, M: Moments, T: Element>(
    source: impl Source,
    affine: impl Affine,
    eps: f64,
    out: *mut T,
    elements: usize,
) {
    // SAFETY: the caller's promise.
    let Statistics { mean: (near, rest), variance } = unsafe { M::of::<V>(source, elements) };
    if !HELD.contains(&(variance + eps)) {
        // SAFETY: the caller's promise.
        return unsafe { normalize_exactly::<M, T>(source, affine, eps, out, elements) };
    }
    let factor = 1.0 / ((variance + eps) as f32).sqrt();
    // SAFETY: the caller's promise.
    unsafe {
        let normalized = Normalized {
            source,
            near: V::splat(near),
            factor: V::splat(factor),
            offset: V::splat(-rest as f32 * factor),
            affine,
        };
        map::<V, T>(normalized, out, elements);
    }
}

/// The same with float64 until a value is normalized: for squares that float32 does not hold, and
/// for rows with an infinity or a NaN, which come out as NaN.
///
/// # Safety
/// Elements as in [`normalize`].
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
        for row in self.rows {
            let (source, out) = ((self.source)(row), self.out.row::<T>(row));
            // SAFETY: the caller's promise for each row.
            unsafe { normalize::<V, M, T>(source, self.affine, self.eps, out, self.out.dim) };
        }
    }
}
