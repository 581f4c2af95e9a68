//! Mean and variance of a row.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use super::beside::Beside;
use super::pass::{Fold, Place, Sink, Source, fold, sums};
use crate::cpu::vector::Vector;

/// Squares of the deviations' mean, in parts of the variance, beyond which float32 would lose too
/// much of what the variance is the difference of.
const NEAR: f64 = 0.25;

/// Elements from whose mean deviations are taken.
const SAMPLE: usize = 64;

/// How a row is normalized: by its mean and variance, or by its mean square alone; found in `C`
/// chains.
pub trait Moments: Copy + Send + Sync {
    /// A number near the mean, from which deviations are taken.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be read.
    unsafe fn near<V: Vector, const C: usize>(source: impl Source, elements: usize) -> f32;

    /// The sums of deviations and of their squares, in float64 of float32. All elements also go to
    /// `sink`, and `beside` is done meanwhile.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be read, and go to `sink`.
    unsafe fn sums<V: Vector, const C: usize>(
        source: impl Source,
        beside: impl Beside<V>,
        sink: impl Sink,
        near: f32,
        elements: usize,
    ) -> [f64; 2];

    /// What the sums say; with those of deviations from a nearer number, where that is needed.
    ///
    /// # Safety
    /// The CPU has the instructions; so many elements can be read.
    unsafe fn of<V: Vector, const C: usize>(
        source: *const f32,
        near: f32,
        sums: [f64; 2],
        elements: usize,
    ) -> Statistics;

    /// All in float64.
    fn exact(values: impl Iterator<Item = f64> + Clone) -> Statistics;
}

/// What a row is normalized by.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    /// What is subtracted, in two parts, the first one a float32 near it: subtracted one after the
    /// other they lose nothing, however far from zero the row lies.
    pub mean: (f32, f64),
    /// What is left of the squares, on the average.
    pub variance: f64,
}

/// Mean and biased variance.
#[derive(Debug, Clone, Copy)]
pub struct Centered;

/// Mean square.
#[derive(Debug, Clone, Copy)]
pub struct Uncentered;

impl Moments for Centered {
    #[inline(always)]
    unsafe fn near<V: Vector, const C: usize>(source: impl Source, elements: usize) -> f32 {
        let count = elements.min(SAMPLE);
        // SAFETY: the caller's promise.
        unsafe {
            let [lanes] = fold::<V, 1, C, _>(Total(source), 0..count);
            lanes.sum() * (1.0 / count as f32)
        }
    }

    #[inline(always)]
    unsafe fn sums<V: Vector, const C: usize>(
        source: impl Source,
        beside: impl Beside<V>,
        sink: impl Sink,
        near: f32,
        elements: usize,
    ) -> [f64; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let terms = Deviations { source, beside, sink, from: V::splat(near) };
            sums::<V, 2, C, _>(terms, elements)
        }
    }

    #[inline(always)]
    unsafe fn of<V: Vector, const C: usize>(
        source: *const f32,
        near: f32,
        found: [f64; 2],
        elements: usize,
    ) -> Statistics {
        let statistics = about(near, found, elements);
        let rest = statistics.mean.1;
        if rest * rest <= NEAR * statistics.variance {
            return statistics;
        }
        let near = (f64::from(near) + rest) as f32;
        // SAFETY: the caller's promise.
        let found = unsafe { Self::sums::<V, C>(source, (), (), near, elements) };
        about(near, found, elements)
    }

    fn exact(values: impl Iterator<Item = f64> + Clone) -> Statistics {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Statistics { mean: (0.0, mean), variance }
    }
}

/// Mean and variance by the sums of deviations from a number and of their squares.
#[inline(always)]
fn about(near: f32, [sum, squares]: [f64; 2], elements: usize) -> Statistics {
    let share = 1.0 / elements as f64;
    let rest = sum * share;
    // Unlike `max`, it keeps a NaN.
    let variance = (squares * share - rest * rest).clamp(0.0, f64::INFINITY);
    Statistics { mean: (near, rest), variance }
}

impl Moments for Uncentered {
    #[inline(always)]
    unsafe fn near<V: Vector, const C: usize>(_: impl Source, _: usize) -> f32 {
        0.0
    }

    #[inline(always)]
    unsafe fn sums<V: Vector, const C: usize>(
        source: impl Source,
        beside: impl Beside<V>,
        sink: impl Sink,
        _: f32,
        elements: usize,
    ) -> [f64; 2] {
        // SAFETY: the caller's promise.
        let [squares] = unsafe { sums::<V, 1, C, _>(Squares { source, beside, sink }, elements) };
        [0.0, squares]
    }

    #[inline(always)]
    unsafe fn of<V: Vector, const C: usize>(
        _: *const f32,
        near: f32,
        [_, squares]: [f64; 2],
        elements: usize,
    ) -> Statistics {
        Statistics { mean: (near, 0.0), variance: squares / elements as f64 }
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
struct Deviations<V, S, A, O> {
    source: S,
    beside: A,
    sink: O,
    from: V,
}

impl<V: Vector, S: Source, A: Beside<V>, O: Sink> Fold<V, 2> for Deviations<V, S, A, O> {
    #[inline(always)]
    unsafe fn add(self, [sum, squares]: [V; 2], place: Place) -> [V; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let value = self.source.load::<V>(place);
            self.beside.at(place);
            self.sink.take(value, place);
            let deviation = value.sub(self.from);
            [sum.add(deviation), deviation.mul_add(deviation, squares)]
        }
    }
}

/// Σ v² of a row.
#[derive(Debug, Clone, Copy)]
struct Squares<S, A, O> {
    source: S,
    beside: A,
    sink: O,
}

impl<V: Vector, S: Source, A: Beside<V>, O: Sink> Fold<V, 1> for Squares<S, A, O> {
    #[inline(always)]
    unsafe fn add(self, [squares]: [V; 1], place: Place) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe {
            let value = self.source.load::<V>(place);
            self.beside.at(place);
            self.sink.take(value, place);
            [value.mul_add(value, squares)]
        }
    }
}
