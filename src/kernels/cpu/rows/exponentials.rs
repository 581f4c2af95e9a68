//! The exponentials of one row, which softmax and cross entropy share.

#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "the same promise covers the instructions and the elements of a vector"
)]

use std::marker::PhantomData;

use super::pass::{Fold, Place, Source, fold};
use crate::kernels::cpu::math::exp;
use crate::kernels::cpu::vector::{Element, Vector};

/// The greatest value of a row; any value if there is a NaN.
///
/// # Safety
/// The CPU has the instructions; so many elements can be read.
#[inline(always)]
pub unsafe fn greatest<V: Vector>(source: impl Source, elements: usize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        let [lanes] = fold::<V, 1, _>(Greatest(source), 0..elements);
        lanes.greatest()
    }
}

#[derive(Debug, Clone, Copy)]
struct Greatest<S>(S);

impl<V: Vector, S: Source> Fold<V, 1> for Greatest<S> {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    unsafe fn add(self, [greatest]: [V; 1], place: Place) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe { [greatest.max(self.0.load(place))] }
    }

    #[inline(always)]
    unsafe fn join(one: V, other: V) -> V {
        // SAFETY: the caller's promise.
        unsafe { one.max(other) }
    }
}

/// Where exponentials go besides into their sum.
pub trait Sink: Copy {
    /// Takes those of a place; behind the row's last ones, others follow.
    ///
    /// # Safety
    /// The CPU has the instructions; whole vectors can be written at all places.
    unsafe fn take<V: Vector>(self, exponentials: V, place: Place);
}

/// Nowhere.
impl Sink for () {
    #[inline(always)]
    unsafe fn take<V: Vector>(self, _: V, _: Place) {}
}

/// To memory.
impl Sink for *mut f32 {
    #[inline(always)]
    unsafe fn take<V: Vector>(self, exponentials: V, place: Place) {
        // SAFETY: the caller's promise.
        unsafe { exponentials.store(self.wrapping_add(place.at)) };
    }
}

/// Σ e^(v − greatest) of a row, as exact as results of the element `E` need it.
#[derive(Debug, Clone, Copy)]
pub struct Exponentials<V, S, O, E> {
    source: S,
    greatest: V,
    sink: O,
    precision: PhantomData<E>,
}

impl<V: Vector, S, O, E> Exponentials<V, S, O, E> {
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    pub unsafe fn new(source: S, greatest: f32, sink: O) -> Self {
        // SAFETY: the caller's promise.
        let greatest = unsafe { V::splat(greatest) };
        Self { source, greatest, sink, precision: PhantomData }
    }
}

impl<V: Vector, S: Source, O: Sink, E: Element> Fold<V, 1> for Exponentials<V, S, O, E> {
    #[inline(always)]
    unsafe fn add(self, [sum]: [V; 1], place: Place) -> [V; 1] {
        // SAFETY: the caller's promise.
        unsafe {
            let exponentials = exp::<V, E>(self.source.load::<V>(place).sub(self.greatest));
            self.sink.take(exponentials, place);
            [sum.add(exponentials)]
        }
    }
}
