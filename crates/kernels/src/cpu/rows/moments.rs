//! Mean and variance of a row.

use super::interleaved::Interleaved;
use super::pass::{self, Fold, LaneRange, Sink, Source, fold};
use crate::cpu::vector::Vector;

/// The largest square of the deviations' mean, in parts of the variance, at which float32 does not
/// lose too much of the two terms that the variance is the difference of.
const NEAR: f64 = 0.25;

/// Elements from whose mean deviations are taken.
const SAMPLE: usize = 64;

/// The statistics that a row is normalized by.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    /// It is subtracted in two parts, the first one a float32 near it: subtracted one after the
    /// other they lose nothing, however far from zero the row lies.
    pub mean: (f32, f64),
    /// The mean of the squares that are left.
    pub variance: f64,
}

// A row is normalized by its mean and biased variance if it is to be `CENTERED`, else by its mean
// square alone; they are found in `C` chains.

/// A number near the mean, from which deviations are taken.
///
/// # Safety
/// The row's elements can be read.
#[inline(always)]
pub unsafe fn near_mean<V: Vector, const C: usize, const CENTERED: bool>(
    source: impl Source,
    elements: usize,
) -> f32 {
    if !CENTERED {
        return 0.0;
    }
    let count = elements.min(SAMPLE);
    // SAFETY: the caller's promise.
    unsafe {
        let [lanes] = fold::<V, 1, C, _>(Total(source), 0..count);
        lanes.sum() * (1.0 / count as f32)
    }
}

/// The sums of deviations and of their squares, in float64 of float32. All elements also go to
/// `sink`, and `interleaved` is done meanwhile.
///
/// # Safety
/// The row's elements can be read, and go to `sink`.
#[inline(always)]
pub unsafe fn sums<V: Vector, const C: usize, const CENTERED: bool>(
    source: impl Source,
    interleaved: impl Interleaved<V>,
    sink: impl Sink,
    near: f32,
    elements: usize,
) -> [f64; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let terms = Terms { source, interleaved, sink, from: V::splat(near) };
        if CENTERED {
            return pass::sums::<V, 2, C, _>(terms, elements);
        }
        let [squares] = pass::sums::<V, 1, C, _>(terms, elements);
        [0.0, squares]
    }
}

/// The statistics by these sums; by those of deviations from a nearer number, where that is needed.
///
/// # Safety
/// The row's elements can be read.
#[inline(always)]
pub unsafe fn from_sums<V: Vector, const C: usize, const CENTERED: bool>(
    source: *const f32,
    near: f32,
    found: [f64; 2],
    elements: usize,
) -> Statistics {
    if !CENTERED {
        return Statistics { mean: (near, 0.0), variance: found[1] / elements as f64 };
    }
    let statistics = from_deviations(near, found, elements);
    let rest = statistics.mean.1;
    if rest * rest <= NEAR * statistics.variance {
        return statistics;
    }
    let near = (f64::from(near) + rest) as f32;
    // SAFETY: the caller's promise.
    let found = unsafe { sums::<V, C, CENTERED>(source, (), (), near, elements) };
    from_deviations(near, found, elements)
}

/// Mean and variance by the sums of deviations from a number and of their squares.
#[inline(always)]
fn from_deviations(near: f32, [sum, squares]: [f64; 2], elements: usize) -> Statistics {
    let share = 1.0 / elements as f64;
    let rest = sum * share;
    // Unlike `max`, it keeps a NaN.
    let variance = (squares * share - rest * rest).clamp(0.0, f64::INFINITY);
    Statistics { mean: (near, rest), variance }
}

/// All in float64.
pub fn exact<const CENTERED: bool>(values: impl Iterator<Item = f64> + Clone) -> Statistics {
    let count = values.clone().count() as f64;
    let mean = if CENTERED { values.clone().sum::<f64>() / count } else { 0.0 };
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    Statistics { mean: (0.0, mean), variance }
}

/// Σ v of a row.
#[derive(Debug, Clone, Copy)]
struct Total<S>(S);

impl<V: Vector, S: Source> Fold<V, 1> for Total<S> {
    #[inline(always)]
    unsafe fn add(self, [sum]: [V; 1], place: LaneRange) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe { [sum.add(self.0.load(place))] }
    }
}

/// Σ (v − from) and Σ (v − from)² of a row, or Σ v² alone.
#[derive(Debug, Clone, Copy)]
struct Terms<V, S, A, O> {
    source: S,
    interleaved: A,
    sink: O,
    from: V,
}

impl<V: Vector, S: Source, A: Interleaved<V>, O: Sink> Terms<V, S, A, O> {
    /// The values at a place, when what goes on beside them is done.
    ///
    /// # Safety
    /// The contract of [`Fold::add`].
    #[inline(always)]
    unsafe fn load(self, place: LaneRange) -> V {
        // SAFETY: the caller's promise.
        unsafe {
            let value = self.source.load::<V>(place);
            self.interleaved.step(place);
            self.sink.take(value, place);
            value
        }
    }
}

impl<V: Vector, S: Source, A: Interleaved<V>, O: Sink> Fold<V, 2> for Terms<V, S, A, O> {
    #[inline(always)]
    unsafe fn add(self, [sum, squares]: [V; 2], place: LaneRange) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let deviation = self.load(place).sub(self.from);
            [sum.add(deviation), deviation.mul_add(deviation, squares)]
        }
    }
}

impl<V: Vector, S: Source, A: Interleaved<V>, O: Sink> Fold<V, 1> for Terms<V, S, A, O> {
    #[inline(always)]
    unsafe fn add(self, [squares]: [V; 1], place: LaneRange) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe {
            let value = self.load(place);
            [value.mul_add(value, squares)]
        }
    }
}
